"""The default OpenGCN in every setting, and what each method costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from opengcn.scenarios.definitions import SCENARIOS
from opengcn.scenarios.methods import METHODS
from opengcn.scenarios.results import Cell, Result
from opengcn.scenarios.summary import Column, best_baseline, columns_of, entries
from opengcn.scenarios.tables import markdown_table
from opengcn.scenarios.time_left import in_words

__all__ = ["cost_table", "opengcn_table"]

Results = Mapping[Cell, Result]

HEADING = (
    *("setting", "OpenGCN", "hard", "best of the six", "below hard", "below best"),
    *("worst - hard", "with hint", "AE TPR 90 %", "AE TNR 90 %", "FPR / target at TNR 99 %"),
    *("at 99.9 %", "TPR covered", "width", "TNR covered", "width"),
)


def opengcn_table(results: Results) -> str:
    """Return what the default OpenGCN reaches, a row a setting.

    Parameters
    ----------
    results : mapping of Cell to Result
        All results.

    Returns
    -------
    markdown : str
        MAE_comb as it is (mean ± standard deviation), beside the hard baseline and the best
        of the paper's six; the largest excess over the hard baseline on a split and seed; the
        error when the number of classes is given; point-wise errors in points of 100; the true
        false positive rate over the target; coverage and width of the band. "" when OpenGCN
        or the hard baseline was not run.
    """
    rows = []
    for scenario in SCENARIOS:
        for column in columns_of(results, scenario):
            found = entries(results, scenario, column)
            if {"opengcn", "hard"} <= set(found):
                rows.append(_row(results, scenario, column))
    return markdown_table(HEADING, rows) if rows else ""


def _row(results: Results, scenario: str, column: Column) -> list[str]:
    def mean(value: str) -> float:
        return entries(results, scenario, column, value)["opengcn"].mean

    found = entries(results, scenario, column)
    own, hard = found["opengcn"], found["hard"]
    best = best_baseline(found)
    spread = "" if np.isnan(own.spread) else f" ± {own.spread:.4f}"
    return [
        f"{SCENARIOS[scenario].title}, {column.title}",
        f"{own.mean:.4f}{spread}",
        f"{hard.mean:.4f}",
        f"{found[best].mean:.4f} ({METHODS[best].title})" if best else "-",
        f"{1 - own.mean / hard.mean:.0%}",
        f"{1 - own.mean / found[best].mean:.0%}" if best else "-",
        f"{_worst_excess(results, scenario, column):+.4f}",
        f"{mean('mae_hint'):.4f}",
        f"{100 * mean('ae_tpr_90'):.1f}",
        f"{100 * mean('ae_tnr_90'):.1f}",
        f"{mean('fpr_at_tnr_99') / 0.01:.2f}",
        f"{mean('fpr_at_tnr_99.9') / 0.001:.2f}",
        f"{mean('tpr_covered'):.0%}",
        f"{mean('tpr_width'):.3f}",
        f"{mean('tnr_covered'):.0%}",
        f"{mean('tnr_width'):.3f}",
    ]


def _worst_excess(results: Results, scenario: str, column: Column) -> float:
    """Return how far OpenGCN is above the hard baseline on its worst split and seed."""
    excess = []
    for cell, result in results.items():
        here = (cell.scenario, Column.of(cell), cell.method) == (scenario, column, "opengcn")
        rival = results.get(replace(cell, seed=0, method="hard"))
        if here and rival is not None and not (result.failure or rival.failure):
            excess.append(result.values["mae"] - rival.values["mae"])
    return max(excess, default=float("nan"))


def cost_table(results: Results) -> str:
    """Return the time of each method.

    Parameters
    ----------
    results : mapping of Cell to Result
        All results.

    Returns
    -------
    markdown : str
        Median seconds of a fit and of an estimate on one thread; the time of all cells.
    """
    rows = []
    for name, method in METHODS.items():
        done = {c: r for c, r in results.items() if c.method == name and not r.failure}
        if not done:
            continue
        fits = {c.fit: r.seconds["fit"] for c, r in done.items()}
        rows.append(
            [
                method.title,
                str(len(done)),
                f"{np.median(list(fits.values())):.2f}",
                f"{np.median([r.seconds['estimate'] for r in done.values()]):.2f}",
                in_words(sum(r.seconds["spent"] for r in done.values())),
            ]
        )
    heading = ["method", "cells", "fit (s, median)", "estimate (s, median)", "all cells"]
    return markdown_table(heading, rows)

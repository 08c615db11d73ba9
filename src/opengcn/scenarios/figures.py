"""Figures of the benchmark: curves against the truth, errors by corruption, ablations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from opengcn.atomic import replacing
from opengcn.curve import OperatingCurve
from opengcn.scenarios.definitions import SCENARIOS, TESTS
from opengcn.scenarios.methods import ABLATIONS, METHODS
from opengcn.scenarios.results import Cell, Result
from opengcn.scenarios.summary import Column, Entry, best_baseline, columns_of, entries

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_ablations", "draw_corruptions", "draw_curves"]

Results = Mapping[Cell, Result]

ACROSS = 5  # panels in a row
TRUTH = "0.15"
COLOURS = {  # families of methods: inductive, pseudo-label, hard, the paper's, the default
    **dict.fromkeys(("platt", "beta", "isotonic", "histogram"), "#7e57a4"),
    **dict.fromkeys(("dbscan", "hi-lander"), "#2a9d8f"),
    "hard": "#e09f3e",
    **dict.fromkeys(("paper-pt", "paper", *ABLATIONS), "#2460a7"),
    "opengcn": "#c0392b",
}
MARKERS = dict(zip(METHODS, "osD^vPXd>*ppppp", strict=False))


def draw_curves(results: Results, scenario: str, column: Column, path: Path) -> bool:
    """Draw TPR and TNR of one split, estimated by each method, against the truth.

    Parameters
    ----------
    results : mapping of Cell to Result
        All results.
    scenario : str
        A key of `SCENARIOS`.
    column : Column
        Which D_test. Of several severities the middle one is drawn.
    path : Path
        Where to, in .svg or .png.

    Returns
    -------
    drawn : bool
        False when no method has a result there.
    """
    cells = sorted(
        (c for c, r in results.items() if c.scenario == scenario and Column.of(c) == column),
        key=lambda c: (c.split, c.seed, c.test),
    )
    tests = sorted({c.test for c in cells})
    first = [c for c in cells if c.test == tests[len(tests) // 2] and c.split == cells[0].split]
    shown = {
        c.method: results[c]
        for c in reversed(first)  # the lowest seed stays
        if not results[c].is_truth and not results[c].failure
    }
    if not shown:
        return False
    truth = _curve(results[first[0].truth])
    order = [m for m in METHODS if m in shown]

    down = -(-len(order) // ACROSS)

    def draw(figure: Figure) -> None:
        for place, method in enumerate(order):
            panel = figure.add_subplot(down, ACROSS, place + 1)
            truth.plot(panel, color=TRUTH, linewidth=1)
            _curve(shown[method]).plot(panel, color=COLOURS[method], linewidth=1.4)
            legend = panel.get_legend()
            assert legend is not None
            legend.remove()  # the title explains all panels at once
            error = shown[method].values["mae"]
            panel.set_title(f"{METHODS[method].title}\nMAE_comb {error:.4f}", fontsize=9)
            panel.set(xlabel="", ylabel="", xticks=(0, 1, 2), yticks=(0, 0.5, 1))
        figure.suptitle(
            f"{SCENARIOS[scenario].title}, {column.title}, split {first[0].split}: TPR (solid) and "
            f"TNR (dashed) over the distance threshold, truth in black",
            fontsize=10,
        )

    # Places by hand: an automatic layout doubles the time, and there are dozens of these.
    height = 0.8 + 2.1 * down
    edges = {"left": 0.035, "right": 0.99, "bottom": 0.25 / height, "top": 1 - 0.8 / height}
    _save(path, (12, height), draw, edges | {"hspace": 0.45, "wspace": 0.2})
    return True


def draw_corruptions(results: Results, scenario: str, data: str, path: Path) -> None:
    """Draw MAE_comb of each method by corruption.

    Parameters
    ----------
    results : mapping of Cell to Result
        All results.
    scenario : str
        ``shiftdist`` or ``shiftdist-augmented``.
    data : str
        The data set.
    path : Path
        Where to, in .svg or .png.
    """
    columns = [c for c in columns_of(results, scenario) if c.data == data]
    found = {c: entries(results, scenario, c) for c in columns}
    methods = [m for m in METHODS if any(m in column for column in found.values())]

    def draw(figure: Figure) -> None:
        ax = figure.add_subplot()
        for i, method in enumerate(methods):
            side = (i - (len(methods) - 1) / 2) * 0.06  # beside each other, not on top
            means = [
                column[method].mean if method in column else np.nan for column in found.values()
            ]
            ax.plot(
                np.arange(len(columns)) + side,
                means,
                MARKERS[method],
                color=COLOURS[method],
                label=METHODS[method].title,
                markersize=5,
            )
        names = [TESTS[c.test].rpartition(": ")[2] for c in columns]
        ax.set_xticks(range(len(columns)), names, rotation=40, ha="right")
        ax.set(yscale="log", ylabel="MAE_comb")
        ax.grid(alpha=0.25)
        ax.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
        ax.set_title(f"{SCENARIOS[scenario].title}, {columns[0].title.partition(':')[0]}")

    _save(path, (10, 4.2), draw)


def draw_ablations(results: Results, path: Path) -> bool:
    """Draw what the loss terms and the two stages of the paper's method are worth.

    Parameters
    ----------
    results : mapping of Cell to Result
        All results.
    path : Path
        Where to, in .svg or .png.

    Returns
    -------
    drawn : bool
        False when there is nothing to draw.
    """
    panels: dict[Column, dict[str, Entry]] = {}
    for column in columns_of(results, "samedist"):
        same = entries(results, "samedist", column)
        parts = entries(results, "ablation", column)
        bars = {METHODS[m].title: e for m, e in parts.items()}
        bars |= {METHODS[m].title: same[m] for m in ("paper-pt", "paper") if m in same}
        best = best_baseline(same)
        if bars:
            panels[column] = bars | ({"best baseline": same[best]} if best else {})
    if not panels:
        return False
    across = min(len(panels), 3)
    down = -(-len(panels) // across)

    def draw(figure: Figure) -> None:
        for place, (column, bars) in enumerate(panels.items(), 1):
            ax = figure.add_subplot(down, across, place)
            places = np.arange(len(bars))
            spreads = [0 if np.isnan(e.spread) else e.spread for e in bars.values()]
            means = [e.mean for e in bars.values()]
            colours = ["0.6" if name == "best baseline" else COLOURS["paper"] for name in bars]
            ax.barh(places, means, xerr=spreads, color=colours, error_kw={"linewidth": 0.8})
            ax.set_yticks(places, list(bars), fontsize=8)
            ax.invert_yaxis()
            ax.set_xlim(left=0)
            ax.set(xlabel="MAE_comb", title=column.title)
            ax.grid(alpha=0.25, axis="x")

    _save(path, (1 + 3.6 * across, 3.2 * down), draw)
    return True


def _curve(result: Result) -> OperatingCurve:
    rates: dict[str, Any] = {name: np.array(rate) for name, rate in result.curves.items()}
    return OperatingCurve(**rates)


def _save(
    path: Path,
    size: tuple[float, float],
    draw: Callable[[Figure], None],
    places: dict[str, float] | None = None,
) -> None:
    """Write a figure, the same bytes for the same results; `places` are those of the panels."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    # Text stays text: letters as outlines would be most of the file.
    with mpl.rc_context({"svg.hashsalt": "opengcn", "svg.fonttype": "none"}):
        # Not from pyplot: no window, whatever the screen.
        figure = Figure(figsize=size, layout=None if places else "constrained")
        if places:
            figure.subplots_adjust(**places)
        draw(figure)
        stamp = {"Date": None} if path.suffix == ".svg" else {}
        with replacing(path) as temporary:
            figure.savefig(temporary, dpi=110, metadata=stamp)

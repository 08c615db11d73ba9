"""Where the error of the default OpenGCN sits: the prior, the readings, the choice of classes.

    python benchmarks/error_budget.py --data FOLDER --splits 2

For each test set: the error of D_cal's own quantiles of same-class distances (the choice of its
classes, and the shift), and over it the errors of the estimate, of the same without the correction
of D_cal's curve, of both when the share of same-class pairs is given, of the corrected curve
alone, without what directions of variance say, and how far estimates from other graphs of the same
set differ (sampling). Means over splits. Fitted models are kept in --models.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from leave_one_out import FAMILIES, kinds
from models import arguments, fit_or_load
from numpy.typing import NDArray

import opengcn as og
from opengcn.rehearsal.mates import Correction
from opengcn.rehearsal.question import Asked
from opengcn.rehearsal.reference import rate_to_quantiles
from opengcn.scenarios.data import open_data

GRAPHS = 3  # draws of graphs, to see what sampling does
COLUMNS = (
    "estimate",
    "without the correction",
    "prior given",
    "prior given, without the correction",
    "corrected curve alone, prior given",
    "without the level",
    "sampling",
)


def estimate(model: Any, asked: Asked) -> NDArray[np.float64]:
    """Return the quantiles that a model believes in."""
    return np.asarray(model.readout_.predict(asked, model.reference_).quantiles)


def without_correction(asked: Asked) -> Asked:
    """Return the same question, as if D_cal's rows could not be compared with nodes."""
    moves, open_ = asked.correction
    nothing = Correction(np.zeros_like(moves), np.ones_like(open_))
    return replace(asked, correction=nothing)


def budget(model: Any, test: og.EmbeddingSet) -> list[float]:
    """Return the error of D_cal's quantiles (first) and of each of `COLUMNS`."""
    truth = rate_to_quantiles(og.OperatingCurve.from_labels(test).tpr)
    known, rows = model.reference_.quantiles, test.unlabelled()
    size = np.bincount(test.codes)
    prior = (size * (size - 1)).sum() / (len(test) * (len(test) - 1))
    asked, given = model._look(rows).asked, model._look(rows, prior).asked
    found = [
        known,
        estimate(model, asked),
        estimate(model, without_correction(asked)),
        estimate(model, given),
        estimate(model, without_correction(given)),
        known + given.correction.moves[0],
        estimate(model, replace(asked, level=None)),
    ]
    again = []
    for seed in range(1, GRAPHS + 1):
        model.seed = seed  # of the graphs: what was learned stays
        again.append(estimate(model, model._look(rows).asked))
    model.seed = 0
    sampling = float(np.abs(np.array(again) - np.mean(again, 0)).mean())
    return [*(float(np.abs(q - truth).mean()) for q in found), sampling]


def main() -> None:
    """Print the table."""
    given = arguments(__doc__)
    print(
        "| test set | D_cal | "
        + " | ".join(COLUMNS)
        + " |\n|---|---:"
        + "|---:" * len(COLUMNS)
        + "|"
    )
    for name in (name for names in FAMILIES.values() for name in names):
        data = open_data(given.data / f"{name}.npz" if name else None)
        found: dict[str, list[list[float]]] = {}
        for kind, setting in kinds(name or "glyphs"):
            most = data.most_splits(setting.test) or given.splits
            for split in range(min(given.splits, most)):
                train, cal, test = data.sets(setting, split)
                path = given.models / f"{name or 'glyphs'}-{split}.ogcn"
                errors = budget(fit_or_load(train, cal, path), test)
                found.setdefault(kind, []).append(errors)
        for kind, table in found.items():
            own, *others = np.mean(table, 0)
            cells = [f"{own:.4f}", *(f"{error / own:.2f}" for error in others)]
            print(f"| {name or 'glyphs'}, {kind} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()

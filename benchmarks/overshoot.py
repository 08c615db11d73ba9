"""How much too far readings go after a shift, and what is done about it.

    python benchmarks/overshoot.py --data FOLDER --splits 2

First, for sets that have shifted: the mean difference of their same-class distances from D_cal's,
what the mild and the hard school read when the share of same-class pairs is given, and the slope
of the former over the latter. Then errors of TPR over D_cal's with each part of
`opengcn.rehearsal.after_shift` left out, as means over the families of leave_one_out.py. Fitted
models are kept in --models.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
from leave_one_out import Read, read_families
from models import arguments, fit_or_load
from numpy.typing import NDArray

import opengcn as og
from opengcn.rehearsal import after_shift
from opengcn.scenarios.data import open_data
from opengcn.scenarios.definitions import standard_settings

SHIFTED = {  # rows of the first table: a data set, and its settings
    "Cars, corruptions": ("cars", "shiftdist", None),
    "Cars, sketches": ("cars", "diffdist", "sketch"),
    "dogs to birds": ("cross_dogs_to_cub", "diffdist", "other"),
}
OTHERS: dict[str, dict[str, float]] = {
    "as it is": {},
    "nothing taken off": {"OVERSHOOT": 0.0},
    "D_cal's own curve as the centre": {"DISSOLVED": 100.0},
    "neither": {"OVERSHOOT": 0.0, "DISSOLVED": 100.0},
}


def true_and_read(model: og.OpenGCN, test: og.EmbeddingSet) -> NDArray[np.float64]:
    """Return the mean move of a set (3,): true, and as the mild and the hard school read it."""
    read = Read.of(model, test)
    reference = read.model.reference_
    size = np.bincount(test.codes)
    prior = (size * (size - 1)).sum() / (len(test) * (len(test) - 1))
    moves, *_ = read.model.readout_.read(replace(read.asked, hint=prior, stand_ins=[]), reference)
    known = reference.quantiles
    said = (known * np.expm1(moves[:2, 0])).mean(1)
    return np.array([(read.truth - known).mean(), *said])


def print_moves(data: Path, splits: int, models: Path) -> None:
    """Print the first table."""
    print("| shifted set | true | mild | hard | true over read, mild and hard |")
    print("|---|---:|---:|---:|---|")
    for row, (name, scenario, test_set) in SHIFTED.items():
        packed = open_data(data / f"{name}.npz")
        found = []
        for setting in standard_settings(name):
            if setting.scenario != scenario or test_set not in (None, setting.test):
                continue
            for split in range(splits):
                train, cal, test = packed.sets(setting, split)
                model = fit_or_load(train, cal, models / f"{name}-{split}.ogcn")
                found.append(true_and_read(model, test))
        true, *said = np.array(found).T
        slopes = ", ".join(f"{(true @ m) / (m @ m):.2f}" for m in said)
        means = " | ".join(f"{m.mean():+.3f}" for m in (true, *said))
        print(f"| {row} | {means} | {slopes} |", flush=True)


def print_errors(data: Path, splits: int, models: Path) -> None:
    """Print the second table."""
    families = read_families(data, splits, models)
    print("\n| constants | whole | 500 rows | five classes | all |\n|---|---:|---:|---:|---:|")
    for row, changed in OTHERS.items():
        with patch.dict(vars(after_shift), changed):
            errors = [
                np.reshape([np.mean([r.error() for r in test]) for test in tests], (-1, 3)).mean(0)
                for tests in families.values()
            ]
        by_part = np.mean(errors, 0)
        cells = " | ".join(f"{e:.3f}" for e in (*by_part, by_part.mean()))
        print(f"| {row} | {cells} |", flush=True)


def main() -> None:
    """Print both tables."""
    given = arguments(__doc__)
    for table in (print_moves, print_errors):
        table(given.data, given.splits, given.models)


if __name__ == "__main__":
    main()

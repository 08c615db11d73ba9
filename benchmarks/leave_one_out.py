"""Constants of the default OpenGCN, chosen without each data set in turn and scored on it.

    python benchmarks/leave_one_out.py --data FOLDER

For each data set, the constants that weigh readout and D_cal are chosen anew from a grid, on the
other data sets alone, and scored on the one left out, beside the constants of the package and
beside those that would have been best there. Figures are errors of TPR relative to D_cal's, means
over test sets and splits. Fitted models are kept in --models.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from models import fit_or_load
from numpy.typing import NDArray

import opengcn as og
from opengcn.progress import progress_bar
from opengcn.rehearsal import readout, trust
from opengcn.rehearsal.reference import rate_to_quantiles
from opengcn.scenarios.data import open_data
from opengcn.scenarios.definitions import standard_settings

# Twins of one data set are left out together, and so are its corruptions.
FAMILIES = {
    "CUB": ("cub", "cub_overfit"),
    "Cars": ("cars", "cars_overfit"),
    "Omniglot": ("omniglot",),
    "glyphs": (None,),
    "dogs to birds": ("cross_dogs_to_cub",),
    "Caltech": ("longtail_caltech",),
}
GRID = {
    "READOUT_ERROR": (0.01, 0.015, 0.02),
    "SHIFT": (0.08, 0.12, 0.2),
    "CHANCE": (0.2, 0.4, 0.6),
    "RELATIVE": (0.0, 0.2, 0.3),
    "TAUGHT": (0.5, 0.7, 1.0),
}


@dataclass(frozen=True, eq=False)
class Read:
    """What a model has seen of a test set, and what is true of it."""

    model: Any
    asked: Any
    truth: NDArray[np.float64]

    def error(self) -> float:
        """Return the error of the quantiles with the constants of the moment, over D_cal's."""
        reference = self.model.reference_
        (found,) = self.model.readout_.predict([self.asked], reference)
        both = found.quantiles, reference.quantiles
        wrong, hard = (np.abs(q - self.truth).mean() for q in both)
        return float(wrong / hard)


def reads(path: Path | None, name: str, splits: int, models: Path) -> Iterator[list[Read]]:
    """Yield what is read of each test set of a data set, over its splits."""
    data = open_data(path)
    for setting in standard_settings(name):
        if setting.scenario == "ablation":
            continue
        found = []
        for split in range(min(splits, data.most_splits(setting.test) or splits)):
            train, cal, test = data.sets(setting, split)
            model: Any = fit_or_load(train, cal, models / f"{name}-{split}.ogcn")
            asked = model._look(test.unlabelled()).asked
            truth = rate_to_quantiles(og.OperatingCurve.from_labels(test).tpr)
            found.append(Read(model, asked, truth))
        yield found


def scores(families: dict[str, list[list[Read]]]) -> dict[tuple[float, ...], dict[str, float]]:
    """Return the score of each family under all constants of the grid."""
    found = {}
    points = list(product(*GRID.values()))
    with progress_bar("Constants", len(points)) as advance:
        for point in points:
            constants: dict[str, Any] = dict(zip(GRID, point, strict=True))
            taught = constants.pop("TAUGHT")
            with (
                patch.multiple(trust, **constants),
                patch.multiple(readout, TAUGHT=taught, RELATIVE=constants["RELATIVE"]),
            ):
                found[point] = {
                    family: float(np.mean([np.mean([r.error() for r in test]) for test in tests]))
                    for family, tests in families.items()
                }
            advance(1)
    return found


def main() -> None:
    """Choose constants without each data set in turn, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the packs")
    parser.add_argument("--splits", type=int, default=8)
    parser.add_argument("--models", type=Path, default=Path("benchmarks/results/models"))
    given = parser.parse_args()
    warnings.simplefilter("ignore", og.OpenGCNWarning)
    families = {
        family: [
            test
            for name in names
            for test in reads(
                given.data / f"{name}.npz" if name else None,
                name or "glyphs",
                given.splits,
                given.models,
            )
        ]
        for family, names in FAMILIES.items()
    }
    found = scores(families)
    own = tuple(getattr(readout if n == "TAUGHT" else trust, n) for n in GRID)
    print("| left out | chosen on the others | as it is | best there | " + ", ".join(GRID) + " |")
    print("|---|---:|---:|---:|---|")
    for left in families:

        def others(point: tuple[float, ...], left: str = left) -> float:
            return float(np.mean([v for f, v in found[point].items() if f != left]))

        chosen = min(found, key=others)
        best = min(score[left] for score in found.values())
        numbers = (found[chosen][left], found[own][left], best)
        cells = [left, *(f"{x:.3f}" for x in numbers), ", ".join(map(str, chosen))]
        print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()

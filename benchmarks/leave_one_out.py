"""Constants of the default OpenGCN, chosen without each data set in turn and scored on it.

    python benchmarks/leave_one_out.py --data FOLDER

For each data set, the constants that weigh readings of the graph against each other and against
D_cal are chosen anew from a grid, on the other data sets alone, and scored on the one left out,
beside the constants of the package and beside those that would have been best there. Each test
set counts three times: whole, 500 of its rows, five of its classes. Figures are errors of TPR
relative to D_cal's, means over test sets and splits. Fitted models are kept in --models.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from models import arguments, fit_or_load
from numpy.typing import NDArray

import opengcn as og
from opengcn.progress import progress_bar
from opengcn.rehearsal import after_shift, candidates, trust
from opengcn.rehearsal.question import Asked
from opengcn.rehearsal.reference import rate_to_quantiles
from opengcn.scenarios.data import open_data
from opengcn.scenarios.definitions import Setting, standard_settings

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
    (trust, "LIFE"): (0.5, 0.8, 1.2),
    (after_shift, "OVERSHOOT"): (0.0, 0.15, 0.3),
    (after_shift, "DISSOLVED"): (0.6, 10.0),  # the latter: about D_cal's own curve
    (trust, "CORRECTED"): (1.0, 2.0, 3.0),
    (trust, "VARIED_CLASSES"): (0.5, 1.0, 2.0),
    (trust, "EVIDENCE"): (0.1, 0.35, 1.0),
    (candidates, "ERROR"): (1.5, 2.2),
}


@dataclass(frozen=True, eq=False)
class Read:
    """What a model reads off a test set, and what is true of it."""

    model: Any
    asked: Asked
    said: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]
    truth: NDArray[np.float64]

    @classmethod
    def of(cls, model: Any, test: og.EmbeddingSet) -> Read:
        """Let a model read a test set."""
        asked = model._look(test.unlabelled()).asked
        truth = rate_to_quantiles(og.OperatingCurve.from_labels(test).tpr)
        return cls(model, asked, model.readout_.read(asked, model.reference_), truth)

    def error(self) -> float:
        """Return the error of the quantiles with the constants of the moment, over D_cal's."""
        reference = self.model.reference_
        found = self.model.readout_.judge(*self.said, reference, self.asked)
        both = found.quantiles, reference.quantiles
        wrong, hard = (np.abs(q - self.truth).mean() for q in both)
        return float(wrong / hard)


def kinds(name: str) -> Iterator[tuple[str, Setting]]:
    """Yield the settings of a data set, corruptions under one name."""
    for setting in standard_settings(name):
        if setting.scenario != "ablation":
            yield "corruptions" if setting.scenario == "shiftdist" else setting.test, setting


def parts(test: og.EmbeddingSet, split: int) -> Iterator[og.EmbeddingSet]:
    """Yield a test set, 500 of its rows, and five of its classes."""
    rng = np.random.default_rng(split)
    yield test
    yield test.subset(np.sort(rng.choice(len(test), 500, replace=False)))
    yield test.subset(np.isin(test.codes, rng.permutation(test.codes.max() + 1)[:5]))


def reads(path: Path | None, name: str, splits: int, models: Path) -> Iterator[list[Read]]:
    """Yield what is read of each test set of a data set, over its splits."""
    data = open_data(path)
    for _, setting in kinds(name):
        found: dict[int, list[Read]] = {}
        for split in range(min(splits, data.most_splits(setting.test) or splits)):
            train, cal, test = data.sets(setting, split)
            model = fit_or_load(train, cal, models / f"{name}-{split}.ogcn")
            for k, part in enumerate(parts(test, split)):
                found.setdefault(k, []).append(Read.of(model, part))
        yield from found.values()


def read_families(data: Path, splits: int, models: Path) -> dict[str, list[list[Read]]]:
    """Return what is read of each family: test sets, each whole, by rows and by classes."""
    return {
        family: [
            test
            for name in names
            for test in reads(
                data / f"{name}.npz" if name else None, name or "glyphs", splits, models
            )
        ]
        for family, names in FAMILIES.items()
    }


def scores(families: dict[str, list[list[Read]]]) -> dict[tuple[float, ...], dict[str, float]]:
    """Return the score of each family under all constants of the grid."""
    found = {}
    points = list(product(*GRID.values()))
    with progress_bar("Constants", len(points)) as advance:
        for point in points:
            with ExitStack() as stack:
                for (module, name), value in zip(GRID, point, strict=True):
                    stack.enter_context(patch.object(module, name, value))
                found[point] = {
                    family: float(np.mean([np.mean([r.error() for r in test]) for test in tests]))
                    for family, tests in families.items()
                }
            advance(1)
    return found


def main() -> None:
    """Choose constants without each data set in turn, and print a table."""
    given = arguments(__doc__, splits=8)
    families = read_families(given.data, given.splits, given.models)
    found = scores(families)
    own = tuple(getattr(module, name) for module, name in GRID)
    names = ", ".join(name for _, name in GRID)
    print(f"| left out | chosen on the others | as it is | best there | {names} |")
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

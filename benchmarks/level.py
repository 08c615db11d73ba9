"""How well the directions in which a set varies tell how far apart class mates are.

    python benchmarks/level.py --data FOLDER --splits 8

For each test set: the mean difference of its same-class distances from D_cal's; what
`opengcn.rehearsal.level` says of it; and how far that is off, over how far D_cal is: as it is, if
everything along an axis were weaker (0), and if class means alone were (1); of 500 rows and of five
classes as it is.
Nothing is fitted but the axes of D_train, and no prior is given. Means over splits.
"""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import patch

import numpy as np
from leave_one_out import FAMILIES, parts
from models import arguments
from numpy.typing import NDArray

import opengcn as og
from opengcn.rehearsal import level
from opengcn.rehearsal.level import Level
from opengcn.rehearsal.reference import Reference, rate_to_quantiles, reference_curve
from opengcn.rehearsal.worlds import World
from opengcn.scenarios.data import open_data
from opengcn.scenarios.definitions import Setting, standard_settings

AT = (level.MEANS_ALONE, 0.0, 1.0)


def levels(world: World) -> list[Level]:
    """Return what D_train tells, for each of `AT`."""
    found = []
    for part in AT:
        with patch.object(level, "MEANS_ALONE", part):
            found.append(Level.learn(world))
    return found


def said(learned: list[Level], cal: og.EmbeddingSet, test: og.EmbeddingSet) -> list[float]:
    """Return the true difference, and what each level says."""
    rng = np.random.default_rng(0)
    reference = Reference.of(cal, reference_curve(cal, rng), rng)
    truth = rate_to_quantiles(og.OperatingCurve.from_labels(test).tpr)
    rows = rng.permutation(len(test))[:4096]
    nodes = np.asarray(test.take(np.sort(rows)), np.float32)
    return [
        float((truth - reference.quantiles).mean()),
        *(one.of(nodes, reference) or 0.0 for one in learned),
    ]


def kinds(name: str | None) -> Iterator[tuple[str, Setting]]:
    """Yield the settings of a data set, corruptions under one name."""
    for setting in standard_settings(name or "glyphs"):
        if setting.scenario != "ablation":
            yield "corruptions" if setting.scenario == "shiftdist" else setting.test, setting


def off(rows: list[list[float]]) -> NDArray[np.float64]:
    """Return how far each level is off, over how far D_cal is."""
    table = np.array(rows)
    wrong = np.abs(table[:, 1:] - table[:, :1]).mean(0)
    return np.asarray(wrong / np.abs(table[:, 0]).mean())


def main() -> None:
    """Print the table."""
    given = arguments(__doc__, splits=8)
    print("| test set | true | said | off, over D_cal | 0 | 1 | 500 rows | five classes |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for name in (name for names in FAMILIES.values() for name in names):
        data = open_data(given.data / f"{name}.npz" if name else None)
        learned: tuple[og.EmbeddingSet | None, list[Level]] = (None, [])
        found: dict[str, list[list[list[float]]]] = {}  # by kind: splits of three parts each
        for kind, setting in kinds(name):
            most = data.most_splits(setting.test) or given.splits
            for split in range(min(given.splits, most)):
                train, cal, test = data.sets(setting, split)
                if train is not learned[0]:  # of some data sets each split has its own
                    learned = train, levels(World.of(train, np.random.default_rng(0)))
                each = [said(learned[1], cal, part) for part in parts(test, split)]
                found.setdefault(kind, []).append(each)
        for kind, splits in found.items():
            whole, rows, classes = zip(*splits, strict=True)
            true, level_said, *_ = np.mean(whole, 0)
            ratios = (*off(list(whole)), off(list(rows))[0], off(list(classes))[0])
            cells = " | ".join(f"{x:.2f}" for x in ratios)
            label = f"{name or 'glyphs'}, {kind}"
            print(f"| {label} | {true:+.3f} | {level_said:+.3f} | {cells} |", flush=True)


if __name__ == "__main__":
    main()

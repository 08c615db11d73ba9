"""How well the directions in which a set varies tell how far apart class mates are.

    python benchmarks/level.py --data FOLDER --splits 8

For each test set: the mean difference of its same-class distances from D_cal's; how far what
`opengcn.rehearsal.level` says of it is off, over how far D_cal is, if everything along an axis is
weaker (0), if class means alone are (1), and half-way; of 500 rows and of five classes half-way, or
at 1 where something has shifted, as it is used; and the error that it is believed to have after a
shift, over D_cal's distances.
Nothing is fitted but the axes of D_train, and no prior is given. Means over splits.
"""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
from leave_one_out import FAMILIES, kinds, parts
from models import arguments
from numpy.typing import NDArray

import opengcn as og
from opengcn.rehearsal import level
from opengcn.rehearsal.level import Level, Said
from opengcn.rehearsal.reference import Reference, rate_to_quantiles, reference_curve
from opengcn.rehearsal.worlds import World
from opengcn.scenarios.data import open_data

AT = (0.0, level.STILL, level.MOVED)
SHIFTED = ("corruptions", "sketch", "other")  # kinds of sets that have shifted


def levels(world: World) -> list[Level]:
    """Return what D_train tells, for each of `AT`."""
    found = []
    for part in AT:
        with patch.object(level, "STILL", part):
            found.append(Level.learn(world))
    return found


def said(learned: list[Level], cal: og.EmbeddingSet, test: og.EmbeddingSet) -> list[float]:
    """Return the true difference, what each level says, and the error that it would have."""
    rng = np.random.default_rng(0)
    reference = Reference.of(cal, reference_curve(cal, rng), rng)
    truth = rate_to_quantiles(og.OperatingCurve.from_labels(test).tpr)
    rows = rng.permutation(len(test))[:4096]
    nodes = np.asarray(test.take(np.sort(rows)), np.float32)
    each = [one.of(nodes, reference) or Said(0.0, 0.0, 0.0) for one in learned]
    true = float((truth - reference.quantiles).mean())
    return [true, *(one.still for one in each), each[AT.index(level.STILL)].error]


def off(rows: list[list[float]]) -> NDArray[np.float64]:
    """Return how far each level is off, over how far D_cal is."""
    table = np.array(rows)
    wrong = np.abs(table[:, 1:-1] - table[:, :1]).mean(0)
    return np.asarray(wrong / np.abs(table[:, 0]).mean())


def main() -> None:
    """Print the table."""
    given = arguments(__doc__, splits=8)
    print("| test set | true | 0 | 0.5 | 1 | 500 rows | five classes | error |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for name in (name for names in FAMILIES.values() for name in names):
        data = open_data(given.data / f"{name}.npz" if name else None)
        learned: tuple[og.EmbeddingSet | None, list[Level]] = (None, [])
        found: dict[str, list[list[list[float]]]] = {}  # by kind: splits of three parts each
        for kind, setting in kinds(name or "glyphs"):
            most = data.most_splits(setting.test) or given.splits
            for split in range(min(given.splits, most)):
                train, cal, test = data.sets(setting, split)
                if train is not learned[0]:  # of some data sets each split has its own
                    learned = train, levels(World.of(train, np.random.default_rng(0)))
                each = [said(learned[1], cal, part) for part in parts(test, split)]
                found.setdefault(kind, []).append(each)
        for kind, splits in found.items():
            whole, rows, classes = zip(*splits, strict=True)
            true, *_, error = np.mean(whole, 0)
            used = level.MOVED if kind in SHIFTED else level.STILL
            small = (off(list(part))[AT.index(used)] for part in (rows, classes))
            cells = " | ".join(f"{x:.2f}" for x in (*off(list(whole)), *small, error))
            print(f"| {name or 'glyphs'}, {kind} | {true:+.3f} | {cells} |", flush=True)


if __name__ == "__main__":
    main()

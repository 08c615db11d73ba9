"""Does the default OpenGCN hold where data is scarce or strange? MAE_comb beside the hard baseline.

    python benchmarks/robustness.py --data FOLDER

On CUB, Cars and Omniglot, four class splits each: D_cal of two classes; test sets of 50 rows;
every row of the test set ten times; a test set that is D_cal itself. Fitted models are kept in
--models and shared with benchmarks/leave_one_out.py.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from models import fit_or_load
from packs import load_pack

import opengcn as og

SETS = ("cub", "cars", "omniglot")
Case = tuple[str, og.EmbeddingSet, og.EmbeddingSet, str]


def cases(
    train: og.EmbeddingSet, cal: og.EmbeddingSet, test: og.EmbeddingSet, split: int
) -> Iterator[Case]:
    """Yield a name, D_cal, D_test and what to call the model of each case."""
    rng = np.random.default_rng(split)
    yield "as it is", cal, test, ""
    two = cal.subset(np.isin(cal.codes, rng.permutation(cal.codes.max() + 1)[:2]))
    yield "2 classes in D_cal", two, test, "-two"
    few = test.subset(np.sort(rng.choice(len(test), 50, replace=False)))
    yield "50 rows", cal, few, ""
    some = test.subset(np.sort(rng.choice(len(test), 1500, replace=False)))
    yield "10 x each row", cal, some.subset(np.repeat(np.arange(len(some)), 10)), ""
    yield "D_test = D_cal", cal, og.EmbeddingSet(cal.embeddings, cal.labels, label_space="2nd"), ""


def main() -> None:
    """Run every case and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the packs")
    parser.add_argument("--splits", type=int, default=4)
    parser.add_argument("--models", type=Path, default=Path("benchmarks/results/models"))
    given = parser.parse_args()
    warnings.simplefilter("ignore", og.OpenGCNWarning)
    print("| set | case | OpenGCN | hard | worst - hard |\n|---|---|---:|---:|---:|")
    for name in SETS:
        train, open_world = load_pack(given.data / f"{name}.npz")
        found: dict[str, list[tuple[float, float]]] = {}
        for split in range(given.splits):
            for case, cal, test, mark in cases(train, *open_world.split_classes(0.1, split), split):
                path = given.models / f"{name}-{split}{mark}.ogcn"
                model = fit_or_load(train, cal, path)
                truth = og.OperatingCurve.from_labels(test)
                hard = og.SplitCurve().fit(train, cal).estimate(test.unlabelled())
                errors = model.estimate(test.unlabelled()).mae(truth), hard.mae(truth)
                found.setdefault(case, []).append(errors)
        for case, rows in found.items():
            own, hard_error = np.array(rows).T
            print(
                f"| {name} | {case} | {own.mean():.4f} | {hard_error.mean():.4f} "
                f"| {(own - hard_error).max():+.4f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()

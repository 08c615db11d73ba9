"""Does the default OpenGCN hold where data is scarce or strange? MAE_comb beside the hard baseline.

    python benchmarks/robustness.py --data FOLDER

On CUB, Cars, Omniglot and from dogs to birds, four class splits each: D_cal of two classes; test
sets of few rows of many classes, and of few classes; every row of the test set ten times; a test
set that is D_cal itself. Fitted models are kept in --models and shared with
benchmarks/leave_one_out.py.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from models import arguments, fit_or_load

import opengcn as og
from opengcn.scenarios.data import open_data
from opengcn.scenarios.definitions import standard_settings

SETS = ("cub", "cars", "omniglot", "cross_dogs_to_cub")
Case = tuple[str, og.EmbeddingSet, og.EmbeddingSet, str]


def cases(cal: og.EmbeddingSet, test: og.EmbeddingSet, split: int) -> Iterator[Case]:
    """Yield a name, D_cal, D_test and what to call the model of each case."""
    rng = np.random.default_rng(split)
    yield "as it is", cal, test, ""
    two = cal.subset(np.isin(cal.codes, rng.permutation(cal.codes.max() + 1)[:2]))
    yield "2 classes in D_cal", two, test, "-two"
    for n in (50, 200, 500, 1000):
        few = test.subset([0])
        while np.bincount(few.codes).max() < 2:  # without a pair there is no truth
            few = test.subset(np.sort(rng.choice(len(test), n, replace=False)))
        yield f"{n:,} rows", cal, few, ""
    for n in (2, 5, 20):
        chosen = rng.permutation(test.codes.max() + 1)[:n]
        yield f"{n} classes", cal, test.subset(np.isin(test.codes, chosen)), ""
    some = test.subset(np.sort(rng.choice(len(test), 1500, replace=False)))
    yield "10 x each row", cal, some.subset(np.repeat(np.arange(len(some)), 10)), ""
    yield "D_test = D_cal", cal, og.EmbeddingSet(cal.embeddings, cal.labels, label_space="2nd"), ""


def main() -> None:
    """Run every case and print a table."""
    given = arguments(__doc__)
    print("| set | case | OpenGCN | hard | worst - hard |\n|---|---|---:|---:|---:|")
    for name in SETS:
        data = open_data(given.data / f"{name}.npz")
        setting = standard_settings(name)[0]
        found: dict[str, list[tuple[float, float]]] = {}
        for split in range(given.splits):
            train, whole_cal, whole_test = data.sets(setting, split)
            for case, cal, test, mark in cases(whole_cal, whole_test, split):
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

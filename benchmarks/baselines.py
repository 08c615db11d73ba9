"""Compare the baselines on real embeddings, over random class splits.

    python benchmarks/baselines.py --data FOLDER                       # CUB and Cars, 8 splits
    python benchmarks/baselines.py --data FOLDER --sets cub --splits 2 --methods SplitCurve

FOLDER holds .npz packs with the arrays `E` (embeddings), `y` (labels) and `train` (mask of
the classes that the embedder has seen). The other classes are split at random, by class,
into 10 % for D_cal and 90 % for D_test.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

import opengcn as og
from opengcn.calibrators.base import Calibrator

METHODS: dict[str, Calibrator] = {
    "PlattScaling": og.PlattScaling(),
    "BetaCalibration": og.BetaCalibration(),
    "IsotonicCalibration": og.IsotonicCalibration(),
    "HistogramCalibration": og.HistogramCalibration(),
    "DBSCANCalibration": og.DBSCANCalibration(),
    "HiLander": og.HiLander(),
    "SplitCurve": og.SplitCurve(),
}


def load(path: Path) -> tuple[og.EmbeddingSet, og.EmbeddingSet]:
    """Return D_train and the open-world set of a pack."""
    data = og.EmbeddingSet.load(path)
    with np.load(path) as pack:
        train = pack["train"]
    return data.subset(train), data.subset(~train)


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the packs")
    parser.add_argument("--sets", nargs="+", default=["cub", "cars"])
    parser.add_argument("--splits", type=int, default=8)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    given = parser.parse_args()

    methods = {name: METHODS[name] for name in given.methods}
    results, pages = {}, []
    for name in given.sets:
        train, open_world = load(given.data / f"{name}.npz")
        result = og.compare_splits(methods, train, open_world, splits=given.splits)
        print(f"\n{name}, {given.splits} class splits\n{result}", flush=True)
        results[name] = json.loads(result.to_json())
        pages.append(f"### {name}\n\n{result.to_markdown()}\n")
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "baselines.json").write_text(json.dumps(results, indent=1) + "\n")
    (given.out / "baselines.md").write_text("\n".join(pages))


if __name__ == "__main__":
    main()

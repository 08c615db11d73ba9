"""Compare calibrators on real embeddings, over random class splits.

    python benchmarks/methods.py --data FOLDER --group baselines    # CUB and Cars, 8 splits
    python benchmarks/methods.py --data FOLDER --group paper --sets cub --splits 2

Groups: `baselines` (the six of the paper, and SplitCurve), `paper` (OpenGCN as the paper has
it, before and after fine-tuning), `losses` (its loss ablation, with the control that shows
that the two density losses are one).

FOLDER holds .npz packs with the arrays `E` (embeddings), `y` (labels) and `train` (mask of
the classes that the embedder has seen). The other classes are split at random, by class,
into 10 % for D_cal and 90 % for D_test.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from packs import load_pack

import opengcn as og
from opengcn.calibrators.base import Calibrator
from opengcn.graph.losses import LossWeights

CONNECTIVITY_ONLY = LossWeights(1, 0, 0)

GROUPS: dict[str, dict[str, Calibrator]] = {
    "baselines": {
        "PlattScaling": og.PlattScaling(),
        "BetaCalibration": og.BetaCalibration(),
        "IsotonicCalibration": og.IsotonicCalibration(),
        "HistogramCalibration": og.HistogramCalibration(),
        "DBSCANCalibration": og.DBSCANCalibration(),
        "HiLander": og.HiLander(),
        "SplitCurve": og.SplitCurve(),
    },
    "paper": {
        "SplitCurve": og.SplitCurve(),
        "OpenGCN (PT)": og.OpenGCN("paper", finetune=False),
        "OpenGCN (PT+FT)": og.OpenGCN("paper"),
    },
    "losses": {
        "connectivity": og.OpenGCN("paper", loss=CONNECTIVITY_ONLY),
        "+ 10 average": og.OpenGCN("paper", loss=LossWeights(1, 10, 0)),
        "+ 10 neighbour": og.OpenGCN("paper", loss=LossWeights(1, 0, 10)),
        "+ 40 average (= 10 neighbour)": og.OpenGCN("paper", loss=LossWeights(1, 40, 0)),
        "+ 10 (average + neighbour)": og.OpenGCN("paper"),
    },
}


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the packs")
    parser.add_argument("--sets", nargs="+", default=["cub", "cars"])
    parser.add_argument("--splits", type=int, default=8)
    parser.add_argument("--group", default="baselines", choices=list(GROUPS))
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    given = parser.parse_args()

    results, pages = {}, []
    for name in given.sets:
        train, open_world = load_pack(given.data / f"{name}.npz")
        result = og.compare_splits(GROUPS[given.group], train, open_world, splits=given.splits)
        print(f"\n{name}, {given.splits} class splits\n{result}", flush=True)
        results[name] = json.loads(result.to_json())
        pages.append(f"### {name}\n\n{result.to_markdown()}\n")
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / f"{given.group}.json").write_text(json.dumps(results, indent=1) + "\n")
    (given.out / f"{given.group}.md").write_text("\n".join(pages))


if __name__ == "__main__":
    main()

"""Time the four inductive baselines against the two exact curves that they need.

python benchmarks/inductive.py                      # vectors made on the spot
python benchmarks/inductive.py --data FOLDER        # CUB
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

from packs import load_pack

import opengcn as og
from opengcn.memo import exact_curve

METHODS = (
    og.PlattScaling,
    og.BetaCalibration,
    og.IsotonicCalibration,
    og.HistogramCalibration,
)


def seconds(job: Callable[[], object]) -> float:
    """Return how long a job takes."""
    begin = time.perf_counter()
    job()
    return time.perf_counter() - begin


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder of the packs")
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    if given.data:
        train, rest = load_pack(given.data / "cub.npz")
    else:
        train, rest = og.datasets.synthetic(200, 60, 128).split_classes(0.5)
    curves, maps, ratios = [], [], []
    for _ in range(given.repeats + 1):  # the first compiles and imports
        fresh = train.subset(range(len(train)))  # a new set: nothing is remembered of it
        cal, test = rest.split_classes(0.1)
        curves.append(seconds(lambda: (exact_curve(fresh), exact_curve(cal))))  # noqa: B023
        maps.append(
            seconds(lambda: [m().fit(fresh, cal).estimate(test) for m in METHODS])  # noqa: B023
        )
        ratios.append((curves[-1] + maps[-1]) / curves[-1])
    best = min(range(1, given.repeats + 1), key=lambda i: curves[i] + maps[i])
    print(
        f"{len(train):,} + {len(cal):,} rows: two exact curves {1000 * curves[best]:.1f} ms, "
        f"four maps fitted and applied {1000 * maps[best]:.1f} ms; "
        f"all together {ratios[best]:.2f} x the curves"
    )


if __name__ == "__main__":
    main()

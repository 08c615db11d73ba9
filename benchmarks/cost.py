"""Time and memory of a fit and of estimates, for one preset of OpenGCN.

    python benchmarks/cost.py --data FOLDER --preset paper
    python benchmarks/cost.py --data FOLDER --preset default

FOLDER holds cub.npz. One preset a process: the peak is the process's.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings
from itertools import pairwise
from pathlib import Path

from packs import load_pack

import opengcn as og


def main() -> None:
    """Fit on CUB, estimate its test set and 1,000 rows of it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the packs")
    parser.add_argument("--preset", default="default", choices=["default", "paper"])
    given = parser.parse_args()
    warnings.simplefilter("ignore", og.OpenGCNWarning)
    train, open_world = load_pack(given.data / "cub.npz")
    cal, test = open_world.split_classes(0.1, 0)
    times = [time.perf_counter()]
    model = og.OpenGCN(given.preset).fit(train, cal)
    times.append(time.perf_counter())
    model.estimate(test.unlabelled())
    times.append(time.perf_counter())
    model.estimate(test.embeddings[:1000])
    times.append(time.perf_counter())
    fit, whole, part = (b - a for a, b in pairwise(times))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{given.preset}: fit {fit:.0f} s, estimate {whole:.2f} s ({len(test):,} rows) and "
        f"{part:.2f} s (1,000 rows), peak {peak:.0f} MB"
    )


if __name__ == "__main__":
    main()

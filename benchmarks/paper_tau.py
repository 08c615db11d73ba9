"""Where the error of the paper's preset comes from: tau, or the connectivity.

    python benchmarks/paper_tau.py --data FOLDER --sets cub cars --splits 8

For each split: the tau chosen on D_cal and its MAE_comb on D_test, beside the best tau that
the test set's labels could have chosen. A small best error says that the connectivity was
good and tau wrong; a large one, that no tau would have helped. A diagnosis: it needs labels.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from packs import load_pack

import opengcn as og
from opengcn.calibrators.paper import PaperOpenGCN
from opengcn.graph.inference import score_rows
from opengcn.graph.tau import TAUS, PairTable, tau_errors

GRAPHS = 200  # sub-graphs of D_test that are scored


def test_errors(model: PaperOpenGCN, test: og.EmbeddingSet) -> NDArray[np.float64]:
    """Return MAE_comb on D_test of each candidate of tau."""
    rng, table = np.random.default_rng(0), PairTable()
    for _ in range(GRAPHS):
        rows = rng.choice(len(test), min(model.sampling.nodes, len(test)), replace=False)
        similarity, logits = score_rows(model.network_, test.take(rows))
        table.add(similarity, logits, test.codes[rows], np.ones(len(rows), bool))
    return tau_errors([table])


def main() -> None:
    """Print a line a split."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the packs")
    parser.add_argument("--sets", nargs="+", default=["cub", "cars"])
    parser.add_argument("--splits", type=int, default=8)
    given = parser.parse_args()
    warnings.simplefilter("ignore", og.OpenGCNWarning)
    print("| set | split | tau | error at it | best tau | best error | error on D_cal |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name in given.sets:
        train, open_world = load_pack(given.data / f"{name}.npz")
        for split in range(given.splits):
            cal, test = open_world.split_classes(0.1, split)
            model = PaperOpenGCN().fit(train, cal)
            errors = test_errors(model, test)
            chosen = int(np.nanargmin(model.tau_errors_))
            best = int(np.nanargmin(errors))
            print(
                f"| {name} | {split} | {TAUS[chosen]:.4f} | {errors[chosen]:.4f} "
                f"| {TAUS[best]:.4f} | {errors[best]:.4f} | {model.tau_errors_[chosen]:.4f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()

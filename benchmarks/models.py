"""Fitted models that benchmarks keep and share, and how these are asked for."""

from __future__ import annotations

import argparse
import warnings
from contextlib import suppress
from pathlib import Path

import opengcn as og

__all__ = ["arguments", "fit_or_load"]


def fit_or_load(train: og.EmbeddingSet, cal: og.EmbeddingSet, path: Path) -> og.OpenGCN:
    """Return the default model of D_train and D_cal, from `path` when it is there already.

    Delete the file when what `fit` does has changed; one of another format is fitted again.
    """
    with suppress(og.OpenGCNError):
        return og.load(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    og.OpenGCN().fit(train, cal).save(path)
    return og.load(path)


def arguments(about: str | None, splits: int = 4) -> argparse.Namespace:
    """Return what the command line asks for: data, splits and models; warnings are silenced."""
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the packs")
    parser.add_argument("--splits", type=int, default=splits)
    parser.add_argument("--models", type=Path, default=Path("benchmarks/results/models"))
    warnings.simplefilter("ignore", og.OpenGCNWarning)
    return parser.parse_args()

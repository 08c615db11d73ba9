"""Fitted models that benchmarks keep and share."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import opengcn as og

__all__ = ["fit_or_load"]


def fit_or_load(train: og.EmbeddingSet, cal: og.EmbeddingSet, path: Path) -> og.OpenGCN:
    """Return the default model of D_train and D_cal, from `path` when it is there already.

    Delete the file when what `fit` does has changed; one of another format is fitted again.
    """
    with suppress(og.OpenGCNError):
        return og.load(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    og.OpenGCN().fit(train, cal).save(path)
    return og.load(path)

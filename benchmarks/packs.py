"""Packs of real embeddings: .npz with `E`, `y` and `train`, the mask of classes seen."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import opengcn as og

__all__ = ["load_pack"]


def load_pack(path: Path) -> tuple[og.EmbeddingSet, og.EmbeddingSet]:
    """Return D_train and the open-world set of a pack."""
    data = og.EmbeddingSet.load(path)
    with np.load(path) as pack:
        train = pack["train"]
    return data.subset(train), data.subset(~train)

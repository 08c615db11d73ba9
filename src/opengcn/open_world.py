"""The open-world condition: D_train, D_cal and D_test have no class in common."""

from __future__ import annotations

import numpy as np

from opengcn.embeddings import EmbeddingSet
from opengcn.errors import DataError
from opengcn.labels import shared_labels

__all__ = ["check_open_world"]


def check_open_world(
    train: EmbeddingSet, cal: EmbeddingSet, test: EmbeddingSet | None = None
) -> None:
    """Check that sets fit each other: one dimension, labels where needed, no shared class.

    Parameters
    ----------
    train, cal : EmbeddingSet
        Labelled; each with two classes or more, one of which has two rows or more.
    test : EmbeddingSet, optional
        Its labels, if it has any, are compared with those of sets in the same
        `label_space` only.
    """
    for one in (train, cal):
        _check_classes(one)
    others = [cal] if test is None else [cal, test]
    for one in others:
        if one.dim != train.dim:
            raise DataError(
                f"{one.source}: expected dimension {train.dim} as in {train.source}, "
                f"received {one.dim}"
            )
    _check_disjoint(train, cal, "D_train", "D_cal")
    if test is not None:
        _check_disjoint(train, test, "D_train", "D_test")
        _check_disjoint(cal, test, "D_cal", "D_test")


def _check_classes(one: EmbeddingSet) -> None:
    _, counts = np.unique(one.require_labels(), return_counts=True)
    if len(counts) < 2:
        raise DataError(f"{one.source}: expected two classes or more, received {len(counts)}")
    if counts.max() < 2:
        raise DataError(
            f"{one.source}: expected a class with two rows or more (a positive pair), "
            f"received {len(counts)} classes of one row each"
        )


def _check_disjoint(a: EmbeddingSet, b: EmbeddingSet, a_name: str, b_name: str) -> None:
    if a.labels is None or b.labels is None or a.label_space != b.label_space:
        return
    shared = shared_labels(a.labels, b.labels)
    if shared:
        shown = ", ".join(map(repr, shared[:3])) + (", ..." if len(shared) > 3 else "")
        raise DataError(
            f"{b.source}: expected classes of {b_name} that are not in {a_name}, received "
            f"{len(shared)} shared ({shown}); if these are other classes under the same names, "
            f"give the sets different label_space"
        )

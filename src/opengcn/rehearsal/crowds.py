"""Crowds: rows of D_train as a test set might have them, nothing shifted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from opengcn.rehearsal.episodes import NODES
from opengcn.rehearsal.shifts import log_uniform
from opengcn.rehearsal.worlds import World

__all__ = ["draw_crowd"]

FEWEST = 40  # rows
UNEQUAL = 0.5  # of crowds are of classes that are thinned each by another part

Ints = NDArray[np.int64]


def draw_crowd(world: World, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Draw rows of some or all classes, whole or thinned.

    Parameters
    ----------
    world : World
        D_train.
    rng : Generator
        Source of randomness.

    Returns
    -------
    rows, labels : ndarray of shape (n,), ndarray of shape (n,)
        Numbers of rows, at most 4,096, in random order, and their classes.
    """
    members = world.members
    for _ in range(20):
        count = len(members) if rng.random() < 0.5 else log_uniform(rng, 3, max(len(members), 3))
        classes = rng.permutation(len(members))[:count]
        part = np.ones(len(classes))
        if rng.random() < 0.7:
            part *= np.exp(rng.uniform(np.log(0.05), 0))
        if rng.random() < UNEQUAL:
            part *= np.exp(rng.random() * rng.standard_normal(len(classes)))
        rows = np.concatenate([members[c] for c in classes])
        labels = np.repeat(np.arange(len(classes)), [len(members[c]) for c in classes])
        kept = rng.permutation(np.flatnonzero(rng.random(len(rows)) < part[labels]))[:NODES]
        if len(kept) >= FEWEST and np.bincount(labels[kept]).max() > 1:
            return rows[kept], labels[kept]
    everything = np.concatenate(members)
    labels = np.repeat(np.arange(len(members)), [len(m) for m in members])
    kept = rng.permutation(len(everything))[:NODES]
    return everything[kept], labels[kept]

"""Episodes: a rehearsed calibration set and a rehearsed test set, made from D_train."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from opengcn.rehearsal.shifts import draw_likeness, draw_shift, log_uniform, on_the_sphere
from opengcn.rehearsal.worlds import World

__all__ = ["NODES", "Episode", "Kind", "at_most", "draw_episode"]

NODES = 4096  # of the largest test graph
FEWEST = 40  # of the smallest
HARD, HARDEST = 0.8, 3.0  # how often a shift leaves hard rows, if it may, and how hard at most
GAP, SHIFTED = 0.65, 0.6  # how often the open world differs from D_train, and D_test from D_cal
LIKENESS = 0.8  # how often strangers have more in common, where nothing shifts

Kind = Literal["mild", "hard", "still"]

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Episode:
    """Two labelled sets of disjoint classes.

    Attributes
    ----------
    cal, test : ndarray of shape (m, D), (n, D)
        Unit vectors.
    cal_labels, test_labels : ndarray of shape (m,), (n,)
        Their classes, 0, 1, ... in each.
    """

    cal: Floats
    cal_labels: Ints
    test: Floats
    test_labels: Ints


def draw_episode(
    world: World, rng: np.random.Generator, *, gap: bool = True, kind: Kind = "mild"
) -> Episode:
    """Draw an episode.

    Classes of D_train are divided between the two sets. The test set has from a handful to
    thousands of classes, of equal, log-normal or Zipf sizes; beyond the classes of D_train
    it takes mirror images of them. Both sets go through the gap to the open world, the
    test set alone through a further shift.

    Parameters
    ----------
    world : World
        D_train, or D_cal.
    rng : Generator
        Source of randomness.
    gap : bool, default True
        Whether there may be a gap: not when the world is an open one already, as D_cal is.
    kind : {"mild", "hard", "still"}, default "mild"
        In a hard one a shift may hit rows unevenly and leave those that look like another
        class. In a still one there is no shift, and the gap may make strangers alike.

    Returns
    -------
    episode : Episode
        The episode; classes may turn out smaller than drawn when D_train has no more rows.
    """
    classes = rng.permutation(len(world.members))
    count = log_uniform(rng, 2, max(3, min(len(classes) // 3, 40)))
    cal, rest = classes[:count], classes[count:]
    # With hardly any class left for the test set, take mirror images of all.
    parents_pool, first = (rest, 0) if len(rest) >= 2 else (classes, 1)
    per_class = log_uniform(rng, 8, 80)
    cal_rows = [rng.permutation(world.members[c])[:per_class] for c in cal]

    nodes = NODES if rng.random() < 0.5 else log_uniform(rng, FEWEST, NODES)
    sizes = _class_sizes(world, nodes, rng)
    copies = -(-len(sizes) // len(parents_pool))
    parents = np.concatenate([rng.permutation(parents_pool) for _ in range(copies)])[: len(sizes)]
    copy = np.repeat(np.arange(copies) + first, len(parents_pool))[: len(sizes)]
    hard = kind == "hard"
    shifted = kind != "still" and rng.random() < SHIFTED
    hardness = HARDEST * rng.random() if hard and shifted and rng.random() < HARD else 0.0
    rows = [_rows_of(world, p, s, hardness, rng) for p, s in zip(parents, sizes, strict=True)]

    cal_labels, test_labels = _labels(cal_rows), _labels(rows)
    known = world.images[np.concatenate(cal_rows)] + world.centre
    test = _mirrored(world, np.concatenate(rows), copy[test_labels], rng) + world.centre
    test, test_labels = at_most(nodes, test, test_labels, rng)
    split = len(known)
    gaps = [draw_shift(world, rng, gap=True)] if gap and rng.random() < GAP else []
    if gap and kind == "still" and rng.random() < LIKENESS:
        gaps.append(draw_likeness(rng))
    if gaps:  # which both sets meet, so they go through it together
        labels = np.concatenate([cal_labels, test_labels + len(cal)])
        both = np.concatenate([known, test])
        for each in gaps:
            both = each.apply(world, both, labels, rng)
        known, test = both[:split], both[split:]
    if shifted:
        shift = draw_shift(world, rng, gap=False, uneven=hard)
        test = shift.apply(world, test, test_labels, rng)
    return Episode(on_the_sphere(known), cal_labels, on_the_sphere(test), test_labels)


def _rows_of(world: World, c: int, count: int, hardness: float, rng: np.random.Generator) -> Ints:
    """Return rows of a class at random, rather those that look like another class.

    That is what a corrupted image does: where it is, others are, and nothing but its label
    tells that it should not be there. Invented noise shows, and so is easy to see through.
    """
    members = world.members[c]
    if not hardness:
        return rng.permutation(members)[:count]
    count = min(count, max(2, round(len(members) * (1 - 0.2 * hardness))))
    order = np.argsort(hardness * world.ease[members] - rng.gumbel(size=len(members)))
    return members[order][:count]


def _class_sizes(world: World, nodes: int, rng: np.random.Generator) -> Ints:
    """Draw sizes of test classes that add up to about `nodes`."""
    typical = float(np.median([len(m) for m in world.members]))
    # Classes cannot have more rows than D_train's: mostly draw enough of them to fill the graph.
    fewest = max(2, int(nodes / typical / 2)) if rng.random() < 0.7 else 2
    count = log_uniform(rng, fewest, max(fewest + 1, int(nodes / 1.5)))
    kind = rng.random()
    if kind < 0.55:
        share: NDArray[Any] = np.ones(count)
    elif kind < 0.8:
        share = rng.lognormal(0, 0.3 + 0.7 * rng.random(), count)
    else:
        share = np.arange(1, count + 1) ** -(0.3 + 0.9 * rng.random())
    sizes: Ints = np.maximum((share / share.sum() * nodes).round().astype(np.int64), 1)
    return sizes


def _mirrored(world: World, rows: Ints, copy: Ints, rng: np.random.Generator) -> Floats:
    """Return images (n, D); in copies after the first each axis is mirrored or not."""
    images = world.images[rows]
    if copy.max() == 0:
        return images
    signs = rng.choice(np.array([-1, 1], np.float32), (int(copy.max()) + 1, world.dim))
    signs[0] = 1
    return np.asarray(((images @ world.axes) * signs[copy]) @ world.axes.T, np.float32)


def at_most(
    nodes: int, rows: Floats, labels: Ints, rng: np.random.Generator
) -> tuple[Floats, Ints]:
    """Return some rows and labels at random, when there are more; classes stay 0, 1, ..."""
    if len(rows) <= nodes:
        return rows, labels
    kept = rng.permutation(len(rows))[:nodes]
    return rows[kept], np.unique(labels[kept], return_inverse=True)[1]


def _labels(groups: list[Any]) -> Ints:
    return np.repeat(np.arange(len(groups)), [len(g) for g in groups])

"""Episodes: a rehearsed calibration set and a rehearsed test set, made from D_train."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opengcn.rehearsal.shifts import draw_shift, on_the_sphere
from opengcn.rehearsal.worlds import World

__all__ = ["Episode", "draw_episode"]

NODES = 4096  # of the largest test graph
FEWEST = 40  # of the smallest
GAP, SHIFTED = 0.65, 0.6  # how often the open world differs from D_train, and D_test from D_cal

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


def draw_episode(world: World, rng: np.random.Generator) -> Episode:
    """Draw an episode.

    Classes of D_train are divided between the two sets. The test set has from a handful to
    thousands of classes, of equal, log-normal or Zipf sizes; beyond the classes of D_train
    it takes mirror images of them. Both sets go through the gap to the open world, the
    test set alone through a further shift.

    Parameters
    ----------
    world : World
        D_train.
    rng : Generator
        Source of randomness.

    Returns
    -------
    episode : Episode
        The episode; classes may turn out smaller than drawn when D_train has no more rows.
    """
    classes = rng.permutation(len(world.members))
    count = _log_uniform(rng, 2, max(3, min(len(classes) // 3, 40)))
    cal, rest = classes[:count], classes[count:]
    # With hardly any class left for the test set, take mirror images of all.
    parents_pool, first = (rest, 0) if len(rest) >= 2 else (classes, 1)
    per_class = _log_uniform(rng, 8, 80)
    cal_rows = [rng.permutation(world.members[c])[:per_class] for c in cal]

    nodes = NODES if rng.random() < 0.5 else _log_uniform(rng, FEWEST, NODES)
    sizes = _class_sizes(world, nodes, rng)
    copies = -(-len(sizes) // len(parents_pool))
    parents = np.concatenate([rng.permutation(parents_pool) for _ in range(copies)])[: len(sizes)]
    copy = np.repeat(np.arange(copies) + first, len(parents_pool))[: len(sizes)]
    rows = [rng.permutation(world.members[p])[:s] for p, s in zip(parents, sizes, strict=True)]

    cal_labels, test_labels = _labels(cal_rows), _labels(rows)
    means, residuals = _mirrored(world, parents, np.concatenate(rows), copy, test_labels, rng)
    # Both sets meet the same gap, so they go through it together.
    all_means = np.concatenate([world.means[cal], means])
    all_residuals = np.concatenate([world.residuals[np.concatenate(cal_rows)], residuals])
    labels = np.concatenate([cal_labels, test_labels + len(cal)])
    if rng.random() < GAP:
        shift = draw_shift(world, rng, gap=True)
        all_means, all_residuals = shift.apply(world, all_means, all_residuals, labels, rng)
    split = len(cal_labels)
    means, residuals = all_means[len(cal) :], all_residuals[split:]
    moved = rng.random() < SHIFTED
    if moved:
        shift = draw_shift(world, rng, gap=False)
        means, residuals = shift.apply(world, means, residuals, test_labels, rng)
    # The same draws decide how both are put on the sphere, unless the test set has moved.
    seed = rng.integers(2**63)
    cal_seed = np.random.default_rng(seed)
    test_seed = rng if moved else np.random.default_rng(seed)
    test = on_the_sphere(world, means, residuals, test_labels, test_seed, pull=moved)
    return Episode(
        on_the_sphere(
            world, all_means[: len(cal)], all_residuals[:split], cal_labels, cal_seed, pull=False
        ),
        cal_labels,
        *_at_most(nodes, test, test_labels, rng),
    )


def _class_sizes(world: World, nodes: int, rng: np.random.Generator) -> Ints:
    """Draw sizes of test classes that add up to about `nodes`."""
    typical = float(np.median([len(m) for m in world.members]))
    # Classes cannot have more rows than D_train's: mostly draw enough of them to fill the graph.
    fewest = max(2, int(nodes / typical / 2)) if rng.random() < 0.7 else 2
    count = _log_uniform(rng, fewest, max(fewest + 1, int(nodes / 1.5)))
    kind = rng.random()
    if kind < 0.55:
        share: NDArray[Any] = np.ones(count)
    elif kind < 0.8:
        share = rng.lognormal(0, 0.3 + 0.7 * rng.random(), count)
    else:
        share = np.arange(1, count + 1) ** -(0.3 + 0.9 * rng.random())
    sizes: Ints = np.maximum((share / share.sum() * nodes).round().astype(np.int64), 1)
    return sizes


def _mirrored(
    world: World,
    parents: Ints,
    rows: Ints,
    copy: Ints,
    labels: Ints,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Return class means and residuals; copies after the first are mirrored at random axes."""
    means, residuals = world.means[parents], world.residuals[rows]
    if copy[-1] == 0:
        return means, residuals
    signs = rng.choice(np.array([-1, 1], np.float32), (int(copy[-1]) + 1, world.dim))
    signs[0] = 1
    means = ((means @ world.axes) * signs[copy]) @ world.axes.T
    residuals = ((residuals @ world.axes) * signs[copy[labels]]) @ world.axes.T
    return means, residuals


def _at_most(
    nodes: int, rows: Floats, labels: Ints, rng: np.random.Generator
) -> tuple[Floats, Ints]:
    if len(rows) <= nodes:
        return rows, labels
    kept = rng.permutation(len(rows))[:nodes]
    return rows[kept], labels[kept]


def _labels(groups: list[Any]) -> Ints:
    return np.repeat(np.arange(len(groups)), [len(g) for g in groups])


def _log_uniform(rng: np.random.Generator, low: int, high: int) -> int:
    """Draw a whole number from low to high, small ones as often as large ones."""
    return int(np.exp(rng.uniform(np.log(low), np.log(high + 1))))

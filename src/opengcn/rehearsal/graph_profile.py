"""What a graph of unlabelled embeddings shows: distances to neighbours, shared neighbours.

Distances are relative to the mean distance of the graph: on shifted sets relative profiles
keep their meaning, absolute ones do not. The cost is linear in the number of nodes, since
only `ANCHORS` nodes and their five neighbours are looked at from.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "SHARED",
    "Described",
    "GraphProfile",
    "distances",
    "profile_graph",
    "rank_profile",
    "reach_of",
]

ANCHORS = 256
NEIGHBOURS = 5  # whose own profiles are averaged: one round of message passing
RANKS = np.array([1, 2, 3, 5, 8, 12, 20])
SHARES = np.array(
    [0.001, 0.002, 0.004, 0.008, 0.012, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.32, 0.5, 0.8]
)
SHARED = 2 * (len(RANKS) + len(SHARES) + 2) + 2  # place of the share of neighbours in common
THIN = 4  # of the anchors' distances, one in so many is kept for the distribution of all pairs

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class GraphProfile:
    """Label-free description of a graph.

    Attributes
    ----------
    statistics : ndarray of shape (F,)
        Pooled over the anchors.
    mean_distance : float
        Of all pairs.
    pair_distances : ndarray
        A sample of the distances of all pairs, sorted.
    """

    statistics: Floats
    mean_distance: float
    pair_distances: Floats


def distances(A: Floats, B: Floats) -> Floats:
    """Return the distances of unit vectors.

    Parameters
    ----------
    A, B : ndarray of shape (a, D), (b, D)
        Unit vectors.

    Returns
    -------
    d : ndarray of shape (a, b)
        Distances.
    """
    squared: Floats = A @ B.T
    squared *= -2
    squared += 2
    np.maximum(squared, 0, out=squared)
    np.sqrt(squared, out=squared)
    return squared


def rank_profile(ordered: Floats, mean: float) -> Floats:
    """Return relative distances at fixed ranks and at fixed shares of the graph.

    Parameters
    ----------
    ordered : ndarray of shape (r, n)
        Ascending distances of r nodes to n others.
    mean : float
        Mean distance of the graph.

    Returns
    -------
    profile : ndarray of shape (r, 21)
        The distances at those ranks over the mean.
    """
    n = ordered.shape[1]
    at = np.concatenate([RANKS, (SHARES * n).round().astype(int)]).clip(1, n) - 1
    return ordered[:, at] / np.float32(mean)


class Described:
    """Nodes of a graph as they see the others, each worked out once however often it is asked.

    Anchors have neighbours in common, and graphs of a small set are all of its rows: most of
    the work is there already when the second graph is looked at.

    Parameters
    ----------
    nodes : ndarray of shape (n, D)
        Unit vectors, n >= 8.

    Attributes
    ----------
    nodes : ndarray of shape (n, D)
        The same.
    reach : int
        How many neighbours of a node are kept.
    """

    def __init__(self, nodes: Floats) -> None:
        n = len(nodes)
        self.nodes = nodes
        self.reach = reach_of(n)
        self._known = np.zeros(n, bool)
        self._profile = np.empty((n, len(RANKS) + len(SHARES) + 2), np.float32)
        self._near = np.empty((n, self.reach), np.int32)
        self._scattered: Floats | None = None

    def of(self, rows: NDArray[Any]) -> tuple[Floats, NDArray[np.int32]]:
        """Describe some nodes.

        Parameters
        ----------
        rows : ndarray of shape (r,)
            Which.

        Returns
        -------
        profile : ndarray of shape (r, 23)
            Distances at fixed ranks and shares, their mean and spread.
        near : ndarray of shape (r, reach)
            Nearest neighbours, the nearest first.
        """
        new = np.unique(rows[~self._known[rows]])
        if len(new):
            self.take(new, _from(self.nodes, new))
        return self._profile[rows], self._near[rows]

    def take(self, rows: NDArray[Any], d: Floats) -> None:
        """Describe nodes whose distances (r, n) to all others are at hand."""
        new = ~self._known[rows]
        if new.any():
            self._profile[rows[new]], self._near[rows[new]] = _describe(d[new], self.reach)
            self._known[rows] = True

    def scattered(self, rows: NDArray[Any], rng: np.random.Generator) -> Floats:
        """Return what the graph would show at ranks and shares (21,) had it no classes.

        Each node keeps how far it is from the centre along each principal axis, and is
        thrown to either side at random. So spread, dimension and outliers stay, and groups
        are gone: nearer neighbours than these show are the work of groups.

        Parameters
        ----------
        rows : ndarray of shape (r,)
            From which nodes to look.
        rng : Generator
            Throws.

        Returns
        -------
        profile : ndarray of shape (21,)
            Mean over the nodes, relative to the mean distance; worked out once, from the
            nodes given first.
        """
        if self._scattered is None:
            d = _from(_thrown(self.nodes, self.axes, rng), rows)
            d.sort(axis=1)
            d = d[:, 1:]
            self._scattered = rank_profile(d, max(float(d.mean()), 1e-6)).mean(0)
        return self._scattered

    @cached_property
    def variance(self) -> NDArray[Any]:
        """Variances along the principal axes, ascending; D is no larger than `ANCHORS`."""
        return np.maximum(self._principal[0], 0)

    @cached_property
    def axes(self) -> Floats:
        """Principal axes (D, a) in columns, those of some nodes if D is larger than `ANCHORS`."""
        if self.nodes.shape[1] <= ANCHORS:
            return self._principal[1]
        some = np.linspace(0, len(self.nodes) - 1, min(len(self.nodes), ANCHORS)).astype(int)
        centred = self.nodes[some] - self.nodes.mean(0)
        return np.asarray(np.linalg.svd(centred, full_matrices=False)[2].T, np.float32)

    @cached_property
    def _principal(self) -> tuple[Floats, Floats]:
        centred = self.nodes - self.nodes.mean(0)
        variance, axes = np.linalg.eigh(centred.T @ centred / np.float32(len(centred)))
        return variance, axes


def reach_of(nodes: int) -> int:
    """Return how many neighbours of a node are kept: 2 % of the graph, from 20 to 80.

    Parameters
    ----------
    nodes : int
        Of the graph.

    Returns
    -------
    reach : int
        At most all others.
    """
    return min(max(20, min(80, round(0.02 * nodes))), nodes - 1)


def profile_graph(graph: Floats | Described, rng: np.random.Generator) -> GraphProfile:
    """Describe a graph.

    Parameters
    ----------
    graph : ndarray of shape (n, D) or Described
        Unit vectors, n >= 8; or what is already known of them.
    rng : Generator
        Chooses the anchors.

    Returns
    -------
    profile : GraphProfile
        Equal for equal graphs and generators; of a graph already described, what was
        worked out then is used again.
    """
    described = graph if isinstance(graph, Described) else Described(graph)
    nodes, k = described.nodes, described.reach
    n = len(nodes)
    anchors = rng.permutation(n)[:ANCHORS]
    d = _from(nodes, anchors)
    apart = d.size - len(anchors)
    mean = max(float(d.sum() + len(anchors)) / apart, 1e-6)  # all rows may be the same
    described.take(anchors, d)
    own, near = described.of(anchors)
    theirs, their_near = described.of(near[:, :NEIGHBOURS].ravel())
    own, theirs = own / np.float32(mean), theirs / np.float32(mean)
    around = theirs.reshape(len(anchors), -1, theirs.shape[1]).mean(1)
    overlap = _overlap(anchors, near, their_near.reshape(len(anchors), -1, k), n, k)
    by_node = np.concatenate([own, around, overlap], 1)
    few = nodes.shape[1] <= len(anchors)
    variance = described.variance if few else _spectrum(nodes[anchors])
    total = max(float(variance.sum()), 1e-12)
    top = np.zeros(3)
    top[-min(3, len(variance)) :] = variance[-3:] / total
    at_ranks = own[:, : len(RANKS) + len(SHARES)].mean(0)
    scattered = described.scattered(anchors, rng)
    grouped = np.log(np.maximum(at_ranks, 1e-3) / np.maximum(scattered, 1e-3))
    statistics = np.concatenate(
        [
            by_node.mean(0),
            overlap.std(0),
            np.quantile(overlap[:, :3], [0.1, 0.9], axis=0).ravel(),
            [mean, np.log(total**2 / max(float((variance**2).sum()), 1e-12))],
            top,
            [np.log(n)],
            grouped,
        ]
    ).astype(np.float32)
    d[np.arange(len(anchors)), anchors] = np.nan  # not a pair: sorts to the end
    sample = np.sort(d[:, ::THIN] if n >= 64 else d, axis=None)
    return GraphProfile(statistics, mean, sample[: np.isfinite(sample).sum()])


def _spectrum(rows: Floats) -> NDArray[Any]:
    """Return the variances along principal axes, ascending, of fewer rows than dimensions."""
    centred = rows - rows.mean(0)
    return np.maximum(np.linalg.eigvalsh(centred @ centred.T / len(rows)), 0)


def _from(nodes: Floats, rows: NDArray[Any]) -> Floats:
    d = distances(nodes[rows], nodes)
    d[np.arange(len(rows)), rows] = -1  # a node comes first in its own row, before duplicates
    return d


def _thrown(nodes: Floats, axes: Floats, rng: np.random.Generator) -> Floats:
    """Return unit vectors with each coordinate about the centre mirrored, or not, at random."""
    centre = nodes.mean(0)
    centred = nodes - centre
    along = centred @ axes
    thrown = (along * _signs(along.shape, rng)) @ axes.T
    if axes.shape[1] < len(axes):  # beyond these axes, along the coordinates as they are
        beside = centred - along @ axes.T
        thrown += beside * _signs(beside.shape, rng)
    thrown += centre
    thrown /= np.maximum(np.linalg.norm(thrown, axis=1, keepdims=True), 1e-12)
    return np.asarray(thrown, np.float32)


def _signs(shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    return rng.integers(2, size=shape, dtype=np.int8) * np.float32(2) - 1


def _describe(d: Floats, k: int) -> tuple[Floats, NDArray[np.int64]]:
    """Return profiles (r, 23) of nodes, and their k nearest neighbours (r, k), from distances."""
    near = np.argpartition(d, k, axis=1)[:, : k + 1]
    by_distance = np.argsort(np.take_along_axis(d, near, 1), axis=1, kind="stable")
    near = np.take_along_axis(near, by_distance, 1)[:, 1:]
    ordered = np.sort(d, axis=1)[:, 1:]
    spread = np.stack([ordered.mean(1), ordered.std(1)], 1)
    return np.concatenate([rank_profile(ordered, 1.0), spread], 1), near


def _overlap(
    anchors: NDArray[Any], near: NDArray[Any], theirs: NDArray[Any], n: int, k: int
) -> Floats:
    """Return how far anchors and their neighbours share neighbours (a, 6).

    Shared among the nearest 5, 20 and 2 % of the graph; with the first neighbour alone
    among 20; how often a neighbour has the anchor among its own 5 and 20.
    """
    shared = []
    for size in (5, 20, k):
        member = np.zeros((len(anchors), n), bool)
        np.put_along_axis(member, near[:, :size], True, axis=1)
        member[np.arange(len(anchors)), anchors] = True
        hit = np.take_along_axis(member, theirs[:, :, :size].reshape(len(anchors), -1), 1)
        shared.append(hit.reshape(len(anchors), theirs.shape[1], -1).mean(2))
    back = [(theirs[:, :, :size] == anchors[:, None, None]).any(2).mean(1) for size in (5, 20)]
    columns = [*(s.mean(1) for s in shared), shared[1][:, 0], *back]
    return np.stack(columns, 1).astype(np.float32)

"""Examples for the readout: what a set shows beside a reference, and what is true of it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from opengcn.errors import OpenGCNError
from opengcn.progress import progress_bar
from opengcn.rehearsal.among import see_among
from opengcn.rehearsal.episodes import NODES, Episode, Kind, at_most, draw_episode
from opengcn.rehearsal.graph_profile import (
    RANKS,
    SHARED,
    SHARES,
    GraphProfile,
    Ordered,
    distances,
    profile_graph,
)
from opengcn.rehearsal.reference import LEVELS, Reference
from opengcn.rehearsal.worlds import World
from opengcn.threads import cores, one_blas_thread

__all__ = ["KINDS", "Examples", "View", "rehearse", "view"]

COMPARED = 128  # rows of the reference that are compared with the graph
AT_LEVELS = [0, 2, 6, 12, 18]  # quantiles of the reference at which pairs are counted
AT_SHARES = np.array([0.3, 0.4, 0.5, 0.6, 0.7, 0.8])  # and at these shares of the mean distance
FEWEST_PAIRS = 6  # same-class pairs that an episode needs in either set
FEWEST_NODES = 8
TRIES = 200  # of an episode, before a set is held to be too small for it
SAME = 3e-3  # distance of a row to itself, at most: single precision
KINDS: tuple[Kind, ...] = get_args(Kind)  # of episodes, in turn: see `rehearse`
OVERLAP = 0.1  # of episodes let classes of the reference into the test set: it does happen

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class View:
    """A graph seen beside a reference.

    Attributes
    ----------
    features : ndarray of shape (F,)
        Input of the readout.
    among : ndarray of shape (34,)
        More of it, which holds where nothing has shifted: see `opengcn.rehearsal.among`.
    bounds : ndarray of shape (5,)
        log(F(q_p) / p): were the reference's quantiles q_p true of the graph, no prior
        above F(q_p) / p could be.
    mean, strange : float
        Mean distance in the graph, and from rows of the reference to the graph.
    found : float
        Share of the reference's rows that are nodes of the graph themselves.
    """

    features: Floats
    among: Floats
    bounds: Floats
    mean: float
    strange: float
    found: float

    @property
    def shared(self) -> float:
        """Share of neighbours that neighbours have in common, among `reach_of` of each."""
        return float(self.features[SHARED])


@dataclass(frozen=True, eq=False)
class Examples:
    """Views of rehearsed test sets with the truth, stacked.

    Attributes
    ----------
    features, among, bounds : ndarray of shape (e, F), (e, 34), (e, 5)
        See `View`.
    reference, truth : ndarray of shape (e, 24)
        Quantiles of same-class distances in the rehearsed D_cal and D_test.
    log_prior : ndarray of shape (e,)
        Logarithm of the share of same-class pairs in the rehearsed D_test.
    """

    features: Floats
    among: Floats
    bounds: Floats
    reference: Floats
    truth: Floats
    log_prior: Floats

    def __len__(self) -> int:
        return len(self.log_prior)

    def of_kind(self, kind: Kind) -> Examples:
        """Return those of a kind: they come in turn."""
        first = KINDS.index(kind)
        return Examples(*(getattr(self, f.name)[first :: len(KINDS)] for f in fields(self)))

    def with_among(self) -> Examples:
        """Return them with `among` at the end of their features; what is missing is as usual."""
        missing = np.isnan(self.among)
        usual = np.where(missing, 0, self.among).sum(0) / np.maximum((~missing).sum(0), 1)
        among = np.where(missing, usual, self.among).astype(np.float32)
        return replace(self, features=np.concatenate([self.features, among], 1))


def view(
    nodes: Floats, profile: GraphProfile, reference: Reference, rng: np.random.Generator
) -> View:
    """Look at a graph beside a reference.

    Pairs of a reference row and a node are of different classes when the graph holds none
    of D_cal's: how many of them are near shows which near pairs of the graph are chance.

    Parameters
    ----------
    nodes : ndarray of shape (n, D)
        Unit vectors.
    profile : GraphProfile
        Of the same nodes, or of as many with D_cal's rows in the place of some.
    reference : Reference
        D_cal.
    rng : Generator
        Chooses the rows that are compared.

    Returns
    -------
    seen : View
        The features.
    """
    mean, quantiles = profile.mean_distance, reference.quantiles
    chosen = rng.permutation(len(reference.rows))[:COMPARED]
    crossing = distances(reference.rows[chosen], nodes)
    points = np.concatenate([quantiles[AT_LEVELS], mean * AT_SHARES])
    inside = np.log(_share(profile.pair_distances, points, itself=True))
    across = np.log(_share(crossing, points, itself=False))
    strange = float(crossing.mean())
    bounds = inside[: len(AT_LEVELS)] - np.log(LEVELS[AT_LEVELS])
    features = [
        profile.statistics,
        np.log(np.maximum(quantiles[::3], 1e-3) / mean),
        [quantiles[12]],
        reference.negatives / mean,
        [reference.negatives[0], np.log(reference.classes)],
        bounds,
        Ordered(crossing, itself=False).profile().mean(0) / mean,
        [strange / mean, crossing.std() / mean],
        inside[len(AT_LEVELS) :],
        across,
        inside - across,
    ]
    seen = np.concatenate(features).astype(np.float32)
    found = float((crossing.min(1) < SAME).mean())
    at_ranks = profile.statistics[: len(RANKS) + len(SHARES)]
    among = see_among(reference.rows, reference.labels, chosen, crossing, at_ranks, mean)
    return View(seen, among, bounds.astype(np.float32), mean, strange, found)


def _share(d: Floats, points: NDArray[np.float64], *, itself: bool) -> NDArray[np.float64]:
    """Return the share of distances below each point, never quite 0.

    With `itself`, one distance of each row is -1, from a node to itself, and does not count.
    """
    none = len(d) if itself else 0
    below = np.array([np.count_nonzero(d < np.float32(point)) for point in points])
    return (below - none + 0.5) / (d.size - none + 1)


def rehearse(
    world: World, count: int, seed: int, *, gap: bool = True, progress: bool = True
) -> Examples:
    """Draw episodes and look at each.

    They are mild, hard and still in turn: nobody knows what life will be like, and where what
    is learned from mild and from hard ones differs, that shows how little.

    Parameters
    ----------
    world : World
        D_train.
    count : int
        How many.
    seed : int
        Episode e depends on the seed and e alone, whatever the number of threads.
    gap : bool, default True
        See `draw_episode`.
    progress : bool, default True
        Show a bar when it takes more than two seconds.

    Returns
    -------
    examples : Examples
        `count` of them.
    """

    def one(e: int) -> tuple[View, Reference, NDArray[Any], float]:
        rng = np.random.default_rng([seed, e])
        episode, within = _usable(world, rng, gap, KINDS[e % len(KINDS)])
        reference = Reference.of_rows(episode.cal, episode.cal_labels)
        nodes = episode.test
        profile = profile_graph(nodes, rng)
        pairs = len(nodes) * (len(nodes) - 1) / 2
        truth = np.quantile(within, LEVELS)
        return view(nodes, profile, reference, rng), reference, truth, len(within) / pairs

    with (
        one_blas_thread(),
        ThreadPoolExecutor(cores()) as pool,
        progress_bar(
            f"Rehearsing on {'D_train' if gap else 'D_cal'}", count, show=progress
        ) as advance,
    ):
        done = []
        for result in pool.map(one, range(count)):
            done.append(result)
            advance(1)
    stacked = [
        [v.features for v, *_ in done],
        [v.among for v, *_ in done],
        [v.bounds for v, *_ in done],
        [r.quantiles for _, r, *_ in done],
        [t for *_, t, _ in done],
        np.log([p for *_, p in done]),
    ]
    return Examples(*(np.asarray(part, np.float32) for part in stacked))


def _usable(
    world: World, rng: np.random.Generator, gap: bool, kind: Kind
) -> tuple[Episode, Floats]:
    """Draw until both sets have some same-class pairs; return those of the test set as well."""
    for _ in range(TRIES):
        episode = draw_episode(world, rng, gap=gap, kind=kind)
        if rng.random() < OVERLAP:
            episode = _overlapping(episode, rng)
        within = _within(episode.test, episode.test_labels)
        size = np.bincount(episode.cal_labels)
        enough = (size * (size - 1)).sum() // 2 >= FEWEST_PAIRS and (size > 0).sum() > 1
        if enough and len(within) >= FEWEST_PAIRS and len(episode.test) >= FEWEST_NODES:
            return episode, within
    raise OpenGCNError(
        f"{'D_train' if gap else 'D_cal'}: expected enough rows to rehearse on, received "
        f"{len(world.members)} classes of {len(world.images)} rows altogether"
    )


def _overlapping(episode: Episode, rng: np.random.Generator) -> Episode:
    """Move a third of the rehearsed D_cal into the test set: its classes are in both then."""
    moves = rng.random(len(episode.cal)) < 1 / 3
    labels = episode.cal_labels[moves] + episode.test_labels.max() + 1
    test = np.concatenate([episode.test, episode.cal[moves]])
    test, labels = at_most(NODES, test, np.concatenate([episode.test_labels, labels]), rng)
    return Episode(episode.cal[~moves], episode.cal_labels[~moves], test, labels)


def _within(rows: Floats, labels: NDArray[np.int64]) -> Floats:
    """Return the distances of all same-class pairs; classes of one size go together."""
    order = np.argsort(labels, kind="stable")
    size = np.bincount(labels)
    first = np.cumsum(size) - size
    parts = [np.empty(0, np.float32)]
    for count in np.unique(size[size > 1]):
        members = order[first[size == count, None] + np.arange(count)]
        i, j = np.triu_indices(count, 1)
        inner = np.matmul(rows[members], rows[members].transpose(0, 2, 1))[:, i, j]
        parts.append(np.sqrt(np.maximum(2 - 2 * inner, 0)).ravel())
    return np.concatenate(parts)

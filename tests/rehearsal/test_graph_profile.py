from __future__ import annotations

import numpy as np
import pytest

import opengcn as og
from opengcn.rehearsal.graph_profile import (
    RANKS,
    SHARES,
    Described,
    Ordered,
    _thrown,
    profile_graph,
)


def labelled(classes: int, size: int, seed: int = 0) -> og.EmbeddingSet:
    return og.datasets.synthetic(classes, size, 16, concentration=20.0, seed=seed)


GROUPED = len(RANKS) + len(SHARES)  # features at the end, on nodes thrown to either side
X = labelled(12, 10).embeddings.astype(np.float32)


def by_loops(X: np.ndarray) -> tuple[list[float], float]:
    """Return the mean own profile and overlaps, all nodes being anchors, pair by pair."""
    n = len(X)
    d = np.array([[np.linalg.norm(a - b) for b in X.astype(float)] for a in X.astype(float)])
    mean = d.sum() / (n * (n - 1))
    near = [sorted((j for j in range(n) if j != i), key=lambda j: d[i, j]) for i in range(n)]
    k = max(20, min(80, round(0.02 * n)))
    own = []
    for i in range(n):
        ordered = [d[i, j] for j in near[i]]
        at = [*RANKS, *(max(1, round(s * (n - 1))) for s in SHARES)]
        profile = [ordered[r - 1] / mean for r in at]
        own.append([*profile, np.mean(ordered) / mean, np.std(ordered) / mean])
    around = [np.mean([own[j] for j in near[i][:5]], axis=0) for i in range(n)]
    overlap = []
    for i in range(n):
        mine = {size: {i, *near[i][:size]} for size in (5, 20, k)}
        shared = {
            size: [len(mine[size] & set(near[j][:size])) / size for j in near[i][:5]]
            for size in mine
        }
        back = [np.mean([i in near[j][:size] for j in near[i][:5]]) for size in (5, 20)]
        overlap.append([*(np.mean(shared[s]) for s in (5, 20, k)), shared[20][0], *back])
    everything = np.concatenate([own, around, overlap], axis=1)
    return everything.mean(0).tolist(), mean


def test_fast_profile_is_the_naive_one() -> None:
    profile = profile_graph(X, np.random.default_rng(0))
    expected, mean = by_loops(X)
    assert profile.mean_distance == pytest.approx(mean, rel=1e-5)
    # Neighbours that are as good as equally far may change places.
    np.testing.assert_allclose(profile.statistics[: len(expected)], expected, rtol=1e-3)


def test_neither_order_nor_rotation_matters() -> None:
    """With fewer nodes than anchors every node is one. What is thrown falls otherwise, though."""
    rng = np.random.default_rng(0)
    rotation = np.linalg.qr(rng.standard_normal((16, 16)))[0].astype(np.float32)
    base = profile_graph(X, rng).statistics
    for other in (X[rng.permutation(len(X))], X @ rotation):
        found = profile_graph(other, rng).statistics
        np.testing.assert_allclose(found[:-GROUPED], base[:-GROUPED], atol=2e-3)
        np.testing.assert_allclose(found[-GROUPED:], base[-GROUPED:], atol=0.1)
    one, other = (profile_graph(x, np.random.default_rng(1)).statistics for x in (X, X @ rotation))
    np.testing.assert_allclose(one, other, atol=2e-3)


@pytest.mark.parametrize("dim", [16, 300])
def test_thrown_nodes_keep_their_spread_and_lose_their_groups(dim: int) -> None:
    rows = og.datasets.synthetic(40, 20, dim, concentration=20.0 * dim, seed=0)
    nodes = rows.embeddings.astype(np.float32)
    axes = Described(nodes).axes
    thrown = _thrown(nodes, axes, np.random.default_rng(0))
    np.testing.assert_allclose(np.linalg.norm(thrown, axis=1), 1, atol=1e-5)
    before, after = (np.abs((x - nodes.mean(0)) @ axes) for x in (nodes, thrown))
    assert np.corrcoef(before.ravel(), after.ravel())[0, 1] > 0.9
    grouped = profile_graph(nodes, np.random.default_rng(0)).statistics[-GROUPED:]
    none_left = profile_graph(thrown, np.random.default_rng(0)).statistics[-GROUPED:]
    assert grouped[4] < -0.1  # the eighth neighbour is of the same class
    assert np.abs(none_left).max() < 0.1


def test_many_small_classes_in_many_dimensions_are_undone_too() -> None:
    """More classes than there are axes: what lies beside these must be thrown as well."""
    rows = og.datasets.synthetic(500, 4, 512, concentration=10_000.0, seed=0)
    graph = Described(rows.embeddings.astype(np.float32))
    nearest = graph.scattered(np.arange(256), np.random.default_rng(0))[0]
    own = graph.of(np.arange(256))[0][:, 0].mean()
    assert own < 0.5
    assert nearest > 0.8


def test_pair_distances_are_those_of_all_pairs() -> None:
    found = profile_graph(X[:40], np.random.default_rng(0)).pair_distances
    expected = np.sort(np.linalg.norm(X[:40, None] - X[:40], axis=2)[~np.eye(40, dtype=bool)])
    assert (found == -1).sum(1).tolist() == [1] * 40  # from a node to itself
    np.testing.assert_allclose(np.sort(found[found >= 0]), expected, atol=1e-3)


@pytest.mark.parametrize("n", [100, 129, 600, 4096])
@pytest.mark.parametrize("itself", [True, False])
def test_ranks_and_shares_are_those_of_a_full_sort(n: int, itself: bool) -> None:
    d = np.random.default_rng(n).uniform(0.5, 1.5, (30, n)).astype(np.float32)
    others = n - itself
    if itself:
        d[np.arange(30), np.arange(30) * 3] = -1
    full = np.sort(d, axis=1)[:, n - others :]
    at = np.concatenate([RANKS, (SHARES * others).round().astype(int)]).clip(1, others) - 1
    ordered = Ordered(d, itself=itself)
    found = ordered.profile()
    exact = at < ordered.near.shape[1]
    np.testing.assert_allclose(found[:, exact], full[:, at[exact]], rtol=1e-3)
    np.testing.assert_allclose(found.mean(0), full[:, at].mean(0), atol=0.02)  # the rest: a sample


@pytest.mark.parametrize("n", [8, 9, 21, 63, 64, 300])
def test_small_graphs(n: int) -> None:
    profile = profile_graph(labelled(n, 1).embeddings.astype(np.float32), np.random.default_rng(0))
    assert np.isfinite(profile.statistics).all()
    assert len(profile.statistics) == len(profile_graph(X, np.random.default_rng(0)).statistics)


def test_duplicates_and_a_single_point_are_no_trouble() -> None:
    rng = np.random.default_rng(0)
    assert np.isfinite(profile_graph(np.repeat(X, 5, axis=0), rng).statistics).all()
    assert np.isfinite(profile_graph(np.repeat(X[:1], 50, axis=0), rng).statistics).all()

import numpy as np
import pytest

from opengcn.calibrators.lander.hierarchy import ScoredLevel, cluster_levels, training_levels
from opengcn.calibrators.lander.levels import Level, next_level, true_density


def test_negative_similarities_are_no_edges():
    X = np.float32([[1, 0], [-1, 0], [0, 1]])
    level = Level.build(X, X, 10)
    np.testing.assert_array_equal(level.neighbors, [[2, 1], [2, 0], [0, 1]])
    np.testing.assert_array_equal(level.similarity, [[0, 0], [0, 0], [0, 0]])
    np.testing.assert_array_equal(level.linked, [[True, False], [True, False], [True, True]])


def test_a_shortened_level_is_the_one_built_with_fewer_neighbours(clumps):
    X, _ = clumps(5, 8)
    short, built = Level.build(X, X, 10).shortened(4), Level.build(X, X, 4)
    np.testing.assert_array_equal(short.neighbors, built.neighbors)
    np.testing.assert_array_equal(short.similarity, built.similarity)


def test_density_equals_the_loop(clumps):
    X, y = clumps(6, 7, spread=1.0)
    level = Level.build(X, X, 5)
    for i, density in enumerate(true_density(level, y)):
        terms = [
            max(float(X[i] @ X[j]), 0) * (1 if y[i] == y[j] else -1) for j in level.neighbors[i]
        ]
        assert density == pytest.approx(np.mean(terms), abs=1e-6)


def test_next_level_keeps_the_peaks_and_averages_their_samples(clumps):
    X, _ = clumps(4, 10)
    root = np.random.default_rng(0).choice([3, 7, 21, 39], 40)
    root[[3, 7, 21, 39]] = [3, 7, 21, 39]
    level = next_level(X, root, 3)
    np.testing.assert_array_equal(level.features, X[[3, 7, 21, 39]])
    expected = [X[root == peak].mean(axis=0) for peak in (3, 7, 21, 39)]
    np.testing.assert_allclose(level.means, expected, atol=1e-6)


def test_training_levels_follow_the_densest_similar_neighbour(clumps):
    X, y = clumps(40, 10, spread=1.0)
    first = Level.build(X, X, 10)
    levels = list(training_levels(first, y, 3, 4))
    sizes = [len(one.level) for one in levels]
    assert 2 <= len(levels) <= 4
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == len(sizes)
    assert sizes[-1] > 3
    # Upper nodes are samples of level 0 with their own features and classes.
    row_of = {x.tobytes(): i for i, x in enumerate(X)}
    for one in levels:
        rows = [row_of[x.tobytes()] for x in one.level.features]
        np.testing.assert_array_equal(one.labels, y[rows])


def scored_by_similarity(level):
    """A perfect stand-in for the network: probability and density are the similarity."""
    return ScoredLevel(level, level.similarity, level.similarity.mean(axis=1))


@pytest.mark.parametrize("max_levels", [1, 2, 10])
def test_clusters_are_the_trees_of_the_global_forest(clumps, max_levels):
    X, y = clumps(12, 40, spread=0.3)
    first = scored_by_similarity(Level.build(X, X, 5))
    cluster = cluster_levels(first, scored_by_similarity, 0.8, 5, max_levels)
    assert cluster.dtype == np.int64
    np.testing.assert_array_equal(np.unique(cluster), np.arange(cluster.max() + 1))
    for one in range(cluster.max() + 1):  # well separated: no cluster mixes classes
        assert len(np.unique(y[cluster == one])) == 1


def test_more_levels_merge_more(clumps):
    X, _ = clumps(12, 40, spread=0.3)
    first = scored_by_similarity(Level.build(X, X, 5))
    counts = [
        cluster_levels(first, scored_by_similarity, 0.8, 5, levels).max() + 1
        for levels in (1, 2, 10)
    ]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[2] >= 12


def test_no_level_of_k_nodes_or_fewer_is_scored(clumps):
    X, _ = clumps(12, 40, spread=0.3)
    seen = []

    def score(level):
        seen.append(len(level))
        return scored_by_similarity(level)

    cluster_levels(scored_by_similarity(Level.build(X, X, 5)), score, 0.0, 5, 10)
    assert all(nodes > 5 for nodes in seen)

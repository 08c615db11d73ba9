import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from opengcn.calibrators.lander.decode import denser, parents, roots
from opengcn.calibrators.lander.levels import Level


@st.composite
def scored_graphs(draw):
    """Random neighbour lists; few distinct densities and scores, so that ties abound."""
    n = draw(st.integers(1, 20))
    m = draw(st.integers(0, n - 1))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    others = [rng.permutation(np.delete(np.arange(n), i))[:m] for i in range(n)]
    values = draw(st.sampled_from([2, 4, 1000]))
    level = Level(
        np.zeros((n, 2), np.float32),
        np.zeros((n, 2), np.float32),
        np.array(others, np.int64).reshape(n, m),
        rng.random((n, m), np.float32),
        rng.random((n, m)) < 0.9,
    )
    density = (rng.integers(0, values, n) / values).astype(np.float32)
    score = (rng.integers(0, values, (n, m)) / values).astype(np.float32)
    return level, density, score, draw(st.sampled_from([0.0, 0.3, 0.5, 1.0]))


def naive_parent(level, density, score, tau, i):
    best = None
    for place, j in enumerate(level.neighbors[i]):
        is_denser = density[j] > density[i] or (density[j] == density[i] and j < i)
        if not (level.linked[i, place] and is_denser and score[i, place] > tau):
            continue
        if best is None or score[i, place] > score[i, best]:
            best = place
    return i if best is None else level.neighbors[i, best]


@given(scored_graphs())
def test_parents_and_roots_equal_the_naive_walk(case):
    level, density, score, tau = case
    parent = parents(level, density, score, tau)
    expected = [naive_parent(level, density, score, tau, i) for i in range(len(level))]
    np.testing.assert_array_equal(parent, expected)
    walked = []
    for node in range(len(level)):
        steps = 0
        while expected[node] != node:
            node = expected[node]
            steps += 1
            assert steps < len(level)  # a longer walk would have met a node twice
        walked.append(node)
    np.testing.assert_array_equal(roots(parent), walked)


@given(scored_graphs())
def test_links_lead_to_denser_nodes_and_peaks_have_no_candidate(case):
    level, density, score, tau = case
    parent = parents(level, density, score, tau)
    node = np.arange(len(level))
    moved = parent != node
    order = np.lexsort((-node, density))  # the last is the densest; equals: the smallest index
    rank = np.argsort(order)
    assert (rank[parent] > rank)[moved].all()
    open_to = level.linked & denser(density, level.neighbors) & (score > tau)
    np.testing.assert_array_equal(open_to.any(axis=1), moved)


def test_a_long_chain_collapses():
    n = 1000
    np.testing.assert_array_equal(roots(np.maximum(np.arange(n) - 1, 0)), np.zeros(n))


def test_identical_nodes_form_one_tree():
    X = np.tile(np.float32([1, 0]), (30, 1))
    level = Level.build(X, X, 4)
    parent = parents(level, np.ones(30, np.float32), np.ones((30, 3), np.float32), 0.5)
    np.testing.assert_array_equal(roots(parent), 0)

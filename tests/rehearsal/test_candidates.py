from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opengcn.rehearsal.among import FEATURES as AMONG
from opengcn.rehearsal.candidates import GRID, candidates, plausible
from opengcn.rehearsal.examples import View
from opengcn.rehearsal.graph_profile import NEIGHBOURS, SHARED, profile_graph, reach_of
from opengcn.rehearsal.mates import Correction
from opengcn.rehearsal.question import Asked

NOTHING, BOUNDS = np.zeros(AMONG, np.float32), np.zeros(5, np.float32)
UNCORRECTED = Correction(np.zeros((1, 24)), np.ones(1))  # of no account here


def asked(hint: float | None = None, *, nodes: int = 1000, shared: float = 0.5) -> Asked:
    features = np.zeros(60, np.float32)
    features[SHARED] = shared
    return Asked([View(features, NOTHING, BOUNDS, 1.2, 1.2, 0.0)], nodes, UNCORRECTED, 0.05, hint)


def test_shared_neighbours_are_where_they_are_looked_for() -> None:
    """Against a direct count, where 2 % of the graph are not 20."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((2000, 12)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    near = np.argsort(-(rows @ rows.T), axis=1)[:, : reach_of(2000) + 1]  # itself first
    anchors = np.random.default_rng(1).permutation(2000)[:256]
    counts = [
        np.isin(near[j][1:], near[i]).mean() for i in anchors for j in near[i][1 : NEIGHBOURS + 1]
    ]
    found = profile_graph(rows, np.random.default_rng(1)).statistics[SHARED]
    assert found == pytest.approx(np.mean(counts), abs=1e-3)


def test_noise_is_unclear_at_any_size() -> None:
    """Of 20 rows all have all neighbours in common, which says nothing."""
    rng = np.random.default_rng(0)
    for nodes in (8, 20, 50, 200, 1000):
        rows = rng.standard_normal((nodes, 64)).astype(np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        view = View(profile_graph(rows, rng).statistics, NOTHING, BOUNDS, 1.4, 1.4, 0.0)
        _, spread = centre_and_spread(-4, Asked([view], nodes, UNCORRECTED, 0.05))
        assert spread > 1, nodes


def test_a_hint_is_the_only_candidate() -> None:
    np.testing.assert_allclose(candidates(0.05, 0.02), np.log([0.02]))
    assert plausible(candidates(0.05, 0.02), -7.0, asked(0.02), 0.5) == [0]


def test_without_one_there_is_a_grid_and_what_dcal_suggests() -> None:
    found = candidates(0.05, None)
    np.testing.assert_array_equal(found[:-1], GRID)
    assert found[-1] == pytest.approx(np.log(0.05))


def centre_and_spread(read: float, about: Asked) -> tuple[float, float]:
    """Of the grid alone."""
    weights = np.exp(plausible(candidates(0.05, None), read, about, 0.5)[:-1])
    weights /= weights.sum()
    centre = float(weights @ GRID)
    return centre, float(np.sqrt(weights @ (GRID - centre) ** 2))


def test_small_and_unclear_graphs_leave_more_open() -> None:
    by_size = [centre_and_spread(-4, asked(nodes=n))[1] for n in (100, 1000, 4096)]
    assert by_size == sorted(by_size, reverse=True)
    by_clarity = [centre_and_spread(-4, asked(shared=s))[1] for s in (0.7, 0.5, 0.3)]
    assert by_clarity == sorted(by_clarity)


def test_many_narrow_classes_are_likelier_than_few_wide_ones() -> None:
    assert centre_and_spread(-4, asked())[0] < -4


def test_a_handful_of_classes_is_not_taken_for_many() -> None:
    below = [read - centre_and_spread(read, asked())[0] for read in (-4.0, -1.5, -0.7)]
    assert below[0] > 0.8
    assert max(abs(b) for b in below[1:]) < 0.3


def test_what_dcal_suggests_counts_where_graph_and_distances_allow_it() -> None:
    found = candidates(0.05, None)

    def weights(read: float, alike: float) -> np.ndarray:
        return np.exp(plausible(found, read, asked(nodes=4096), alike))

    near, below, above = (weights(read, 0.9) for read in (-3.0, -2.8, -8.0))
    for allowed in (near, below):
        assert allowed[-1] > allowed[:-1].max()
    assert above[-1] < 0.01 * above[:-1].max()
    shifted = weights(-3.0, 1e-3)
    assert shifted[-1] < 0.1 * shifted[:-1].max()


@given(st.floats(-15, 0), st.integers(8, 4096), st.floats(0, 1))
def test_weights_are_numbers(read: float, nodes: int, shared: float) -> None:
    about = asked(nodes=nodes, shared=shared)
    weights = plausible(candidates(0.05, None), read, about, 0.5)
    assert weights.shape == (len(GRID) + 1,)
    assert np.isfinite(weights).all()


def test_a_reading_for_each_candidate() -> None:
    found, about = candidates(0.05, None), asked()
    reads = np.linspace(-8, -1, len(found))
    each = [plausible(found, float(read), about, 0.5)[k] for k, read in enumerate(reads)]
    np.testing.assert_allclose(plausible(found, reads, about, 0.5), each)


def test_a_higher_reading_never_gives_a_lower_prior() -> None:
    about = asked(shared=0.9, nodes=4096)
    found = []
    for read in np.arange(-8, -5, 0.05):  # far from what D_cal suggests
        weights = np.exp(plausible(candidates(0.05, None), float(read), about, 0.5))
        found.append(float(weights @ candidates(0.05, None) / weights.sum()))
    assert (np.diff(found) > -0.05).all()
    assert np.abs(np.array(found) - np.arange(-8, -5, 0.05)).max() < 0.4

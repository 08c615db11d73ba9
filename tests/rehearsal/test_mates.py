from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import opengcn as og
from opengcn.rehearsal.candidates import GRID
from opengcn.rehearsal.mates import (
    Correction,
    Mates,
    _believed,
    _by_class,
    _level,
    _moved,
    _slope,
    _steps,
    _weights,
)
from opengcn.rehearsal.reference import LEVELS, Reference, rate_to_quantiles
from opengcn.rehearsal.regression import share_of
from opengcn.rehearsal.sight import RANKS, nearest_few, see
from opengcn.rehearsal.worlds import World


def classes(count: int, size: int, seed: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Make classes of different widths: that is why few of them tell so little."""
    rng = np.random.default_rng(seed)
    means = np.repeat(rng.standard_normal((count, 16)), size, axis=0)
    width = np.repeat(np.exp(0.4 * rng.standard_normal((count, 1))), size, axis=0)
    X = means + 0.6 * width * rng.standard_normal(means.shape)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X.astype(np.float32), np.repeat(np.arange(count), size)


def shuffled(
    X: NDArray[np.float32], labels: NDArray[np.int64], seed: int = 0
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    order = np.random.default_rng(seed).permutation(len(X))
    return X[order], labels[order]


@pytest.fixture(scope="module")
def mates() -> Mates:
    train = og.EmbeddingSet(*classes(50, 25, seed=100))
    return Mates.learn(World.of(train, np.random.default_rng(0)), seed=0)


TEST = shuffled(*classes(60, 20, seed=200))
TRUTH = rate_to_quantiles(og.OperatingCurve.from_labels(og.EmbeddingSet(*TEST)).tpr)
PRIOR = np.log([19 / 1199])


def correct(
    mates: Mates,
    reference: Reference,
    nodes: NDArray[np.float32] = TEST[0],
    log_priors: NDArray[np.float64] = PRIOR,
) -> Correction:
    return mates.correct(nodes, reference, log_priors, np.random.default_rng(0))


def test_it_takes_off_what_the_choice_of_classes_has_put_on(mates: Mates) -> None:
    """Six classes of the same world, chosen twenty times."""
    before, after, told = [], [], []
    for seed in range(20):
        reference = Reference.of_rows(*classes(6, 20, seed))
        found = correct(mates, reference)
        before.append(reference.quantiles - TRUTH)
        after.append(reference.quantiles + found.moves[0] - TRUTH)
        told.append(found.open_[0])
    wrong, left = (np.abs(e).mean() for e in (before, after))
    assert left < 0.5 * wrong
    assert np.abs(np.mean(after)) < 0.3 * wrong  # right on average
    assert 0.15 < np.mean(told) < 0.7


def test_class_mates_are_as_many_as_nodes_have(mates: Mates) -> None:
    """Of fewer nodes, or with fewer rows of D_cal, nothing else follows."""
    X, labels = classes(6, 20, seed=3)

    def corrected(rows: slice, nodes: int) -> float:
        reference = Reference.of_rows(X[rows], labels[rows])
        return float(
            (reference.quantiles + correct(mates, reference, TEST[0][:nodes]).moves).mean()
        )

    whole = corrected(slice(None), 1200)
    assert corrected(slice(None), 400) == pytest.approx(whole, abs=0.02)
    assert corrected(slice(0, None, 3), 1200) == pytest.approx(whole, abs=0.04)
    assert abs(whole - Reference.of_rows(X, labels).quantiles.mean()) > 0.08


@pytest.mark.parametrize("kept", [20, 8, 4])
def test_many_classes_of_the_same_world_look_like_nodes(mates: Mates, kept: int) -> None:
    """Also where D_cal has a few rows of each: then fewer nodes are looked at."""
    X, labels = classes(60, 20, seed=300)
    rows = np.arange(len(X)) % 20 < kept
    reference = Reference.of_rows(X[rows], labels[rows])
    found = correct(mates, reference)
    before, after = (np.abs(reference.quantiles + m - TRUTH).mean() for m in (0, found.moves))
    assert after < 0.7 * before


def test_rows_of_dcal_that_are_nodes_do_not_see_themselves(mates: Mates) -> None:
    X, labels = classes(6, 20, seed=3)
    reference = Reference.of_rows(X, labels)
    with_some = np.concatenate([TEST[0], X[::10]])
    one, other = (correct(mates, reference, nodes).moves for nodes in (TEST[0], with_some))
    np.testing.assert_allclose(one, other, atol=0.03)


def test_a_large_class_counts_for_more(mates: Mates) -> None:
    x, known = np.array([0.0, 0.1, 0.2]), np.ones(24)
    y = np.array([0.0, 0.3, 0.2])
    by_rows = [
        _slope(np.outer(x, known), np.outer(y, known), np.array(w))[0]
        for w in ([50, 50, 1], [50, 1, 50])
    ]
    assert by_rows[0] > by_rows[1] + 0.2


def test_more_class_mates_than_there_are_would_lie_farther_away(mates: Mates) -> None:
    reference = Reference.of_rows(*classes(6, 20, seed=4))
    moves = correct(mates, reference, log_priors=np.append(GRID, PRIOR)).moves.mean(1)[:-1]
    inner = (GRID > -6) & (GRID < -1.5)
    assert (np.diff(moves[inner]) > -0.01).all()
    assert moves[inner][-1] > moves[inner][0] + 0.1


@pytest.mark.parametrize("labels", [np.arange(60), np.r_[np.zeros(20), np.arange(1, 41)]])
def test_without_class_mates_to_compare_nothing_is_corrected(
    mates: Mates, labels: NDArray[np.int64]
) -> None:
    X = classes(3, 20, seed=7)[0]
    reference = Reference(
        TRUTH, np.array([1.4, 0.1, 1.2]), 60, 1.0, X, np.asarray(labels, np.int64), 60
    )
    found = correct(mates, reference, log_priors=np.append(GRID, -4.0))
    np.testing.assert_array_equal(found.moves, np.zeros((25, 24)))
    np.testing.assert_array_equal(found.open_, np.ones(25))


@pytest.mark.parametrize("nodes", [8, 9, 20, 60])
@pytest.mark.parametrize("cal", [(2, 2), (2, 60), (30, 3)])
def test_small_sets_give_numbers(mates: Mates, nodes: int, cal: tuple[int, int]) -> None:
    reference = Reference.of_rows(*classes(*cal, seed=8))
    found = correct(mates, reference, TEST[0][:nodes], np.append(GRID, -1.0))
    for part in found:
        assert np.isfinite(part).all()
    assert (np.diff(reference.quantiles + found.moves, axis=1) >= 0).all()
    assert np.abs(found.moves).max() < 2
    assert ((found.open_ > 0) & (found.open_ <= 1)).all()


def test_the_same_seed_gives_the_same(mates: Mates) -> None:
    world = World.of(og.EmbeddingSet(*classes(50, 25, seed=100)), np.random.default_rng(0))
    again = Mates.learn(world, seed=0)
    for name, array in mates.arrays().items():
        np.testing.assert_array_equal(array, again.arrays()[name])
    tiny = World.of(og.EmbeddingSet(*classes(2, 3, seed=1)), np.random.default_rng(0))
    for array in Mates.learn(tiny, seed=0).arrays().values():
        assert np.isfinite(array).all()


@given(st.integers(0, 1000), st.floats(1, 30))
def test_what_rows_see_is_the_nth_neighbour(seed: int, count: float) -> None:
    """Against a loop."""
    d = np.random.default_rng(seed).uniform(0.1, 1.9, (3, 50)).astype(np.float32)
    last, known = 40, np.full(24, 0.8)
    seen = see(nearest_few(d, count, last), count, last, known)
    for row, found in zip(d, seen, strict=True):
        inorder = sorted(float(x) for x in row)
        for part, log in zip(RANKS, found, strict=False):
            rank = min(max(part * count, 1), last)
            low = int(rank)
            near, next_ = np.log(inorder[low - 1] / 0.8), np.log(inorder[low] / 0.8)
            assert log == pytest.approx(near + (rank - low) * (next_ - near), abs=1e-5)
        assert found[-1] == pytest.approx(np.log(count))


def test_the_curve_of_nodes_that_differ_is_wider(mates: Mates) -> None:
    """D_cal's few classes differ less than those of a set: its curve is too steep."""
    alike = np.tile(mates.middle, (2, 1))
    apart = alike + np.outer([-1.5, 1.5], np.append(mates.scale[:-1], 0))
    one, other = (share_of(mates.expect(seen)[0]).mean(0) for seen in (alike, apart))
    assert (other - one)[:6].min() > 0.01
    assert (other - one)[-6:].max() < -0.01


def test_it_is_right_for_small_and_large_distances_alike(mates: Mates) -> None:
    left = []
    for seed in range(20):
        reference = Reference.of_rows(*classes(6, 20, seed))
        left.append(reference.quantiles + correct(mates, reference).moves[0] - TRUTH)
    by_level = np.mean(left, 0)
    assert np.abs(by_level[2:]).max() < 0.03
    assert by_level[-6:].mean() == pytest.approx(by_level[2:8].mean(), abs=0.02)


def unequal(count: int, seed: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Make classes of 4 to 60 rows; the larger, the wider."""
    rng = np.random.default_rng(seed)
    size = np.exp(rng.uniform(np.log(4), np.log(60), count)).astype(int)
    labels = np.repeat(np.arange(count), size)
    X = rng.standard_normal((count, 16))[labels]
    X += (0.35 * size[labels, None] ** 0.2) * rng.standard_normal(X.shape)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X.astype(np.float32), labels


def test_where_classes_differ_in_size_pairs_count_and_not_nodes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    train = og.EmbeddingSet(*unequal(80, seed=1))
    mates = Mates.learn(World.of(train, np.random.default_rng(0)), seed=0)
    nodes, labels = shuffled(*unequal(60, seed=2))
    truth = rate_to_quantiles(og.OperatingCurve.from_labels(og.EmbeddingSet(nodes, labels)).tpr)
    size = np.bincount(labels)
    prior = np.log([(size * (size - 1)).sum() / len(nodes) / (len(nodes) - 1)])

    def wrong() -> float:
        found = []
        for seed in range(10, 22):
            reference = Reference.of_rows(*unequal(10, seed))
            moves = correct(mates, reference, nodes, prior).moves[0]
            found.append(np.abs(reference.quantiles + moves - truth).mean())
        return float(np.mean(found))

    by_pairs = wrong()
    monkeypatch.setattr("opengcn.rehearsal.mates.SIZES", 1e9)
    assert by_pairs < 0.9 * wrong()


def test_of_classes_of_one_size_all_nodes_count_alike(
    mates: Mates, monkeypatch: pytest.MonkeyPatch
) -> None:
    reference = Reference.of_rows(*classes(6, 20, seed=3))
    before = correct(mates, reference).moves
    monkeypatch.setattr("opengcn.rehearsal.mates.SIZES", 1e9)
    np.testing.assert_allclose(correct(mates, reference).moves, before)


def test_sizes_are_believed_as_far_as_dcal_s_differ() -> None:
    rng = np.random.default_rng(0)
    size = np.exp(rng.standard_normal(200)).clip(0.1) * 30
    mates = np.repeat(size, size.astype(int) + 1)
    much = _believed(mates, 0.0)
    assert much > 0.6
    assert _believed(2 * mates, 0.0) == pytest.approx(much)
    # Half of the rows of equal classes are left out: they differ by chance alone.
    left = rng.binomial(30, 0.5, 500)
    assert (
        _believed(np.repeat(left - 1, left), 0.5) < 0.05 < _believed(np.repeat(left - 1, left), 0)
    )


def test_the_slope_of_dcal_s_classes_counts(mates: Mates, monkeypatch: pytest.MonkeyPatch) -> None:
    reference = Reference.of_rows(*classes(6, 20, seed=3))
    sizes = []
    for slope in (0.5, 1.5):
        monkeypatch.setattr("opengcn.rehearsal.mates._slope", lambda *_, s=slope: (s, 0.3))
        sizes.append(np.abs(correct(mates, reference).moves).mean())
    assert sizes[1] > 1.3 * sizes[0]


def test_what_nobody_has_seen_is_cut_off(mates: Mates) -> None:
    far, edge = (mates.expect(mates.middle[None] + k * mates.scale) for k in (1e3, 5))
    for one, other in zip(far, edge, strict=True):
        np.testing.assert_allclose(one, other)


def test_weights_add_up_and_follow_sizes() -> None:
    sizes = np.array([-1.0, 0.0, 2.0])
    np.testing.assert_allclose(_weights(sizes, 0.0), 1 / 3)
    half = _weights(sizes, 0.5)
    assert half.sum() == pytest.approx(1)
    assert half[2] / half[1] == pytest.approx(np.e)


def test_levels_are_met() -> None:
    rng = np.random.default_rng(0)
    odds = 0.5 * rng.standard_normal((300, 24)) + np.linspace(-4, 4, 24)
    weights = _weights(rng.standard_normal(300), 1.0)
    found = weights @ share_of(odds + _level(odds, weights))
    np.testing.assert_allclose(found, LEVELS, atol=0.01)


def test_means_by_class() -> None:
    rng = np.random.default_rng(0)
    values, code = rng.random((20, 3)), rng.integers(4, size=20)
    expected = [values[code == c].mean(0) for c in range(4)]
    np.testing.assert_allclose(_by_class(values, code), expected)


def test_the_slope_is_that_of_the_classes_where_there_are_many() -> None:
    rng, known = np.random.default_rng(0), np.ones(24)
    x = np.outer(rng.standard_normal(400), known)
    slope, open_ = _slope(x, 1.6 * x, np.full(400, 5))
    assert slope == pytest.approx(1.6, abs=0.02)
    assert open_ < 0.1
    noise = np.outer(rng.standard_normal(400), known)
    assert _slope(x, noise, np.full(400, 5))[1] > 0.9
    two = np.outer([0.1, 0.2], known)
    slope, open_ = _slope(two, -two, np.array([5, 5]))  # may be chance
    assert -1 < slope < 1.15
    assert open_ > 0.25
    assert np.isfinite(_slope(0 * two, 0 * two, np.array([5, 5]))).all()


@given(st.floats(-0.9, 0.9), st.integers(0, 100))
def test_rates_at_known_quantiles_give_quantiles(change: float, seed: int) -> None:
    known = np.sort(np.random.default_rng(seed).uniform(0.2, 1.8, 24))
    found = _moved(known, LEVELS + change)
    assert (np.diff(found) >= 0).all()
    np.testing.assert_allclose(_moved(known, LEVELS), known, atol=1e-6)
    if change:  # more mates within a distance: they are nearer
        assert (found.mean() - known.mean()) * change <= 1e-9


def test_steps_hold_all_candidates_and_the_suggested_one() -> None:
    for suggested in (-9.5, -4.3, -0.1):
        steps = _steps(np.append(GRID, suggested), 4096)
        assert suggested in steps
        assert steps[-1] >= max(GRID[-1], suggested) - 1e-9
        assert steps[0] < np.log(1 / 4096)
        assert np.diff(steps).max() <= 1 + 1e-9
    np.testing.assert_array_equal(_steps(np.array([-3.0]), 100), [-3.0])

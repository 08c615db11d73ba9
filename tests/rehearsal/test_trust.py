from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opengcn.rehearsal.trust import LEAST, LIFE, agree, shifted, weigh

TYPICAL = 0.0175  # error of a reading


def trust(size: float, reference_error: float, error: float = TYPICAL) -> float:
    weights, *_ = weigh(np.full((1, 24), size), reference_error, np.array([error]))
    return float(weights[0])


@given(st.floats(-2, 2), st.floats(0, 1), st.floats(1e-3, 2))
def test_it_is_a_weight(size: float, reference_error: float, error: float) -> None:
    assert 0 <= trust(size, reference_error, error) <= 1


def test_many_classes_are_trusted_unless_the_set_has_clearly_moved() -> None:
    assert trust(0.01, 0.005) < 0.35  # 0.03 would be six times its error: a shift, most likely
    assert trust(0.3, 0.005) > 0.95


def test_few_classes_leave_the_word_to_the_readout() -> None:
    # A move that even a D_cal of many classes may be off by: a larger one would be a shift.
    weights = [trust(0.015, error) for error in (0.005, 0.01, 0.02, 0.04)]
    assert weights == sorted(weights)
    assert weights[-1] > 0.8


def test_the_direction_of_a_move_does_not_matter() -> None:
    assert trust(0.05, 0.02) == trust(-0.05, 0.02)


def test_a_reading_that_is_not_sure_leaves_the_word_to_the_reference() -> None:
    weights = [trust(0.05, 0.01, error) for error in (0.01, 0.03, 0.1, 1.0)]
    assert weights == sorted(weights, reverse=True)
    assert weights[0] > 2 * weights[-1]


def test_readings_are_weighed_each_for_itself() -> None:
    moves, errors = np.outer([0.01, 0.05, 0.3], np.ones(24)), np.array([0.01, 0.02, 0.1])
    together = weigh(moves, 0.02, errors)
    for k in range(3):
        alone = weigh(moves[k : k + 1], 0.02, errors[k : k + 1])
        np.testing.assert_allclose([part[k] for part in together], np.ravel(alone))


def test_a_small_move_is_likelier_than_a_large_one() -> None:
    *_, evidence = weigh(np.outer([0.0, 0.02, 0.1, 0.5], np.ones(24)), 0.02, np.full(4, TYPICAL))
    assert (np.diff(evidence) < 0).all()


def test_errors_are_no_evidence() -> None:
    moves, error, few = np.full((3, 24), 0.3), np.array([TYPICAL, TYPICAL, 1.0]), np.eye(3)[1]
    weights, _, evidence = weigh(moves, 0.02, error, few)
    assert evidence[0] == evidence[1] == evidence[2]
    assert max(weights[1:]) < weights[0] / 10


@pytest.mark.parametrize("chance", [0.5, 0.98])
def test_the_less_sure_a_reading_the_more_is_open(chance: float) -> None:
    errors = np.array([0.01, 0.03, 0.1, 0.3, 1.0])
    weights, deviations, _ = weigh(np.full((5, 24), 0.2), 0.01, errors, 0.0, np.full(5, chance))
    assert (np.diff(weights) < 0).all()
    assert (np.diff(deviations) > -0.01).all()
    assert deviations[0] < 0.06  # that of the reading, hardly more
    assert deviations[-1] == pytest.approx(np.sqrt(1 - chance) * 0.01 + np.sqrt(chance) * 0.16, 0.2)


SHIFT, NONE = np.ones(1), np.zeros(1)
SURE = np.zeros((3, 1))


def says(*moves: float) -> np.ndarray:
    return np.array(moves)[:, None, None] * np.ones((3, 1, 24))


def test_after_a_shift_the_reading_nearer_to_dcal_counts_for_more() -> None:
    moves = says(0.02, 0.1, 0.5)
    move, error = agree(moves, SURE, SHIFT)
    assert 0.8 * 0.02 <= move[0, 0] < 0.8 * 0.03
    assert error[0] > 0
    np.testing.assert_allclose(agree(moves[[1, 0, 2]], SURE, SHIFT)[0], move)


def test_without_one_the_school_of_all_rehearsals_counts() -> None:
    move, error = agree(says(0.02, 0.1, 0.5), SURE, NONE)
    np.testing.assert_allclose(move, 0.5)
    assert error[0] == LEAST


def test_the_error_is_that_of_the_schools_that_count() -> None:
    moves = says(0.02, 0.3, 0.3)
    mild, hard, every = 0.03 * np.eye(3)[:, :, None]
    cases = ((SHIFT, mild, hard), (SHIFT, mild, every), (NONE, every, mild), (NONE, every, hard))
    for chance, counts, other in cases:
        apart = agree(moves, SURE, chance)[1]
        more, less = (agree(moves, e, chance)[1] - apart for e in (counts, other))
        assert more[0] > less[0] >= 0
    both = np.full((3, 1), 0.03)
    np.testing.assert_allclose(agree(moves * 0, both, NONE)[1], 0.03 * LIFE)


@pytest.mark.parametrize(("chance", "part"), [(NONE, 1.0), (SHIFT, 0.8)])
def test_readings_that_agree_are_joined_and_leave_no_doubt(chance: np.ndarray, part: float) -> None:
    """After a shift readings go too far by a fifth, in either direction."""
    moves = np.repeat(np.linspace(-0.1, 0.1, 24)[None, None], 3, axis=0)
    move, error = agree(moves, SURE, chance)
    np.testing.assert_allclose(move, part * moves[0])
    np.testing.assert_allclose(error, LEAST)


@given(st.floats(-3, 3), st.floats(1, 1000))
def test_a_chance_is_one(farther: float, classes: float) -> None:
    chance = float(shifted(np.array([farther]), classes)[0])
    assert 0 < chance < 1
    assert chance == float(shifted(np.array([-farther]), classes)[0])


def test_the_farther_a_set_is_the_likelier_it_has_shifted() -> None:
    chances = shifted(np.array([0.0, 0.02, 0.05, 0.1, 0.3]), 9.0)
    assert (np.diff(chances) >= 0).all()
    assert chances[0] < 0.2
    assert chances[3] > 0.9


def test_few_classes_may_be_off_by_chance() -> None:
    few, many = (float(shifted(np.array([0.04]), classes)[0]) for classes in (2.0, 30.0))
    assert few < many


def test_a_move_is_followed_less_where_nothing_has_shifted() -> None:
    moves = np.full((2, 24), 0.05)
    weights, *_ = weigh(moves, 0.01, np.full(2, TYPICAL), 0.0, np.array([0.05, 0.95]))
    assert weights[0] < weights[1]

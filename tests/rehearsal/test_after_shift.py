from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opengcn.rehearsal.after_shift import DISSOLVED, OVERSHOOT, SMALLER, agree, centre, draw
from opengcn.rehearsal.level import Said
from opengcn.rehearsal.reference import Reference
from opengcn.rehearsal.trust import LEAST, LIFE, Reading

KNOWN = 0.6 + 0.6 * np.linspace(0, 1, 24) ** 2  # lopsided: its median is not its mean
STRANGERS = 1.3


def dcal(quantiles: np.ndarray = KNOWN, strangers: float = STRANGERS) -> Reference:
    rows, labels = np.eye(4, dtype=np.float32), np.arange(4)
    return Reference(quantiles, np.array([strangers, 0.1, 1.0]), 10, 20.0, rows, labels, 200)


SURE = np.zeros((2, 1))


def says(*moves: float) -> np.ndarray:
    return np.array(moves)[:, None, None] * np.ones((2, 1, 24))


def test_after_a_shift_the_reading_nearer_to_dcal_counts_for_more() -> None:
    moves = says(0.02, 0.1)
    move, error = agree(moves, SURE)
    assert (1 - OVERSHOOT) * 0.02 <= move[0, 0] < (1 - OVERSHOOT) * 0.03
    assert error[0] > 0
    np.testing.assert_allclose(agree(moves[[1, 0]], SURE)[0], move)


def test_the_error_is_that_of_the_school_that_counts() -> None:
    moves = says(0.02, 0.3)
    mild, hard = 0.03 * np.eye(2)[:, :, None]
    apart = agree(moves, SURE).errors
    more, less = (agree(moves, e).errors - apart for e in (mild, hard))
    assert more[0] > less[0] >= 0
    both = np.full((2, 1), 0.03)
    np.testing.assert_allclose(agree(moves * 0, both).errors, 0.03 * LIFE)


def test_readings_that_agree_are_joined_and_leave_no_doubt() -> None:
    """After a shift readings go too far, in either direction."""
    moves = np.repeat(np.linspace(-0.1, 0.1, 24)[None, None], 2, axis=0)
    move, error = agree(moves, SURE)
    np.testing.assert_allclose(move, (1 - OVERSHOOT) * moves[0])
    np.testing.assert_allclose(error, LEAST)


def test_of_a_set_that_is_much_smaller_what_goes_beyond_that_is_too_far() -> None:
    expected = np.full((1, 24), -0.2 / SMALLER)
    move, error = agree(says(-0.3, -0.3), SURE, expected)
    np.testing.assert_allclose(move, -0.2 - (1 - OVERSHOOT) * 0.1)
    np.testing.assert_allclose(error, LEAST)
    nearer = agree(says(-0.25, -0.05), SURE, expected).moves
    assert nearer[0, 0] == pytest.approx(-0.2 - (1 - OVERSHOOT) * 0.05, abs=1e-6)


def drawn(move: float, error: float, level: float, level_error: float = 0.05) -> Reading:
    shape = 0.04 * np.linspace(0, 1, 24) ** 2
    reading = Reading((move + shape - shape.mean())[None], np.array([error]))
    return draw(reading, KNOWN, Said(0.7, level, level_error))


def test_a_reading_is_drawn_to_the_level_as_their_errors_say() -> None:
    """As two measurements of one thing are joined."""
    for own, other in ((0.01, 0.03), (0.03, 0.03), (0.2, 0.1)):
        found = drawn(-0.2, own, -0.1, other)
        part = own**2 / (own**2 + (other * KNOWN.mean()) ** 2)
        assert found.moves.mean() == pytest.approx(-0.2 + 0.1 * part)


def test_a_reading_and_a_level_that_agree_are_surer_than_either() -> None:
    for own, other in ((0.01, 0.03), (0.03, 0.03), (0.2, 0.1)):
        weights = own**-2 + (other * KNOWN.mean()) ** -2
        assert drawn(-0.1, own, -0.1, other).errors[0] == pytest.approx(weights**-0.5)


def test_nobody_is_surer_than_that() -> None:
    assert drawn(-0.1, 1e-3, -0.1, 0.0).errors[0] == LEAST


def test_where_they_differ_the_join_may_be_at_either() -> None:
    own, other = 0.03, 0.05 * KNOWN.mean()
    rng = np.random.default_rng(0)
    part = own**2 / (own**2 + other**2)
    joined = own * np.sqrt(1 - part)  # of either, once it has been joined with the other
    for level in (-0.1, -0.3, 0.3):
        at = np.where(rng.random(200_000) < part, level, -0.2)
        draws = at + joined * rng.standard_normal(len(at))
        assert drawn(-0.2, own, level).errors[0] == pytest.approx(draws.std(), rel=0.01)


def test_it_keeps_the_shape_of_its_distances() -> None:
    before, after = drawn(-0.2, 0.1, -0.2), drawn(-0.2, 0.1, 0.1)
    ratio = (KNOWN + after.moves[0]) / (KNOWN + before.moves[0])
    np.testing.assert_allclose(ratio, ratio[0])
    assert ratio[0] > 1.1


def test_candidates_are_drawn_each_for_itself() -> None:
    moves, errors = np.outer([-0.3, 0.0, 0.2], np.ones(24)), np.array([0.01, 0.05, 0.2])
    said = Said(0.0, -0.05, 0.4)
    together = draw(Reading(moves, errors), KNOWN, said)
    for k in range(3):
        one = draw(Reading(moves[k : k + 1], errors[k : k + 1]), KNOWN, said)
        np.testing.assert_allclose(together.moves[k], one.moves[0])
        np.testing.assert_allclose(together.errors[k], one.errors[0])


@given(st.floats(0.0, 2.0))
def test_class_mates_are_expected_where_dcal_has_them_or_nearer(strangers: float) -> None:
    moves = centre(dcal(), np.array([strangers]))[0]
    assert (moves <= 0).all()
    assert (KNOWN + moves >= -1e-12).all()


def test_a_somewhat_smaller_set_has_lost_what_tells_classes_apart() -> None:
    """Same-class distances are expected as before, until strangers come near to them."""
    apart = STRANGERS / KNOWN.mean()
    kink = STRANGERS * apart**-DISSOLVED
    assert KNOWN.mean() < kink < STRANGERS
    moves = centre(dcal(), np.array([2.0, STRANGERS, kink * 1.001, kink * 0.5]))
    np.testing.assert_array_equal(moves[:3], 0)
    np.testing.assert_allclose(moves[3], -KNOWN / 2)


def test_class_mates_are_expected_to_be_nearer_than_strangers() -> None:
    for strangers in (0.1, 0.5, 1.0):
        assert (KNOWN + centre(dcal(), np.array([strangers]))).mean() < strangers


def test_a_dcal_whose_class_mates_are_no_nearer_than_strangers_is_no_harm() -> None:
    found = centre(dcal(strangers=0.5), np.array([0.4, 0.6]))
    np.testing.assert_allclose(found, [-0.2 * KNOWN, 0 * KNOWN])

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opengcn.rehearsal.mates import Correction
from opengcn.rehearsal.trust import (
    BENT,
    CORRECTED,
    SHIFT,
    VARIED,
    VARIED_CLASSES,
    Reading,
    Weighed,
    shifted,
    weigh,
)

TYPICAL = 0.0175  # error of a reading


def reading(move: float, error: float = TYPICAL, count: int = 1) -> Reading:
    return Reading(np.full((count, 24), move), np.full(count, error))


def correction(move: float = 0.0, open_: float = 1.0, count: int = 1) -> Correction:
    return Correction(np.full((count, 24), move), np.full(count, open_))


def believed(
    move: float,
    reference_error: float,
    error: float = TYPICAL,
    chance: float = 0.5,
    corrected: Correction | None = None,
) -> Weighed:
    """Weigh the same reading, whether something has shifted or not."""
    same = reading(move, error)
    return weigh(same, same, corrected or correction(), reference_error, np.array([chance]))


def trust(move: float, reference_error: float, error: float = TYPICAL) -> float:
    return float(believed(move, reference_error, error).moves[0, 0] / move)


@given(st.floats(0.001, 2), st.floats(0, 1), st.floats(1e-3, 2))
def test_it_is_between_dcal_and_the_reading(move: float, own: float, error: float) -> None:
    assert 0 <= trust(move, own, error) <= 1 + 1e-9
    assert believed(move, own, error).deviations[0] > 0


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


def test_where_nothing_has_shifted_the_corrected_curve_stands_for_dcal() -> None:
    """What classes leave open is small, so the reading counts for little; and the reverse."""
    sure, unsure, untold = (
        believed(0.06, 0.04, chance=0.01, corrected=correction(0.02, open_)).moves[0, 0]
        for open_ in (0.05, 0.3, 1.0)
    )
    assert 0.02 <= sure < unsure < untold < 0.06
    assert sure < 0.03
    only = believed(0.06, 0.04, error=10.0, chance=0.01, corrected=correction(0.02, 0.3))
    assert only.moves[0, 0] == pytest.approx(0.02, abs=1e-3)
    assert only.deviations[0] == pytest.approx(0.3 * CORRECTED * 0.04, rel=0.2)


def test_after_a_shift_there_is_no_correction() -> None:
    with_, without = (
        believed(0.1, 0.02, chance=1 - 1e-12, corrected=c).moves[0, 0]
        for c in (correction(-0.1, 0.1), correction())
    )
    assert with_ == pytest.approx(without, abs=1e-6)
    assert with_ == pytest.approx(0.1 * SHIFT**2 / (SHIFT**2 + TYPICAL**2))


def test_either_case_has_its_reading() -> None:
    still, moved = reading(0.01), reading(0.2)
    means = [
        weigh(still, moved, correction(), 0.02, np.array([chance])).moves[0, 0]
        for chance in (1e-9, 0.5, 1 - 1e-9)
    ]
    assert means[0] < 0.01
    assert means[0] < means[1] < means[2]
    assert means[2] > 0.19


def test_a_correction_leaves_no_more_open_than_dcal_does() -> None:
    for move, open_ in ((0.0, 1.0), (0.03, 0.1), (0.02, 1.0)):
        found = believed(move, 0.02, 10.0, 1e-9, correction(move, open_))
        assert found.deviations[0] <= 0.02 * 1.01


def test_a_large_correction_is_less_sure_than_a_small_one() -> None:
    small, large = (
        believed(move + 0.02, 0.1, chance=0.01, corrected=correction(move, 0.05))
        for move in (0, 0.1)
    )
    assert small.moves[0, 0] < 0.02 * 0.5
    assert large.moves[0, 0] - 0.1 > 0.02 * 0.7


def test_a_reading_far_from_the_corrected_curve_speaks_for_a_shift() -> None:
    """Not one far from D_cal's: the correction may have told as much."""
    told, untold = (
        weigh(reading(0.08), reading(0.5), correction(move, 0.2), 0.05, np.array([0.3])).moves[0, 0]
        for move in (0.08, -0.08)
    )
    assert told < 0.1
    assert untold > 0.25


def test_where_the_cases_differ_that_is_open_too() -> None:
    alike, apart = (
        weigh(reading(0.02), reading(far), correction(), 0.03, np.array([0.9])).deviations[0]
        for far in (0.02, 0.3)
    )
    assert apart > 3 * alike


def test_candidates_are_weighed_each_for_itself() -> None:
    moves, errors = np.outer([0.01, 0.05, 0.3], np.ones(24)), np.array([0.01, 0.02, 0.1])
    chance = np.array([0.2, 0.5, 0.9])
    corrected = Correction(moves / 2, np.array([0.2, 0.4, 1.0]))
    both = Reading(moves, errors)
    together = weigh(both, both, corrected, 0.02, chance)
    for k in range(3):
        part = slice(k, k + 1)
        one = Reading(moves[part], errors[part])
        alone = weigh(one, one, Correction(*(c[part] for c in corrected)), 0.02, chance[part])
        for a, b in zip(together, alone, strict=True):
            np.testing.assert_allclose(a[k], b[0])


def test_evidence_is_how_near_the_level_is_or_how_small_a_shift() -> None:
    def evidence(far: float, level: float, chance: float) -> float:
        found = weigh(reading(0.0), reading(far), correction(), 0.02, np.array([chance]), level)
        return float(found.evidence[0])

    error = np.hypot(VARIED, VARIED_CLASSES * 0.02)
    assert evidence(0.3, 0.0, 1e-9) == pytest.approx(0, abs=1e-6)
    for level in (0.03, -0.03, 0.06):
        assert evidence(0.3, level, 1e-9) == pytest.approx(-((level / error) ** 2) / 2, rel=1e-3)
    by_size = [evidence(far, 0, 1 - 1e-9) for far in (0.0, 0.1, 0.3)]
    assert by_size[0] > by_size[1] + 0.1 > by_size[2] + 0.5
    assert evidence(0.3, 0.04, 1 - 1e-12) == pytest.approx(evidence(0.3, 0.06, 1 - 1e-12))


def test_a_level_draws_the_corrected_curve_to_it_and_tells_candidates_apart() -> None:
    still = Reading(np.outer([0.0, 0.05], np.ones(24)), np.full(2, TYPICAL))
    curve, nothing = correction(0.02, 0.3, count=2), np.full(2, 1e-9)
    plain = weigh(still, still, curve, 0.04, nothing)
    level = weigh(still, still, curve, 0.04, nothing, 0.05)
    assert (level.moves.mean(1) > plain.moves.mean(1)).all()
    assert (level.moves.mean(1) < 0.05).all()
    assert (level.deviations < plain.deviations).all()
    # What the corrected curve and the reading say together is compared with it.
    error, near = (
        np.hypot(VARIED, VARIED_CLASSES * 0.04),
        np.hypot(CORRECTED * 0.3 * 0.04, BENT * 0.02),
    )
    part = near**2 / (near**2 + TYPICAL**2)
    off = 0.02 + part * (np.array([0.0, 0.05]) - 0.02) - 0.05
    more = level.evidence[1] - level.evidence[0]
    assert more == pytest.approx((off[0] ** 2 - off[1] ** 2) / error**2 / 2, rel=1e-3)
    assert plain.evidence[1] == pytest.approx(plain.evidence[0], abs=1e-6)


def test_a_level_keeps_the_shape_of_the_curve() -> None:
    shape = np.linspace(-0.01, 0.01, 24)
    curve = Correction(shape[None], np.array([0.3]))
    unsure = Reading(np.zeros((1, 24)), np.array([5.0]))
    found = weigh(unsure, unsure, curve, 0.04, np.array([1e-9]), 0.03).moves[0]
    np.testing.assert_allclose(found - found.mean(), shape, atol=1e-4)
    assert 0 < found.mean() < 0.03


def test_a_level_joins_the_corrected_curve_as_its_error_says() -> None:
    """The product of two normal densities: nothing is read, and nothing has shifted."""
    own, unsure = 0.04, reading(0.0, 50.0)
    found = weigh(unsure, unsure, correction(0.0, 0.3), own, np.array([1e-9]), 0.03)
    near, error = CORRECTED * 0.3 * own, np.hypot(VARIED, VARIED_CLASSES * own)
    assert found.moves.mean() == pytest.approx(0.03 * near**2 / (near**2 + error**2), rel=1e-3)
    assert found.deviations[0] == pytest.approx((near**-2 + error**-2) ** -0.5, rel=1e-3)


def test_a_level_that_agrees_does_not_speak_for_a_shift() -> None:
    """How far the correction itself may go from D_cal has nothing to do with it."""
    still, moved, curve = reading(0.06), reading(0.3), correction(0.06, 0.2)
    plain, level = (
        weigh(still, moved, curve, 0.02, np.array([0.3]), v).moves.mean() for v in (None, 0.06)
    )
    assert level == pytest.approx(plain, abs=0.01)
    assert level < plain + 1e-3


def test_after_a_shift_the_level_of_sets_that_have_not_shifted_says_nothing() -> None:
    sure = np.array([1 - 1e-12])
    still, moved = reading(0.0), reading(0.2)
    with_it, without = (weigh(still, moved, correction(), 0.02, sure, v) for v in (0.1, None))
    np.testing.assert_allclose(with_it.moves, without.moves, atol=1e-6)


def test_after_a_shift_a_centre_stands_for_dcal() -> None:
    """A reading there is no sign of a large shift, and one that says nothing leaves the centre."""
    sure, centre = np.array([1 - 1e-12]), np.full((1, 24), -0.3)
    found = weigh(reading(0), reading(0, 50.0), correction(), 0.02, sure, None, centre)
    np.testing.assert_allclose(found.moves, -0.3, atol=1e-3)
    near, far = (
        weigh(reading(0), reading(move), correction(), 0.02, sure, None, centre).evidence[0]
        for move in (-0.3, 0.0)
    )
    assert near - far == pytest.approx(0.3**2 / (2 * SHIFT**2), rel=1e-3)
    # Between the cases, a reading near the centre speaks for a shift, one far from it against.
    half, moved = np.array([0.5]), reading(-0.3)
    there, elsewhere = (
        weigh(reading(0), moved, correction(), 0.05, half, None, c).moves[0, 0]
        for c in (centre, -3 * centre)
    )
    assert there < elsewhere - 0.05
    still = weigh(reading(0.1), reading(0), correction(), 0.02, 1 - sure, None, centre)
    plain = weigh(reading(0.1), reading(0), correction(), 0.02, 1 - sure)
    np.testing.assert_allclose(still.moves, plain.moves, atol=1e-6)


def test_errors_are_no_evidence() -> None:
    found = [believed(0.3, 0.02, error).evidence[0] for error in (TYPICAL, 0.1, 1.0)]
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("chance", [0.5, 0.98])
def test_the_less_sure_a_reading_the_more_is_open(chance: float) -> None:
    found = [believed(0.2, 0.01, error, chance) for error in (0.01, 0.03, 0.1, 0.3, 1.0)]
    assert (np.diff([f.moves[0, 0] for f in found]) < 0).all()
    deviations = np.array([f.deviations[0] for f in found])
    assert (np.diff(deviations) > -0.01).all()
    assert deviations[0] < 0.06  # that of the reading, hardly more
    assert deviations[-1] == pytest.approx(np.sqrt(1 - chance) * 0.01 + np.sqrt(chance) * 0.16, 0.2)


@given(st.floats(-3, 3), st.floats(1e-4, 0.1))
def test_a_chance_is_one(farther: float, deviation: float) -> None:
    variance = np.array([deviation**2])
    chance, evidence = (float(x[0]) for x in shifted(np.array([farther]), variance))
    assert 0 < chance < 1
    assert np.isfinite(evidence)
    assert chance == float(shifted(np.array([-farther]), variance)[0][0])


def test_the_farther_a_set_is_the_likelier_it_has_shifted() -> None:
    chances, evidence = shifted(np.array([0.0, 0.02, 0.05, 0.1, 0.3]), np.full(5, 1e-4))
    assert (np.diff(chances) >= 0).all()
    assert (np.diff(evidence) < 0).all()
    assert chances[0] < 0.2
    assert chances[3] > 0.9


def test_what_may_be_off_by_chance_is_no_sign_of_a_shift() -> None:
    sure, unsure = (float(shifted(np.array([0.04]), np.array([v]))[0][0]) for v in (1e-4, 1e-3))
    assert sure > 0.9
    assert unsure < 0.5


def test_a_move_is_followed_less_where_nothing_has_shifted() -> None:
    few, many = (believed(0.05, 0.01, chance=chance).moves[0, 0] for chance in (0.05, 0.95))
    assert few < many

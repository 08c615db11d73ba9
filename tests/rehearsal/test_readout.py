from __future__ import annotations

from dataclasses import fields, replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

import opengcn as og
from opengcn.rehearsal import after_shift, readout
from opengcn.rehearsal.after_shift import centre
from opengcn.rehearsal.candidates import candidates
from opengcn.rehearsal.examples import COMPARED, KINDS, Examples, View, rehearse
from opengcn.rehearsal.level import Said
from opengcn.rehearsal.mates import Correction
from opengcn.rehearsal.question import Asked
from opengcn.rehearsal.readout import Prediction, Readout
from opengcn.rehearsal.reference import Reference
from opengcn.rehearsal.trust import shifted
from opengcn.rehearsal.worlds import World

Rate = NDArray[np.float64]

READ = np.full(3, -4.0)  # log priors


def ask(
    seen: list[View], nodes: int, suggested: float, hint: float | None = None, move: float = 0.0
) -> Asked:
    """Ask about a set that D_cal's rows differ from in nothing, or by a move that is corrected."""
    count = len(candidates(suggested, hint))
    open_ = np.full(count, 0.3 if move else 1.0)
    correction = Correction(np.full((count, 24), move), open_)
    return Asked(seen, nodes, correction, suggested, hint)


def labelled(classes: int, size: int, seed: int = 0) -> og.EmbeddingSet:
    return og.datasets.synthetic(classes, size, 16, concentration=20.0, seed=seed)


def world(classes: int = 30, size: int = 20, seed: int = 0) -> World:
    return World.of(labelled(classes, size, seed), np.random.default_rng(0))


@pytest.fixture(scope="module")
def examples() -> Examples:
    return rehearse(world(), 450, seed=0, progress=False)


@pytest.fixture(scope="module")
def model(examples: Examples) -> Readout:
    return Readout.learn(examples, None, 0)


def reference(examples: Examples, e: int, error: float = 0.05) -> Reference:
    quantiles = examples.reference[e].astype(float)
    rows = np.eye(16, dtype="f4")
    labels = np.arange(16)
    return Reference(quantiles, np.array([1.4, 0.1, 1.2]), 5, 20.0, rows, labels, 100, error)


def look(examples: Examples, e: int, strange: float = 1.4, found: float = 0.0) -> View:
    """See an example as a set that has shifted, unless strangers are as far as 1.2."""
    return View(examples.features[e], examples.among[e], examples.bounds[e], 1.2, strange, found)


def predict(
    model: Readout, examples: Examples, e: int, hint: float | None = None, error: float = 0.05
) -> Prediction:
    strange = 1.2 if KINDS[e % len(KINDS)] == "still" else 1.4
    asked = ask([look(examples, e, strange)], 4096, 0.01, hint)
    return model.predict(asked, reference(examples, e, error))


def test_it_beats_the_reference_on_new_episodes(model: Readout) -> None:
    new = rehearse(world(seed=1), 60, seed=99, progress=False)
    found = [predict(model, new, e).quantiles for e in range(len(new))]
    after = np.abs(np.array(found) - new.truth).mean(1)
    before = np.abs(new.reference - new.truth).mean(1)
    assert after.mean() < 0.85 * before.mean()  # a third of them are hard


def test_kinds_come_in_turn(examples: Examples, model: Readout) -> None:
    odd = Examples(*(getattr(examples, f.name)[:11] for f in fields(Examples)))
    for k, kind in enumerate(KINDS):
        np.testing.assert_array_equal(odd.of_kind(kind).log_prior, odd.log_prior[k::3])
    third = len(examples) // 3
    assert [len(school.priors) for school in model.schools] == [third, third, len(examples)]
    features, among = examples.features.shape[1], examples.among.shape[1]
    seen = [school.features.shape[1] for school in model.schools]
    assert seen == [features, features, features + among]


def test_what_dcal_sees_among_the_nodes_counts_only_where_nothing_has_shifted(
    examples: Examples, model: Readout
) -> None:
    known = reference(examples, 0)
    for strange, counts in ((1.2, True), (1.5, False)):
        seen = look(examples, 0, strange)
        other = replace(seen, among=seen.among + np.float32(0.5))
        one, two = (
            model.predict(ask([v], 4096, 0.01, hint=0.01), known).quantiles for v in (seen, other)
        )
        assert (np.abs(one - two).max() > 1e-4) == counts


def test_the_prior_is_read_by_those_that_count(examples: Examples, model: Readout) -> None:
    moves, errors = np.zeros((3, 25, 24)), np.full((3, 25), 0.02)
    known = reference(examples, 0)

    def prior(strange: float, school: int, read: float) -> float:
        asked = ask([look(examples, 0, strange)], 4096, 1e-5)
        reads = np.where(np.arange(3) == school, read, -5.0)
        return model.judge(moves, errors, reads, known, asked).prior

    for strange, counts in ((1.2, [2]), (1.5, [0, 1])):
        for school in range(3):
            change = np.log(prior(strange, school, -3.0) / prior(strange, school, -7.0))
            if school in counts:
                assert change > 0.8 * 4 / len(counts)
            else:
                assert change == pytest.approx(0, abs=0.4)


def test_a_set_that_dcal_cannot_look_at_is_read_as_usual(
    examples: Examples, model: Readout
) -> None:
    seen = look(examples, 0, strange=1.2)
    nothing = replace(seen, among=np.full_like(seen.among, np.nan))
    usual = replace(seen, among=model.middle[-len(seen.among) :])
    one, two = (model.read(ask([v], 4096, 0.01), reference(examples, 0)) for v in (nothing, usual))
    for part, other in zip(one, two, strict=True):
        np.testing.assert_allclose(part, other, atol=1e-5)
        assert np.isfinite(part).all()


def test_few_pairs_leave_the_word_to_the_reference(examples: Examples, model: Readout) -> None:
    """Of 4,096 nodes, one pair in a thousand is 8,000 pairs; of 200 nodes it is 20."""
    known = reference(examples, 0, error=0.02)
    moves, errors = np.full((3, 1, 24), 0.02), np.full((3, 1), 0.01)

    def told(nodes: int, hint: float) -> float:
        asked = ask([look(examples, 0, strange=1.2)], nodes, 0.01, hint)
        found = model.judge(moves, errors, READ, known, asked)
        return float((found.quantiles - known.quantiles).mean() / known.quantiles.mean())

    many, enough, some, few = told(4096, 0.01), told(4096, 1e-3), told(500, 1e-3), told(200, 1e-3)
    assert many == pytest.approx(enough, rel=0.02)
    assert some < 0.7 * enough
    assert few < 0.3 * enough


def test_schools_that_differ_leave_the_word_to_the_reference(
    examples: Examples, model: Readout
) -> None:
    """Both say a move of 0.1, or one 0.1 and the other 0.3, or the contrary."""
    asked, known = (
        ask([look(examples, 0)], 4096, 0.01, hint=0.1),
        reference(examples, 0, error=0.01),
    )

    def told(mild: float, hard: float) -> tuple[float, float]:
        moves = np.array([mild, hard, 0.0])[:, None, None] * np.ones((3, 1, 24))
        found = model.judge(moves, np.full((3, 1), 0.0175), READ, known, asked)
        off = float((found.quantiles - known.quantiles).mean() / known.quantiles.mean())
        return off, float((found.high - found.low).mean())

    agreed, narrow = told(0.1, 0.1)
    farther, wide = told(0.1, 0.3)
    contrary, wider = told(0.1, -0.1)
    assert 0.06 < agreed < 0.11
    assert 0.01 < farther < 0.5 * agreed
    assert abs(contrary) < 0.3 * agreed
    assert narrow < min(wide, wider)


def test_the_band_of_a_shifted_set_does_not_narrow_where_less_is_sure(
    examples: Examples, model: Readout
) -> None:
    asked, known = (
        ask([look(examples, 0)], 4096, 0.01, hint=0.01),
        reference(examples, 0, error=0.01),
    )

    def width(apart: float, error: float) -> float:
        moves = np.array([0.2, 0.2 + apart, 0.2])[:, None, None] * np.ones((3, 1, 24))
        found = model.judge(moves, np.full((3, 1), error), READ, known, asked)
        return float((found.high - found.low).mean())

    by_error = [width(0.0, error) for error in (0.01, 0.03, 0.1, 0.3, 1.0)]
    assert all(after > 0.95 * before for before, after in pairwise(by_error))
    assert by_error[2] > 1.2 * by_error[0]
    by_school = [width(apart, 0.01) for apart in (0.0, 0.1, 0.2, 0.4, 0.8)]
    assert all(after > 0.95 * before for before, after in pairwise(by_school))
    assert by_school[-1] > 1.2 * by_school[0]


def test_a_set_that_has_not_shifted_is_believed_to_be_like_dcal(
    examples: Examples, model: Readout
) -> None:
    known, off = reference(examples, 0, error=0.01), []
    for strange in (1.2, 1.25, 1.4):
        asked = ask([look(examples, 0, strange)], 4096, 0.01, hint=0.005)
        moves, errors = np.full((3, 1, 24), 0.04), np.full((3, 1), 0.0175)
        found = model.judge(moves, errors, READ, known, asked)
        off.append(float((found.quantiles - known.quantiles).mean()))
    assert off == sorted(off)
    assert off[0] < 0.7 * off[-1]


def test_where_nothing_has_shifted_dcal_is_corrected(examples: Examples, model: Readout) -> None:
    known = reference(examples, 0, error=0.04)
    moves, errors = np.zeros((3, 1, 24)), np.full((3, 1), 0.05)

    def told(strange: float, move: float) -> float:
        asked = ask([look(examples, 0, strange)], 4096, 0.01, 0.005, move)
        found = model.judge(moves, errors, READ, known, asked)
        return float((found.quantiles - known.quantiles).mean())

    assert 0.01 < told(1.2, 0.03) < 0.03
    assert told(1.2, -0.03) == pytest.approx(-told(1.2, 0.03), abs=1e-6)
    assert told(1.2, 0.0) == pytest.approx(0, abs=1e-9)
    assert abs(told(1.5, 0.03)) < 0.002


def test_what_directions_say_tells_the_prior(examples: Examples, model: Readout) -> None:
    """Many mates that are far and few that are near look alike: how far they are tells which."""
    known = replace(reference(examples, 0), error=0.03)
    at = candidates(1e-5, None)
    moves = np.broadcast_to(0.03 * (at + 6)[:, None], (3, 25, 24)).copy()
    errors = np.full((3, 25), 0.02)

    def prior(strange: float, said: float) -> float:
        asked = ask([look(examples, 0, strange)], 500, 1e-5)
        far = (np.expm1(moves[2]) * known.quantiles).mean(1)
        level = Said(float(np.interp(said, at[:-1], far[:-1])), 0.0, 50.0)
        corrected = Correction(np.outer(far, np.ones(24)), np.full(25, 0.3))
        asked = replace(asked, level=level, correction=corrected)
        return float(np.log(model.judge(moves, errors, READ, known, asked).prior))

    assert prior(1.2, -4.0) > prior(1.2, -7.0) + 1
    assert prior(1.5, -4.0) == pytest.approx(prior(1.5, -7.0), abs=0.3)


def test_how_far_dcal_is_tells_few_classes_from_many(examples: Examples, model: Readout) -> None:
    """The mean distance of a handful of classes is smaller than that of their strangers."""
    known = replace(reference(examples, 0), quantiles=np.linspace(0.5, 0.7, 24))
    moves, errors = np.zeros((3, 25, 24)), np.full((3, 25), 0.02)
    reads = np.full(3, -2.2)

    def prior(strange: float) -> float:
        asked = ask([look(examples, 0, strange)], 500, 1e-5)
        return model.judge(moves, errors, reads, known, asked).prior

    # Were a fifth of pairs of one class, at 0.6, strangers would be at 1.35 for a mean of 1.2.
    assert prior(1.35) > 1.3 * prior(1.2)


def test_of_rows_of_dcal_the_labels_are_known(examples: Examples, model: Readout) -> None:
    known = reference(examples, 0)
    for found, nodes, part in ((1.0, 100, 1.0), (0.5, 100, 0.5), (1.0, 1000, 0.1), (0.4, 40, 1.0)):
        seen = look(examples, 0, found=found)
        asked, new = ask([seen], nodes, 0.2), ask([look(examples, 0)], nodes, 0.2)
        whole, other = (model.predict(a, known) for a in (asked, new))
        expected = part * known.quantiles + (1 - part) * other.quantiles
        np.testing.assert_allclose(whole.quantiles, expected, atol=1e-9)
        assert whole.prior == pytest.approx(part * 0.2 + (1 - part) * other.prior)
        hinted = model.predict(ask([seen], nodes, 0.2, hint=0.01), known)
        assert hinted.prior == pytest.approx(0.01)


def test_predictions_are_sound(examples: Examples, model: Readout) -> None:
    for e in range(10):
        found = predict(model, examples, e)
        assert (np.diff(found.quantiles) >= 0).all()
        assert (found.low <= found.quantiles + 1e-12).all()
        assert (found.quantiles <= found.high + 1e-12).all()
        assert 0 < found.prior_low <= found.prior <= found.prior_high <= 1


def test_a_hint_is_the_prior_and_changes_the_reading(examples: Examples, model: Readout) -> None:
    few, many = (
        [predict(model, examples, e, hint, error=10.0) for e in range(20)] for hint in (0.2, 0.001)
    )
    assert [f.prior for f in few] == pytest.approx([0.2] * 20)
    assert [f.prior for f in many] == pytest.approx([0.001] * 20)
    # With fewer pairs that share a class, those are the nearest ones.
    assert np.mean([f.quantiles for f in many]) < np.mean([f.quantiles for f in few]) - 0.01


def test_the_same_seed_gives_the_same(examples: Examples, model: Readout) -> None:
    arrays = model.arrays()
    for name, value in Readout.learn(examples, None, 0).arrays().items():
        np.testing.assert_array_equal(value, arrays[name])
    again = predict(Readout.of_arrays(arrays), examples, 0)
    np.testing.assert_array_equal(again.quantiles, predict(model, examples, 0).quantiles)


def test_more_views_of_a_set_are_averaged(examples: Examples, model: Readout) -> None:
    views = [look(examples, e) for e in (0, 1)]
    asked = [ask(seen, 4096, 0.01) for seen in (views, views[:1], views[1:])]
    both, *singles = (model.read(a, reference(examples, 0)) for a in asked)
    for together, *alone in zip(both, *singles, strict=True):
        np.testing.assert_allclose(together, (alone[0] + alone[1]) / 2, atol=1e-3)


@pytest.mark.parametrize(("classes", "part"), [(10, 0.25), (1000, 0.495)])
def test_what_is_read_of_stand_ins_is_taken_off_the_last_school(
    examples: Examples, model: Readout, classes: int, part: float
) -> None:
    """In part: the more classes D_cal has, the more."""
    known = replace(reference(examples, 0), classes=classes)
    asked = ask([look(examples, 0)], 4096, 0.01)
    stand_ins = [look(examples, e) for e in (1, 2)]
    before, errors, priors = model.read(asked, known)
    after, *others = model.read(replace(asked, stand_ins=stand_ins), known)
    lopsided = model.read(ask(stand_ins, 4096, 0.01), known)[0][2, -1]  # of what D_cal suggests
    np.testing.assert_array_equal(after[:2], before[:2])
    np.testing.assert_allclose(before[2] - after[2], np.tile(part * lopsided, (25, 1)), atol=1e-4)
    np.testing.assert_array_equal(others[0], errors)
    np.testing.assert_array_equal(others[1], priors)


def test_it_learns_from_another_world_and_keeps_what_it_knew(
    examples: Examples, model: Readout
) -> None:
    """D_cal's world is wider than D_train's; rehearsing on it must pay there."""
    wide = World.of(
        og.datasets.synthetic(12, 30, 16, concentration=6.0, seed=5), np.random.default_rng(0)
    )
    own = rehearse(wide, 300, seed=1, gap=False, progress=False)
    taught = Readout.learn(examples, own, 0)
    assert [len(school.priors) for school in taught.schools] == [250, 250, 750]
    new = rehearse(wide, 90, seed=2, gap=False, progress=False)

    def wrong(which: Readout, data: Examples) -> float:
        found = [predict(which, data, e, error=10.0).quantiles for e in range(90)]
        return float(np.abs(np.stack(found) - data.truth[:90]).mean())

    assert wrong(taught, new) < 0.95 * wrong(model, new)
    assert wrong(taught, examples) < 1.5 * wrong(model, examples)


@pytest.mark.parametrize(("strange", "which"), [(1.2, "still"), (3.0, "moved")])
def test_a_level_moves_the_estimate(
    model: Readout, examples: Examples, strange: float, which: str
) -> None:
    asked, known = ask([look(examples, 5, strange)], 400, 0.02), reference(examples, 5)

    def estimate(level: Said | None) -> float:
        return float(model.predict(replace(asked, level=level), known).quantiles.mean())

    nothing = Said(0.0, 0.0, 0.0)
    low, high = (estimate(nothing._replace(**{which: level})) for level in (-0.1, 0.1))
    assert low < estimate(nothing) < high


def test_a_set_that_is_small_as_a_whole_is_not_expected_to_be_as_wide_as_dcal(
    model: Readout, examples: Examples
) -> None:
    """Where readings are sure of nothing, half of the size is about half of the distances."""
    known, seen = reference(examples, 5), look(examples, 5, 3.0)
    small = replace(seen, mean=known.negatives[0] / 4)
    errors = np.full((3, 25), 50.0)
    for view, factor in ((seen, 1.0), (small, 0.5)):
        asked = ask([view], 400, 0.02)
        found = model.judge(np.zeros((3, 25, 24)), errors, np.full(3, -4.0), known, asked)
        assert found.quantiles.mean() < (factor + 0.05) * known.quantiles.mean()
        assert found.quantiles.mean() > (factor - 0.4) * known.quantiles.mean()


def test_of_a_much_smaller_set_less_is_taken_off_readings(
    model: Readout, examples: Examples, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sure readings of half of D_cal's distances: some of that is expected, and no overshoot."""
    known, seen = reference(examples, 5), look(examples, 5, 3.0)
    asked = ask([replace(seen, mean=known.negatives[0] / 4)], 4096, 0.02)
    moves, errors = np.full((3, 25, 24), np.log(0.5)), np.full((3, 25), 1e-3)
    found = []
    for part in (0.0, after_shift.SMALLER):
        monkeypatch.setattr(after_shift, "SMALLER", part)
        told = model.judge(moves, errors, np.full(3, -4.0), known, asked)
        found.append(float(told.quantiles.mean() / known.quantiles.mean()))
    assert found[1] < found[0] - 0.1 * after_shift.OVERSHOOT


def test_a_shift_is_judged_by_how_much_classes_and_rows_differ_by_chance(
    model: Readout, examples: Examples, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Strangers in the set, and what D_cal's rows may be farther by, for each candidate."""
    known = replace(
        reference(examples, 5), scatter=0.05, row_scatter=0.1, class_size=50.0, size=400
    )
    rows = np.tile(known.rows, (30, 1))  # more than are compared
    known = replace(known, rows=rows, labels=np.tile(known.labels, 30))
    views = [look(examples, 5, 1.3), look(examples, 5, 1.5)]
    asked, given = ask(views, 40, 0.02), {}

    def judged(farther: Rate, variance: Rate) -> tuple[Rate, Rate]:
        given["farther"], given["variance"] = farther, variance
        return shifted(farther, variance)

    def expected(reference: Reference, strangers: Rate) -> Rate:
        given["strangers"] = strangers
        return centre(reference, strangers)

    monkeypatch.setattr(readout, "shifted", judged)
    monkeypatch.setattr(readout, "centre", expected)
    moves, errors, read = model.read(asked, known)
    model.judge(moves, errors, read, known, asked)
    compared = 2 * COMPARED
    assert compared < len(known.rows)
    for k, log_prior in enumerate(candidates(0.02, None)):
        prior = np.exp(log_prior)
        classes, count = 50 / 400 + max(prior, 1 / 40), 1 / compared + 1 / 40
        assert given["variance"][k] == pytest.approx(0.05**2 * classes + 0.1**2 * count)
        odds = min(prior, 0.5) / (1 - min(prior, 0.5))
        within = (known.quantiles * np.exp(moves[:, k])).mean()
        mean = np.mean([view.mean for view in views])
        assert given["strangers"][k] == pytest.approx(mean + odds * (mean - within))
        farther = np.log(np.mean([v.strange for v in views]) / given["strangers"][k])
        assert given["farther"][k] == pytest.approx(farther)
    assert np.ptp(given["strangers"]) > 0.01

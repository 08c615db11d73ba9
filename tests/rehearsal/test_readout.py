from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
import torch

import opengcn as og
from opengcn.rehearsal import readout
from opengcn.rehearsal.examples import Examples, View, rehearse
from opengcn.rehearsal.question import Asked
from opengcn.rehearsal.readout import Prediction, Readout
from opengcn.rehearsal.reference import Reference
from opengcn.rehearsal.worlds import World


def labelled(classes: int, size: int, seed: int = 0) -> og.EmbeddingSet:
    return og.datasets.synthetic(classes, size, 16, concentration=20.0, seed=seed)


def world(classes: int = 30, size: int = 20, seed: int = 0) -> World:
    return World.of(labelled(classes, size, seed), np.random.default_rng(0))


CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def examples() -> Examples:
    return rehearse(world(), 300, seed=0, progress=False)


def trained(examples: Examples, seed: int = 0) -> Readout:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(readout, "STEPS", 150)
        return Readout.train(examples, seed, CPU, progress=False)


def reference(examples: Examples, e: int, error: float = 0.05) -> Reference:
    quantiles = examples.reference[e].astype(float)
    return Reference(quantiles, np.array([1.4, 0.1, 1.2]), 5, 20.0, np.eye(16, dtype="f4"), error)


def predict(
    model: Readout, examples: Examples, e: int, hint: float | None = None, error: float = 0.05
) -> Prediction:
    asked = Asked([View(examples.features[e], examples.bounds[e])], 4096, 0.01, hint)
    (found,) = model.predict([asked], reference(examples, e, error))
    return found


def test_it_beats_the_reference_on_new_episodes(examples: Examples) -> None:
    model = trained(examples)
    new = rehearse(world(seed=1), 40, seed=99, progress=False)
    found = [predict(model, new, e).quantiles for e in range(len(new))]
    after = np.abs(np.array(found) - new.truth).mean(1)
    before = np.abs(new.reference - new.truth).mean(1)
    assert after.mean() < 0.85 * before.mean()  # half of them are hard


def test_schools_come_in_turn(examples: Examples) -> None:
    odd = Examples(*(getattr(examples, f.name)[:11] for f in fields(Examples)))
    assert readout._by_school(odd).tolist() == [[0, 2, 4, 6, 8], [1, 3, 5, 7, 9]]
    assert (readout._of_school(odd)[: readout.FOLDS] % 2 == 0).all()
    assert (readout._of_school(odd)[readout.FOLDS :] % 2 == 1).all()


def test_schools_that_differ_leave_the_word_to_the_reference(examples: Examples) -> None:
    """Both say a move of 0.1 on average; one pair of schools agrees, the other does not."""
    model = trained(examples)

    def told(mild: float, hard: float) -> tuple[float, float]:
        arrays = model.arrays()
        for name in ("move.weight", "spread.weight", "prior.weight"):
            arrays[name] = np.zeros_like(arrays[name])
        for name in ("spread.bias", "prior.bias"):
            arrays[name] = np.full_like(arrays[name], -4.0)
        moves = np.repeat([mild, hard], readout.FOLDS)[:, None, None]
        arrays["move.bias"] = np.broadcast_to(moves, arrays["move.bias"].shape).astype("f4")
        forced = Readout.of_arrays(arrays, model.stretch, CPU)
        found = predict(forced, examples, 0, hint=0.1, error=0.01)
        off = np.abs(found.quantiles - examples.reference[0]).mean()
        return float(off), float((found.high - found.low).mean())

    agreed, narrow = told(0.1, 0.1)
    doubted, wide = told(0.0, 0.2)
    assert doubted < 0.7 * agreed
    assert wide > 1.5 * narrow


def test_predictions_are_sound(examples: Examples) -> None:
    model = trained(examples)
    for e in range(10):
        found = predict(model, examples, e)
        assert (np.diff(found.quantiles) >= 0).all()
        assert (found.low <= found.quantiles + 1e-12).all()
        assert (found.quantiles <= found.high + 1e-12).all()
        assert 0 < found.prior_low <= found.prior <= found.prior_high <= 1


def test_a_hint_is_the_prior_and_changes_the_reading(examples: Examples) -> None:
    model = trained(examples)
    few, many = (
        [predict(model, examples, e, hint, error=10.0) for e in range(20)] for hint in (0.2, 0.001)
    )
    assert [f.prior for f in few] == pytest.approx([0.2] * 20)
    assert [f.prior for f in many] == pytest.approx([0.001] * 20)
    # With fewer pairs that share a class, those are the nearest ones.
    assert np.mean([f.quantiles for f in many]) < np.mean([f.quantiles for f in few]) - 0.01


def test_the_same_seed_gives_the_same_and_leaves_torch_alone(examples: Examples) -> None:
    torch.manual_seed(1)
    before = torch.get_rng_state()
    one, two = trained(examples), trained(examples)
    assert torch.equal(before, torch.get_rng_state())
    arrays = one.arrays()
    for name, value in two.arrays().items():
        np.testing.assert_array_equal(value, arrays[name])
    again = Readout.of_arrays(arrays, one.stretch, CPU)
    np.testing.assert_array_equal(
        predict(again, examples, 0).quantiles,
        predict(one, examples, 0).quantiles,
    )


def test_it_learns_from_another_world_and_keeps_what_it_knew(
    examples: Examples, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D_cal's world is wider than D_train's; rehearsing on it must pay there."""
    monkeypatch.setattr(readout, "OWN_STEPS", 150)
    model = trained(examples)
    before = model.arrays()
    wide = og.datasets.synthetic(12, 30, 16, concentration=6.0, seed=5)
    own = rehearse(World.of(wide, np.random.default_rng(0)), 60, seed=1, gap=False, progress=False)
    taught = model.taught(examples, own, 0)
    for name, value in model.arrays().items():
        np.testing.assert_array_equal(value, before[name])
    new = rehearse(World.of(wide, np.random.default_rng(0)), 30, seed=2, gap=False, progress=False)

    def wrong(which: Readout, data: Examples) -> float:
        found = [predict(which, data, e, error=10.0).quantiles for e in range(30)]
        return float(np.abs(np.stack(found) - data.truth[:30]).mean())

    assert wrong(taught, new) < 0.9 * wrong(model, new)
    assert wrong(taught, examples) < 1.5 * wrong(model, examples)

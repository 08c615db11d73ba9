from __future__ import annotations

import numpy as np
import pytest
import torch

import opengcn as og
from opengcn.rehearsal import readout
from opengcn.rehearsal.examples import Examples, View, rehearse
from opengcn.rehearsal.readout import Guess, Readout
from opengcn.rehearsal.worlds import World


def labelled(classes: int, size: int, seed: int = 0) -> og.EmbeddingSet:
    return og.datasets.synthetic(classes, size, 16, concentration=20.0, seed=seed)


def world(classes: int = 30, size: int = 20, seed: int = 0) -> World:
    return World.of(labelled(classes, size, seed), np.random.default_rng(0))


CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def examples() -> Examples:
    return rehearse(world(), 120, seed=0, progress=False)


def trained(examples: Examples, seed: int = 0) -> Readout:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(readout, "STEPS", 150)
        return Readout.train(examples, seed, CPU, progress=False)


def views(examples: Examples, e: int) -> list[View]:
    return [View(examples.features[e], examples.bounds[e])]


def test_it_beats_the_reference_on_new_episodes(examples: Examples) -> None:
    model = trained(examples)
    new = rehearse(world(seed=1), 40, seed=99, progress=False)
    before, after = [], []
    for e in range(len(new)):
        found = model.predict(views(new, e), new.reference[e].astype(float), None)
        after.append(np.abs(found.quantiles - new.truth[e]).mean())
        before.append(np.abs(new.reference[e] - new.truth[e]).mean())
    assert np.mean(after) < 0.75 * np.mean(before)


def test_predictions_are_sound(examples: Examples) -> None:
    model = trained(examples)
    for e in range(10):
        found = model.predict(views(examples, e), examples.reference[e].astype(float), Guess(0.01))
        assert (np.diff(found.quantiles) >= 0).all()
        assert (found.low <= found.quantiles + 1e-12).all()
        assert (found.quantiles <= found.high + 1e-12).all()
        assert 0 < found.prior_low <= found.prior <= found.prior_high <= 1


def test_a_sure_hint_moves_the_prior(examples: Examples) -> None:
    model = trained(examples)
    low, high = (
        np.mean(
            [
                np.log(
                    model.predict(
                        views(examples, e), examples.reference[e].astype(float), Guess(p, sure=True)
                    ).prior
                )
                for e in range(20)
            ]
        )
        for p in (0.001, 0.1)
    )
    assert high - low > 0.4


def test_the_same_seed_gives_the_same_and_leaves_torch_alone(examples: Examples) -> None:
    torch.manual_seed(1)
    before = torch.get_rng_state()
    one, two = trained(examples), trained(examples)
    assert torch.equal(before, torch.get_rng_state())
    arrays = one.arrays()
    for name, value in two.arrays().items():
        np.testing.assert_array_equal(value, arrays[name])
    again = Readout.of_arrays(arrays, one.stretch, CPU)
    reference = examples.reference[0].astype(float)
    np.testing.assert_array_equal(
        again.predict(views(examples, 0), reference, None).quantiles,
        one.predict(views(examples, 0), reference, None).quantiles,
    )

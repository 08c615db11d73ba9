from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from opengcn.rehearsal import reader
from opengcn.rehearsal.examples import Examples
from opengcn.rehearsal.reader import GIVEN_SCALE, LIMIT, Reader, given_inputs

FEATURES = 6
STANDARD = np.zeros(FEATURES, np.float32), np.ones(FEATURES, np.float32)


def examples(count: int, seed: int = 0) -> Examples:
    """Make examples whose moves and priors follow from the features."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((count, FEATURES)).astype(np.float32)
    reference = rng.uniform(0.5, 1.0, (count, 24)).astype(np.float32)
    move = 0.1 * features[:, :1] + 0.05 * np.sin(2 * features[:, 1:2])
    bounds = rng.uniform(-4, -1, (count, 5)).astype(np.float32)
    log_prior = -4 + features[:, 2]
    return Examples(features, bounds, reference, reference * np.exp(move), log_prior)


def first(count: int, data: Examples) -> Examples:
    return Examples(*(getattr(data, field.name)[:count] for field in fields(data)))


def learn(*parts: Examples, noises: tuple[float, ...] = (0.03, 0.06)) -> Reader:
    return Reader.learn(list(parts), list(noises[: len(parts)]), STANDARD, np.random.default_rng(0))


def by_loops(known: list[np.ndarray], asked: np.ndarray, noise: np.ndarray, y: np.ndarray) -> float:
    """Gaussian process regression, pair by pair."""
    inputs = len(asked)

    def covariance(a: np.ndarray, b: np.ndarray) -> float:
        squared, inner = float(((a - b) ** 2).sum()), float((a * b).sum())
        smooth = 1 / (1 + squared / (2 * reader.LENGTH**2 * inputs))
        return smooth + reader.LINEAR * (1 + inner / inputs)

    table = np.array([[covariance(a, b) for b in known] for a in known]) + np.diag(noise)
    weights = np.linalg.solve(table, y)
    return float(sum(w * covariance(asked, k) for w, k in zip(weights, known, strict=True)))


def test_readings_are_those_of_the_naive_regression() -> None:
    data, own = examples(12), examples(5, seed=1)
    model = learn(data, own)
    asked = examples(1, seed=2)
    given = given_inputs(asked.log_prior[:, None], asked.bounds[:, None])
    moves, _ = model.read(asked.features, given, STANDARD)
    known = [np.concatenate([f, g]) for f, g in zip(model.features, model.given, strict=True)]
    both = [np.log(part.truth / part.reference) for part in (data, own)]
    noise = np.repeat([0.03, 0.06], [12, 5])
    point = np.concatenate([asked.features[0], given[0, 0]])
    for level in (0, 11, 23):
        y = np.concatenate(both)[:, level]
        assert moves[0, 0, level] == pytest.approx(by_loops(known, point, noise, y), abs=1e-4)


def test_the_spread_is_that_of_examples_left_out() -> None:
    data = examples(15)
    model = learn(data)
    known = [np.concatenate([f, g]) for f, g in zip(model.features, model.given, strict=True)]
    y = np.log(data.truth / data.reference)[:, 3].astype(float)
    errors = []
    for out in range(15):
        kept = [k for k in range(15) if k != out]
        rest = [known[k] for k in kept]
        errors.append(by_loops(rest, known[out], np.full(14, 0.03), y[kept]) - y[out])
    assert model.spread[3] == pytest.approx(np.sqrt(np.mean(np.square(errors))), rel=1e-4)


def test_it_learns_moves_and_priors() -> None:
    model, new = learn(examples(400)), examples(100, seed=3)
    given = given_inputs(new.log_prior[:, None], new.bounds[:, None])
    moves, log_priors = model.read(new.features, given, STANDARD)
    true = np.log(new.truth / new.reference)
    assert np.abs(moves[:, 0] - true).mean() < 0.4 * np.abs(true).mean()
    assert np.abs(log_priors - new.log_prior).mean() < 0.2


def test_noisy_examples_count_for_less() -> None:
    """Two groups of examples say the contrary of the same graphs."""
    one = examples(40)
    other = Examples(one.features, one.bounds, one.truth, one.reference, one.log_prior)
    given = given_inputs(one.log_prior[:, None], one.bounds[:, None])
    said = np.log(one.truth / one.reference)
    for noises, side in (((0.03, 3.0), 1), ((3.0, 0.03), -1)):
        moves, _ = learn(one, other, noises=noises).read(one.features, given, STANDARD)
        assert side * np.corrcoef(moves[:, 0, 0], said[:, 0])[0, 1] > 0.8


def test_a_strangers_features_cannot_run_away() -> None:
    model = learn(examples(100))
    bounds = np.zeros((1, 1, 5), np.float32)
    given = given_inputs(np.array([[-4.0]]), bounds)
    far, farther = (
        model.read(np.full((1, FEATURES), x, np.float32), given, STANDARD)[0] for x in (LIMIT, 1e6)
    )
    np.testing.assert_array_equal(far, farther)
    assert np.abs(given_inputs(np.array([1e9]), bounds[0])).max() == GIVEN_SCALE * LIMIT


def test_it_comes_back_from_arrays() -> None:
    model = learn(examples(20))
    again = Reader(**model.arrays())
    given = given_inputs(np.array([[-4.0]]), np.zeros((1, 1, 5), np.float32))
    asked = examples(1, seed=4).features
    for one, other in zip(*(m.read(asked, given, STANDARD) for m in (model, again)), strict=True):
        np.testing.assert_array_equal(one, other)


def test_fewer_examples_leave_more_open() -> None:
    data = examples(300)
    assert learn(data).spread.mean() < 0.8 * learn(first(20, data)).spread.mean()

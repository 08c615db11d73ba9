from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from opengcn.rehearsal import reader
from opengcn.rehearsal.among import FEATURES as AMONG
from opengcn.rehearsal.examples import Examples
from opengcn.rehearsal.reader import GIVEN_SCALE, LIMIT, NOISE, Reader, given_inputs

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
    among = np.zeros((count, AMONG), np.float32)
    return Examples(features, among, bounds, reference, reference * np.exp(move), log_prior)


def first(count: int, data: Examples) -> Examples:
    return Examples(*(getattr(data, field.name)[:count] for field in fields(data)))


def learn(*parts: Examples) -> Reader:
    return Reader.learn(list(parts), STANDARD, np.random.default_rng(0))


def covariance(a: np.ndarray, b: np.ndarray) -> float:
    squared, inner = float(((a - b) ** 2).sum()), float((a * b).sum())
    smooth = 1 / (1 + squared / (2 * reader.LENGTH**2 * len(a)))
    return smooth + reader.LINEAR * (1 + inner / len(a))


def by_loops(known: list[np.ndarray], asked: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Gaussian process regression, pair by pair: mean and variance."""
    table = np.array([[covariance(a, b) for b in known] for a in known]) + NOISE * np.eye(
        len(known)
    )
    to_asked = np.array([covariance(asked, k) for k in known])
    weights = np.linalg.solve(table, to_asked)
    return float(weights @ y), covariance(asked, asked) - float(weights @ to_asked)


def test_readings_are_those_of_the_naive_regression() -> None:
    data, own = examples(12), examples(5, seed=1)
    model = learn(data, own)
    asked = examples(1, seed=2)
    given = given_inputs(asked.log_prior[:, None], asked.bounds[:, None])
    moves, *_ = model.read(asked.features, given, STANDARD)
    known = [np.concatenate([f, g]) for f, g in zip(model.features, model.given, strict=True)]
    both = [np.log(part.truth / part.reference) for part in (data, own)]
    point = np.concatenate([asked.features[0], given[0, 0]])
    for level in (0, 11, 23):
        y = np.concatenate(both)[:, level]
        assert moves[0, 0, level] == pytest.approx(by_loops(known, point, y)[0], abs=1e-4)


def test_the_error_is_the_posterior_one_times_what_examples_left_out_are_off_by() -> None:
    data, own = examples(12), examples(5, seed=1)
    model = learn(data, own)
    known = [np.concatenate([f, g]) for f, g in zip(model.features, model.given, strict=True)]
    moved = np.concatenate([np.log(part.truth / part.reference) for part in (data, own)])
    off = []
    for out in range(12):  # D_cal's own do not count
        kept = [k for k in range(17) if k != out]
        for y in moved.T.astype(float):
            mean, variance = by_loops([known[k] for k in kept], known[out], y[kept])
            off.append((mean - y[out]) ** 2 / (variance + NOISE))
    assert model.rate[0] == pytest.approx(np.sqrt(np.mean(off)), rel=1e-4)
    asked = examples(1, seed=2)
    given = given_inputs(asked.log_prior[:, None], asked.bounds[:, None])
    _, errors, _ = model.read(asked.features, given, STANDARD)
    point = np.concatenate([asked.features[0], given[0, 0]])
    variance = by_loops(known, point, np.zeros(17))[1]
    assert errors[0, 0] == pytest.approx(model.rate[0] * np.sqrt(variance), rel=1e-3)


def test_judges_are_of_all_examples() -> None:
    judges = reader._judges(1875)
    assert len(np.unique(judges)) == reader.JUDGES
    assert 90 < (judges >= 1500).sum() < 115
    assert reader._judges(5).tolist() == [0, 1, 2, 3, 4]


def test_a_stranger_is_read_with_a_larger_error() -> None:
    model = learn(examples(800))  # of which 512 judge
    given = given_inputs(np.array([[-4.0]]), np.full((1, 1, 5), -2.5, np.float32))
    near, far = (
        model.read(np.full((1, FEATURES), x, np.float32), given, STANDARD)[1] for x in (0, 4)
    )
    assert far[0, 0] > 3 * near[0, 0] > 0


def test_it_learns_moves_and_priors() -> None:
    model, new = learn(examples(400)), examples(100, seed=3)
    given = given_inputs(new.log_prior[:, None], new.bounds[:, None])
    moves, _, log_priors = model.read(new.features, given, STANDARD)
    true = np.log(new.truth / new.reference)
    assert np.abs(moves[:, 0] - true).mean() < 0.4 * np.abs(true).mean()
    assert np.abs(log_priors - new.log_prior).mean() < 0.2


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
    data, asked = examples(300), examples(20, seed=5)
    given = given_inputs(asked.log_prior[:, None], asked.bounds[:, None])
    many, few = (
        learn(d).read(asked.features, given, STANDARD)[1].mean() for d in (data, first(20, data))
    )
    assert many < 0.8 * few

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import opengcn as og
from opengcn.memo import exact_curve
from opengcn.rehearsal.reference import (
    LEVELS,
    USUAL,
    WORTH,
    Reference,
    _scatter,
    quantiles_to_rate,
    rate_to_quantiles,
)


def labelled(classes: int, size: int, seed: int = 0) -> og.EmbeddingSet:
    return og.datasets.synthetic(classes, size, 16, concentration=20.0, seed=seed)


@given(arrays(np.float64, 24, elements=st.floats(0, 2)))
def test_rates_are_monotone_and_in_range(values: np.ndarray) -> None:
    rate = quantiles_to_rate(np.sort(values))
    assert (np.diff(rate) >= 0).all()
    assert rate.min() >= 0
    assert rate.max() <= 1


def test_there_and_back() -> None:
    quantiles = 0.5 + 0.8 * LEVELS**1.5
    again = rate_to_quantiles(quantiles_to_rate(quantiles))
    np.testing.assert_allclose(again, quantiles, atol=0.01)


def test_from_the_exact_curve_and_from_every_pair() -> None:
    data = labelled(8, 30)
    whole = Reference.of(data, exact_curve(data), np.random.default_rng(0))
    pairs = Reference.of_rows(data.embeddings, data.codes)
    np.testing.assert_allclose(whole.quantiles, pairs.quantiles, atol=0.01)
    np.testing.assert_allclose(whole.negatives, pairs.negatives, atol=0.01)
    assert (whole.classes, whole.class_size) == (pairs.classes, pairs.class_size) == (8, 30)


def test_rows_that_are_kept_keep_their_labels() -> None:
    data = labelled(60, 30)
    kept = Reference.of(data, exact_curve(data), np.random.default_rng(0))
    assert len(kept.rows) == len(kept.labels) == 1024
    original = np.argmax(kept.rows @ data.embeddings.T, axis=1)
    np.testing.assert_array_equal(kept.labels, data.codes[original])


def test_class_size_is_that_of_a_row() -> None:
    data = labelled(2, 30).subset(np.r_[0:30, 30:40])
    reference = Reference.of(data, exact_curve(data), np.random.default_rng(0))
    assert reference.class_size == pytest.approx((30 * 30 + 10 * 10) / 40)


def unequal_world(rng: np.random.Generator) -> og.EmbeddingSet:
    """Classes of very different widths."""
    widths = np.repeat(rng.uniform(0.05, 0.5, 400), 12)
    centres = np.repeat(rng.standard_normal((400, 16)), 12, axis=0)
    X = centres + widths[:, None] * rng.standard_normal((4800, 16))
    return og.EmbeddingSet(X, np.repeat(np.arange(400), 12))


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_the_error_is_what_other_classes_would_have_changed(classes: int) -> None:
    """The bootstrap finds how much the choice of classes matters, of two as of ten."""
    rng = np.random.default_rng(0)
    world = unequal_world(rng)
    truth = rate_to_quantiles(exact_curve(world).tpr)
    wrong, said = [], []
    for _ in range(60):
        chosen = rng.choice(400, classes, replace=False)
        part = world.subset(np.flatnonzero(np.isin(world.codes, chosen)))
        reference = Reference.of(part, exact_curve(part), rng)
        wrong.append(np.abs(reference.quantiles - truth).mean())
        said.append(reference.error)
    size = np.sqrt(np.square(wrong).mean())
    assert 0.85 * size < np.mean(said) < 1.6 * size


def test_the_error_falls_with_the_number_of_classes() -> None:
    rng = np.random.default_rng(0)
    world = unequal_world(rng)
    parts = [world.subset(np.arange(12 * classes)) for classes in (400, 40, 4)]
    errors = [Reference.of(part, exact_curve(part), rng).error for part in parts]
    assert errors == sorted(errors)
    assert errors[0] < 0.02


def test_of_a_single_class_with_pairs_nobody_can_tell() -> None:
    data = labelled(2, 30).subset(np.arange(31))
    reference = Reference.of(data, exact_curve(data), np.random.default_rng(0))
    assert reference.error == 0.2


def test_the_scatter_is_how_much_classes_differ_in_their_distance_from_strangers() -> None:
    """A naive loop, less what rows of a class differ by; of many classes what is usual is little."""
    rng = np.random.default_rng(0)
    size, count = 8, 60
    pull = np.repeat(rng.random(count), size)[:, None]  # some classes are near the centre of all
    X = rng.standard_normal((count, 12)).repeat(size, 0) + 0.2 * rng.standard_normal((480, 12))
    X = (1 - 0.5 * pull) * X + pull * np.full(12, 2.0)
    X = (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)
    y = np.repeat(np.arange(count), size)
    away = np.array(
        [np.log(np.linalg.norm(X[y != y[i]] - X[i], axis=1).mean()) for i in range(480)]
    )
    means = np.array([away[y == c].mean() for c in range(count)])
    within = np.mean([away[y == c].var(ddof=1) for c in range(count)])
    between = means.var(ddof=1) - within / size
    assert between > 10 * within / size
    expected = np.sqrt((count * between + WORTH * USUAL**2) / (count + WORTH))
    assert _scatter(X, y) == pytest.approx(expected, rel=1e-3)


def test_of_rows_without_classes_the_scatter_is_next_to_nothing() -> None:
    """Rows differ, and so do the means of a few: that is taken off."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 8)) + 0.5
    X = (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)
    found = [_scatter(X, rng.permutation(600) % 60) for _ in range(5)]
    assert np.mean(found) < 0.02
    assert _scatter(X, np.zeros(600, np.int64)) == USUAL
    assert 0 < _scatter(X[:2], np.arange(2)) < 1

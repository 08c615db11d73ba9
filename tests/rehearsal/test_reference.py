from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

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


def scattered(
    sizes: NDArray[np.int64], seed: int = 0, reach: float = 1.0
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return classes of these sizes, some of them near the centre of all, in 12 dimensions."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(sizes)), sizes)
    pull = reach * rng.random(len(sizes))[y, None]
    X = rng.standard_normal((len(sizes), 12))[y] + 0.5 * rng.standard_normal((len(y), 12))
    X = (1 - 0.5 * pull) * X + pull * np.full(12, 2.0)
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32), y


def test_the_scatter_is_how_much_classes_differ_in_their_distance_from_strangers() -> None:
    """A naive loop, less what rows of a class differ by; what is usual counts for five classes."""
    k = 40
    X, y = scattered(np.random.default_rng(1).integers(2, 12, k), reach=0.1)
    away = np.array(
        [np.log(np.linalg.norm(X[y != y[i]] - X[i], axis=1).mean()) for i in range(len(y))]
    )
    parts = [away[y == c] for c in range(k)]
    within = sum(((p - p.mean()) ** 2).sum() for p in parts) / (len(y) - k)
    noise = within * np.mean([1 / len(p) for p in parts])
    between = ((k - 1) / (k - 2)) ** 2 * np.var([p.mean() for p in parts], ddof=1) - noise
    assert between < 20 * noise  # so that it matters
    expected = np.sqrt((k * between + WORTH * USUAL**2) / (k + WORTH)), np.sqrt(within)
    assert _scatter(X, y) == pytest.approx(expected, rel=1e-3)
    curve = og.OperatingCurve.from_labels(og.EmbeddingSet(X, y))
    known = Reference.of(og.EmbeddingSet(X, y), curve, np.random.default_rng(0))
    assert (known.scatter, known.row_scatter) == pytest.approx(expected, rel=1e-3)


def test_few_classes_are_not_taken_to_be_more_alike_than_many() -> None:
    """On average over draws of one world, and but for what is usual."""
    many = _scatter(*scattered(np.full(150, 6)))[0] ** 2
    draws = [_scatter(*scattered(np.full(5, 6), seed))[0] ** 2 for seed in range(60)]
    few = (np.mean(draws) * (5 + WORTH) - WORTH * USUAL**2) / 5
    assert few == pytest.approx(many, rel=0.3)


def test_of_rows_without_classes_the_scatter_is_next_to_nothing() -> None:
    """Rows differ, and so do the means of a few: that is taken off."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 8)) + 0.5
    X = (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)
    found = [_scatter(X, rng.permutation(600) % 60) for _ in range(5)]
    assert np.mean(found, 0)[0] < 0.02 < np.mean(found, 0)[1]
    for classes in (1, 2):  # which cannot tell
        assert _scatter(X, np.arange(600) % classes) == (USUAL, USUAL)

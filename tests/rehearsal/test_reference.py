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
    Reference,
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


@pytest.mark.parametrize(
    ("classes", "size", "kept_classes", "kept_size"),
    [(10, 50, 10, 50), (60, 30, 60, 17), (200, 20, 64, 16), (400, 4, 256, 4), (2, 900, 2, 512)],
)
def test_rows_are_kept_with_class_mates(
    classes: int, size: int, kept_classes: int, kept_size: int
) -> None:
    data = labelled(classes, size)
    kept = Reference.of(data, exact_curve(data), np.random.default_rng(0))
    assert len(kept.rows) == len(kept.labels) == kept_classes * kept_size
    found, counts = np.unique(kept.labels, return_counts=True)
    assert (len(found), counts.min(), counts.max()) == (kept_classes, kept_size, kept_size)
    original = np.argmax(kept.rows @ data.embeddings.T, axis=1)
    np.testing.assert_array_equal(kept.labels, data.codes[original])


def test_class_size_is_that_of_a_row() -> None:
    data = labelled(2, 30).subset(np.r_[0:30, 30:40])
    reference = Reference.of(data, exact_curve(data), np.random.default_rng(0))
    assert reference.class_size == pytest.approx((30 * 30 + 10 * 10) / 40)


def test_the_error_is_what_other_classes_would_have_changed() -> None:
    """Classes of very different widths: the bootstrap finds how much their choice matters.

    It says rather too much: of ten classes, how different others may be is a guess.
    """
    rng = np.random.default_rng(0)
    widths = np.repeat(rng.uniform(0.05, 0.5, 400), 12)
    centres = np.repeat(rng.standard_normal((400, 16)), 12, axis=0)
    X = centres + widths[:, None] * rng.standard_normal((4800, 16))
    world = og.EmbeddingSet(X, np.repeat(np.arange(400), 12))
    truth = rate_to_quantiles(exact_curve(world).tpr)
    wrong, said = [], []
    for _ in range(12):
        chosen = rng.choice(400, 10, replace=False)
        part = world.subset(np.flatnonzero(np.isin(world.codes, chosen)))
        reference = Reference.of(part, exact_curve(part), rng)
        wrong.append(np.abs(reference.quantiles - truth).mean())
        said.append(reference.error)
    size = np.sqrt(np.square(wrong).mean())
    assert size < np.mean(said) < 2 * size
    whole = Reference.of(world, exact_curve(world), rng)
    assert whole.error < 0.4 * np.mean(said)

"""Copies of rows: what they say of the curve, by counting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import opengcn as og
from opengcn.calibrators.copies import alike_share, copies_apart, doubles_share, with_copies
from opengcn.curve import GRID

USUAL = 5


def labelled(*rows: tuple[int, str]) -> og.EmbeddingSet:
    """Rows, each told by its direction, and their classes."""
    return og.EmbeddingSet(np.eye(8)[[row for row, _ in rows]], [label for _, label in rows])


def test_copies_are_alike_where_labelled_ones_are_and_where_there_are_none() -> None:
    assert alike_share(labelled((0, "a"), (1, "a"), (2, "b"))) == 1
    assert alike_share(labelled((0, "a"), (0, "a"), (0, "a"), (1, "b"))) == 1


def test_copies_of_many_classes_are_strangers() -> None:
    data = labelled((0, "a"), (0, "b"), (0, "c"), (1, "a"), (1, "a"))
    # Two copies of the first row, none of which is alike, and one of the other, which is.
    assert alike_share(data) == pytest.approx((1 + USUAL) / (3 + USUAL))
    assert alike_share(data, data) == pytest.approx((2 + USUAL) / (6 + USUAL))


def test_a_few_copies_under_two_labels_say_nothing_of_many() -> None:
    rows = np.random.default_rng(0).normal(size=(2000, 8))
    rows[1], rows[1001] = rows[0], rows[1000]
    assert alike_share(og.EmbeddingSet(rows, np.arange(2000))) == 1


def test_a_blank_image_does_not_decide_for_all() -> None:
    blank = [(0, str(label)) for label in range(20)]
    distinct = np.random.default_rng(0).normal(size=(200, 8))
    twice = og.EmbeddingSet(np.repeat(distinct, 2, 0), np.repeat(np.arange(200), 2))
    assert alike_share(labelled(*blank), twice) == pytest.approx(205 / 224)


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(1, 4)), min_size=4, max_size=20),
    st.integers(0, 1000),
)
def test_the_curve_is_that_of_all_rows_when_the_rest_is_known(
    sizes: list[tuple[int, int]], seed: int
) -> None:
    """Classes of some rows, each of which is there as often as others of it or more."""
    rng = np.random.default_rng(seed)
    label = np.array([c for c, _ in sizes])
    copies = np.full(len(sizes), sizes[0][1] + 1)
    once = og.EmbeddingSet(rng.normal(size=(len(label), 4)), label)
    every = og.EmbeddingSet(np.repeat(once.embeddings, copies, 0), np.repeat(label, copies))
    pairs = label[:, None] == label
    prior = (pairs.sum() - len(label)) / (len(label) * (len(label) - 1))
    if not 0 < prior < 1:
        return
    known = og.OperatingCurve.from_labels(once)
    sure = og.OperatingCurve(
        known.tpr,
        known.tnr,
        "x",
        tpr_low=known.tpr,
        tpr_high=known.tpr,
        tnr_low=known.tnr,
        tnr_high=known.tnr,
    )
    found = with_copies(sure, copies, 1.0, (prior, prior, prior))
    truth = og.OperatingCurve.from_labels(every)
    np.testing.assert_allclose(found.tpr, truth.tpr, atol=1e-6)
    np.testing.assert_allclose(found.tnr, truth.tnr, atol=1e-6)
    n = len(every)
    size = np.bincount(every.codes)
    assert found.info["prior"] == pytest.approx((size * (size - 1)).sum() / (n * (n - 1)))


def test_copies_that_are_strangers_lower_the_tnr() -> None:
    flat = np.where(GRID > 1, 1.0, 0.0)
    curve = og.OperatingCurve(
        flat, 1 - flat, "x", tpr_low=flat, tpr_high=flat, tnr_low=1 - flat, tnr_high=1 - flat
    )
    copies = np.array([3, 1, 1, 1])
    doubles = doubles_share(copies)
    assert doubles == pytest.approx(3 / 15)
    found = with_copies(curve, copies, 0.25, (0.1, 0.05, 0.2))
    same, other = 0.25 * doubles, 0.75 * doubles
    assert found.tpr[1] == pytest.approx(same / (same + 0.1 * (1 - doubles)))
    assert found.tnr[1] == pytest.approx(1 - other / (other + 0.9 * (1 - doubles)))
    assert found.info["prior"] == pytest.approx(same + 0.1 * (1 - doubles))
    assert found.tpr[0] == 0
    assert found.tnr[0] == 1
    assert found.tpr_low is not None
    assert found.tpr_high is not None
    assert found.tpr_low[1] < found.tpr[1] < found.tpr_high[1]


@given(st.floats(1e-9, 1), st.just(0.0) | st.floats(1e-6, 0.999), st.floats(1e-3, 1))
def test_a_known_prior_is_kept_whatever_is_believed_of_copies(
    prior: float, doubles: float, alike: float
) -> None:
    kept, rest = copies_apart(prior, doubles, alike)
    assert -1e-9 <= kept <= 1 + 1e-9
    assert 0 < rest <= 1
    assert kept * doubles + rest * (1 - doubles) == pytest.approx(prior, abs=2e-9)
    if alike * doubles <= prior <= 1 - doubles * (1 - alike):  # nothing speaks against it
        assert kept == pytest.approx(alike, abs=1e-6)


def test_a_prior_that_is_lower_than_copies_would_make_it_speaks_against_them() -> None:
    """Of 300 rows 90 are one text, in 30 classes: no more than a third of those pairs can match."""
    doubles = 90 * 89 / (300 * 299)
    kept, rest = copies_apart(9 / 299, doubles, 1.0)
    assert kept < 0.2
    assert rest == pytest.approx(9 / 299, rel=0.35)

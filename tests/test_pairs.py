"""The fast histogram against a naive double loop, and its invariants."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from opengcn import pairs
from opengcn.embeddings import EmbeddingSet
from opengcn.errors import DataError
from opengcn.pairs import GRID, PairHistogram, count_pairs, weigh_pairs

NEAR_AN_EDGE = 2e-6  # of similarity: float32 products may fall on either side


def naive(
    X: NDArray[np.float32], same_weight: NDArray[np.float64]
) -> tuple[NDArray[np.float64], ...]:
    """Return lower and upper bounds of (same, different) from a float64 double loop.

    The bounds differ by the pairs within `NEAR_AN_EDGE` of an edge, counted on either side:
    they bound the cumulative sums.
    """
    E = X.astype(np.float64)
    bounds = np.zeros((2, 2, 201))
    for i in range(len(E)):
        for j in range(i + 1, len(E)):
            s = float(E[i] @ E[j])
            w = same_weight[i, j]
            for side, shift in enumerate((NEAR_AN_EDGE, -NEAR_AN_EDGE)):
                d = np.sqrt(max(2 - 2 * (s + shift), 0.0))
                k = int(np.searchsorted(GRID, min(d, 2.0), side="right")) - 1
                bounds[side, 0, k] += w
                bounds[side, 1, k] += 1 - w
    return tuple(bounds.cumsum(axis=2).reshape(4, 201))


def assert_equal_but_for_edges(
    found: PairHistogram, X: NDArray[np.float32], w: NDArray[np.float64]
) -> None:
    most_same, most_different, least_same, least_different = naive(X, w)
    same, different = np.cumsum(found.same), np.cumsum(found.different)
    slack = 1e-9 * (1 + len(X) ** 2)
    assert (same <= most_same + slack).all()
    assert (same >= least_same - slack).all()
    assert (different <= most_different + slack).all()
    assert (different >= least_different - slack).all()
    assert np.isclose(same[-1] + different[-1], len(X) * (len(X) - 1) / 2)


@st.composite
def labelled(draw: st.DrawFn) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
    n = draw(st.integers(1, 40))
    dim = draw(st.sampled_from([1, 2, 3, 16, 128]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    y = rng.integers(draw(st.integers(1, 8)), size=n)
    X = rng.standard_normal((8, dim))[y] + draw(st.sampled_from([0.0, 0.01, 0.3, 3.0])) * (
        rng.standard_normal((n, dim))
    )
    X[np.abs(X).sum(1) == 0] = 1.0
    if draw(st.booleans()):  # duplicated and opposite rows: distances of 0 and 2
        X[n // 2] = X[0]
        X[-1] = -X[0]
    return EmbeddingSet(X).embeddings, y


@given(labelled())
def test_counts_equal_a_naive_double_loop(
    data: tuple[NDArray[np.float32], NDArray[np.intp]],
) -> None:
    X, y = data
    found = count_pairs(EmbeddingSet(X), y)
    assert found.same.dtype == found.different.dtype == np.int64
    assert_equal_but_for_edges(found, X, (y[:, None] == y[None]).astype(float))


@given(labelled(), st.integers(0, 1000))
def test_weights_equal_a_naive_double_loop(
    data: tuple[NDArray[np.float32], NDArray[np.intp]], seed: int
) -> None:
    X, _ = data
    p = np.random.default_rng(seed).random((len(X), len(X)))
    found = weigh_pairs(EmbeddingSet(X), lambda r, c: p[r, c])
    assert_equal_but_for_edges(found, X, p)


def test_weights_of_zero_and_one_are_the_counts(rng: np.random.Generator) -> None:
    X, y = EmbeddingSet(rng.standard_normal((300, 16))), rng.integers(5, size=300)
    counts = count_pairs(X, y)
    sums = weigh_pairs(X, lambda r, c: (y[r, None] == y[None, c]).astype(np.float32))
    np.testing.assert_array_equal(counts.same, sums.same)
    np.testing.assert_array_equal(counts.different, sums.different)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("sorted_copy", [0, 2**27])
@pytest.mark.parametrize(("panel", "tile", "strip"), [(7, 3, 2), (64, 64, 1), (50, 16, 3)])
def test_cutting_into_tiles_changes_nothing(
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
    threads: int,
    sorted_copy: int,
    panel: int,
    tile: int,
    strip: int,
) -> None:
    X, y = EmbeddingSet(rng.standard_normal((333, 24))), rng.integers(9, size=333)
    p = rng.random((333, 333))
    whole = count_pairs(X, y)
    monkeypatch.setattr(pairs, "PANEL", panel)
    monkeypatch.setattr(pairs, "TILE", tile)
    monkeypatch.setattr(pairs, "STRIP", strip)
    monkeypatch.setattr(pairs, "SORTED_COPY", sorted_copy)
    cut = count_pairs(X, y, threads=threads)
    assert cut.same.sum() == whole.same.sum()
    # A product in another place of a tile may round differently: at most a few pairs move.
    assert np.abs(np.cumsum(cut.same - whole.same)).max() <= 2
    assert np.abs(np.cumsum(cut.different - whole.different)).max() <= 3
    one = weigh_pairs(X, lambda r, c: p[r, c], threads=1)
    many = weigh_pairs(X, lambda r, c: p[r, c], threads=threads)
    np.testing.assert_array_equal(one.same, many.same)


def test_many_classes_across_panels(rng: np.random.Generator) -> None:
    """Classes that straddle panels are still counted right, in any order of rows."""
    n = 5000
    y = rng.integers(40, size=n)
    X = EmbeddingSet(rng.standard_normal((n, 8)) + 2 * rng.standard_normal((40, 8))[y])
    found = count_pairs(X, y)
    sizes = np.bincount(y)
    assert found.same.sum() == (sizes * (sizes - 1) // 2).sum()
    assert found.same.sum() + found.different.sum() == n * (n - 1) // 2
    each = sum(
        (count_pairs(X.subset(y == k)).different for k in range(40)), np.zeros(201, np.int64)
    )
    assert np.abs(np.cumsum(found.same - each)).max() <= 5


def test_without_codes_every_pair_is_different(rng: np.random.Generator) -> None:
    found = count_pairs(EmbeddingSet(rng.standard_normal((50, 4))))
    assert found.same.sum() == 0
    assert found.different.sum() == 50 * 49 // 2


def test_known_distances() -> None:
    angle = np.array([0.0, 0.0, np.pi / 3, np.pi])  # distances 0, 1 and 2 from the first
    X = EmbeddingSet(np.stack([np.cos(angle), np.sin(angle)], axis=1))
    found = count_pairs(X)
    bins = dict(
        zip(np.flatnonzero(found.different), found.different[found.different > 0], strict=True)
    )
    assert bins[0] == 1
    assert bins.get(99, 0) + bins.get(100, 0) == 2  # distance 1 sits on an edge
    assert bins.get(199, 0) + bins.get(200, 0) == 2  # and so does distance 2
    assert sum(bins.values()) == 6


def test_histograms_add_up() -> None:
    a = PairHistogram(np.arange(201), np.ones(201, np.int64))
    total = a + a
    np.testing.assert_array_equal(total.same, 2 * np.arange(201))
    np.testing.assert_array_equal(total.different, np.full(201, 2))


@pytest.mark.parametrize("bad", [-0.1, 1.1, np.nan])
def test_weights_outside_of_the_unit_interval_are_refused(
    rng: np.random.Generator, bad: float
) -> None:
    p = np.full((20, 20), 0.5)
    p[3, 7] = bad
    with pytest.raises(DataError, match=r"expected numbers in \[0, 1\]"):
        weigh_pairs(EmbeddingSet(rng.standard_normal((20, 4))), lambda r, c: p[r, c])


def test_weights_of_the_wrong_shape_are_refused(rng: np.random.Generator) -> None:
    with pytest.raises(DataError, match="expected a block of shape"):
        weigh_pairs(EmbeddingSet(rng.standard_normal((20, 4))), lambda r, c: np.zeros((1, 1)))

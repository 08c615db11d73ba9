from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opengcn.rehearsal.nearest import MOST, RUN, nearest


@given(
    st.integers(1, 4),
    st.one_of(st.integers(1, 40), st.sampled_from([RUN - 1, RUN, RUN + 1, 3 * RUN, MOST])),
    st.integers(1, 200),
    st.integers(0, 2**31),
)
def test_they_are_the_first_of_a_full_sort(rows: int, n: int, k: int, seed: int) -> None:
    d = np.random.default_rng(seed).random((rows, n), np.float32) * 2
    k = min(k, n)
    smallest, at = nearest(d, k)
    np.testing.assert_allclose(smallest, np.sort(d, axis=1)[:, :k], rtol=1.01 * 2**-12)
    np.testing.assert_allclose(np.take_along_axis(d, at, 1), smallest, rtol=1.01 * 2**-12)
    assert all(len(set(row)) == k for row in at.tolist())


def test_one_negative_number_comes_first_and_equal_ones_in_their_order() -> None:
    d = np.ones((1, 1200), np.float32)
    d[0, 700] = -1
    assert nearest(d, 4)[1].tolist() == [[700, 0, 1, 2]]
    d[0, :] = 0
    assert nearest(d, 3)[1].tolist() == [[0, 1, 2]]


def test_places_beyond_the_bits_that_hold_them_are_refused() -> None:
    with pytest.raises(ValueError, match="4096"):
        nearest(np.zeros((1, MOST + 1), np.float32), 1)

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import opengcn as og
from opengcn.tenants import sample
from opengcn.tenants.sample import PassingRows, chosen_rows, most_rows


def test_small_tenants_are_kept_whole() -> None:
    assert chosen_rows("a", most_rows(128), 128) is None
    assert most_rows(128) == 131_072
    assert most_rows(100_000) == 16_384


def test_the_sample_depends_on_the_name_alone() -> None:
    first, again, other = (chosen_rows(name, 10_000_000, 128) for name in ("a", "a", "b"))
    assert first is not None
    assert again is not None
    assert other is not None
    np.testing.assert_array_equal(first, again)
    assert len(np.intersect1d(first, other)) < 0.1 * len(first)
    assert (np.diff(first) > 0).all()
    assert len(first) == 131_072
    assert abs(first.mean() / 5_000_000 - 1) < 0.02  # from everywhere, not from the start


@given(st.lists(st.integers(0, 40), min_size=1, max_size=10), st.integers(1, 30))
def test_cutting_into_blocks_changes_nothing(sizes: list[int], most: int) -> None:
    total = sum(sizes)
    rows = np.arange(3.0 * total, dtype=np.float32).reshape(total, 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sample, "LEAST", most)
        patch.setattr(sample, "FLOATS", 0)
        passing = PassingRows("a", total, 3)
        chosen = chosen_rows("a", total, 3)
        begins = np.cumsum([0, *sizes])
        blocks = [
            passing.pick(pa.FixedSizeListArray.from_arrays(pa.array(rows[b : b + n].ravel()), 3))
            for b, n in zip(begins, sizes, strict=False)
        ]
    np.testing.assert_array_equal(np.concatenate(blocks), rows if chosen is None else rows[chosen])
    assert len(np.concatenate(blocks)) == min(total, most)


def test_errors_name_tenant_and_row() -> None:
    passing = PassingRows("a", 5, 3)
    passing.pick(pa.array([[1.0, 2.0, 3.0]] * 2))
    with pytest.raises(og.DataError, match="tenant 'a': row 3: expected 3 numbers as in D_train"):
        passing.pick(pa.array([[1.0, 2.0, 3.0], [1.0]]))

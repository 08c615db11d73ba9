from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from opengcn.tenants.batch import ROWS, TENANTS, grouped


@given(st.lists(st.integers(0, 3 * ROWS), max_size=600))
def test_every_tenant_is_in_one_batch_of_bounded_size(rows: list[int]) -> None:
    runs = list(grouped(rows))
    assert [i for run in runs for i in range(len(rows))[run]] == list(range(len(rows)))
    for run in runs:
        held = rows[run]
        assert 1 <= len(held) <= TENANTS
        assert sum(held) <= ROWS or len(held) == 1


def test_small_tenants_go_together() -> None:
    assert list(grouped([10] * 20)) == [slice(0, 20)]
    assert list(grouped([])) == []

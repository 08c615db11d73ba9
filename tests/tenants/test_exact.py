from __future__ import annotations

import numpy as np
import pytest

import opengcn as og
from opengcn.pairs import count_pairs
from opengcn.tenants import exact


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("n", [2, 1024, 5003])
def test_counts_are_those_of_one_core(
    n: int, workers: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exact, "STRIPS", 3)
    data = og.EmbeddingSet(rng.standard_normal((n, 24)), rng.integers(n // 5 + 1, size=n))
    found = exact.count_pairs_on(data, workers=workers)
    alone = count_pairs(data, data.codes, threads=1)
    np.testing.assert_array_equal(found.same, alone.same)
    np.testing.assert_array_equal(found.different, alone.different)
    assert found.same.sum() + found.different.sum() == n * (n - 1) // 2


def test_the_curve_is_the_exact_one() -> None:
    data = og.datasets.synthetic(20, 15, 16)
    assert exact.exact_curve_on(data, workers=1) == og.OperatingCurve.from_labels(data)


def test_a_failure_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise MemoryError("no room")

    monkeypatch.setattr(exact, "count_strip", broken)
    with pytest.raises(
        og.OpenGCNError, match="rows from 0 on .* a failure: unexpected MemoryError"
    ):
        exact.count_pairs_on(og.datasets.synthetic(5, 5, 4), workers=1)

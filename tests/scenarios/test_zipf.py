from __future__ import annotations

import numpy as np

from opengcn.scenarios.zipf import zipf_rows


def test_zipf_sizes() -> None:
    codes = np.repeat(np.arange(10), 100)
    counts = np.sort(np.bincount(codes[zipf_rows(codes, 0)]))[::-1]
    np.testing.assert_array_equal(counts, [int(100 * r**-0.7) for r in range(1, 11)])


def test_zipf_differs_by_seed_and_repeats() -> None:
    codes = np.repeat(np.arange(10), 50)
    np.testing.assert_array_equal(zipf_rows(codes, 1), zipf_rows(codes, 1))
    assert not np.array_equal(zipf_rows(codes, 1), zipf_rows(codes, 2))


def test_zipf_keeps_small_classes_whole() -> None:
    codes = np.repeat(np.arange(30), 2)
    assert len(zipf_rows(codes, 0)) == 60

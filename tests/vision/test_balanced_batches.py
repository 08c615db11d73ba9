from __future__ import annotations

import numpy as np
import pytest

from opengcn import DataError, OpenGCNError
from opengcn.vision.balanced_batches import BalancedBatches


def test_every_class_of_a_batch_has_as_many_rows(rng: np.random.Generator) -> None:
    codes = rng.permutation(np.repeat(np.arange(20), 7))
    batches = BalancedBatches(codes, 24, 4)
    assert len(batches) == 24
    seen = set()
    for _ in range(50):
        rows = batches.draw(rng)
        classes = codes[rows].reshape(6, 4)
        assert (classes == classes[:, :1]).all()
        assert len(set(classes[:, 0])) == 6
        assert len(set(rows)) == 24
        seen |= set(rows)
    assert len(seen) == 140


def test_small_classes_repeat_rows_and_single_ones_are_left_out(rng: np.random.Generator) -> None:
    codes = np.array([0, 0, 1, 2, 2, 2, 2])
    batches = BalancedBatches(codes, 100, 4)
    assert len(batches) == 8  # all two classes that there are
    for _ in range(20):
        assert set(codes[batches.draw(rng)]) == {0, 2}


def test_gaps_in_the_codes(rng: np.random.Generator) -> None:
    codes = np.array([5, 5, 90, 90, 7, 7])
    assert set(codes[BalancedBatches(codes, 6, 2).draw(rng)]) == {5, 7, 90}


def test_bad_batches() -> None:
    codes = np.repeat(np.arange(4), 3)
    with pytest.raises(OpenGCNError, match="per_class: expected 2 or more"):
        BalancedBatches(codes, 8, 1)
    with pytest.raises(OpenGCNError, match="batch: expected room for two classes of 4"):
        BalancedBatches(codes, 7, 4)
    with pytest.raises(DataError, match="expected two classes with two images or more, received 1"):
        BalancedBatches(np.array([0, 0, 1, 2]), 8, 2)

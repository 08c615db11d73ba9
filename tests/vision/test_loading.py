from __future__ import annotations

import threading
import time
from itertools import count

import numpy as np
import pytest

from opengcn.vision.loading import prepared


def test_batches_come_in_order() -> None:
    def slow_when_even(item: int) -> np.ndarray:
        time.sleep(0.002 * (item % 2 == 0))
        return np.full((2, 2, 3), item, np.uint8)

    batches = [range(0, 5), range(5, 6), range(6, 12)]
    found = list(prepared(batches, slow_when_even))
    assert [f.shape for f in found] == [(5, 2, 2, 3), (1, 2, 2, 3), (6, 2, 2, 3)]
    assert [int(x) for f in found for x in f[:, 0, 0, 0]] == list(range(12))


def test_errors_reach_the_caller() -> None:
    def broken(item: int) -> np.ndarray:
        raise OSError(f"no {item}")

    with pytest.raises(OSError, match="no 3"):
        list(prepared([[3, 4]], broken))


def test_endless_batches_can_be_left() -> None:
    before = threading.active_count()
    stream = prepared(([k] for k in count()), lambda k: np.zeros((1, 1, 3), np.uint8))
    assert next(stream).shape == (1, 1, 1, 3)
    stream.close()
    assert threading.active_count() == before

from __future__ import annotations

import gc

import numpy as np

import opengcn as og
from opengcn import memo


def test_results_are_computed_once_and_dropped_with_their_set() -> None:
    data = og.EmbeddingSet(np.eye(4), [0, 0, 1, 1])
    calls: list[int] = []
    for _ in range(3):
        assert memo.remembered(data, "answer", lambda: calls.append(1) or 42) == 42
    assert calls == [1]
    assert memo.remembered(data, "other", lambda: 43) == 43
    assert memo.exact_curve(data) is memo.exact_curve(data)
    gc.collect()
    before = len(memo._RESULTS)
    del data
    gc.collect()
    assert len(memo._RESULTS) == before - 1

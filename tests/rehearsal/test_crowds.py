from __future__ import annotations

import numpy as np
import pytest

import opengcn as og
from opengcn.rehearsal import crowds
from opengcn.rehearsal.crowds import draw_crowd
from opengcn.rehearsal.worlds import World

LABELS = np.repeat(np.arange(30), 20)
ROWS = np.random.default_rng(0).standard_normal((600, 8)).astype(np.float32)
WORLD = World.of(og.EmbeddingSet(ROWS, LABELS), np.random.default_rng(0))


def test_rows_are_of_the_classes_that_are_said() -> None:
    """Each row once, and numbers of classes that stand for one class each."""
    for seed in range(30):
        rows, labels = draw_crowd(WORLD, np.random.default_rng(seed))
        assert len(set(rows)) == len(rows) == len(labels) >= crowds.FEWEST
        pairs = {(int(a), int(b)) for a, b in zip(LABELS[rows], labels, strict=True)}
        assert len({a for a, _ in pairs}) == len({b for _, b in pairs}) == len(pairs)
        assert (np.diff(rows) < 0).any()  # in random order


def spread(rows: np.ndarray) -> float:
    size = np.bincount(LABELS[rows])
    return float(np.log(size[size > 0]).std())


@pytest.mark.parametrize(("unequal", "low", "high"), [(0.0, 0.0, 0.35), (1.0, 0.35, 1.0)])
def test_classes_may_differ_in_size(
    monkeypatch: pytest.MonkeyPatch, unequal: float, low: float, high: float
) -> None:
    monkeypatch.setattr(crowds, "UNEQUAL", unequal)
    drawn = [draw_crowd(WORLD, np.random.default_rng(seed))[0] for seed in range(60)]
    assert low < np.mean([spread(rows) for rows in drawn]) < high


def test_a_tiny_world_is_taken_whole() -> None:
    tiny = World.of(og.EmbeddingSet(ROWS[:8], np.arange(8) // 2), np.random.default_rng(0))
    rows, labels = draw_crowd(tiny, np.random.default_rng(0))
    assert sorted(rows) == list(range(8))
    assert np.bincount(labels).tolist() == [2, 2, 2, 2]

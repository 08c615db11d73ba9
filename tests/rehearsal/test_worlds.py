from __future__ import annotations

import numpy as np
import pytest

import opengcn as og
from opengcn.rehearsal import worlds
from opengcn.rehearsal.worlds import World


def labelled(classes: int, size: int, seed: int = 0) -> og.EmbeddingSet:
    return og.datasets.synthetic(classes, size, 16, concentration=20.0, seed=seed)


def world(classes: int = 30, size: int = 20, seed: int = 0) -> World:
    return World.of(labelled(classes, size, seed), np.random.default_rng(0))


def test_parts_add_up() -> None:
    data = labelled(6, 5)
    parts = World.of(data, np.random.default_rng(0))
    np.testing.assert_allclose(parts.images + parts.centre, data.embeddings, atol=1e-6)
    for label, members in enumerate(parts.members):
        assert (data.codes[members] == label).all()
    for axes in (parts.axes, parts.other_axes):
        np.testing.assert_allclose(axes.T @ axes, np.eye(16), atol=1e-4)


def test_classes_of_one_row_are_left_out() -> None:
    X = np.random.default_rng(0).standard_normal((7, 4))
    data = og.EmbeddingSet(X, [0, 0, 1, 2, 2, 2, 3])
    parts = World.of(data, np.random.default_rng(0))
    assert [len(m) for m in parts.members] == [2, 3]


def test_large_sets_are_thinned_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worlds, "ROWS", 60)
    sizes = [len(m) for m in world(10, 50).members]
    assert sizes == [6] * 10
    many = [len(m) for m in world(100, 3).members]
    assert many == [2] * 30


def test_directions_are_unit_vectors() -> None:
    parts, rng = world(), np.random.default_rng(0)
    for _ in range(20):
        assert np.linalg.norm(parts.direction(rng)) == pytest.approx(1, abs=1e-5)

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


def test_ease_tells_rows_that_look_like_another_class() -> None:
    rng = np.random.default_rng(0)
    means = np.eye(4, dtype=np.float32)[:3]
    labels = np.repeat([0, 1, 2], 10)
    X = means[labels] + 0.05 * rng.standard_normal((30, 4), np.float32)
    X[3] = 0.45 * means[0] + 0.55 * means[2]
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    ease = World.of(og.EmbeddingSet(X, labels), np.random.default_rng(0)).ease
    assert ease[:10].argmin() == 3
    for c in range(3):
        assert ease[labels == c].mean() == pytest.approx(0, abs=1e-5)
        assert ease[labels == c].std() == pytest.approx(1, abs=1e-4)
    alone = World.of(og.EmbeddingSet(X[:10], labels[:10]), np.random.default_rng(0))
    assert (alone.ease == 0).all()


def test_telling_is_the_share_of_variance_between_classes() -> None:
    data = labelled(12, 9)
    parts = World.of(data, np.random.default_rng(0))
    along = (parts.images @ parts.axes).astype(np.float64)
    for axis in range(16):
        within = sum(along[m, axis].var(ddof=1) * len(m) for m in parts.members)
        share = 1 - within / np.square(along[:, axis]).sum()
        assert parts.telling[axis] == pytest.approx(max(share, 0), abs=1e-4)
    X = np.random.default_rng(0).standard_normal((400, 8))
    nothing = World.of(og.EmbeddingSet(X, np.arange(400) % 40), np.random.default_rng(0))
    assert nothing.telling.max() < 0.15  # by chance


def test_axes_without_variance_tell_nothing() -> None:
    """More dimensions than rows: along most axes there is nothing but rounding."""
    X = np.random.default_rng(0).standard_normal((60, 200))
    parts = World.of(og.EmbeddingSet(X, np.arange(60) // 6), np.random.default_rng(0))
    assert (parts.telling[parts.spread < 1e-4 * parts.spread.max()] == 0).all()
    assert (parts.telling > 0).sum() < 60

from __future__ import annotations

import numpy as np
import pytest

import opengcn as og
from opengcn.rehearsal import episodes
from opengcn.rehearsal.episodes import Kind, _mirrored, _rows_of, draw_episode
from opengcn.rehearsal.examples import KINDS
from opengcn.rehearsal.graph_profile import distances
from opengcn.rehearsal.shifts import Shift
from opengcn.rehearsal.worlds import World


def labelled(classes: int, size: int, seed: int = 0) -> og.EmbeddingSet:
    return og.datasets.synthetic(classes, size, 16, concentration=20.0, seed=seed)


def world(classes: int = 30, size: int = 20, seed: int = 0) -> World:
    return World.of(labelled(classes, size, seed), np.random.default_rng(0))


WORLD = world()


def test_episodes_are_sound() -> None:
    for seed in range(40):
        episode = draw_episode(WORLD, np.random.default_rng(seed), kind=KINDS[seed % 3])
        for rows, labels in (
            (episode.cal, episode.cal_labels),
            (episode.test, episode.test_labels),
        ):
            assert len(rows) == len(labels)
            assert np.isfinite(rows).all()
            np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-4)
        assert len(episode.test) <= episodes.NODES
        assert len(np.unique(episode.cal_labels)) >= 2


def test_same_seed_same_episode() -> None:
    one, two = (draw_episode(WORLD, np.random.default_rng(5)) for _ in range(2))
    np.testing.assert_array_equal(one.test, two.test)
    np.testing.assert_array_equal(one.cal, two.cal)


def test_without_shifts_rows_are_those_of_the_training_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(episodes, "GAP", 0.0)
    monkeypatch.setattr(episodes, "SHIFTED", 0.0)
    originals = WORLD.images + WORLD.centre
    for seed in range(10):
        episode = draw_episode(WORLD, np.random.default_rng(seed))
        assert distances(episode.cal, originals).min(1).max() < 2e-3


@pytest.mark.parametrize(("gap", "shifted"), [(1.0, 0.0), (0.0, 1.0)])
def test_both_sets_meet_the_gap_and_one_the_shift(
    gap: float, shifted: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    lean = np.zeros(16, np.float32)
    lean[0] = 5.0
    monkeypatch.setattr(episodes, "GAP", gap)
    monkeypatch.setattr(episodes, "SHIFTED", shifted)
    monkeypatch.setattr(episodes, "draw_shift", lambda *_, **__: Shift(pull=lean))
    episode = draw_episode(WORLD, np.random.default_rng(0))
    assert (episode.test[:, 0] > 0.9).all()
    assert (episode.cal[:, 0] > 0.9).all() == bool(gap)


def test_nothing_shifts_in_a_still_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both sets meet what makes strangers alike, and no shift is drawn for the test set."""
    lean = np.zeros(16, np.float32)
    lean[0] = 5.0
    drawn = []
    monkeypatch.setattr(episodes, "GAP", 0.0)
    monkeypatch.setattr(episodes, "SHIFTED", 1.0)
    monkeypatch.setattr(episodes, "LIKENESS", 1.0)
    monkeypatch.setattr(episodes, "draw_shift", lambda *_, **__: drawn.append(1))
    monkeypatch.setattr(episodes, "draw_likeness", lambda _: Shift(pull=lean))
    episode = draw_episode(WORLD, np.random.default_rng(0), kind="still")
    assert (episode.test[:, 0] > 0.9).all()
    assert (episode.cal[:, 0] > 0.9).all()
    own = draw_episode(WORLD, np.random.default_rng(0), gap=False, kind="still")
    assert distances(own.cal, WORLD.images + WORLD.centre).min(1).max() < 2e-3
    assert not drawn


def test_the_number_of_classes_varies_widely() -> None:
    counts = [
        len(np.unique(draw_episode(WORLD, np.random.default_rng(s)).test_labels)) for s in range(40)
    ]
    assert min(counts) < 30
    assert max(counts) > 10 * len(WORLD.members)


def test_mirror_images_keep_the_shape_of_a_class() -> None:
    rows = np.concatenate([WORLD.members[0], WORLD.members[0]])
    made = _mirrored(WORLD, rows, np.repeat([0, 1], 20), np.random.default_rng(0))
    first, second = made[:20], made[20:]
    np.testing.assert_allclose(first, WORLD.images[WORLD.members[0]], atol=1e-6)
    np.testing.assert_allclose(first @ first.T, second @ second.T, atol=1e-5)
    assert np.linalg.norm(first.mean(0) - second.mean(0)) > 0.1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("classes", "size"), [(2, 8), (3, 4), (5, 100)])
def test_small_worlds(classes: int, size: int, kind: Kind) -> None:
    """No row is in both sets, even when classes must play in both."""
    small = world(classes, size)
    for seed in range(10):
        episode = draw_episode(small, np.random.default_rng(seed), kind=kind)
        assert (distances(episode.cal, episode.test) > 1e-3).mean() > 0.999


def test_hard_rows_are_those_that_look_like_another_class() -> None:
    def ease(hard: float) -> float:
        rng = np.random.default_rng(0)
        rows = [_rows_of(WORLD, c, 8, hard, rng) for c in range(len(WORLD.members))]
        assert all(len(np.unique(r)) == 8 for r in rows)
        return float(WORLD.ease[np.concatenate(rows)].mean())

    assert abs(ease(0.0)) < 0.15
    assert ease(3.0) < ease(1.0) < -0.3
    assert len(_rows_of(WORLD, 0, 20, 3.0, np.random.default_rng(0))) == 8  # the hardest of 20

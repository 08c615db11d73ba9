from __future__ import annotations

import numpy as np
import pytest

import opengcn as og
from opengcn.rehearsal.graph_profile import distances
from opengcn.rehearsal.shifts import Shift, draw_likeness, draw_shift
from opengcn.rehearsal.worlds import World


def labelled(classes: int, size: int, seed: int = 0) -> og.EmbeddingSet:
    return og.datasets.synthetic(classes, size, 16, concentration=20.0, seed=seed)


def world(classes: int = 30, size: int = 20, seed: int = 0) -> World:
    return World.of(labelled(classes, size, seed), np.random.default_rng(0))


WORLD = world()
LABELS = np.repeat(np.arange(30), 20)  # class k: rows 20 k to 20 k + 19
ROWS = WORLD.images[np.concatenate(WORLD.members)] + WORLD.centre


def spread(shift: Shift) -> tuple[float, float]:
    """Return mean same-class and other distances after a shift."""
    before = ROWS.copy()
    rows = shift.apply(WORLD, ROWS, LABELS, np.random.default_rng(0))
    np.testing.assert_array_equal(ROWS, before)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert rows.dtype == np.float32
    d = distances(rows, rows)
    same = LABELS[:, None] == LABELS
    off = ~np.eye(len(rows), dtype=bool)
    return float(d[same & off].mean()), float(d[~same].mean())


def test_neutral_changes_nothing() -> None:
    rows = Shift().apply(WORLD, ROWS, LABELS, np.random.default_rng(0))
    np.testing.assert_allclose(rows, ROWS, atol=1e-6)


@pytest.mark.parametrize(
    "shift",
    [
        Shift(separation=0.5),
        Shift(blend=0.5),
        Shift(blend=0.5, blend_spread=0.3),
        Shift(scenes=0.7),
        Shift(modes=0.7, mode_count=4),
        Shift(noise=0.7),
        Shift(noise=0.7, colour=2.0),
    ],
)
def test_shifts_make_classes_harder_to_tell_apart(shift: Shift) -> None:
    within, between = spread(Shift())
    after_within, after_between = spread(shift)
    assert after_between / after_within < 0.98 * between / within


def test_a_pull_and_damping_bring_everything_together() -> None:
    within, between = spread(Shift())
    pulled = spread(Shift(pull=np.full(16, 0.3, np.float32)))
    assert pulled[0] < within
    assert pulled[1] < between
    half = np.diag(np.r_[np.ones(8), np.zeros(8)]).astype(np.float32)
    assert spread(Shift(damping=half))[1] < between


def test_families_bring_their_classes_together() -> None:
    rows = Shift(families=2.0, family_power=0.3).apply(
        WORLD, ROWS, LABELS, np.random.default_rng(0)
    )
    means = rows.reshape(30, 20, -1).mean(1)
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    nearest = np.sort(distances(means, means), axis=1)[:, 1]
    plain = ROWS.reshape(30, 20, -1).mean(1)
    plain /= np.linalg.norm(plain, axis=1, keepdims=True)
    assert nearest.mean() < 0.8 * np.sort(distances(plain, plain), axis=1)[:, 1].mean()


def test_scatter_widens_some_classes_and_narrows_others() -> None:
    rows = Shift(scatter_spread=0.5).apply(WORLD, ROWS, LABELS, np.random.default_rng(0))
    ratio = [
        distances(after, after).mean() / distances(before, before).mean()
        for after, before in zip(rows.reshape(30, 20, -1), ROWS.reshape(30, 20, -1), strict=True)
    ]
    assert min(ratio) < 0.8
    assert max(ratio) > 1.2


@pytest.mark.parametrize("gap", [True, False])
def test_drawn_shifts_are_usable_and_repeat(gap: bool) -> None:
    for seed in range(30):
        shift = draw_shift(WORLD, np.random.default_rng(seed), gap=gap, uneven=not gap)
        again = draw_shift(WORLD, np.random.default_rng(seed), gap=gap, uneven=not gap)
        assert shift.separation == again.separation
        assert (shift.damping is None) == (again.damping is None)
        within, between = spread(shift)
        assert 0 < within < 2
        assert 0 < between < 2
        if gap:
            assert shift.pull is None
            assert shift.scenes == 0


def test_noise_of_a_colour_follows_the_principal_axes() -> None:
    def along_last(colour: float) -> float:
        rows = Shift(noise=3.0, colour=colour).apply(WORLD, ROWS, LABELS, np.random.default_rng(0))
        return float((rows @ WORLD.axes)[:, -1].std())

    assert along_last(0.0) < along_last(1.0) < along_last(3.0)


def test_an_uneven_shift_hits_some_rows_harder() -> None:
    pull = np.full(16, 0.5, np.float32)

    def off(uneven: float) -> np.ndarray:
        shift = Shift(pull=pull, uneven=uneven)
        rows = shift.apply(WORLD, ROWS, LABELS, np.random.default_rng(0))
        return np.linalg.norm(rows - ROWS, axis=1)

    assert off(1.0).std() > 1.5 * off(0.0).std()


def test_kin_are_near_and_classes_keep_their_width() -> None:
    def nearest_mean(shift: Shift) -> tuple[float, float]:
        rows = shift.apply(WORLD, ROWS, LABELS, np.random.default_rng(0))
        means = rows.reshape(30, 20, -1).mean(1)
        apart = np.linalg.norm(means[:, None] - means, axis=2) + 9 * np.eye(30)
        width = np.linalg.norm(rows - np.repeat(means, 20, axis=0), axis=1).mean()
        return float(apart.min(1).mean()), float(width)

    (before, width), (after, kept) = nearest_mean(Shift()), nearest_mean(Shift(kin=0.9))
    assert after < 0.9 * before
    moved = Shift(kin=0.9).apply(WORLD, ROWS, LABELS, np.random.default_rng(0)) - ROWS
    far = np.linalg.norm(moved.reshape(30, 20, -1).mean(1), axis=1)
    assert far.std() > 0.3 * far.mean()  # each its own part of the way
    assert kept == pytest.approx(width, rel=0.25)


def test_modes_are_groups_within_a_class() -> None:
    """Class mates of one mode are as near as before, those of different modes are not."""

    def near_and_far(shift: Shift) -> tuple[float, float]:
        rows = shift.apply(WORLD, ROWS, LABELS, np.random.default_rng(0)).reshape(30, 20, -1)
        own = np.sort(np.stack([distances(r, r) for r in rows]), axis=2)
        return float(own[:, :, 1].mean()), float(own[:, :, 10:].mean())

    before, after = near_and_far(Shift()), near_and_far(Shift(modes=1.0, mode_count=4))
    assert after[1] > 1.1 * before[1]
    assert after[0] < 1.1 * before[0]


def test_likeness_is_drawn_in_all_its_parts() -> None:
    drawn = [draw_likeness(np.random.default_rng(seed)) for seed in range(200)]
    for name, share in (("scenes", 0.6), ("kin", 0.6), ("modes", 0.3)):
        found = np.array([getattr(shift, name) for shift in drawn])
        assert (found > 0).mean() == pytest.approx(share, abs=0.12)
        assert 0.9 < found.max() <= 1.2
    assert {shift.mode_count for shift in drawn} >= {2, 5, 12}

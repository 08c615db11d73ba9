from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import opengcn as og
from opengcn.rehearsal.graph_profile import distances
from opengcn.rehearsal.shifts import Shift, draw_shift, on_the_sphere
from opengcn.rehearsal.worlds import World


def labelled(classes: int, size: int, seed: int = 0) -> og.EmbeddingSet:
    return og.datasets.synthetic(classes, size, 16, concentration=20.0, seed=seed)


def world(classes: int = 30, size: int = 20, seed: int = 0) -> World:
    return World.of(labelled(classes, size, seed), np.random.default_rng(0))


NEUTRAL = Shift(1, 1, 0, 0, 0, 0.5, 0, 0, 8, 0, None, False)
WORLD = world()
LABELS = np.repeat(np.arange(30), 20)
ROWS = np.concatenate(WORLD.members)


def spread(shift: Shift) -> tuple[float, float]:
    """Return mean same-class and other distances after a shift."""
    rng = np.random.default_rng(0)
    means, residuals = shift.apply(WORLD, WORLD.means, WORLD.residuals[ROWS], LABELS, rng)
    rows = on_the_sphere(WORLD, means, residuals, LABELS, rng, pull=False)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert rows.dtype == np.float32
    d = distances(rows, rows)
    same = LABELS[:, None] == LABELS
    off = ~np.eye(len(rows), dtype=bool)
    return float(d[same & off].mean()), float(d[~same].mean())


def test_neutral_changes_nothing() -> None:
    means, residuals = NEUTRAL.apply(
        WORLD, WORLD.means, WORLD.residuals[ROWS], LABELS, np.random.default_rng(0)
    )
    np.testing.assert_array_equal(means, WORLD.means)
    np.testing.assert_array_equal(residuals, WORLD.residuals[ROWS])


def test_each_part_does_what_it_says() -> None:
    within, between = spread(NEUTRAL)
    closer = spread(replace(NEUTRAL, separation=0.5))
    assert closer[1] / closer[0] < 0.9 * between / within
    wider = spread(replace(NEUTRAL, scatter=1.5))
    assert wider[0] > 1.1 * within
    for part in (
        replace(NEUTRAL, blend=0.5),
        replace(NEUTRAL, scenes=0.7),
        replace(NEUTRAL, noise=0.7),
    ):
        blurred = spread(part)
        assert blurred[1] / blurred[0] < 0.98 * between / within
    families = spread(replace(NEUTRAL, families=0.9, family_power=0.3))
    assert families[1] < between
    damped = replace(NEUTRAL, damping=np.diag(np.r_[np.ones(8), np.zeros(8)]).astype(np.float32))
    assert spread(damped) != (within, between)


@pytest.mark.parametrize("gap", [True, False])
def test_drawn_shifts_are_usable_and_repeat(gap: bool) -> None:
    for seed in range(30):
        rng = np.random.default_rng(seed)
        shift = draw_shift(WORLD, rng, gap=gap)
        again = draw_shift(WORLD, np.random.default_rng(seed), gap=gap)
        assert shift.separation == again.separation
        assert (shift.damping is None) == (again.damping is None)
        within, between = spread(shift)
        assert 0 < within < 2
        assert 0 < between < 2
        if gap:
            assert shift.noise == shift.scenes == 0


def test_a_cone_keeps_the_scatter() -> None:
    """Classes that move together do not get wider when a common direction takes the length."""
    rng = np.random.default_rng(1)
    for seed in range(20):  # half of the draws are cones
        rng = np.random.default_rng(seed)
        rows = on_the_sphere(
            WORLD, 0.1 * WORLD.means, 0.2 * WORLD.residuals[ROWS], LABELS, rng, pull=True
        )
        if np.linalg.norm(rows.mean(0)) > 0.9:
            within = distances(rows[:20], rows[:20]).sum() / (20 * 19)
            residuals = 0.2 * WORLD.residuals[ROWS[:20]]
            gaps = np.linalg.norm(residuals[:, None] - residuals[None], axis=2).sum() / (20 * 19)
            assert within == pytest.approx(gaps, rel=0.05)
            return
    pytest.fail("no cone in 20 draws")

"""Rehearsed shifts: what may happen to a set between the embedder's classes and the test set.

A shift acts on class means and residuals, before rows are put back on the sphere. None of
them looks at test data; their sizes were chosen once, for all data sets (docs/default.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opengcn.rehearsal.worlds import World, unit_vector

__all__ = ["Shift", "draw_shift", "on_the_sphere"]

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Shift:
    """A drawn shift; see `draw_shift` for what each part stands for.

    Attributes
    ----------
    separation, scatter : float
        Factors of the class means and of the residuals.
    separation_spread, scatter_spread : float
        Standard deviation over the classes of the logarithm of either.
    families : float
        Share of a class mean that is common to its family of classes.
    family_power : float
        C classes make C ** family_power families.
    blend : float
        Share of the residual's variance that other images take: structured noise.
    scenes : float
        Strength of groups that have nothing to do with the classes (backgrounds, cameras).
    scene_count : int
        How many.
    noise : float
        Strength of noise without structure.
    damping : ndarray of shape (D, D) or None
        A linear map that weakens random directions.
    adds : bool
        Whether families and blended images come on top of what is there, or take its place.
    """

    separation: float
    scatter: float
    separation_spread: float
    scatter_spread: float
    families: float
    family_power: float
    blend: float
    scenes: float
    scene_count: int
    noise: float
    damping: Floats | None
    adds: bool

    def apply(
        self,
        world: World,
        means: Floats,
        residuals: Floats,
        labels: NDArray[Any],
        rng: np.random.Generator,
    ) -> tuple[Floats, Floats]:
        """Shift class means (C, D) and residuals (n, D) of rows with labels in 0, ..., C - 1.

        Parameters
        ----------
        world : World
            Where images, to blend in, come from.
        means, residuals, labels : ndarray
            The set.
        rng : Generator
            Source of randomness.

        Returns
        -------
        means, residuals : ndarray
            Shifted; the arrays given are left as they are.
        """
        classes, rows = len(means), len(residuals)
        means = means * _factors(self.separation, self.separation_spread, classes, rng)
        residuals = residuals * _factors(self.scatter, self.scatter_spread, classes, rng)[labels]
        if self.families:
            count = max(2, int(classes**self.family_power))
            family = world.images[rng.integers(len(world.images), size=count)]
            own = 1.0 if self.adds else np.sqrt(1 - self.families**2)
            common = np.float32(self.families) * family[rng.integers(count, size=classes)]
            means = np.float32(own) * means + common
        if self.blend:
            share = np.minimum(_factors(self.blend, 0.3, classes, rng), 0.95)[labels]
            others = world.images[rng.integers(len(world.images), size=rows)]
            own = 1.0 if self.adds else np.sqrt(1 - share)
            residuals = own * residuals + np.sqrt(share) * others
        if self.scenes:
            scene = world.images[rng.integers(len(world.images), size=self.scene_count)]
            added = scene[rng.integers(self.scene_count, size=rows)]
            residuals = residuals + np.float32(self.scenes) * added
        if self.noise:
            size = np.float32(self.noise / np.sqrt(world.dim))
            residuals = residuals + size * rng.standard_normal(residuals.shape, np.float32)
        if self.damping is not None:
            means, residuals = means @ self.damping, residuals @ self.damping
        return means, residuals


def draw_shift(world: World, rng: np.random.Generator, *, gap: bool) -> Shift:
    """Draw a shift at random.

    Parameters
    ----------
    world : World
        D_train.
    rng : Generator
        Source of randomness.
    gap : bool
        True draws the gap between classes that the embedder has seen and others, which
        D_cal and D_test share: classes closer together, wider, grouped in families. False
        draws what happens to D_test alone: as before, and noise, scenes, damped directions.

    Returns
    -------
    shift : Shift
        The shift.
    """

    def sometimes(chance: float, value: float) -> float:
        return value if rng.random() < chance else 0.0

    u = rng.random
    separation = float(np.exp(rng.normal(-0.15, 0.25) if gap else rng.normal(-0.2, 0.3)))
    scatter = float(np.exp(rng.normal(0.05, 0.2) if gap else rng.normal(0.0, 0.15)))
    blend, families = sometimes(0.5, 0.9 * u() * u()), sometimes(0.4, 0.95 * u())
    return Shift(
        separation if gap or u() < 0.8 else 1.0,
        scatter if gap or u() < 0.8 else 1.0,
        0.2 * u(),
        0.2 * u(),
        families,
        0.3 + 0.6 * u(),
        blend,
        0.0 if gap else sometimes(0.3, 0.7 * u()),
        int(np.exp(rng.uniform(np.log(8), np.log(300)))),
        0.0 if gap else sometimes(0.35, 0.7 * u() * u()),
        _damping(world, rng) if u() < 0.35 else None,
        u() < 0.5,
    )


def on_the_sphere(
    world: World,
    means: Floats,
    residuals: Floats,
    labels: NDArray[Any],
    rng: np.random.Generator,
    *,
    pull: bool,
) -> Floats:
    """Put rows together and back on the unit sphere.

    Half of the time a common direction takes the length that the rows lack, so that a set
    whose classes have moved together sits in a narrow cone and keeps its scatter, as sets
    of another domain do. Otherwise the centre of D_train is added, with or without a pull.

    Parameters
    ----------
    world : World
        D_train.
    means, residuals, labels : ndarray of shape (C, D), (n, D), (n,)
        The set.
    rng : Generator
        Source of randomness.
    pull : bool
        Whether the set may lean to another direction than D_train's.

    Returns
    -------
    rows : ndarray of shape (n, D)
        Unit vectors.
    """
    rows = means[labels] + residuals
    if rng.random() < 0.5:
        lacking = np.sqrt(max(0.0, 1.0 - float((rows**2).sum(1).mean())))
        lean = world.direction(rng) if pull else unit_vector(world.centre)
        rows = rows + np.float32(lacking) * lean
    else:
        rows = rows + world.centre
        if pull and rng.random() < 0.6:
            rows = rows + np.float32(1.2 * rng.random() * rng.random()) * world.direction(rng)
    length = np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return np.asarray(rows / length, np.float32)


def _factors(middle: float, spread: float, classes: int, rng: np.random.Generator) -> Floats:
    """Return a factor a class, as a column, log-normal around `middle`."""
    drawn = middle * np.exp(spread * rng.standard_normal((classes, 1)))
    return drawn.astype(np.float32)


def _damping(world: World, rng: np.random.Generator) -> Floats:
    """Return a map that weakens directions: principal axes, or any, by up to exp(-1.5)."""
    axes = world.axes if rng.random() < 0.5 else world.other_axes
    weak = np.exp(-1.5 * rng.random() * rng.random(world.dim)).astype(np.float32)
    return np.asarray((axes * weak) @ axes.T, np.float32)

"""Rehearsed shifts: what may happen to a set between the embedder's classes and the test set.

A shift acts on rows and puts them back on the sphere. None of them looks at test data;
their sizes were chosen once, for all data sets (docs/evidence.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opengcn.rehearsal.worlds import World, class_means, unit_vector

__all__ = ["Shift", "draw_likeness", "draw_shift", "log_uniform", "on_the_sphere"]

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Shift:
    """A drawn shift. At its defaults each part does nothing.

    Attributes
    ----------
    families : float
        Length of what the classes of a family have in common, in images of D_train.
    family_power : float
        C classes make C ** family_power families.
    separation, separation_spread : float
        Factor on the way from the centre of the set to a class mean, and its standard
        deviation over the classes.
    kin : float
        How far, at most, a class is drawn to a random other one, as a part of the way: so some
        have their like.
    blend, blend_spread : float
        How much of another image comes on top of each row, and its relative standard
        deviation over the classes: noise with the structure of the data.
    scatter_spread : float
        Standard deviation over the classes of the logarithm of their width's change.
    scenes, scene_count : float, int
        Strength and number of groups that have nothing to do with the classes
        (backgrounds, cameras).
    modes, mode_count : float, int
        Strength and number of groups within each class (poses, fonts).
    noise, colour : float
        Strength of noise, and how much of it lies along the principal axes: its spread
        along each goes with theirs to this power. At 0 it has no structure.
    uneven : float
        Standard deviation over the rows of the logarithm of how hard blend, scenes, noise
        and pull hit them.
    pull : ndarray of shape (D,) or None
        A direction that the whole set leans to.
    damping : ndarray of shape (D, D) or None
        A linear map about the centre that weakens random directions.
    """

    families: float = 0.0
    family_power: float = 0.5
    separation: float = 1.0
    separation_spread: float = 0.0
    kin: float = 0.0
    blend: float = 0.0
    blend_spread: float = 0.0
    scatter_spread: float = 0.0
    scenes: float = 0.0
    scene_count: int = 8
    modes: float = 0.0
    mode_count: int = 2
    noise: float = 0.0
    colour: float = 0.0
    uneven: float = 0.0
    pull: Floats | None = None
    damping: Floats | None = None

    def apply(
        self, world: World, rows: Floats, labels: NDArray[Any], rng: np.random.Generator
    ) -> Floats:
        """Shift a set.

        Parameters
        ----------
        world : World
            Where images, to add, come from.
        rows : ndarray of shape (n, D)
            The set.
        labels : ndarray of shape (n,)
            Classes 0, ..., C - 1, none of them empty.
        rng : Generator
            Source of randomness.

        Returns
        -------
        rows : ndarray of shape (n, D)
            Unit vectors; the array given is left as it is.
        """
        classes = int(labels.max()) + 1

        def images(count: int) -> Floats:
            return world.images[rng.integers(len(world.images), size=count)]

        def by_class() -> Floats:
            return rng.standard_normal((classes, 1), np.float32)

        hit = np.exp(np.float32(self.uneven) * rng.standard_normal((len(rows), 1), np.float32))
        if self.families:
            count = max(2, int(classes**self.family_power))
            common = images(count)[rng.integers(count, size=classes)]
            rows = rows + np.float32(self.families) * common[labels]
        if self.separation != 1 or self.separation_spread:
            factor = (self.separation + self.separation_spread * by_class()).clip(0, 1.4)
            rows = rows + ((factor - 1) * (class_means(rows, labels) - rows.mean(0)))[labels]
        if self.kin:
            means = class_means(rows, labels)
            part = np.float32(self.kin) * rng.random((classes, 1), np.float32)
            rows = rows + (part * (means[rng.integers(classes, size=classes)] - means))[labels]
        if self.blend:
            factor = self.blend * (1 + self.blend_spread * by_class()).clip(0, 2.5)
            rows = rows + hit * factor[labels] * images(len(rows))
        if self.scatter_spread:
            means = class_means(rows, labels)[labels]
            rows = means + np.exp(self.scatter_spread * by_class())[labels] * (rows - means)
        if self.scenes:
            scene = images(self.scene_count)[rng.integers(self.scene_count, size=len(rows))]
            rows = rows + np.float32(self.scenes) * hit * scene
        if self.modes:
            mode = labels * self.mode_count + rng.integers(self.mode_count, size=len(rows))
            every = rng.integers(len(world.images), size=classes * self.mode_count)
            rows = rows + np.float32(self.modes) * world.images[every[mode]]
        if self.noise:
            spread = np.maximum(world.spread / max(float(world.spread.max()), 1e-12), 1e-6)
            along = unit_vector(spread ** np.float32(self.colour))
            noise = (along * rng.standard_normal(rows.shape, np.float32)) @ world.axes.T
            rows = rows + np.float32(self.noise) * hit * noise
        if self.pull is not None:
            rows = rows + hit * self.pull
        if self.damping is not None:
            centre = rows.mean(0)
            rows = (rows - centre) @ self.damping + centre
        return on_the_sphere(rows)


def draw_shift(world: World, rng: np.random.Generator, *, gap: bool, uneven: bool = False) -> Shift:
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
        draws what happens to D_test alone: as before, and scenes and a pull.
    uneven : bool, default False
        Whether the latter may hit some rows harder than others, with noise along the
        principal axes.

    Returns
    -------
    shift : Shift
        The shift.
    """
    u = rng.random

    def sometimes(chance: float, size: float) -> float:
        return size if u() < chance else 0.0

    closer = u() < (0.6 if gap else 0.5)
    separation = 1 - 0.5 * u() if gap else 1.15 - 0.75 * u()
    pull = sometimes(0.0 if gap else 0.6, 1.2 * u() * u())
    return Shift(
        families=sometimes(0.4 if gap else 0.3, 1.2 * u()),
        family_power=0.3 + 0.6 * u(),
        separation=separation if closer else 1.0,
        separation_spread=0.2 * u() if closer else 0.0,
        blend=sometimes(0.6 if gap else 0.5, 1.2 * u() * u()),
        blend_spread=0.5 * u(),
        scatter_spread=sometimes(0.3, 0.25 * u()),
        scenes=sometimes(0.0 if gap else 0.3, 0.8 * u()),
        scene_count=log_uniform(rng, 8, 300),
        noise=sometimes(0.2 if gap else 0.4, 0.8 * u() * u()),
        colour=3 * u() if uneven else 0.0,
        uneven=sometimes(0.7 if uneven else 0.0, 1.2 * u()),
        pull=np.float32(pull) * world.direction(rng) if pull else None,
        damping=_damping(world, rng) if u() < (0.3 if gap else 0.4) else None,
    )


def draw_likeness(rng: np.random.Generator) -> Shift:
    """Draw what makes rows of different classes alike, and rows of one class unlike.

    Among unseen classes a near neighbour is a stranger more often than among those that the
    embedder was taught to tell apart. Where that is not rehearsed, readings put same-class
    distances too low on nearly every real set (docs/evidence.md).

    Parameters
    ----------
    rng : Generator
        Source of randomness.

    Returns
    -------
    shift : Shift
        Scenes, kin, and modes of classes; any of them may be missing.
    """
    u = rng.random
    return Shift(
        scenes=1.2 * u() if u() < 0.6 else 0.0,
        scene_count=log_uniform(rng, 8, 300),
        kin=1.2 * u() if u() < 0.6 else 0.0,
        modes=1.2 * u() if u() < 0.3 else 0.0,
        mode_count=log_uniform(rng, 2, 12),
    )


def on_the_sphere(rows: Floats) -> Floats:
    """Return rows at length 1.

    Parameters
    ----------
    rows : ndarray of shape (n, D)
        Rows.

    Returns
    -------
    rows : ndarray of shape (n, D)
        Unit vectors.
    """
    length = np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return np.asarray(rows / length, np.float32)


def log_uniform(rng: np.random.Generator, low: int, high: int) -> int:
    """Draw a whole number from low to high, small ones as often as large ones."""
    return int(np.exp(rng.uniform(np.log(low), np.log(high + 1))))


def _damping(world: World, rng: np.random.Generator) -> Floats:
    """Return a map that weakens directions: principal axes, or any, by up to exp(-1.5)."""
    axes = world.axes if rng.random() < 0.5 else world.other_axes
    weak = np.exp(-1.5 * rng.random() * rng.random(world.dim)).astype(np.float32)
    return np.asarray((axes * weak) @ axes.T, np.float32)

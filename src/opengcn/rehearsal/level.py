"""How far apart class mates are, from the directions in which a set varies.

Some directions tell classes apart, others show pose, light and background, and D_train knows
which is which. So much of a set's variance as lies along the latter is within classes: it tells
how large same-class distances are, without a neighbour being looked at. It hardly matters how
many classes there are, nor how few rows, where neighbours tell little.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from opengcn.rehearsal.reference import Reference
from opengcn.rehearsal.worlds import World

__all__ = ["Level"]

AXES = 256  # that are looked along: those with most of the variance between classes
# Where a set varies less along a telling axis than D_train does, it may be that everything along it
# is weaker (0), or that class means are, and nothing else (1). Real sets are in between
# (docs/default.md).
MEANS_ALONE = 0.5
LEAST = 0.02  # part of the variance that is within classes at any rate
LIMIT = 3.0  # times that distances are larger or smaller, at most
FEWEST = 16  # rows that D_cal has beyond one of each class

Floats = NDArray[np.float32]
Rate = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Level:
    """What D_train tells of directions.

    Attributes
    ----------
    axes : ndarray of shape (D, k)
        Some of its principal axes, in columns.
    weights : ndarray of shape (k,)
        How much of the variance along each is not within classes.
    """

    axes: Floats
    weights: Rate

    @classmethod
    def learn(cls, world: World) -> Self:
        """Learn from D_train.

        Parameters
        ----------
        world : World
            D_train.

        Returns
        -------
        level : Level
            Its directions.
        """
        telling = world.telling.astype(np.float64)
        between = telling * world.spread**2
        # With this factor, variance that is all between classes, as D_train's is, counts for 0.
        alone = between.sum() / max(float(telling @ between), 1e-12) if between.any() else 1.0
        most = np.sort(np.argsort(-between, kind="stable")[:AXES])
        axes = np.ascontiguousarray(world.axes[:, most])  # as in a file, to the bit
        return cls(axes, (1 + MEANS_ALONE * (alone - 1)) * telling[most])

    def of(self, nodes: Floats, reference: Reference, prior: float = 0.0) -> float | None:
        """Return how much larger same-class distances are in a set than in D_cal.

        Parameters
        ----------
        nodes : ndarray of shape (n, D)
            Unit vectors of the set.
        reference : Reference
            D_cal.
        prior : float, default 0
            Share of same-class pairs, if it is known. Means of few classes differ less from their
            own mean than from that of all classes: the set lacks this share of the variance
            between classes, and is put too low if nobody says so.

        Returns
        -------
        level : float or None
            The difference, on average; None where D_cal has too few rows of a class.
        """
        rows, code = reference.rows, np.unique(reference.labels, return_inverse=True)[1]
        size = np.bincount(code)
        n, spare = len(rows), len(rows) - len(size)
        if len(size) < 2 or spare < FEWEST:
            return None
        means = np.zeros((len(size), rows.shape[1]))
        np.add.at(means, code, rows)
        means /= size[:, None]
        within = self._within(rows - means[code], spare)
        everything = self._within(rows - rows.mean(0), n - 1)
        between = (everything - within) * (n - 1) / (n - np.square(size).sum() / n)
        known = within + max(between, 0.0) * (1 - prior)
        seen = self._within(nodes - nodes.mean(0), len(nodes) - 1)
        ratio = min(max(np.sqrt(seen / known), 1 / LIMIT), LIMIT)
        return float((ratio - 1) * reference.quantiles.mean())

    def _within(self, centred: NDArray[Any], count: int) -> float:
        """Return how much of the variance counts as within classes."""
        total = float(np.square(centred, dtype=np.float64).sum()) / count
        along = np.square(centred @ self.axes, dtype=np.float64).sum(0) / count
        return max(total - float(self.weights @ along), LEAST * total, 1e-9)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything as arrays, by name, for a model file."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

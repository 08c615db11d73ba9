"""How far apart class mates are, from the directions in which a set varies.

Some directions tell classes apart, others show pose, light and background, and D_train knows
which is which. So much of a set's variance as lies along the latter is within classes: it tells
how large same-class distances are, without a neighbour being looked at. It hardly matters how
many classes there are, nor how few rows, where neighbours tell little. After a shift it is told
twice over: images of a class may differ as before while classes are told apart less.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from opengcn.rehearsal.reference import Reference
from opengcn.rehearsal.worlds import World, class_means

__all__ = ["Level", "Said"]

AXES = 256  # that are looked along: those with most of the variance between classes
# Where a set varies less along a telling axis than D_train does, it may be that everything along it
# is weaker (0), or that class means are, and nothing else (1). Real sets of other classes are in
# between; what has shifted, by corruption above all, is nearer to the latter (docs/evidence.md).
STILL, MOVED = 0.5, 1.0
LEAST = 0.02  # part of the variance that is within classes at any rate
LIMIT = 10.0  # times that distances are larger or smaller, at most
# Error after a shift, in parts of D_cal's distances: as far as the two cases are apart; at least so
# much; over that of D_cal's quantiles, by its few classes; over the root of how few rows there are;
# over the square of the odds that what varies within classes does so along telling axes, where it
# does not count; and (`Level._uneven` / FOREIGN) ** 8. Both powers make little of photos and what
# corrupts them, and much of embeddings without directions of their own, and of another domain.
SURE, CLASSES, ROWS, HIDDEN, FOREIGN = 0.015, 0.6, 0.17, 0.005, 0.77
FEWEST = 16  # rows that D_cal has beyond one of each class

Floats = NDArray[np.float32]
Rate = NDArray[np.float64]


class Said(NamedTuple):
    """What is said of a set.

    Attributes
    ----------
    still, moved : float
        How much larger its same-class distances are than D_cal's, on average: if nothing has
        shifted, if something has.
    error : float
        What `moved` may be off by, over D_cal's distances. The farther it is from `still`, the more
        depends on which is right; the fewer classes D_cal has and the fewer rows the set, the more
        is chance; the more of what varies within classes does so along telling axes, the more is
        hidden; and the more axes differ in what they have gained or lost of D_train's variance,
        the less is it the same world: another domain has directions of its own (and so have a
        handful of classes or rows, by chance).
    """

    still: float
    moved: float
    error: float


@dataclass(frozen=True, eq=False)
class Level:
    """What D_train tells of directions.

    Attributes
    ----------
    axes : ndarray of shape (D, k)
        Some of its principal axes, in columns.
    variances : ndarray of shape (k,)
        Its variance along each.
    weights : ndarray of shape (2, k)
        How much of the variance along each is not within classes: if nothing has shifted, if
        something has.
    left : ndarray of shape (1,)
        How much of its variance within classes counts as such after a shift.
    """

    axes: Floats
    variances: Rate
    weights: Rate
    left: Rate

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
        telling, variances = world.telling.astype(np.float64), world.spread.astype(np.float64) ** 2
        between = telling * variances
        # With this factor, variance that is all between classes, as D_train's is, counts for 0.
        alone = between.sum() / max(float(telling @ between), 1e-12) if between.any() else 1.0
        most = np.sort(np.argsort(-between, kind="stable")[:AXES])
        axes = np.ascontiguousarray(world.axes[:, most])  # as in a file, to the bit
        weights = np.outer([1 + part * (alone - 1) for part in (STILL, MOVED)], telling[most])
        within = variances - between
        lost = float(weights[1] @ within[most]) / max(float(within.sum()), 1e-12)
        return cls(axes, variances[most], weights, np.array([max(1 - lost, LEAST)]))

    def of(self, nodes: Floats, reference: Reference, prior: float = 0.0) -> Said | None:
        """Say how much larger same-class distances are in a set than in D_cal.

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
        said : Said or None
            None where D_cal has too few rows of a class.
        """
        rows, code = reference.rows, np.unique(reference.labels, return_inverse=True)[1]
        size = np.bincount(code)
        n, spare = len(rows), len(rows) - len(size)
        if len(size) < 2 or spare < FEWEST:
            return None
        means = class_means(rows.astype(np.float64), code)
        within = self._within(*self._along(rows - means[code], spare))
        everything = self._within(*self._along(rows - rows.mean(0), n - 1))
        between = (everything - within) * (n - 1) / (n - np.square(size).sum() / n)
        known = within + np.maximum(between, 0.0) * (1 - prior)
        total, along = self._along(nodes - nodes.mean(0), len(nodes) - 1)
        ratio = np.clip(np.sqrt(self._within(total, along) / known), 1 / LIMIT, LIMIT)
        still, moved = (ratio - 1) * reference.quantiles.mean()
        parts = [
            ratio[1] - ratio[0],
            SURE,
            CLASSES * reference.error / max(float(reference.quantiles.mean()), 1e-6),
            ROWS / np.sqrt(len(nodes)),
            HIDDEN * (1 / float(self.left[0]) - 1) ** 2,
            (self._uneven(along) / FOREIGN) ** 8,
        ]
        return Said(float(still), float(moved), float(np.linalg.norm(parts)))

    def _along(self, centred: NDArray[Any], count: int) -> tuple[float, Rate]:
        """Return the variance as a whole, and along each axis."""
        total = float(np.square(centred, dtype=np.float64).sum()) / count
        return total, np.square(centred @ self.axes, dtype=np.float64).sum(0) / count

    def _within(self, total: float, along: Rate) -> Rate:
        """Return how much of the variance counts as within classes, for either case."""
        return np.maximum(total - self.weights @ along, max(LEAST * total, 1e-9))

    def _uneven(self, along: Rate) -> float:
        """Return the deviation, weighted by D_train's variance, of how much more axes have."""
        if not self.variances.any():
            return 0.0
        more = np.log(np.maximum(along, 1e-9) / np.maximum(self.variances, 1e-9))
        more -= np.average(more, weights=self.variances)
        return float(np.sqrt(np.average(more**2, weights=self.variances)))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything as arrays, by name, for a model file."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

"""Rates on the grid: whether they are sound, and where they reach a target."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from opengcn.errors import DataError, OpenGCNError
from opengcn.pairs import GRID

__all__ = ["ROUNDING", "check_rate", "first_at", "last_at", "reached", "settled"]

ROUNDING = 1e-9  # how far a curve may be from monotone before it is refused


def check_rate(rate: NDArray[np.float64], name: str, sign: int) -> None:
    """Refuse a rate outside [0, 1], or one that falls (sign 1) or rises (sign -1)."""
    bad = ~((rate >= -ROUNDING) & (rate <= 1 + ROUNDING))
    if bad.any():
        k = int(np.flatnonzero(bad)[0])
        raise DataError(
            f"operating curve: expected {name} in [0, 1], received {rate[k]} at distance {GRID[k]}"
        )
    wrong = sign * np.diff(rate) < -ROUNDING
    if wrong.any():
        k = int(np.flatnonzero(wrong)[0])
        way = "never to fall" if sign > 0 else "never to rise"
        raise DataError(
            f"operating curve: expected {name} {way}, received {rate[k]} at distance {GRID[k]} "
            f"and {rate[k + 1]} at {GRID[k + 1]}"
        )


def first_at(rate: NDArray[np.float64], target: float, grid: bool) -> float:
    """Return the smallest distance at which a rising rate reaches the target."""
    enough = np.flatnonzero(rate >= target)
    if not len(enough):
        raise OpenGCNError(
            f"threshold: expected TPR to reach {target:g}, received a curve that ends at "
            f"{rate[-1]:.6f} at distance 2"
        )
    k = int(enough[0])
    if grid or k == 0:
        return float(GRID[k])
    share = (target - rate[k - 1]) / (rate[k] - rate[k - 1])
    return float(GRID[k - 1] + share * (GRID[k] - GRID[k - 1]))


def last_at(rate: NDArray[np.float64], target: float, grid: bool) -> float:
    """Return the largest distance at which a falling rate still holds the target."""
    holding = np.flatnonzero(rate >= target)
    if not len(holding):
        return 0.0  # nothing is below distance 0: every stranger is rejected there
    k = int(holding[-1])
    if grid or k == len(GRID) - 1:
        return float(GRID[k])
    share = (rate[k] - target) / (rate[k] - rate[k + 1])
    return float(GRID[k] + share * (GRID[k + 1] - GRID[k]))


def reached(
    reach: Callable[[NDArray[np.float64], float, bool], float],
    rate: NDArray[np.float64],
    target: float,
    grid: bool,
) -> float:
    """Return where a rate reaches a target; 2 when an edge of the band never does."""
    try:
        return reach(rate, target, grid)
    except OpenGCNError:
        return 2.0


def settled(distance: float, rate: NDArray[np.float64], target: float, *, rises: bool) -> float:
    """Interpolating back may round to just below the target: move until it does not."""
    step = np.spacing(distance) * (1 if rises else -1)
    while np.interp(distance, GRID, rate) < target and 0 < distance < 2:
        distance = float(np.clip(distance + step, 0, 2))
        step *= 2
    return distance

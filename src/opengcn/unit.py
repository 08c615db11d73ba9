"""Raw vectors in, checked float32 unit vectors out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from opengcn.errors import DataError

if TYPE_CHECKING:
    from opengcn.sources import Source

__all__ = ["unit_vectors", "unit_vectors_of"]

BLOCK = 4096  # rows at a time, so that the float64 copy stays in the cache's reach
ALREADY_UNIT = 1e-6  # on the squared norm: a few float32 roundings of a unit vector


def unit_vectors(
    raw: NDArray[Any], where: Callable[[int], str], start: int = 0
) -> NDArray[np.float32]:
    """Check and L2-normalise rows.

    Float32 rows that are unit vectors already come back bit for bit, so that writing a
    set and reading it again changes nothing.

    Parameters
    ----------
    raw : ndarray of shape (n, D)
        Rows of float16, float32 or float64.
    where : callable
        Says where a row lies, for messages.
    start : int, default 0
        What `where` calls the first row of `raw`.

    Returns
    -------
    unit : ndarray of shape (n, D), float32
        The rows over their L2 norm.

    Raises
    ------
    DataError
        On NaN, infinity or a vector of zeros, with its place.
    """
    unit = np.empty(raw.shape, np.float32)
    for begin in range(0, len(raw), BLOCK):
        block = raw[begin : begin + BLOCK].astype(np.float64)
        # Dividing by the largest entry first keeps squares of very large and very small
        # numbers in range; NaN and infinity survive the maximum.
        largest = np.abs(block).max(axis=1, initial=0.0)
        _refuse(block, largest, start + begin, where)
        scaled = block / largest[:, None]
        norm = largest * np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
        target = unit[begin : begin + BLOCK]
        np.divide(scaled, (norm / largest)[:, None], out=target, casting="same_kind")
        if raw.dtype == np.float32:
            keep = np.abs(norm * norm - 1.0) <= ALREADY_UNIT
            target[keep] = raw[begin : begin + BLOCK][keep]
    return unit


def unit_vectors_of(source: Source) -> NDArray[np.float32]:
    """Check and L2-normalise all rows of a source; only a run of raw ones is held at a time.

    Parameters
    ----------
    source : Source
        Raw vectors of shape (n, D).

    Returns
    -------
    unit : ndarray of shape (n, D), float32
        See `unit_vectors`.
    """
    unit = np.empty(source.shape, np.float32)
    for run in source.runs():
        unit[run] = unit_vectors(source.read(run), source.where, run.start)
    return unit


def _refuse(
    block: NDArray[np.float64],
    largest: NDArray[np.float64],
    begin: int,
    where: Callable[[int], str],
) -> None:
    bad = np.flatnonzero(~np.isfinite(largest) | (largest == 0))
    if not len(bad):
        return
    row = int(bad[0])
    more = f" (and {len(bad) - 1} more rows near it)" if len(bad) > 1 else ""
    place = where(begin + row)
    if largest[row] == 0:
        raise DataError(f"{place}: expected a vector with a direction, received only zeros{more}")
    dim = int(np.flatnonzero(~np.isfinite(block[row]))[0])
    raise DataError(
        f"{place}: expected finite numbers, received {block[row, dim]} in dimension {dim}{more}"
    )

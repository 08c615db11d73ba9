"""Label arrays: what counts as one, and how two sets' labels compare."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opengcn.errors import DataError

__all__ = ["as_labels", "shared_labels"]


def as_labels(values: ArrayLike, count: int, name: str) -> NDArray[Any]:
    """Return labels (ids, tenants) as a checked one-dimensional array.

    Parameters
    ----------
    values : array_like of shape (n,)
        Integers or strings.
    count : int
        How many there must be.
    name : str
        What messages call them, as in ``birds.npz: labels``.

    Returns
    -------
    labels : ndarray of shape (n,), int64 or str
        The labels.
    """
    array = np.asarray(values)
    if array.ndim != 1 or len(array) != count:
        raise DataError(
            f"{name}: expected one for each of {count} rows, received shape {array.shape}"
        )
    if array.dtype.kind == "b":
        return array.astype(np.int64)
    if array.dtype.kind in "iu":
        if array.dtype == np.uint64 and len(array) and array.max() > np.iinfo(np.int64).max:
            return array  # hashes as ids: wrapping them round would merge some
        return array.astype(np.int64, copy=False)
    if array.dtype.kind == "S":
        return np.char.decode(array, "utf-8")
    if array.dtype.kind in "UT":
        return array.astype(np.str_, copy=False)
    if array.dtype.kind == "O":
        return _from_objects(array, name)
    raise DataError(f"{name}: expected integers or strings, received {array.dtype}")


def shared_labels(first: NDArray[Any], second: NDArray[Any]) -> list[Any]:
    """Return the labels that occur in both arrays, of any two kinds, sorted.

    Parameters
    ----------
    first, second : ndarray
        Labels. Integers and strings never equal each other.

    Returns
    -------
    shared : list
        Sorted labels.
    """
    if (first.dtype.kind == "U") != (second.dtype.kind == "U"):
        return []
    shared: list[Any] = np.intersect1d(first, second).tolist()
    return shared


def _from_objects(array: NDArray[np.object_], name: str) -> NDArray[Any]:
    kinds = {str if isinstance(v, str) else int if _is_int(v) else type(v) for v in array}
    if kinds == {str}:
        return array.astype(np.str_)
    if kinds == {int}:
        return array.astype(np.int64)
    row = (
        next(i for i, v in enumerate(array) if not isinstance(v, str) and not _is_int(v))
        if (kinds - {str, int})
        else 0
    )
    received = " and ".join(sorted(kind.__name__ for kind in kinds)) or "nothing"
    raise DataError(
        f"{name}: expected all integers or all strings, received {received}"
        f" (row {row}: {array[row]!r})"
    )


def _is_int(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)

"""Label arrays: what counts as one, and how two sets' labels compare."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opengcn.errors import DataError

__all__ = ["as_labels", "head_and_tail", "sample_classes", "shared_labels"]


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
        A copy, read-only. Integers that do not fit into int64 stay uint64.
    """
    array = values if isinstance(values, np.ndarray) else _without_guessing(values)
    if array.ndim != 1 or len(array) != count:
        raise DataError(
            f"{name}: expected one for each of {count} rows, received shape {array.shape}"
        )
    labels = _plain(array, name)
    labels.flags.writeable = False
    return labels


def shared_labels(first: NDArray[Any], second: NDArray[Any]) -> list[Any]:
    """Return the labels that occur in both arrays, sorted.

    Parameters
    ----------
    first, second : ndarray
        Labels. An integer equals a string that spells it: one file may hold 7 where
        another has "7".

    Returns
    -------
    shared : list
        Sorted labels.
    """
    if first.dtype.kind != second.dtype.kind:
        first, second = first.astype(np.str_), second.astype(np.str_)
    shared: list[Any] = np.intersect1d(first, second).tolist()
    return shared


def sample_classes(
    labels: NDArray[Any], fraction: float, seed: int, source: str
) -> NDArray[np.bool_]:
    """Choose a share of the classes at random.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        Class of each row.
    fraction : float
        Share of the classes, in (0, 1); at least two are chosen.
    seed : int
        The chosen classes are the first of ``default_rng(seed).permutation(unique labels)``.
    source : str
        What messages call the set.

    Returns
    -------
    chosen : ndarray of shape (n,), bool
        The rows of the chosen classes.
    """
    if not 0 < fraction < 1:
        raise DataError(f"fraction: expected a share in (0, 1), received {fraction}")
    classes = np.random.default_rng(seed).permutation(np.unique(labels))
    first = max(2, round(fraction * len(classes)))
    if len(classes) <= first:
        raise DataError(
            f"{source}: expected more than {first} classes to split, received {len(classes)}"
        )
    return np.isin(labels, classes[:first])


def head_and_tail(labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Divide classes by their size so that both parts have about the same number of rows.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        Class of each row.

    Returns
    -------
    head : ndarray of shape (n,), bool
        The rows of the largest classes; the others are the tail. Classes of equal size are
        taken in the order of their labels.

    Examples
    --------
    >>> import numpy as np
    >>> head_and_tail(np.array(["cat"] * 4 + ["dog"] * 3 + ["emu"] * 2)).tolist()
    [True, True, True, True, False, False, False, False, False]
    """
    classes, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    if len(classes) < 2:
        raise DataError(f"labels: expected two classes or more, received {len(classes)}")
    order = np.argsort(-counts, kind="stable")
    inside = np.cumsum(counts[order])[:-1]  # rows of the head if it ends here
    last = int(np.argmin(np.abs(2 * inside - len(labels))))
    head = np.zeros(len(classes), bool)
    head[order[: last + 1]] = True
    return head[codes]


def _without_guessing(values: ArrayLike) -> NDArray[Any]:
    """Make an array of a list: numpy alone would turn [1, "a", nan] into strings."""
    array = np.asarray(values)
    if array.dtype.kind == "U" and isinstance(values, (list, tuple)):
        return np.array(values, dtype=object)
    return array


def _plain(array: NDArray[Any], name: str) -> NDArray[Any]:
    """Return a copy as int64, uint64 or str."""
    if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        row = int(np.flatnonzero(np.ma.getmaskarray(array))[0])
        raise DataError(f"{name}: expected a value in row {row}, received a masked one")
    kind = array.dtype.kind
    if kind == "u" and len(array) and array.max() > np.iinfo(np.int64).max:
        return array.astype(np.uint64)  # hashes as ids: wrapping them round would merge some
    if kind in "biu":
        return array.astype(np.int64)
    if kind in "UT":
        return array.astype(np.str_)
    if kind in "SO":
        return _from_objects(array.astype(object), name)
    raise DataError(f"{name}: expected integers or strings, received {array.dtype}")


def _from_objects(array: NDArray[np.object_], name: str) -> NDArray[Any]:
    try:
        values = [v.decode() if isinstance(v, bytes) else v for v in array]
    except UnicodeDecodeError as error:
        raise DataError(f"{name}: expected text in UTF-8, received {error.object!r}") from error
    if all(isinstance(v, str) for v in values):
        return np.array(values, dtype=np.str_)
    odd = [i for i, v in enumerate(values) if not isinstance(v, str) and not _is_int(v)]
    if not odd and all(map(_is_int, values)):
        try:
            return np.array(values, dtype=np.int64)
        except OverflowError:
            odd = [next(i for i, v in enumerate(values) if abs(int(v)) >= 2**63)]
    row = odd[0] if odd else 0
    kinds = " and ".join(sorted({type(v).__name__ for v in values}))
    raise DataError(
        f"{name}: expected all integers (of 64 bits) or all strings, received {kinds}"
        f" (row {row}: {values[row]!r})"
    )


def _is_int(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)

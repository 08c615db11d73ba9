"""Arrow columns as numpy arrays: vectors from lists, labels from anything that names a row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opengcn.errors import DataError
from opengcn.labels import as_labels

__all__ = ["list_vectors", "name_column"]


def list_vectors(
    array: Any, dim: int | None, where: Callable[[int], str], first: str
) -> NDArray[Any]:
    """Turn an arrow array of lists of floats into a matrix.

    Parameters
    ----------
    array : pyarrow.Array of shape (n,)
        Lists, of fixed size or not.
    dim : int or None
        How many numbers a row must have; None for as many as its first row.
    where : callable
        Says where row i of `array` lies, for messages.
    first : str
        What messages call the row that set `dim`, as in ``row 0 of birds.parquet``.

    Returns
    -------
    vectors : ndarray of shape (n, D)
        float16, float32 or float64, as in the array.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = array.type
    is_list = (
        pa.types.is_fixed_size_list(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind)
    )
    if not is_list or not pa.types.is_floating(kind.value_type):
        raise DataError(f"{where(0)}: expected a list of floats a row, received {kind}")
    if array.null_count:
        raise DataError(f"{where(_first_null(array))}: expected a vector, received null")
    sizes = np.asarray(pc.list_value_length(array))
    if dim is None:
        dim = int(sizes[0]) if len(sizes) else 0
    ragged = np.flatnonzero(sizes != dim)
    if len(ragged):
        row = int(ragged[0])
        raise DataError(
            f"{where(row)}: expected {dim} numbers as in {first}, received {sizes[row]}"
        )
    values = array.flatten()  # respects the offset of a sliced array
    if values.null_count:
        row = _first_null(values) // dim
        raise DataError(f"{where(row)}: expected numbers, received null inside the vector")
    return np.asarray(values.to_numpy(zero_copy_only=False)).reshape(len(array), dim)


def name_column(column: Any, name: str, source: str) -> NDArray[Any]:
    """Turn an arrow column of labels, ids or tenants into a plain array.

    Parameters
    ----------
    column : pyarrow.ChunkedArray of shape (n,)
        Integers or strings, dictionary-encoded or not.
    name : str
        Its name.
    source : str
        The file or table it is from.

    Returns
    -------
    values : ndarray of shape (n,), int64 or str
        See `opengcn.labels.as_labels`.
    """
    import pyarrow as pa

    array = column.combine_chunks()
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if array.null_count:
        raise DataError(
            f"{source}: row {_first_null(array)}, column '{name}': expected a value, received null"
        )
    values = np.asarray(array.to_numpy(zero_copy_only=False))
    return as_labels(values, len(values), f"{source}: column '{name}'")


def _first_null(array: Any) -> int:
    return int(np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))[0])

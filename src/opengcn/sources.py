"""Where raw vectors come from: arrays, memory maps, parquet files.

A source hands out raw rows by their index and can say, for messages, where a row lies.
It checks nothing about the numbers; `opengcn.unit` does.
"""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opengcn.arrow_columns import list_vectors
from opengcn.errors import DataError

__all__ = [
    "ArraySource",
    "ParquetSource",
    "RowSource",
    "Rows",
    "Source",
    "as_matrix",
    "readable",
    "row_numbers",
    "runs_of",
]

Rows = slice | NDArray[np.intp]
RUN = 16_384  # rows read at once where the source has no blocks of its own


class Source(Protocol):
    """Raw vectors that can be read a few rows at a time."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and dimensions."""

    def read(self, rows: Rows) -> NDArray[Any]:
        """Return the raw rows, of shape (len(rows), D), in the order asked for."""

    def where(self, row: int) -> str:
        """Say where a row lies, as in ``birds.parquet: row 7, column 'embedding'``."""

    def runs(self) -> Iterator[slice]:
        """Yield all rows in order, as many at a time as are best read at once."""


def runs_of(rows: int, run: int = RUN) -> Iterator[slice]:
    """Yield slices that together are all rows.

    Parameters
    ----------
    rows : int
        How many there are.
    run : int, default 16384
        Rows of a slice.

    Yields
    ------
    slice
        From row 0 on.
    """
    for begin in range(0, rows, run):
        yield slice(begin, min(begin + run, rows))


def row_numbers(rows: Rows, count: int) -> NDArray[np.intp]:
    """Return the numbers of the rows asked for.

    Parameters
    ----------
    rows : slice or ndarray of shape (m,)
        Which rows.
    count : int
        How many there are in all.

    Returns
    -------
    numbers : ndarray of shape (m,)
        From 0 on, in the order asked for.
    """
    return np.arange(*rows.indices(count)) if isinstance(rows, slice) else np.asarray(rows)


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn what numpy, zipfile and pyarrow raise on damaged files into one clear error.

    Parameters
    ----------
    path : Path
        The file that is being read.
    """
    try:
        yield
    except DataError:
        raise
    except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile, struct.error) as error:
        reason = " ".join(str(error).split())
        raise DataError(
            f"{path}: expected a whole {path.suffix} file, received one that is truncated, "
            f"damaged or of another format ({type(error).__name__}: {reason})"
        ) from error


class ArraySource:
    """An array of shape (n, D), in memory or memory-mapped.

    Parameters
    ----------
    array : ndarray of shape (n, D)
        The raw vectors.
    name : str
        What messages call it: a file name, or "embeddings".
    column : str, default ""
        The name of the array inside the file, if it has one.
    """

    def __init__(self, array: NDArray[Any], name: str, column: str = "") -> None:
        if array.ndim != 2:
            raise DataError(
                f"{name}: expected an array of shape (n, D), received shape {array.shape}"
            )
        if array.dtype.kind != "f" or array.dtype.itemsize > 8:
            raise DataError(
                f"{name}: expected embeddings as float16, float32 or float64, "
                f"received {array.dtype}"
            )
        self.array = array
        self.name = name
        self.column = column

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and dimensions."""
        return self.array.shape[0], self.array.shape[1]

    def read(self, rows: Rows) -> NDArray[Any]:
        """Return the raw rows."""
        return np.asarray(self.array[rows])

    def runs(self) -> Iterator[slice]:
        """Yield all rows, some at a time."""
        return runs_of(self.shape[0])

    def where(self, row: int) -> str:
        """Say where a row lies."""
        column = f", column '{self.column}'" if self.column else ""
        return f"{self.name}: row {row}{column}"


def as_matrix(values: ArrayLike, name: str) -> NDArray[Any]:
    """Return what numpy makes of values, or say which row is at fault.

    Parameters
    ----------
    values : array_like of shape (n, D)
        Anything that numpy reads.
    name : str
        What messages call it.

    Returns
    -------
    array : ndarray
        Not a copy where there is an array already.
    """
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise DataError(f"{name}: expected a number everywhere, received masked ones")
    try:
        return np.asarray(values)
    except (ValueError, TypeError, RuntimeError) as error:
        if isinstance(values, (list, tuple)):
            sizes = [len(row) if hasattr(row, "__len__") else 1 for row in values]
            row = next((i for i, size in enumerate(sizes) if size != sizes[0]), None)
            if row is not None:
                raise DataError(
                    f"{name}: row {row}: expected {sizes[0]} numbers as in row 0, received "
                    f"{sizes[row]}"
                ) from error
        # A list in a list, a tensor with a gradient, or a type that numpy does not have.
        raise DataError(f"{name}: expected what numpy can read, received {error}") from error


class RowSource:
    """Some rows of another source, in any order.

    Parameters
    ----------
    source : Source
        The source to choose from.
    rows : ndarray of shape (m,)
        The chosen rows.
    """

    def __init__(self, source: Source, rows: NDArray[np.intp]) -> None:
        self.source = source
        self.rows = rows

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and dimensions."""
        return len(self.rows), self.source.shape[1]

    def read(self, rows: Rows) -> NDArray[Any]:
        """Return the raw rows."""
        return self.source.read(self.rows[rows])

    def runs(self) -> Iterator[slice]:
        """Yield all rows at once: in any order, they may lie anywhere in the source behind."""
        return runs_of(len(self.rows), max(1, len(self.rows)))

    def where(self, row: int) -> str:
        """Say where a row lies in the source behind."""
        return self.source.where(int(self.rows[row]))


class ParquetSource:
    """The embedding column of one or several parquet files, read by row group.

    Parameters
    ----------
    paths : sequence of pathlib.Path
        The files, which together are one set.
    column : str
        The column that holds the vectors, a (fixed-size) list of floats.
    """

    def __init__(self, paths: Sequence[Path], column: str) -> None:
        self.column = column
        self._one_reader = Lock()  # a ParquetFile keeps ranges of the file between calls
        self._files = [_open_parquet(path) for path in paths]
        self._paths = list(paths)
        groups = [
            (file, group, handle.metadata.row_group(group).num_rows)
            for file, handle in enumerate(self._files)
            for group in range(handle.num_row_groups)
            if handle.metadata.row_group(group).num_rows  # some writers leave empty ones
        ]
        self._groups = [(file, group) for file, group, _ in groups]
        self._group_start = np.cumsum([0] + [rows for _, _, rows in groups])
        self._file_start = np.cumsum([0] + [f.metadata.num_rows for f in self._files])
        self._dim = self._read_group(0, None).shape[1] if self._groups else 0

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and dimensions."""
        return int(self._file_start[-1]), self._dim

    def where(self, row: int) -> str:
        """Say where a row lies."""
        file = int(np.searchsorted(self._file_start, row, side="right")) - 1
        row -= int(self._file_start[file])
        return f"{self._paths[file]}: row {row}, column '{self.column}'"

    def read(self, rows: Rows) -> NDArray[Any]:
        """Return the raw rows; each row group that holds one of them is read once."""
        rows = row_numbers(rows, self.shape[0])
        group_of = np.searchsorted(self._group_start, rows, side="right") - 1
        out: NDArray[Any] | None = None
        for group in np.unique(group_of):
            mine = np.flatnonzero(group_of == group)
            block = self._read_group(int(group), self._dim)
            if out is None or block.dtype.itemsize > out.dtype.itemsize:
                out = (
                    np.empty((len(rows), self._dim), block.dtype)
                    if out is None
                    else (out.astype(block.dtype))
                )
            out[mine] = block[rows[mine] - self._group_start[group]]
        return np.empty((0, self._dim), np.float32) if out is None else out

    def runs(self) -> Iterator[slice]:
        """Yield all rows, a row group at a time."""
        for begin, end in pairwise(self._group_start.tolist()):
            yield slice(begin, end)

    def _read_group(self, group: int, dim: int | None) -> NDArray[Any]:
        file, local = self._groups[group]
        start = int(self._group_start[group])
        with readable(self._paths[file]), self._one_reader:
            table = self._files[file].read_row_group(local, columns=[self.column])
        blocks = []
        for chunk in table.column(0).chunks:
            where = partial(self._where_after, start)
            blocks.append(list_vectors(chunk, dim, where, f"row 0 of {self._paths[0]}"))
            dim = blocks[0].shape[1]
            start += len(chunk)
        return np.concatenate(blocks)

    def _where_after(self, start: int, row: int) -> str:
        return self.where(start + row)


def _open_parquet(path: Path) -> Any:
    import pyarrow.parquet as pq

    with readable(path):
        return pq.ParquetFile(path, memory_map=True)

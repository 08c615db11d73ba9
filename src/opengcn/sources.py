"""Where raw vectors come from: arrays, memory maps, parquet files.

A source hands out raw rows by their index and can say, for messages, where a row lies.
It checks nothing about the numbers; `opengcn.unit` does.
"""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from opengcn.errors import DataError

__all__ = ["ArraySource", "ParquetSource", "RowSource", "Source", "readable"]

Rows = slice | NDArray[np.intp]


class Source(Protocol):
    """Raw vectors that can be read a few rows at a time."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and dimensions."""

    def read(self, rows: Rows) -> NDArray[Any]:
        """Return the raw rows, of shape (len(rows), D), in the order asked for."""

    def where(self, row: int) -> str:
        """Say where a row lies, as in ``birds.parquet: row 7, column 'embedding'``."""


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

    def where(self, row: int) -> str:
        """Say where a row lies."""
        column = f", column '{self.column}'" if self.column else ""
        return f"{self.name}: row {row}{column}"


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
        self._dim = self._first_dim()

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
        if isinstance(rows, slice):
            rows = np.arange(*rows.indices(self.shape[0]))
        rows = np.asarray(rows)
        group_of = np.searchsorted(self._group_start, rows, side="right") - 1
        out: NDArray[Any] | None = None
        for group in np.unique(group_of):
            mine = np.flatnonzero(group_of == group)
            block = self._read_group(int(group))
            if out is None or block.dtype.itemsize > out.dtype.itemsize:
                out = (
                    np.empty((len(rows), self._dim), block.dtype)
                    if out is None
                    else (out.astype(block.dtype))
                )
            out[mine] = block[rows[mine] - self._group_start[group]]
        return np.empty((0, self._dim), np.float32) if out is None else out

    def _first_dim(self) -> int:
        return self._read_group(0).shape[1] if self._groups else 0

    def _read_group(self, group: int) -> NDArray[Any]:
        file, local = self._groups[group]
        start = int(self._group_start[group])
        with readable(self._paths[file]):
            table = self._files[file].read_row_group(local, columns=[self.column])
        chunks = table.column(0).chunks
        blocks = []
        for chunk in chunks:
            blocks.append(self._list_array(chunk, start))
            start += len(chunk)
        return np.concatenate(blocks)

    def _list_array(self, array: Any, start: int) -> NDArray[Any]:
        """Turn an arrow list array into (rows, D); `start` is its first row, for messages."""
        import pyarrow as pa
        import pyarrow.compute as pc

        kind = array.type
        is_list = (
            pa.types.is_fixed_size_list(kind)
            or pa.types.is_list(kind)
            or (pa.types.is_large_list(kind))
        )
        if not is_list or not pa.types.is_floating(kind.value_type):
            raise DataError(
                f"{self.where(start)}: expected a list of floats a row, received {kind}"
            )
        if array.null_count:
            row = start + int(np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))[0])
            raise DataError(f"{self.where(row)}: expected a vector, received null")
        sizes = np.asarray(pc.list_value_length(array))
        dim = getattr(self, "_dim", int(sizes[0]) if len(sizes) else 0)
        ragged = np.flatnonzero(sizes != dim)
        if len(ragged):
            row = start + int(ragged[0])
            raise DataError(
                f"{self.where(row)}: expected {dim} numbers as in row 0 of {self._paths[0]}, "
                f"received {sizes[ragged[0]]}"
            )
        values = array.flatten()  # respects the offset of a sliced chunk
        if values.null_count:
            row = (
                start
                + int(np.flatnonzero(values.is_null().to_numpy(zero_copy_only=False))[0]) // dim
            )
            raise DataError(f"{self.where(row)}: expected numbers, received null inside the vector")
        return np.asarray(values.to_numpy(zero_copy_only=False)).reshape(len(array), dim)


def _open_parquet(path: Path) -> Any:
    import pyarrow.parquet as pq

    with readable(path):
        return pq.ParquetFile(path, memory_map=True)

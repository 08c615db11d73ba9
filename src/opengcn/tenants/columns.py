"""A parquet data set with a tenant column: whose rows lie where, and how they are read."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from opengcn.errors import DataError
from opengcn.sources import readable
from opengcn.tenants.batch import Name, TenantRows, grouped
from opengcn.tenants.sample import BLOCK, PassingRows, most_rows

__all__ = ["ColumnBatch", "ColumnTenants", "Group", "index_tenants", "passing_rows"]


class Group(NamedTuple):
    """A row group of a parquet file."""

    path: Path
    number: int
    rows: int


class Columns(NamedTuple):
    """Names of the two columns that are read."""

    tenant: str
    embedding: str


@dataclass(frozen=True)
class ColumnBatch:
    """Some tenants and the row groups that hold them; see `opengcn.tenants.batch.Batch`."""

    tenants: Mapping[Name, int]
    places: Mapping[Name, tuple[Group, ...]]
    columns: Columns

    @property
    def names(self) -> tuple[Name, ...]:
        """The tenants."""
        return tuple(self.tenants)

    @property
    def groups(self) -> list[Group]:
        """Row groups that hold any of them, in the order of the data set."""
        return sorted(set().union(*self.places.values()))

    def read(self, dim: int) -> Iterator[TenantRows]:
        """Yield the rows of each tenant; every row group is read once."""
        blocks: dict[Name, list[NDArray[Any]]] = {name: [] for name in self.tenants}
        errors: dict[Name, str] = {}
        for name, found in passing_rows(self.groups, self.tenants, self.columns, dim):
            if isinstance(found, DataError):
                errors[name] = str(found)
            else:
                blocks[name].append(found)
        for name, total in self.tenants.items():
            raw = blocks.pop(name)
            if name in errors:
                yield TenantRows(name, total, None, errors[name])
            else:
                yield TenantRows(name, total, np.concatenate(raw))

    def split(self) -> list[Self]:
        """Return a batch for each tenant."""
        return [
            replace(self, tenants={name: total}, places={name: self.places[name]})
            for name, total in self.tenants.items()
        ]


def passing_rows(
    groups: Sequence[Group], tenants: Mapping[Name, int], columns: Columns, dim: int
) -> Iterator[tuple[Name, NDArray[Any] | DataError]]:
    """Stream row groups and yield what is kept of some tenants' rows, in their order.

    Parameters
    ----------
    groups : sequence of Group
        Row groups, in the order of the data set; all that hold rows of these tenants.
    tenants : mapping of str or int to int
        Their names and how many rows each has.
    columns : Columns
        Names of the columns.
    dim : int
        Dimension that the vectors should have.

    Yields
    ------
    tenant : str or int
        Its name.
    raw : ndarray of shape (m, D) or DataError
        Its next rows; or what is wrong with them, after which none of it follow.
    """
    passing = {name: PassingRows(name, total, dim) for name, total in tenants.items()}
    for path, numbers in _by_file(groups):
        with readable(path):
            blocks = _blocks(path, numbers, columns)
            for owners, vectors in blocks:
                for name, rows in _owned(owners):
                    if name not in passing:
                        continue
                    try:
                        raw = passing[name].pick(_some(vectors, rows))
                    except DataError as error:
                        del passing[name]
                        yield name, error
                    else:
                        if len(raw):
                            yield name, raw


def _by_file(groups: Sequence[Group]) -> Iterator[tuple[Path, list[int]]]:
    """Yield files with those of their row groups that are wanted."""
    files: dict[Path, list[int]] = {}
    for group in groups:
        files.setdefault(group.path, []).append(group.number)
    yield from files.items()


def _blocks(path: Path, numbers: list[int], columns: Columns) -> Iterator[tuple[Any, Any]]:
    """Yield tenants and vectors of row groups, some thousand rows at a time."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, memory_map=True) as file:
        blocks = file.iter_batches(
            BLOCK, row_groups=numbers, columns=list(columns), use_threads=False
        )
        for block in blocks:
            yield block.column(columns.tenant), block.column(columns.embedding)


def _owned(owners: Any) -> Iterator[tuple[Name, NDArray[np.intp]]]:
    """Yield the tenants in an arrow array with the places of each; null is nobody's."""
    encoded = _plain(owners).dictionary_encode()
    names = encoded.dictionary.to_pylist()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(len(names) + 1))
    for code, name in enumerate(names):
        if name is not None and ends[code] < ends[code + 1]:
            yield name, order[ends[code] : ends[code + 1]]


def _plain(names: Any) -> Any:
    """Return an arrow array of names that is not dictionary-encoded."""
    return names.dictionary_decode() if hasattr(names, "dictionary") else names


def _some(vectors: Any, rows: NDArray[np.intp]) -> Any:
    """Return some rows of an arrow array, without a copy when it is all of them."""
    return vectors if len(rows) == len(vectors) else vectors.take(rows)


@dataclass(frozen=True, eq=False)
class ColumnTenants:
    """All tenants of a data set with a tenant column; see `opengcn.tenants.batch.Tenants`.

    Attributes
    ----------
    groups : tuple of Group
        All row groups.
    totals : dict of str or int to int
        Rows of each tenant, in the order in which they come up.
    holders : dict of str or int to ndarray of int
        Numbers of the row groups that hold each tenant, ascending.
    columns : Columns
        Names of the columns.
    dim : int
        Dimension of the model.
    dtype : numpy.dtype
        Of the vectors, in all files.
    unowned : int
        Rows whose tenant is null.
    """

    groups: tuple[Group, ...]
    totals: dict[Name, int]
    holders: dict[Name, NDArray[np.int32]]
    columns: Columns
    dim: int
    dtype: np.dtype[Any]
    unowned: int

    @property
    def names(self) -> tuple[Name, ...]:
        """The tenants."""
        return tuple(self.totals)

    def without(self, done: set[Name]) -> Self:
        """Return the same data without tenants that are done."""
        left = {name: total for name, total in self.totals.items() if name not in done}
        return replace(self, totals=left)

    def batches(self) -> Iterator[ColumnBatch]:
        """Yield every tenant once, in batches of neighbours."""
        names, most = self.names, most_rows(self.dim)
        for run in grouped(min(total, most) for total in self.totals.values()):
            tenants = {name: self.totals[name] for name in names[run]}
            places = {n: tuple(self.groups[g] for g in self.holders[n]) for n in tenants}
            yield ColumnBatch(tenants, places, self.columns)


def index_tenants(paths: Sequence[Path], columns: Columns, dim: int) -> ColumnTenants:
    """Find out how many rows each tenant has and where they lie; no vector is read.

    Parameters
    ----------
    paths : sequence of Path
        Parquet files, which together are the data set.
    columns : Columns
        Names of the columns.
    dim : int
        Dimension of the model.

    Returns
    -------
    tenants : ColumnTenants
        The index.
    """
    groups: list[Group] = []
    totals: dict[Name, int] = {}
    holders: dict[Name, array[int]] = {}  # 4 bytes an entry: scattered rows have very many
    unowned = 0
    kinds: dict[type, Path] = {}
    for path in paths:
        for number, counts in enumerate(_count(path, columns)):
            for name, count in counts.items():
                if name is None:
                    unowned += count
                    continue
                kinds.setdefault(type(name), path)
                totals[name] = totals.get(name, 0) + count
                holders.setdefault(name, array("i")).append(len(groups))
            groups.append(Group(path, number, sum(counts.values())))
    if len(kinds) > 1:
        raise DataError(
            f"column '{columns.tenant}': expected strings or integers in all files, received "
            + " and ".join(f"{kind.__name__} ({path})" for kind, path in kinds.items())
        )
    compact = {name: np.frombuffer(where, np.int32) for name, where in holders.items()}
    dtype = np.result_type(*(_check_columns(path, columns) for path in paths))
    return ColumnTenants(tuple(groups), totals, compact, columns, dim, dtype, unowned)


def _count(path: Path, columns: Columns) -> Iterator[dict[Name | None, int]]:
    """Yield how many rows each tenant has in the row groups of a file."""
    import pyarrow.parquet as pq

    _check_columns(path, columns)
    with readable(path), pq.ParquetFile(path, memory_map=True) as file:
        for group in range(file.num_row_groups):
            column = file.read_row_group(group, columns=[columns.tenant]).column(0)
            counted = column.value_counts()
            names = _plain(counted.field("values")).to_pylist()
            yield dict(zip(names, counted.field("counts").to_pylist(), strict=True))


def _check_columns(path: Path, columns: Columns) -> np.dtype[Any]:
    """Refuse a file without the columns; return the type of its vectors' numbers."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with readable(path):
        schema = pq.read_schema(path)
    for column in columns:
        if column not in schema.names:
            raise DataError(
                f"{path}: expected a column '{column}', received "
                f"{', '.join(map(repr, schema.names)) or 'no column'}"
            )
    kind = schema.field(columns.tenant).type
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if not text and not pa.types.is_integer(kind):
        raise DataError(
            f"{path}: column '{columns.tenant}': expected strings or integers, received {kind}"
        )
    vectors = schema.field(columns.embedding).type
    if not pa.types.is_floating(getattr(vectors, "value_type", vectors)) or vectors == kind:
        raise DataError(
            f"{path}: column '{columns.embedding}': expected lists of floats, received {vectors}"
        )
    number: np.dtype[Any] = np.dtype(vectors.value_type.to_pandas_dtype())
    return number

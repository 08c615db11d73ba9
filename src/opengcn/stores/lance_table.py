"""LanceDB tables as embedding sets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opengcn.arrow_columns import list_vectors, name_column
from opengcn.errors import DataError, require
from opengcn.files import Columns, Names, choose_columns
from opengcn.sources import Rows, row_numbers, runs_of
from opengcn.stores.reading import check_folder, reading

__all__ = ["open_table"]


def open_table(address: str, folder: str, name: str, names: Names) -> Columns:
    """Open a table.

    Parameters
    ----------
    address : str
        What messages call it.
    folder : str
        The database: a folder, or a URL that LanceDB understands.
    name : str
        The table, with or without the ".lance" that its folder on disk ends in.
    names : Names
        Columns, where they are not the usual ones: ``vector`` or ``embedding``, ``label``,
        ``id`` and ``tenant``.

    Returns
    -------
    columns : Columns
        The version of the table as it is now; the vectors are not read yet.
    """
    lancedb = require("lancedb", "lancedb")
    if "://" not in folder:
        check_folder(address, folder)
    with reading(address, "a LanceDB table"):
        table = _open(address, lancedb.connect(folder), folder, name.removesuffix(".lance"))
        table.checkout(table.version)  # later writes do not move the rows under our feet
        chosen = choose_columns(table.schema.names, names, address, ("vector", "embedding"))
        vector = chosen.pop("embedding")
        rows = table.search().select(["_rowid", *dict.fromkeys(chosen.values())]).to_arrow()
    values = {role: name_column(rows[col], col, address) for role, col in chosen.items()}
    return Columns(LanceSource(table, vector, rows["_rowid"].to_numpy(), address), **values)


def _open(address: str, database: Any, folder: str, name: str) -> Any:
    try:
        return database.open_table(name)
    except Exception as error:  # ValueError today, FileNotFoundError before
        tables = database.list_tables().tables
        if name in tables:
            raise
        raise DataError(
            f"{address}: expected a table '{name}' in {folder}, received "
            f"{', '.join(map(repr, tables)) or 'no table'}"
        ) from error


class LanceSource:
    """The vectors of a LanceDB table.

    Parameters
    ----------
    table : lancedb.table.Table
        The table, fixed at a version.
    column : str
        The column of the vectors.
    row_ids : ndarray of shape (n,), uint64
        LanceDB's own numbers of the rows, in the table's order.
    name : str
        What messages call the table.
    """

    def __init__(self, table: Any, column: str, row_ids: NDArray[np.uint64], name: str) -> None:
        self.table = table
        self.column = column
        self.row_ids = row_ids
        self.name = name
        self._dim: int | None = None
        self._dim = self.read(slice(0, 1)).shape[1] if len(row_ids) else 0

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and dimensions."""
        return len(self.row_ids), self._dim or 0

    def read(self, rows: Rows) -> NDArray[Any]:
        """Return the raw rows."""
        index = row_numbers(rows, self.shape[0])
        wanted, back = np.unique(self.row_ids[index], return_inverse=True)
        with reading(self.name, "a LanceDB table"):
            query = self.table.take_row_ids(wanted.tolist()).select(["_rowid", self.column])
            found = query.to_arrow().sort_by("_rowid")
        if len(found) != len(wanted):
            raise DataError(
                f"{self.name}: expected {len(wanted)} rows, received {len(found)}; was the "
                f"table cleaned up since?"
            )
        # Sorted by LanceDB's numbers: say which row of the set each is, for messages.
        place = np.empty(len(wanted), np.intp)
        place[back] = index
        array = found[self.column].combine_chunks()
        vectors = list_vectors(array, self._dim, lambda i: self.where(int(place[i])), "row 0")
        return vectors[back]

    def where(self, row: int) -> str:
        """Say where a row lies."""
        return f"{self.name}: row {row}, column '{self.column}'"

    def runs(self) -> Iterator[slice]:
        """Yield all rows, some at a time."""
        return runs_of(self.shape[0])

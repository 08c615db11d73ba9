"""Tenants whose rows are scattered over a data set, brought together in one pass.

A table in the order of time has every tenant everywhere; reading it again for each batch would
cost more than the estimates. One pass writes the rows that are kept side by side into a file,
from which workers read slices.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np

from opengcn.atomic import replacing
from opengcn.errors import DataError
from opengcn.progress import progress_bar
from opengcn.tenants.batch import Name, TenantRows, grouped
from opengcn.tenants.columns import ColumnTenants, passing_rows
from opengcn.tenants.sample import most_rows

__all__ = ["GatheredTenants", "gather", "is_scattered"]

READ_OVER = 8  # times that a row may be read: so far, reading stays a few per cent of the work


@dataclass(frozen=True)
class Slice:
    """The rows of a tenant in the gathered file, or why there are none."""

    total: int
    begin: int
    end: int
    error: str = ""


@dataclass(frozen=True)
class GatheredTenants:
    """Tenants whose rows lie side by side in a .npy file.

    It is a batch of itself, and the whole (`opengcn.tenants.batch.Batch` and `Tenants`).

    Attributes
    ----------
    path : Path
        The file, of shape (rows, D).
    slices : dict of str or int to Slice
        Where each tenant is.
    """

    path: Path
    slices: dict[Name, Slice]

    @property
    def names(self) -> tuple[Name, ...]:
        """The tenants."""
        return tuple(self.slices)

    def without(self, done: set[Name]) -> Self:
        """Return the same data without tenants that are done."""
        return replace(self, slices={n: s for n, s in self.slices.items() if n not in done})

    def batches(self) -> Iterator[Self]:
        """Yield every tenant once, in batches of neighbours."""
        names = self.names
        for run in grouped(s.end - s.begin for s in self.slices.values()):
            yield replace(self, slices={name: self.slices[name] for name in names[run]})

    def split(self) -> list[Self]:
        """Return a batch for each tenant."""
        return [replace(self, slices={name: s}) for name, s in self.slices.items()]

    def read(self, dim: int) -> Iterator[TenantRows]:
        """Yield the rows of each tenant."""
        rows = np.load(self.path, mmap_mode="r")
        for name, s in self.slices.items():
            raw = None if s.error else np.array(rows[s.begin : s.end])
            yield TenantRows(name, s.total, raw, s.error)


def is_scattered(tenants: ColumnTenants) -> bool:
    """Whether reading batch by batch would read rows many times over.

    Parameters
    ----------
    tenants : ColumnTenants
        The data set.

    Returns
    -------
    scattered : bool
        True when it would.
    """
    read = sum(group.rows for batch in tenants.batches() for group in batch.groups)
    return read > READ_OVER * sum(tenants.totals.values())


def gather(tenants: ColumnTenants, path: Path, *, progress: bool = True) -> GatheredTenants:
    """Write what is kept of every tenant into one file.

    Parameters
    ----------
    tenants : ColumnTenants
        The data set.
    path : Path
        The file, in .npy; it appears when it is whole.
    progress : bool, default True
        Show a bar when it takes more than two seconds.

    Returns
    -------
    tenants : GatheredTenants
        The same tenants.
    """
    most = most_rows(tenants.dim)
    sizes = [min(total, most) for total in tenants.totals.values()]
    ends = np.cumsum(sizes).tolist()
    slices = {
        name: Slice(total, end - size, end)
        for (name, total), size, end in zip(tenants.totals.items(), sizes, ends, strict=True)
    }
    filled = {name: s.begin for name, s in slices.items()}
    with (
        replacing(path) as temporary,
        progress_bar("Bringing rows together", ends[-1], show=progress) as advance,
    ):
        rows = np.lib.format.open_memmap(
            temporary, "w+", dtype=tenants.dtype, shape=(ends[-1], tenants.dim)
        )
        passing = passing_rows(tenants.groups, tenants.totals, tenants.columns, tenants.dim)
        for name, raw in passing:
            if isinstance(raw, DataError):
                slices[name] = replace(slices[name], error=str(raw))
                continue
            rows[filled[name] : filled[name] + len(raw)] = raw
            filled[name] += len(raw)
            advance(len(raw))
        rows.flush()
    return GatheredTenants(path, slices)

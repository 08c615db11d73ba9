"""A file or a folder a tenant: .npy, .npz, or parquet files that hold no other tenant."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from opengcn.errors import DataError
from opengcn.files import Names, open_files
from opengcn.sources import readable
from opengcn.tenants.batch import Name, TenantRows, grouped
from opengcn.tenants.sample import BLOCK, PassingRows, chosen_rows

__all__ = ["FolderBatch", "FolderTenants", "TenantFiles"]


@dataclass(frozen=True)
class TenantFiles:
    """Where a tenant's rows are.

    Attributes
    ----------
    name : str
        The tenant.
    paths : tuple of Path
        One .npy or .npz file, or .parquet files.
    """

    name: str
    paths: tuple[Path, ...]


@dataclass(frozen=True)
class FolderBatch:
    """Some tenants in files of their own; see `opengcn.tenants.batch.Batch`."""

    tenants: tuple[TenantFiles, ...]
    embedding: str | None

    @property
    def names(self) -> tuple[str, ...]:
        """The tenants."""
        return tuple(tenant.name for tenant in self.tenants)

    def read(self, dim: int) -> Iterator[TenantRows]:
        """Yield the rows of each tenant."""
        for tenant in self.tenants:
            try:
                yield self._rows(tenant, dim)
            except (DataError, OSError) as error:
                yield TenantRows(tenant.name, None, None, str(error))

    def _rows(self, tenant: TenantFiles, dim: int) -> TenantRows:
        suffix = tenant.paths[0].suffix.lower()
        if suffix == ".parquet":
            total, raw = _from_parquet(tenant, self.embedding or "embedding", dim)
            return TenantRows(tenant.name, total, raw)
        names = Names(embedding=self.embedding if suffix == ".npz" else None, beside=())
        source = open_files(tenant.paths[0], names).source
        total = source.shape[0]
        rows = chosen_rows(tenant.name, total, source.shape[1])
        return TenantRows(tenant.name, total, source.read(slice(None) if rows is None else rows))

    def split(self) -> list[Self]:
        """Return a batch for each tenant."""
        return [type(self)((tenant,), self.embedding) for tenant in self.tenants]


def _from_parquet(tenant: TenantFiles, column: str, dim: int) -> tuple[int, NDArray[Any]]:
    """Return how many rows the files have, and those that are kept."""
    import pyarrow.parquet as pq

    totals = []
    for path in tenant.paths:
        with readable(path):
            totals.append(pq.read_metadata(path).num_rows)
    passing = PassingRows(tenant.name, sum(totals), dim)
    blocks = [np.empty((0, dim), np.float32)]
    for path in tenant.paths:
        with readable(path), pq.ParquetFile(path, memory_map=True) as file:
            if column not in file.schema_arrow.names:
                raise DataError(
                    f"{path}: expected a column '{column}', received "
                    f"{', '.join(map(repr, file.schema_arrow.names)) or 'no column'}"
                )
            for block in file.iter_batches(BLOCK, columns=[column], use_threads=False):
                blocks.append(passing.pick(block.column(0)))
    return sum(totals), np.concatenate(blocks)


@dataclass(frozen=True)
class FolderTenants:
    """All tenants that have files of their own; see `opengcn.tenants.batch.Tenants`.

    Attributes
    ----------
    tenants : tuple of TenantFiles
        Where each is.
    embedding : str or None
        Column (.parquet) or array (.npz) of the vectors, where it is not the usual one.
    dim : int
        Dimension of the model, for guessing sizes without opening files.
    """

    tenants: tuple[TenantFiles, ...]
    embedding: str | None
    dim: int

    @property
    def names(self) -> tuple[str, ...]:
        """The tenants."""
        return tuple(tenant.name for tenant in self.tenants)

    def without(self, done: set[Name]) -> Self:
        """Return the same data without tenants that are done."""
        left = tuple(tenant for tenant in self.tenants if tenant.name not in done)
        return type(self)(left, self.embedding, self.dim)

    def batches(self) -> Iterator[FolderBatch]:
        """Yield every tenant once, in batches by the size of their files."""
        for run in grouped(self._rows(tenant) for tenant in self.tenants):
            yield FolderBatch(self.tenants[run], self.embedding)

    def _rows(self, tenant: TenantFiles) -> int:
        sizes = [path.stat().st_size for path in tenant.paths if path.exists()]
        return int(np.ceil(sum(sizes) / (4 * self.dim)))

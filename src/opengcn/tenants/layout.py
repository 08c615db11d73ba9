"""How a data set is laid out: by a tenant column, by `tenant=...` folders, or a file a tenant."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote

from opengcn.errors import DataError
from opengcn.sources import readable
from opengcn.tenants.columns import Columns, ColumnTenants, index_tenants
from opengcn.tenants.folders import FolderTenants, TenantFiles

__all__ = ["data_files", "open_tenants"]

SUFFIXES = (".npy", ".npz", ".parquet")


def open_tenants(
    data: Path, *, tenant: str, embedding: str | None, dim: int
) -> ColumnTenants | FolderTenants:
    """Find the tenants of a data set.

    Parameters
    ----------
    data : Path
        A parquet file with a tenant column, or a folder: of such files; of folders
        ``tenant=NAME``; or of a file or a folder a tenant.
    tenant : str
        Name of the tenant column, and of the key in ``tenant=NAME``.
    embedding : str or None
        Column (.parquet) or array (.npz) of the vectors, where it is not the usual one.
    dim : int
        Dimension of the model.

    Returns
    -------
    tenants : ColumnTenants or FolderTenants
        At least one.
    """
    files = data_files(data)
    parquet = [path for path in files if path.suffix.lower() == ".parquet"]
    keyed = {path: _key(path.relative_to(data), tenant) for path in files if data.is_dir()}
    if any(keyed.values()):
        return FolderTenants(_keyed(keyed, data, tenant), embedding, dim)
    if data.is_file() or _has_column(parquet, tenant):
        columns = Columns(tenant, embedding or "embedding")
        found = index_tenants(parquet or files, columns, dim)
        if not found.names:
            raise DataError(f"{data}: expected rows with a tenant, received none")
        return found
    return FolderTenants(_one_each(files, data), embedding, dim)


def data_files(data: Path) -> list[Path]:
    """Return the files of a data set, sorted.

    Parameters
    ----------
    data : Path
        A file or a folder.

    Returns
    -------
    files : list of Path
        Absolute, at least one. Names that begin with "." or "_" are left out, as writers of
        data sets use them for notes of their own.
    """
    data = data.absolute()
    if data.is_file():
        if data.suffix.lower() != ".parquet":
            raise DataError(
                f"{data}: expected a parquet file with a tenant column, or a folder with a file "
                f"a tenant, received '{data.suffix or 'no suffix'}'"
            )
        return [data]
    if not data.is_dir():
        raise DataError(f"{data}: expected a file or a folder, received a path where there is none")
    files = sorted(
        path
        for path in data.rglob("*")
        if path.suffix.lower() in SUFFIXES
        and path.is_file()
        and not any(part.startswith((".", "_")) for part in path.relative_to(data).parts)
    )
    if not files:
        raise DataError(
            f"{data}: expected a folder with {', '.join(SUFFIXES)} files, received none in it"
        )
    return files


def _key(path: Path, tenant: str) -> str | None:
    """Return the tenant that a folder ``tenant=NAME`` on the way to a file names, if any."""
    for part in path.parts[:-1]:
        key, sign, name = part.partition("=")
        if sign and key == tenant:
            return unquote(_text(name))
    return None


def _text(name: str) -> str:
    """Return a name that can be written; bytes of a file's name may be no text."""
    return os.fsencode(name).decode(errors="backslashreplace")


def _keyed(keyed: dict[Path, str | None], data: Path, tenant: str) -> tuple[TenantFiles, ...]:
    names: dict[str, list[Path]] = {}
    for path, name in keyed.items():
        if name is None:
            raise DataError(
                f"{path}: expected every file of {data} in a folder '{tenant}=NAME', received "
                f"one outside"
            )
        names.setdefault(name, []).append(path)
    return tuple(_tenant(name, paths) for name, paths in sorted(names.items()))


def _one_each(files: Sequence[Path], data: Path) -> tuple[TenantFiles, ...]:
    """Take each file in the folder, and each folder in it, as a tenant."""
    data = data.absolute()
    names: dict[str, list[Path]] = {}
    roots: dict[str, Path] = {}
    for path in files:
        root = data / path.relative_to(data).parts[0]
        name = _text(root.name if root.is_dir() else root.stem)
        if roots.setdefault(name, root) != root:
            raise DataError(
                f"{data}: expected one file or folder a tenant, received {roots[name].name} and "
                f"{root.name}"
            )
        names.setdefault(name, []).append(path)
    return tuple(_tenant(name, paths) for name, paths in sorted(names.items()))


def _tenant(name: str, paths: list[Path]) -> TenantFiles:
    if len(paths) > 1 and any(path.suffix.lower() != ".parquet" for path in paths):
        raise DataError(
            f"tenant {name!r}: expected one .npy or .npz file, or parquet files, received "
            f"{', '.join(path.name for path in paths[:3])}"
        )
    return TenantFiles(name, tuple(paths))


def _has_column(paths: Sequence[Path], column: str) -> bool:
    """Whether the first parquet file that can be read has a column."""
    return next((column in names for names in _schemas(paths)), False)


def _schemas(paths: Sequence[Path]) -> Iterator[list[str]]:
    import pyarrow.parquet as pq

    for path in paths:
        try:
            with readable(path):
                yield pq.read_schema(path).names
        except DataError:  # in a folder with a file a tenant this one's row will say so
            continue

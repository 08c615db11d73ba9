"""Embedding sets on disk: .npz, .npy and .parquet.

Reading returns a source (see `opengcn.sources`) and the columns beside it; writing is
atomic. Arrays are memory-mapped where the format allows it: .npy always, .npz when it
was written without compression; parquet is read by row group.
"""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opengcn.arrow_columns import name_column
from opengcn.atomic import replacing
from opengcn.errors import DataError
from opengcn.sources import ArraySource, ParquetSource, Source, readable

__all__ = [
    "BESIDE",
    "Columns",
    "Names",
    "choose_columns",
    "open_files",
    "read_labels",
    "write_npz",
    "write_parquet",
]

BESIDE = ("label", "id", "tenant")  # what a file may hold beside the vectors
WRITE_BLOCK = 65_536  # rows of a parquet row group


@dataclass(frozen=True)
class Names:
    """Names of the columns (arrays) in a file; None means the usual ones.

    The usual ones are ``embeddings`` or ``E``, ``labels`` or ``y``, ``ids`` and
    ``tenants`` in .npz; ``embedding``, ``label``, ``id`` and ``tenant`` in parquet.
    Columns that are not among `beside` are not read, so it does not matter what they hold.
    """

    embedding: str | None = None
    label: str | None = None
    id: str | None = None
    tenant: str | None = None
    beside: tuple[str, ...] = BESIDE

    def __post_init__(self) -> None:
        odd = [repr(role) for role in self.beside if role not in BESIDE]
        if odd:
            raise DataError(f"beside: expected some of {BESIDE}, received {', '.join(odd)}")

    @property
    def given(self) -> bool:
        """Whether a column has a name of its own."""
        return (self.embedding, self.label, self.id, self.tenant) != (None,) * 4


@dataclass(frozen=True)
class Columns:
    """What a file holds: raw vectors and, where present, the columns beside them."""

    source: Source
    label: NDArray[Any] | None = None
    id: NDArray[Any] | None = None
    tenant: NDArray[Any] | None = None


def open_files(
    path: Path | Sequence[Path], names: Names, labels_file: Path | None = None
) -> Columns:
    """Open a file, several parquet files, or a folder of parquet files.

    Parameters
    ----------
    path : Path or sequence of Path
        What to open.
    names : Names
        Column names, where they are not the usual ones.
    labels_file : Path, optional
        Labels of a .npy file: a .npy array, or a text file with a label a line.

    Returns
    -------
    columns : Columns
        The contents; the vectors are not read yet where the format allows it.
    """
    paths = _expand(path)
    suffixes = {p.suffix.lower() for p in paths}
    if len(suffixes) > 1 or (len(paths) > 1 and suffixes != {".parquet"}):
        raise DataError(
            f"{paths[0]} and {len(paths) - 1} more: expected several files to be .parquet, "
            f"received {', '.join(sorted(suffixes))}"
        )
    suffix = suffixes.pop()
    if labels_file is not None and suffix != ".npy":
        raise DataError(
            f"{paths[0]}: expected a labels file beside a .npy file only, received {labels_file}"
        )
    for p in paths:
        _check_there(p)
    if suffix == ".parquet":
        return _open_parquet(paths, names)
    if suffix == ".npy" and names.given:
        raise DataError(f"{paths[0]}: expected no names of columns, as a .npy file has none")
    with readable(paths[0]):
        if suffix == ".npz":
            return _open_npz(paths[0], names)
        if suffix == ".npy":
            return _open_npy(paths[0], labels_file)
    raise DataError(
        f"{paths[0]}: expected a .npz, .npy or .parquet file, received '{suffix or 'no suffix'}'"
    )


def write_npz(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays uncompressed, so that they can be memory-mapped.

    Parameters
    ----------
    path : Path
        Where to.
    arrays : mapping of str to ndarray
        The arrays by name.
    """
    with replacing(path) as temporary:
        np.savez(temporary, allow_pickle=False, **arrays)


def write_parquet(
    path: Path, blocks: Iterator[NDArray[np.float32]], columns: Mapping[str, NDArray[Any]]
) -> None:
    """Write vectors as a fixed-size list column, a block at a time.

    Parameters
    ----------
    path : Path
        Where to.
    blocks : iterator of ndarray of shape (m, D)
        The vectors, in order.
    columns : mapping of str to ndarray of shape (n,)
        The columns beside them.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    with replacing(path) as temporary:
        writer, start = None, 0
        try:
            for block in blocks:
                rows, dim = block.shape
                vectors = pa.FixedSizeListArray.from_arrays(pa.array(block.ravel()), dim)
                part = {"embedding": vectors} | {
                    name: pa.array(column[start : start + rows]) for name, column in columns.items()
                }
                table = pa.table(part)
                writer = writer or pq.ParquetWriter(temporary, table.schema)
                writer.write_table(table)
                start += rows
        finally:
            if writer is not None:
                writer.close()


def _expand(path: Path | Sequence[Path]) -> list[Path]:
    if not isinstance(path, Path):
        paths = [p for part in path for p in _expand(part)]
        if not paths:
            raise DataError("expected at least one file, received an empty list")
        return paths
    if path.is_dir():
        paths = sorted(
            p
            for p in path.rglob("*")
            if p.suffix.lower() == ".parquet"
            and not any(part.startswith((".", "_")) for part in p.relative_to(path).parts)
        )
        if not paths:
            raise DataError(f"{path}: expected a folder with .parquet files, received none in it")
        return paths
    return [path]


def _check_there(path: Path) -> None:
    if not path.exists():
        raise DataError(f"{path}: expected a file, received a path where there is none")
    if path.stat().st_size == 0:
        raise DataError(f"{path}: expected data, received an empty file (0 bytes)")


def _open_npz(path: Path, names: Names) -> Columns:
    # Opened here: numpy leaves the file open when it turns out to be damaged.
    with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        keys = list(archive.files)

        def pick(given: str | None, usual: tuple[str, ...], *, must: bool) -> str | None:
            wanted = (given,) if given is not None else usual
            for name in wanted:
                if name in keys:
                    return name
            if must or given is not None:
                raise DataError(
                    f"{path}: expected an array named {' or '.join(map(repr, wanted))}, "
                    f"received {', '.join(map(repr, keys)) or 'no array'}"
                )
            return None

        def column(name: str | None) -> NDArray[Any] | None:
            if name is None:
                return None
            try:
                return np.asarray(archive[name])
            except ValueError as error:
                if "pickle" not in str(error):
                    raise
                raise DataError(
                    f"{path}: expected plain integers or strings in '{name}', received pickled "
                    f"Python objects; write them with .astype(str)"
                ) from error

        embedding = pick(names.embedding, ("embeddings", "E"), must=True)
        assert embedding is not None
        mapped = _map_member(path, embedding)
        array = mapped if mapped is not None else column(embedding)
        assert array is not None
        known = {"label": ("labels", "y"), "id": ("ids",), "tenant": ("tenants",)}
        beside = {
            role: column(pick(getattr(names, role), known[role], must=False))
            for role in names.beside
        }
        return Columns(ArraySource(array, str(path), embedding), **beside)


def _map_member(path: Path, name: str) -> NDArray[Any] | None:
    """Memory-map an array inside an uncompressed .npz; None when it is compressed."""
    with zipfile.ZipFile(path) as archive, path.open("rb") as file:
        member = archive.getinfo(f"{name}.npy")
        if member.compress_type != zipfile.ZIP_STORED:
            return None
        # The local header repeats the name and has extra fields of its own length.
        file.seek(member.header_offset + 26)
        name_length, extra_length = struct.unpack("<HH", file.read(4))
        file.seek(member.header_offset + 30 + name_length + extra_length)
        major, _ = np.lib.format.read_magic(file)
        if major not in (1, 2):
            return None
        header = (
            np.lib.format.read_array_header_1_0
            if major == 1
            else np.lib.format.read_array_header_2_0
        )
        shape, fortran, dtype = header(file)
        if dtype.hasobject or 0 in shape:
            return None
        return np.memmap(
            path, dtype, "r", offset=file.tell(), shape=shape, order="F" if fortran else "C"
        )


def _open_npy(path: Path, labels_file: Path | None) -> Columns:
    array = np.load(path, mmap_mode="r", allow_pickle=False)
    label = None if labels_file is None else read_labels(labels_file)
    return Columns(ArraySource(array, str(path)), label)


def read_labels(path: Path) -> NDArray[Any]:
    """Read labels from a file of their own.

    Parameters
    ----------
    path : Path
        A .npy array, or a text file with a label a line.

    Returns
    -------
    labels : ndarray of shape (n,)
        The labels, unchecked.
    """
    _check_there(path)
    if path.suffix.lower() in (".npz", ".parquet"):
        raise DataError(
            f"{path}: expected labels as a .npy array or as text, a label a line, "
            f"received {path.suffix}"
        )
    with readable(path):
        if path.suffix.lower() == ".npy":
            return np.asarray(np.load(path, allow_pickle=False))
        lines = path.read_text(encoding="utf-8-sig").split("\n")
        return np.array(lines[:-1] if lines[-1] == "" else lines)


def choose_columns(
    present: Sequence[str],
    names: Names,
    source: str,
    embedding: Sequence[str] = ("embedding",),
) -> dict[str, str]:
    """Choose the columns of a table that hold an embedding set.

    Parameters
    ----------
    present : sequence of str
        The table's columns.
    names : Names
        The names asked for.
    source : str
        What messages call the table.
    embedding : sequence of str, default ("embedding",)
        Usual names of the vectors, the first that is there is taken.

    Returns
    -------
    columns : dict of str to str
        Column by role: "embedding" always, "label", "id" and "tenant" where present.
    """
    chosen = {}
    for role in ("embedding", *names.beside):
        given = getattr(names, role)
        wanted = (given,) if given else embedding if role == "embedding" else (role,)
        there = [name for name in wanted if name in present]
        if there:
            chosen[role] = there[0]
        elif role == "embedding" or given is not None:
            raise DataError(
                f"{source}: expected a column {' or '.join(map(repr, wanted))}, received "
                f"{', '.join(map(repr, present)) or 'no column'}"
            )
    return chosen


def _open_parquet(paths: Sequence[Path], names: Names) -> Columns:
    import pyarrow.parquet as pq

    found: list[dict[str, str]] = []
    for path in paths:
        with readable(path):
            present = pq.read_schema(path).names
        found.append(choose_columns(present, names, str(path)))
    for path, chosen in zip(paths, found, strict=True):
        if chosen != found[0]:
            raise DataError(
                f"{path}: expected the columns {sorted(found[0].values())} of {paths[0]}, "
                f"received {sorted(chosen.values())}"
            )
    source = ParquetSource(paths, found[0]["embedding"])
    beside = {
        role: _read_columns(paths, name) for role, name in found[0].items() if role != "embedding"
    }
    return Columns(source, **beside)


def _read_columns(paths: Sequence[Path], name: str) -> NDArray[Any]:
    """Read one column of all files, which must be of one kind."""
    parts = [_read_column(path, name) for path in paths]
    filled = [i for i, part in enumerate(parts) if len(part)]
    for i in filled:
        first, kind = parts[filled[0]].dtype.kind, parts[i].dtype.kind
        if kind != first:
            raise DataError(
                f"{paths[i]}: column '{name}': expected values of one kind in all files, received "
                f"{parts[i].dtype} where {paths[filled[0]]} has {parts[filled[0]].dtype}"
            )
    return np.concatenate([parts[i] for i in filled]) if filled else parts[0]


def _read_column(path: Path, name: str) -> NDArray[Any]:
    import pyarrow.parquet as pq

    with readable(path):
        column = pq.read_table(path, columns=[name]).column(0)
    return name_column(column, name, str(path))

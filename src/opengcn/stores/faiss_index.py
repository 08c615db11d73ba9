"""FAISS indices as embedding sets."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opengcn.errors import DataError, OpenGCNWarning, require
from opengcn.files import Columns, Names, read_labels
from opengcn.sources import Rows, row_numbers, runs_of
from opengcn.stores.reading import reading

__all__ = ["open_index"]


def open_index(path: Path, names: Names, labels_file: Path | None) -> Columns:
    """Open an index that `faiss.write_index` wrote.

    Parameters
    ----------
    path : Path
        The file. It is memory-mapped where FAISS can.
    names : Names
        Must be empty, as an index has no columns.
    labels_file : Path, optional
        Labels, in the order in which the vectors were added.

    Returns
    -------
    columns : Columns
        The vectors are not read yet. Ids are those of an ``IDMap`` or of an ``IVF`` index
        that was given some; None where FAISS counts by itself.
    """
    faiss = require("faiss", "faiss")
    address = f"faiss:{path}"
    if names.given:
        raise DataError(f"{address}: expected no names of columns, as a FAISS index has none")
    if not path.is_file():
        raise DataError(f"{address}: expected a file, received a path where there is none")
    flags = getattr(faiss, "IO_FLAG_MMAP_IFC", 0)
    with reading(address, "a FAISS index of float vectors"):
        outer = faiss.read_index(str(path), flags)
        mapped = isinstance(outer, faiss.IndexIDMap)
        index = faiss.downcast_index(outer.index) if mapped else outer
        keys = _keys(faiss, index)
        ids = faiss.vector_to_array(outer.id_map) if mapped else keys
    source = FaissSource(index, keys, address, keep=outer)
    if "Flat" not in type(index).__name__:
        warnings.warn(
            f"{address}: {type(index).__name__} keeps compressed or transformed vectors; "
            f"distances between these differ from those of the vectors that were added",
            OpenGCNWarning,
            stacklevel=4,  # the caller of EmbeddingSet.load
        )
    return Columns(source, None if labels_file is None else read_labels(labels_file), ids)


class FaissSource:
    """The vectors of a FAISS index.

    Parameters
    ----------
    index : faiss.Index
        The index; one that can reconstruct vectors.
    keys : ndarray of shape (n,), int64, or None
        What the index calls its vectors; None for 0, 1, ...
    name : str
        What messages call it.
    keep : object
        What owns the memory of `index`.
    """

    def __init__(self, index: Any, keys: NDArray[np.int64] | None, name: str, keep: Any) -> None:
        self.index = index
        self.keys = keys
        self.name = name
        self._keep = keep
        if self.shape[0]:
            self.read(slice(0, 1))  # refuses an index that cannot give its vectors back

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and dimensions."""
        return self.index.ntotal, self.index.d

    def read(self, rows: Rows) -> NDArray[Any]:
        """Return the raw rows."""
        numbers = row_numbers(rows, self.shape[0])
        keys = numbers if self.keys is None else self.keys[numbers]
        with reading(self.name, f"vectors from {type(self.index).__name__}"):
            return np.asarray(self.index.reconstruct_batch(keys))

    def where(self, row: int) -> str:
        """Say where a row lies."""
        return f"{self.name}: row {row}"

    def runs(self) -> Iterator[slice]:
        """Yield all rows, some at a time."""
        return runs_of(self.shape[0])


def _keys(faiss: Any, index: Any) -> NDArray[np.int64] | None:
    """Make an inverted-file index able to find vectors by id, and return these, sorted."""
    if not isinstance(index, faiss.IndexIVF):
        return None
    lists = index.invlists
    sizes = [lists.list_size(i) for i in range(index.nlist)]
    parts = [faiss.rev_swig_ptr(lists.get_ids(i), n) for i, n in enumerate(sizes) if n]
    keys = np.sort(np.concatenate([np.empty(0, np.int64), *parts]))
    index.set_direct_map_type(faiss.DirectMap.Hashtable)
    return None if np.array_equal(keys, np.arange(len(keys))) else keys

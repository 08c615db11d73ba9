"""Embedding sets: unit vectors with labels, ids and tenants beside them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opengcn.errors import DataError
from opengcn.files import BESIDE, WRITE_BLOCK, Names, open_files, write_npz, write_parquet
from opengcn.labels import as_labels, sample_classes
from opengcn.sources import ArraySource, RowSource, Source, as_matrix
from opengcn.stores import open_store, store_address
from opengcn.unit import unit_vectors, unit_vectors_of

__all__ = ["EmbeddingSet"]

KEEP_IN_MEMORY = 2**30  # bytes of float32; larger files are read when rows are asked for


class EmbeddingSet:
    """Unit vectors of shape (n, D), with optional labels, ids and tenants.

    Parameters
    ----------
    embeddings : array_like of shape (n, D)
        float16, float32 or float64. They are checked and L2-normalised.
    labels : array_like of shape (n,), optional
        Class of each row, integers or strings.
    ids : array_like of shape (n,), optional
        Name of each row.
    tenants : array_like of shape (n,), optional
        Owner of each row, for sets that hold several users' data.
    label_space : str, default ""
        Labels compare only within one label space. Give the set of another data set
        another label space when it happens to use the same integers for other classes.
    source : str, default "embeddings"
        What messages call this set.

    Attributes
    ----------
    labels : ndarray of shape (n,) or None
        int64 or str.
    ids, tenants : ndarray of shape (n,) or None
        int64 or str.
    label_space, source : str
        As given.

    Examples
    --------
    >>> import numpy as np
    >>> import opengcn as og
    >>> X = np.random.default_rng(0).standard_normal((6, 4))
    >>> birds = og.EmbeddingSet(X, ["wren", "wren", "robin", "robin", "kite", "kite"])
    >>> birds
    EmbeddingSet(n=6, dim=4, classes=3)
    >>> len(birds.subset(birds.labels != "kite"))
    4
    """

    def __init__(
        self,
        embeddings: ArrayLike,
        labels: ArrayLike | None = None,
        *,
        ids: ArrayLike | None = None,
        tenants: ArrayLike | None = None,
        label_space: str = "",
        source: str = "embeddings",
    ) -> None:
        self._set_up(
            ArraySource(as_matrix(embeddings, source), source),
            labels,
            ids,
            tenants,
            label_space,
            source,
            in_memory=True,
        )

    def _set_up(
        self,
        raw: Source,
        labels: ArrayLike | None,
        ids: ArrayLike | None,
        tenants: ArrayLike | None,
        label_space: str,
        source: str,
        *,
        in_memory: bool,
    ) -> None:
        n, dim = raw.shape
        if n == 0 or dim == 0:
            raise DataError(f"{source}: expected at least one vector, received shape ({n}, {dim})")
        # A set in memory keeps its unit vectors alone, one on disk its source alone.
        self._shape = (n, dim)
        self._raw: Source | None = raw
        self._unit: NDArray[np.float32] | None = None
        self.source = source
        self.label_space = label_space
        columns = {"labels": labels, "ids": ids, "tenants": tenants}
        self.labels, self.ids, self.tenants = (
            None if values is None else as_labels(values, n, f"{source}: {name}")
            for name, values in columns.items()
        )
        if in_memory:
            self._keep(unit_vectors_of(raw))

    def _keep(self, unit: NDArray[np.float32]) -> None:
        unit.flags.writeable = False  # results are remembered per set, see `opengcn.memo`
        self._unit, self._raw = unit, None

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        *,
        labels_file: str | os.PathLike[str] | None = None,
        embedding: str | None = None,
        label: str | None = None,
        id: str | None = None,
        tenant: str | None = None,
        beside: Sequence[str] = BESIDE,
        label_space: str = "",
        in_memory: bool | None = None,
    ) -> EmbeddingSet:
        """Read a set from .npz, .npy or .parquet, or from a vector store.

        Parameters
        ----------
        path : path or sequence of paths
            A file; or several .parquet files, or a folder of them, as one set. Or the
            address of a store: ``lancedb:FOLDER/TABLE``, ``faiss:FILE``,
            ``qdrant:FOLDER/COLLECTION`` or ``qdrant:http://HOST:6333/COLLECTION``.
        labels_file : path, optional
            Labels of a .npy file or a FAISS index: a .npy array, or a text file with a
            label a line.
        embedding, label, id, tenant : str, optional
            Names of the arrays (.npz), columns (.parquet, LanceDB) or payload fields
            (Qdrant, where `embedding` is the name of the vector), where they are not the
            usual ones: ``embeddings`` or ``E``, ``labels`` or ``y``, ``ids``, ``tenants``
            in .npz; ``embedding``, ``label``, ``id``, ``tenant`` elsewhere. LanceDB's
            usual ``vector`` and Qdrant's point ids are found as well.
        beside : sequence of str, default ("label", "id", "tenant")
            What to read beside the vectors, where it is there. `estimate` needs none of it:
            with ``beside=()`` a label column may have gaps, or hold anything else.
        label_space : str, default ""
            See the class.
        in_memory : bool, optional
            Whether to read and check all vectors now. By default sets of up to 1 GiB (as
            float32) are. Others stay where they are, and rows are checked when read.

        Returns
        -------
        set : EmbeddingSet
            The set.
        """
        names = Names(embedding, label, id, tenant, tuple(beside))
        labels_at = None if labels_file is None else Path(labels_file)
        if not isinstance(path, (str, os.PathLike)):
            columns = open_files([Path(p) for p in path], names, labels_at)
            name = f"{path[0]} and {len(path) - 1} more"
        elif (address := store_address(path)) is not None:
            columns, name = open_store(address, names, labels_at), address
        else:
            columns, name = open_files(Path(path), names, labels_at), str(Path(path))
        n, dim = columns.source.shape
        if in_memory is None:
            in_memory = 4 * n * dim <= KEEP_IN_MEMORY
        self = cls.__new__(cls)
        self._set_up(
            columns.source,
            columns.label,
            columns.id,
            columns.tenant,
            label_space,
            name,
            in_memory=in_memory,
        )
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the set to .npz or .parquet, whole or not at all.

        Parameters
        ----------
        path : path
            Its suffix chooses the format.
        """
        path = Path(path)
        columns = {"label": self.labels, "id": self.ids, "tenant": self.tenants}
        present = {name: values for name, values in columns.items() if values is not None}
        if path.suffix.lower() == ".npz":
            arrays = {f"{name}s": values for name, values in present.items()}
            write_npz(path, {"embeddings": self.embeddings, **arrays})
        elif path.suffix.lower() == ".parquet":
            write_parquet(path, self.blocks(WRITE_BLOCK), present)
        else:
            raise DataError(f"{path}: expected a name in .npz or .parquet to write to")

    def __len__(self) -> int:
        return self._shape[0]

    def __repr__(self) -> str:
        classes = "" if self.labels is None else f", classes={len(np.unique(self.labels))}"
        return f"{type(self).__name__}(n={len(self)}, dim={self.dim}{classes})"

    @property
    def dim(self) -> int:
        """Number of dimensions D."""
        return self._shape[1]

    @property
    def embeddings(self) -> NDArray[np.float32]:
        """All unit vectors, of shape (n, D), read-only. A set on disk is read whole, and kept."""
        if self._unit is None:
            assert self._raw is not None
            self._keep(unit_vectors_of(self._raw))
        assert self._unit is not None
        return self._unit

    def take(self, rows: slice | NDArray[np.intp]) -> NDArray[np.float32]:
        """Return some unit vectors; of a set on disk only these are read.

        Parameters
        ----------
        rows : slice or ndarray of int, shape (m,)
            Which rows, in any order.

        Returns
        -------
        unit : ndarray of shape (m, D), float32
            Unit vectors.
        """
        index: range | NDArray[np.intp]
        if isinstance(rows, slice):
            index = range(len(self))[rows]
        else:
            index = rows = self._row_numbers(rows)
        if self._unit is not None:
            return self._unit[rows]
        raw = self._raw
        assert raw is not None
        return unit_vectors(raw.read(rows), lambda i: raw.where(int(index[i])))

    def blocks(self, rows: int) -> Iterator[NDArray[np.float32]]:
        """Yield all unit vectors in order, at most `rows` at a time.

        Parameters
        ----------
        rows : int
            Rows of a block.

        Yields
        ------
        block : ndarray of shape (m, D), float32
            Unit vectors.
        """
        for begin in range(0, len(self), rows):
            yield self.take(slice(begin, min(begin + rows, len(self))))

    def subset(self, rows: ArrayLike) -> EmbeddingSet:
        """Return the set of some rows.

        Parameters
        ----------
        rows : array_like of int or bool
            Row numbers, or a mask of shape (n,).

        Returns
        -------
        set : EmbeddingSet
            The chosen rows with their labels, ids and tenants.
        """
        index = self._row_numbers(rows)

        def pick(values: NDArray[Any] | None) -> NDArray[Any] | None:
            return None if values is None else values[index]

        chosen: Source = (
            RowSource(self._raw, index)
            if self._raw is not None
            else ArraySource(self.embeddings[index], self.source)
        )
        part = type(self).__new__(type(self))
        part._set_up(
            chosen,
            pick(self.labels),
            pick(self.ids),
            pick(self.tenants),
            self.label_space,
            self.source,
            in_memory=self._raw is None,
        )
        return part

    def _row_numbers(self, rows: ArrayLike) -> NDArray[np.intp]:
        """Return row numbers from 0 on for a mask or for numbers that may be negative."""
        index = np.asarray(rows)
        if index.dtype == bool:
            if index.shape != (len(self),):
                raise DataError(
                    f"{self.source}: expected a mask of shape ({len(self)},), "
                    f"received {index.shape}"
                )
            return np.flatnonzero(index)
        if index.size == 0:
            return np.empty(0, np.intp)
        if index.ndim != 1 or index.dtype.kind not in "iu":
            raise DataError(
                f"{self.source}: expected a list of row numbers, received {index.dtype} of shape "
                f"{index.shape}"
            )
        if not -len(self) <= index.min() <= index.max() < len(self):
            raise IndexError(f"{self.source}: expected rows of a set of {len(self)}")
        return np.where(index < 0, index + len(self), index).astype(np.intp, copy=False)

    def unlabelled(self) -> EmbeddingSet:
        """Return the same vectors without their labels.

        Returns
        -------
        set : EmbeddingSet
            It shares the vectors, ids and tenants of this one.
        """
        bare = copy(self)
        bare.labels = None
        return bare

    def sample(self, n: int, seed: int | np.random.Generator = 0) -> EmbeddingSet:
        """Return `n` rows chosen at random without replacement, in their order.

        Parameters
        ----------
        n : int
            How many; all rows when the set has fewer.
        seed : int or numpy.random.Generator, default 0
            The source of randomness.

        Returns
        -------
        set : EmbeddingSet
            The sample.
        """
        if n < 1:
            raise DataError(f"{self.source}: expected a sample of 1 row or more, received {n}")
        rng = np.random.default_rng(seed)
        return self.subset(np.sort(rng.choice(len(self), min(n, len(self)), replace=False)))

    def split_classes(
        self, fraction: float = 0.1, seed: int = 0
    ) -> tuple[EmbeddingSet, EmbeddingSet]:
        """Split by class at random: a small part to calibrate on, the rest to test on.

        Parameters
        ----------
        fraction : float, default 0.1
            Share of the classes in the first part; at least two classes go there.
        seed : int, default 0
            The classes are ``default_rng(seed).permutation(unique labels)``.

        Returns
        -------
        cal, test : EmbeddingSet
            Disjoint in their classes.
        """
        in_first = sample_classes(self.require_labels(), fraction, seed, self.source)
        return self.subset(in_first), self.subset(~in_first)

    @property
    def codes(self) -> NDArray[np.intp]:
        """Classes as integers 0, 1, ..., of shape (n,), in the order of the sorted labels."""
        return np.unique(self.require_labels(), return_inverse=True)[1]

    def require_labels(self) -> NDArray[Any]:
        """Return the labels, or raise an error that says that there are none.

        Returns
        -------
        labels : ndarray of shape (n,)
            The labels.
        """
        if self.labels is None:
            raise DataError(f"{self.source}: expected labels, received a set without them")
        return self.labels

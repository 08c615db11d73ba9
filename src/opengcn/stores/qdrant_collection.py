"""Qdrant collections as embedding sets."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opengcn.errors import DataError, require
from opengcn.files import Columns, Names
from opengcn.labels import as_labels
from opengcn.sources import Rows, row_numbers, runs_of
from opengcn.stores.reading import check_folder, reading

__all__ = ["open_collection"]

BATCH = 1000  # points a request: a few MB of JSON
TIMEOUT = 60  # seconds a request


def open_collection(address: str, place: str, name: str, names: Names) -> Columns:
    """Open a collection.

    Parameters
    ----------
    address : str
        What messages call it.
    place : str
        URL of a server, or folder of the client's local mode. ``QDRANT_API_KEY`` in the
        environment is sent to a server.
    name : str
        The collection.
    names : Names
        Payload fields of labels, ids and tenants, where they are not ``label``, the
        point's own id, and ``tenant``; and the name of the vector, if it has one.

    Returns
    -------
    columns : Columns
        The points as they are now, sorted by their ids. The vectors of a server are not read
        yet.
    """
    client = _connect(address, place)
    try:
        with reading(address, "a Qdrant collection"):
            collections = [c.name for c in client.get_collections().collections]
            if name not in collections:
                raise DataError(
                    f"{address}: expected a collection '{name}', received "
                    f"{', '.join(map(repr, collections)) or 'no collection'}"
                )
            vector, dim = _choose_vector(address, client.get_collection(name), names.embedding)
            fields = {
                role: getattr(names, role) or role
                for role in names.beside
                if role != "id" or names.id is not None  # else the points' own ids are taken
            }
            ids, payloads = _scroll(client, name, list(fields.values()))
        values = {
            role: _payload_column(address, ids, payloads, field, must=bool(getattr(names, role)))
            for role, field in fields.items()
        }
        source = QdrantSource(client, name, vector, ids, dim, address)
        if "://" not in place:
            source.detach()
    except BaseException:
        client.close()  # a folder stays locked until then
        raise
    return Columns(source, **({"id": _id_column(ids)} | values))


class QdrantSource:
    """The vectors of a Qdrant collection.

    Parameters
    ----------
    client : qdrant_client.QdrantClient
        Closed when the source is no longer used.
    collection : str
        The collection.
    vector : str
        The name of the vector; "" for the one without a name.
    ids : sequence of int or str, length n
        The points.
    dim : int
        Dimensions.
    name : str
        What messages call the collection.
    """

    def __init__(
        self,
        client: Any,
        collection: str,
        vector: str,
        ids: Sequence[int | str],
        dim: int,
        name: str,
    ) -> None:
        self.client = client
        self.collection = collection
        self.vector = vector
        self.ids = ids
        self.name = name
        self._dim = dim
        self._detached: NDArray[np.float32] | None = None
        weakref.finalize(self, client.close)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and dimensions."""
        return len(self.ids), self._dim

    def detach(self) -> None:
        """Copy all vectors and let go of the client.

        In local mode it holds all of them in memory anyway, and locks its folder.
        """
        self._detached = self.read(slice(None))
        self.client.close()

    def read(self, rows: Rows) -> NDArray[Any]:
        """Return the raw rows."""
        if self._detached is not None:
            return self._detached[rows]
        index = row_numbers(rows, self.shape[0])
        out = np.empty((len(index), self._dim), np.float32)
        for run in runs_of(len(index), BATCH):
            wanted = index[run]
            with reading(self.name, "a Qdrant collection"):
                points = self.client.retrieve(
                    self.collection,
                    [self.ids[i] for i in wanted],
                    with_payload=False,
                    with_vectors=[self.vector] if self.vector else True,
                )
            found = {point.id: point.vector for point in points}
            for row, i in zip(range(run.start, run.stop), wanted.tolist(), strict=True):
                out[row] = self._checked(found.get(self.ids[i]), i)
        return out

    def _checked(self, vector: Any, row: int) -> Any:
        if self.vector and vector:
            vector = vector.get(self.vector)
        if not vector:  # deleted since, or a point without this vector
            raise DataError(f"{self.where(row)}: expected a vector, received none")
        return vector

    def where(self, row: int) -> str:
        """Say where a row lies."""
        vector = f", vector '{self.vector}'" if self.vector else ""
        return f"{self.name}: point {self.ids[row]}{vector}"

    def runs(self) -> Iterator[slice]:
        """Yield all rows, some at a time."""
        return runs_of(self.shape[0])


def _connect(address: str, place: str) -> Any:
    qdrant_client = require("qdrant_client", "qdrant")
    if "://" not in place:
        check_folder(address, place)
        if not (Path(place) / "meta.json").is_file():
            raise DataError(
                f"{address}: expected a folder of Qdrant's local mode, received one without its "
                f"meta.json; data of a server is read through its URL"
            )
    with reading(address, "a Qdrant server or folder"):
        if "://" not in place:
            return qdrant_client.QdrantClient(path=place)
        return qdrant_client.QdrantClient(
            url=place,
            api_key=os.environ.get("QDRANT_API_KEY"),
            timeout=TIMEOUT,
            check_compatibility=False,  # it would only warn
        )


def _choose_vector(address: str, info: Any, given: str | None) -> tuple[str, int]:
    """Return the name ("" for none) and the dimension of the vector to read."""
    vectors = info.config.params.vectors or {}
    if not isinstance(vectors, dict):
        vectors = {"": vectors}
    wanted = given if given is not None else next(iter(vectors)) if len(vectors) == 1 else None
    if wanted is None or wanted not in vectors:
        expected = "the name of a vector" if given is None else f"a vector '{given}'"
        there = ", ".join(repr(v) if v else "one without a name" for v in vectors)
        raise DataError(
            f"{address}: expected {expected}, received "
            f"{there or 'a collection without dense vectors'}"
        )
    params = vectors[wanted]
    if params.multivector_config is not None:
        raise DataError(f"{address}: expected one vector a point, received multivectors")
    return wanted, params.size


def _scroll(client: Any, name: str, fields: list[str]) -> tuple[list[Any], list[dict[str, Any]]]:
    """Return ids and payloads of all points."""
    ids: list[Any] = []
    payloads: list[dict[str, Any]] = []
    offset = None
    while True:
        points, offset = client.scroll(
            name, limit=BATCH, offset=offset, with_payload=fields, with_vectors=False
        )
        ids += [point.id for point in points]
        payloads += [point.payload or {} for point in points]
        if offset is None:
            return ids, payloads


def _payload_column(
    address: str, ids: list[Any], payloads: list[dict[str, Any]], field: str, *, must: bool
) -> NDArray[Any] | None:
    """Return one field of all payloads, or None where no point has it and none must."""
    values = np.empty(len(ids), object)
    values[:] = [payload.get(field) for payload in payloads]
    missing = np.flatnonzero([value is None for value in values])
    if len(missing) and (must or len(missing) < len(ids)):
        raise DataError(
            f"{address}: point {ids[missing[0]]}: expected a payload field '{field}', received "
            f"none (and {len(missing) - 1} more points without it)"
        )
    return None if len(missing) else as_labels(values, len(ids), f"{address}: field '{field}'")


def _id_column(ids: list[Any]) -> NDArray[Any]:
    if all(isinstance(i, int) for i in ids):
        return np.array(ids, np.uint64)
    return np.array([str(i) for i in ids])

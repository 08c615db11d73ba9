"""What a client sends: embeddings as JSON, as an Arrow stream or as a file, in one request.

Runs in a worker, where a body that takes all memory or breaks a parser harms no one else.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, FailFast, Field, ValidationError

from opengcn.arrow_columns import list_vectors, name_column
from opengcn.errors import DataError, OpenGCNError
from opengcn.files import Names, open_files
from opengcn.service.question import Question, in_one_line
from opengcn.sources import readable

__all__ = [
    "ARROW",
    "FILES",
    "JSON",
    "NamedSet",
    "OneSet",
    "Sent",
    "SetsBody",
    "TooLargeError",
    "as_array",
    "one_set",
    "several_sets",
]

JSON = "application/json"
ARROW = "application/vnd.apache.arrow.stream"
FILES = {  # media types of the formats that `EmbeddingSet.load` reads
    "application/vnd.apache.parquet": ".parquet",
    "application/x-npy": ".npy",
    "application/x-npz": ".npz",
}
SETS = 1000  # of one request: what they answer must fit in memory as well
VALUES = 10_000_000  # of JSON: two bytes of it can become a hundred in memory
QUOTES = 50 * SETS  # of JSON: more than the names and values of so many questions have

Vectors = Annotated[list[Annotated[list[float], FailFast()]], FailFast()]


class TooLargeError(OpenGCNError):
    """A body with more in it than the service takes."""


class OneSet(Question):
    """Body of `/v1/threshold` in JSON."""

    embeddings: Vectors = Field(description="Rows of numbers, all of the model's dimension.")


class NamedSet(OneSet):
    """One of several sets."""

    id: str = Field(description="What the answer calls this set.")


class SetsBody(BaseModel):
    """Body of `/v1/thresholds` in JSON."""

    model_config = ConfigDict(extra="forbid")

    sets: Annotated[list[NamedSet], FailFast()] = Field(min_length=1, max_length=SETS)


@dataclass(frozen=True)
class Sent:
    """A set as it was sent: not yet checked.

    Attributes
    ----------
    id : str
        Its name among several; "" for a single set.
    rows : ndarray of shape (n, D), or list of lists
        The vectors.
    question : Question
        What is asked about it.
    """

    id: str
    rows: NDArray[Any] | list[list[float]]
    question: Question

    @property
    def source(self) -> str:
        """What messages call it."""
        return f"set {self.id!r}" if self.id else "embeddings"


def one_set(body: bytes, media: str, question: Question, limit: int) -> Sent:
    """Read a body that is one set.

    Parameters
    ----------
    body : bytes
        The body.
    media : str
        Its media type.
    question : Question
        From the query string.
    limit : int
        Rows that are allowed.

    Returns
    -------
    sent : Sent
        The set.
    """
    if media == JSON:
        with _valid_json(body):
            read = OneSet.model_validate_json(body, strict=True)
        _check_rows(len(read.embeddings), limit)
        return Sent("", read.embeddings, question.followed_by(read))
    return Sent("", _vectors(body, media, limit, beside=())[0], question)


def several_sets(body: bytes, media: str, question: Question, limit: int) -> list[Sent]:
    """Read a body that is several sets: in JSON a list, else told apart by a column `tenant`.

    Parameters
    ----------
    body : bytes
        The body.
    media : str
        Its media type.
    question : Question
        From the query string; sets in JSON may have their own.
    limit : int
        Rows that are allowed, over all sets.

    Returns
    -------
    sets : list of Sent
        In the order of the list, or sorted by tenant.
    """
    if media == JSON:
        with _valid_json(body):
            read = SetsBody.model_validate_json(body, strict=True)
        _check_rows(sum(len(one.embeddings) for one in read.sets), limit)
        return [Sent(one.id, one.embeddings, question.followed_by(one)) for one in read.sets]
    raw, tenants = _vectors(body, media, limit, beside=("tenant",))
    if tenants is None:
        raise DataError("body: expected a column 'tenant' that tells the sets apart")
    names, tenant = np.unique(tenants, return_inverse=True)
    if len(names) > SETS:
        raise TooLargeError(f"body: expected at most {SETS} sets, received {len(names)}")
    order = np.argsort(tenant, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(tenant[order])) + 1)
    return [Sent(str(name), raw[rows], question) for name, rows in zip(names, parts, strict=True)]


def as_array(rows: NDArray[Any] | list[list[float]]) -> NDArray[Any] | list[list[float]]:
    """Return rows as `EmbeddingSet` takes them.

    Numbers in JSON have no width. Those that are float32 exactly are taken as that, so that
    the same vectors get the same answer, to the bit, in JSON and in a file.

    Parameters
    ----------
    rows : ndarray of shape (n, D), or list of lists
        As they were sent.

    Returns
    -------
    rows : ndarray of shape (n, D), or list of lists
        The same; a list when it is ragged or empty, which `EmbeddingSet` will say.
    """
    if isinstance(rows, np.ndarray) or len({len(row) for row in rows}) != 1:
        return rows
    wide = np.array(rows, np.float64)
    with np.errstate(over="ignore"):
        narrow = wide.astype(np.float32)
    return narrow if np.array_equal(narrow, wide) else wide


def _check_rows(rows: int, limit: int) -> None:
    if rows > limit:
        raise TooLargeError(f"body: expected at most {limit} rows, received {rows}")


@contextmanager
def _valid_json(body: bytes) -> Iterator[None]:
    # Every value but the first of its list follows a comma, and the first a bracket.
    if body.count(b",") + body.count(b"[") > VALUES:
        raise TooLargeError(
            f"body: expected at most {VALUES} numbers in JSON, received more; other formats hold "
            f"them in less memory"
        )
    if body.count(b'"') > QUOTES:
        raise TooLargeError("body: expected numbers, received mostly text")
    try:
        yield
    except ValidationError as error:
        raise DataError(in_one_line(error.errors(include_url=False))) from error


def _vectors(
    body: bytes, media: str, limit: int, *, beside: tuple[str, ...]
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Return vectors (n, D) and, if there are any and they are wanted, tenants (n,).

    Columns that nobody asks for are not read: they may hold anything.
    """
    try:
        if media == ARROW:
            return _read_arrow(body, limit, beside)
        return _read_file(body, FILES[media], limit, beside)
    except (OpenGCNError, MemoryError):
        raise
    except Exception as error:  # parsers raise anything on bytes that are made up
        raise DataError(
            f"body: expected {media}, received bytes that cannot be read as that "
            f"({type(error).__name__}: {' '.join(str(error).split())})"
        ) from error


def _read_file(
    body: bytes, suffix: str, limit: int, beside: tuple[str, ...]
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Read a body as `EmbeddingSet.load` reads a file."""
    with TemporaryDirectory(prefix="opengcn-") as folder:
        path = Path(folder, f"body{suffix}")
        path.write_bytes(body)
        try:
            if suffix == ".parquet":  # whose first rows are unpacked to see their dimension
                with readable(path):
                    rows = pq.read_metadata(path).num_rows
                _check_rows(rows, limit)
            columns = open_files(path, Names(beside=beside))
            _check_rows(columns.source.shape[0], limit)
            # All at once, and out of the file, which is gone in a moment.
            return np.array(columns.source.read(slice(None))), columns.tenant
        except DataError as error:
            raise DataError(str(error).replace(f"{folder}/", "")) from error


def _read_arrow(
    body: bytes, limit: int, beside: tuple[str, ...]
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Read a stream; or a file, which people call .arrow as well and which has a magic word."""
    if body.startswith(b"ARROW1"):
        file = pa.ipc.open_file(body)
        schema, batches = file.schema, map(file.get_batch, range(file.num_record_batches))
    else:
        stream = pa.ipc.open_stream(body)
        schema, batches = stream.schema, iter(stream)
    if "embedding" not in schema.names:
        raise DataError(
            f"body: expected a column 'embedding', received "
            f"{', '.join(map(repr, schema.names)) or 'no column'}"
        )
    kept, rows = [], 0
    for batch in batches:
        rows += len(batch)
        _check_rows(rows, limit)
        kept.append(batch)
    table = pa.Table.from_batches(kept, schema)
    vectors = list_vectors(
        table.column("embedding").combine_chunks(),
        None,
        lambda row: f"body: row {row}, column 'embedding'",
        "row 0",
    )
    if "tenant" not in beside or "tenant" not in schema.names:
        return vectors, None
    return vectors, name_column(table.column("tenant"), "tenant", "body")

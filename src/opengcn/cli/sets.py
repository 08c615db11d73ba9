"""Embedding sets named on the command line: files, folders, or standard input."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from opengcn.errors import DataError

if TYPE_CHECKING:
    from opengcn.embeddings import EmbeddingSet

__all__ = [
    "STDIN",
    "CalLabels",
    "EmbeddingColumn",
    "LabelColumn",
    "LabelSpace",
    "TrainLabels",
    "read_set",
    "stdin_file",
]

STDIN = "-"
_MAGIC = {b"PK\x03\x04": ".npz", b"\x93NUMPY": ".npy", b"PAR1": ".parquet"}

EmbeddingColumn = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Column (.parquet) or array (.npz) of the vectors, when it is not "
        "`embedding` or `embeddings`.",
    ),
]
LabelColumn = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Column or array of the labels, when it is not `label` or `labels`.",
    ),
]
LabelSpace = Annotated[
    Literal["shared", "separate"],
    typer.Option(
        help="Whether a label that occurs in two sets names one class, or two (`separate`), "
        "as when every file counts from 0.",
    ),
]

TrainLabels = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Labels of --train when that is a .npy file: .npy, or a label a line.",
    ),
]
CalLabels = Annotated[Path | None, typer.Option(metavar="FILE", help="The same of --cal.")]


def read_set(
    paths: Sequence[str],
    role: str,
    *,
    labels_file: Path | None = None,
    embedding: str | None = None,
    label: str | None = None,
    label_space: str = "shared",
    labelled: bool = False,
) -> EmbeddingSet:
    """Read a set from what was typed.

    Parameters
    ----------
    paths : sequence of str
        A file, several, a folder, or "-" for standard input.
    role : str
        What the set is for, "train", "cal" or "test": its label space when these are separate.
    labels_file : Path, optional
        Labels of a .npy file.
    embedding, label : str, optional
        Names of columns.
    label_space : {"shared", "separate"}, default "shared"
        Whether labels compare with those of other sets.
    labelled : bool, default False
        Whether labels are needed. If not they are not looked at, and may be anything.

    Returns
    -------
    data : EmbeddingSet
        The set.
    """
    from opengcn.embeddings import EmbeddingSet

    options: dict[str, Any] = {
        "labels_file": labels_file,
        "embedding": embedding,
        "label": label,
        "beside": ("label",) if labelled else (),
        "label_space": role if label_space == "separate" else "",
    }
    if list(paths) == [STDIN]:
        with stdin_file() as path:
            data = EmbeddingSet.load(path, in_memory=True, **options)
        data.source = "standard input"
    else:
        data = EmbeddingSet.load(paths[0] if len(paths) == 1 else paths, **options)
    if labelled and data.labels is None:
        raise DataError(
            f"{data.source}: expected labels, received a set without them; --label-column names "
            f"their column, and those of a .npy file are a file beside it (see --help)"
        )
    return data


@contextmanager
def stdin_file() -> Iterator[Path]:
    """Yield standard input as a temporary file of the right suffix, which its first bytes tell.

    Yields
    ------
    path : Path
        The file; messages about it call it "standard input".
    """
    if sys.stdin.isatty():
        raise DataError("standard input: expected embeddings piped in, received a terminal")
    with TemporaryDirectory() as folder:
        received = Path(folder) / "received"
        with received.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        with received.open("rb") as file:
            start = file.read(8)
        suffixes = [suffix for magic, suffix in _MAGIC.items() if start.startswith(magic)]
        if not suffixes:
            what = f"something else (it begins with {start!r})" if start else "nothing"
            raise DataError(
                f"standard input: expected a .npz, .npy or .parquet file, received {what}"
            )
        path = received.rename(received.with_suffix(suffixes[0]))
        try:
            yield path
        except DataError as error:
            raise DataError(str(error).replace(str(path), "standard input")) from error

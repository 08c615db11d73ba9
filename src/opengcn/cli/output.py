"""What commands print: JSON for machines, tables for people, files or standard output."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opengcn.errors import OpenGCNError, OpenGCNWarning

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

__all__ = [
    "STDOUT",
    "Json",
    "check_writable",
    "collecting_warnings",
    "facts",
    "people",
    "print_json",
    "writing",
]

STDOUT = "-"

Json = Annotated[
    bool, typer.Option("--json", help="Print JSON, and nothing else, to standard output.")
]


def print_json(answer: Mapping[str, Any]) -> None:
    """Print an answer for machines; NaN is null.

    Parameters
    ----------
    answer : mapping
        What JSON can hold, and numbers of numpy.
    """
    typer.echo(json.dumps(_plain(answer), indent=1, allow_nan=False, ensure_ascii=False))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if hasattr(value, "item"):  # a number of numpy
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def people(*, stderr: bool = False) -> Console:
    """Return the console that people read.

    Parameters
    ----------
    stderr : bool, default False
        Whether standard output is taken by something else.

    Returns
    -------
    console : rich.console.Console
        It colours nothing on its own.
    """
    from rich.console import Console

    return Console(stderr=stderr, highlight=False)


def facts(rows: Sequence[tuple[str, str]]) -> RenderableType:
    """Return names and values in two columns.

    Parameters
    ----------
    rows : sequence of (str, str)
        The name and the value of each; an empty name goes on with the one above.

    Returns
    -------
    table : rich renderable
        For `Console.print`.
    """
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, style="bold")
    grid.add_column(overflow="fold")
    for name, value in rows:
        grid.add_row(name, Text(value))  # as text: file names may look like markup
    return grid


@contextmanager
def collecting_warnings() -> Iterator[list[str]]:
    """Show the package's warnings as ever, and keep them for the answer as well.

    Yields
    ------
    notes : list of str
        The warnings, once the body is through.
    """
    notes: list[str] = []
    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            yield notes
    finally:
        for one in caught:
            warnings.showwarning(one.message, one.category, one.filename, one.lineno)
            if issubclass(one.category, OpenGCNWarning):
                notes.append(" ".join(str(one.message).split()))


def check_writable(*paths: str | None) -> None:
    """Refuse, before any work is done, a place that cannot be written to.

    Parameters
    ----------
    *paths : str or None
        Where output is to go; None and "-" are fine.
    """
    for path in paths:
        if path is None or path == STDOUT:
            continue
        if Path(path).is_dir():
            raise OpenGCNError(f"{path}: expected the name of a file to write, received a folder")
        folder = Path(path).absolute().parent
        while not folder.exists():  # missing folders are made
            folder = folder.parent
        if not folder.is_dir() or not os.access(folder, os.W_OK):
            raise OpenGCNError(f"{path}: expected a folder that can be written to")


@contextmanager
def writing(path: str, suffix: str = "") -> Iterator[Path]:
    """Yield where to write; for "-" what was written then goes to standard output.

    Parameters
    ----------
    path : str
        As typed.
    suffix : str, default ""
        Suffix of the temporary file behind "-".

    Yields
    ------
    path : Path
        A file for a writer that leaves nothing half-written itself.
    """
    if path != STDOUT:
        yield Path(path)
        return
    with TemporaryDirectory() as folder:
        temporary = Path(folder) / f"written{suffix}"
        yield temporary
        with temporary.open("rb") as file:
            sys.stdout.flush()
            shutil.copyfileobj(file, sys.stdout.buffer)
            sys.stdout.buffer.flush()

"""What all commands share: the application, its errors and its exit codes."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Annotated, Any

import typer

from opengcn import __version__
from opengcn.errors import OpenGCNError, OpenGCNWarning

__all__ = ["app", "main"]

app = typer.Typer(
    name="opengcn",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Run the command line; what is wrong is told in one line, unless --debug is given.

    Exit codes: 0 done, 1 the data or a file is at fault, 2 the command is, 130 interrupted.
    """
    arguments = [a for a in sys.argv[1:] if a != "--debug"]
    debug = len(arguments) < len(sys.argv) - 1
    if not debug:
        warnings.showwarning = _one_line_warning
    try:
        code = app(arguments or ["--help"], prog_name="opengcn", standalone_mode=False)
        sys.exit(code if arguments else 2)
    except BrokenPipeError:  # the reader of a pipe has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        if debug:
            raise
        typer.echo(f"opengcn: {' '.join(_told(error).split())}", err=True)
        sys.exit(getattr(error, "exit_code", 1))  # 2 for what typer refuses


def _told(error: Exception) -> str:
    """Say what is wrong, in the words of whoever noticed."""
    if isinstance(error, OpenGCNError | OSError):
        return str(error)
    if hasattr(error, "format_message"):  # an option or argument that typer refuses
        command = getattr(getattr(error, "ctx", None), "command_path", "opengcn")
        return f"{error.format_message().rstrip('.')} (see {command} --help)"
    return f"unexpected {error!r}; --debug shows where"


def _one_line_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """Show the package's own warnings in one line; others are none of a user's concern."""
    if issubclass(category, OpenGCNWarning):
        typer.echo(f"opengcn: warning: {' '.join(str(message).split())}", err=True)


def _version(show: bool) -> None:
    if show:
        typer.echo(f"opengcn {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error, with any command.")
    ] = False,
) -> None:
    """Distance thresholds for embeddings of classes that nobody has labelled.

    Two labelled sets once, then any number of unlabelled ones:

        opengcn fit --train train.parquet --cal cal.parquet -o model.ogcn

        opengcn threshold model.ogcn new.parquet --find 90%

    Embeddings are read from .npz, .npy and .parquet files, folders of parquet files, standard
    input (`-`), and vector stores: `lancedb:FOLDER/TABLE`, `faiss:FILE`,
    `qdrant:URL/COLLECTION`. `--json` is for machines. Errors are one line. Exit codes: 0 done,
    1 the data or a file is at fault, 2 the command is, 130 interrupted.
    """

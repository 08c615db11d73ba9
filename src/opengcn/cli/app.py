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
        app(arguments, prog_name="opengcn")
    except BrokenPipeError:  # the reader of a pipe has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        if debug:
            raise
        expected = isinstance(error, OpenGCNError | OSError)
        text = str(error) if expected else f"unexpected {error!r}; --debug shows where"
        typer.echo(f"opengcn: {' '.join(text.split())}", err=True)
        sys.exit(1)


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
    """Distance thresholds for embeddings of classes that nobody has labelled."""

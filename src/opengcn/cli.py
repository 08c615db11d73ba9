"""The command line: `opengcn demo`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from opengcn import __version__
from opengcn.errors import OpenGCNError

__all__ = ["app"]

app = typer.Typer(
    name="opengcn",
    help="Distance thresholds for embeddings of classes that nobody has labelled.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_show_locals=False,
)


@contextmanager
def _one_line_errors() -> Iterator[None]:
    """Say what was wrong in one line, without a traceback, and exit with 1."""
    try:
        yield
    except (OpenGCNError, OSError) as error:
        typer.echo(f"opengcn: {error}", err=True)
        raise typer.Exit(1) from error


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
) -> None:
    pass


@app.command()
def demo(
    tpr: Annotated[
        float,
        typer.Option(help="Share of true matches to find, in (0, 1]."),
    ] = 0.9,
    out: Annotated[
        Path, typer.Option(help="Where to draw the picture (.png, .svg or .pdf).")
    ] = Path("opengcn-demo.png"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the data set.")] = 0,
) -> None:
    """Show the problem and the baselines on images of characters made on the spot.

    Renders characters in the fonts that come with matplotlib, trains a small embedder on
    half of them, and asks for the distance threshold that finds 90 % of the true matches
    among characters that the embedder has never seen: sharp ones, and blurred ones.
    Thresholds of each method are checked against the labels, which no method sees.

    Takes about a minute the first time; the data set is kept in the user's cache folder
    (`OPENGCN_CACHE` moves it).
    """
    from opengcn.demo import run_demo

    with _one_line_errors():
        run_demo(tpr, out, seed)

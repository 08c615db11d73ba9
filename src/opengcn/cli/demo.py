"""`opengcn demo`: the problem and the methods on characters made on the spot."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from opengcn.cli.app import app
from opengcn.cli.output import Json, check_writable, people, print_json
from opengcn.cli.target import Tpr

__all__ = ["demo"]


@app.command()
def demo(
    tpr: Tpr = 0.9,
    out: Annotated[
        Path,
        typer.Option(
            help="Where to draw the picture (.png, .svg or .pdf); the report goes beside it."
        ),
    ] = Path("opengcn-demo.png"),
    seed: Annotated[
        int, typer.Option(min=0, metavar="NUMBER", help="Seed of the data and of the methods.")
    ] = 0,
    json: Json = False,
) -> None:
    """Show the problem and the methods on images of characters made on the spot.

    Renders characters in the fonts that come with matplotlib, trains a small embedder on
    half of them, and asks for the distance threshold that finds 90 % of the true matches
    among characters that the embedder has never seen: sharp ones, and blurred ones.
    Thresholds of each method are checked against the labels, which no method sees. Draws a
    picture, and writes a report on the blurred characters beside it.

    Takes some three minutes on two cores the first time and less the second: the data set is
    kept in the user's cache folder (`OPENGCN_CACHE` moves it). No download.

        opengcn demo
        opengcn demo --find 80% --out pictures/demo.svg
    """
    check_writable(str(out))
    assert tpr is not None

    from opengcn.demo import run_demo

    story = run_demo(tpr, out, seed, people(stderr=json))
    if json:
        print_json(story)

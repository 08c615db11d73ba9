"""`opengcn demo`: the problem and the methods on characters made on the spot."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from opengcn.cli.app import app

__all__ = ["demo"]


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

    run_demo(tpr, out, seed)

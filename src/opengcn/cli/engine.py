"""Options of commands whose work may be spread over machines."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

__all__ = ["Address", "Engine", "Workers"]

Engine = Annotated[
    Literal["local", "ray"],
    typer.Option(help="The cores of this machine, or Ray (`pip install 'opengcn[ray]'`)."),
]
Address = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT",
        help="A running Ray cluster (`auto`: the one of this machine). Without it Ray is "
        "started here, and stopped.",
    ),
]
Workers = Annotated[
    int | None, typer.Option(min=1, help="Tasks at a time; one a core unless given.")
]

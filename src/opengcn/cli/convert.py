"""`opengcn convert`: a threshold in another metric, with its direction."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Annotated, Any, get_args

import typer

from opengcn.cli.app import app
from opengcn.cli.output import Json, people, print_json
from opengcn.cli.sets import STDIN
from opengcn.distance import Metric, rule
from opengcn.distance import convert as converted
from opengcn.errors import OpenGCNError

__all__ = ["convert"]

METRICS: tuple[Metric, ...] = get_args(Metric)


@app.command(context_settings={"ignore_unknown_options": True})  # -0.2 is a number
def convert(
    value: Annotated[
        str, typer.Argument(help="The threshold; `-` reads numbers from standard input.")
    ],
    source: Annotated[
        Metric | None,
        typer.Option(
            "--from",
            metavar="METRIC",
            help="Its metric. Without it: what the number would mean in each.",
        ),
    ] = None,
    target: Annotated[
        Metric | None,
        typer.Option("--to", metavar="METRIC", help="The metric wanted; all of them by default."),
    ] = None,
    json: Json = False,
) -> None:
    """Say the same threshold in another metric, and on which side of it pairs match.

    For unit vectors the L2 distance d, its square, the cosine similarity 1 - d²/2 and the
    cosine distance d²/2 say the same thing, but a similarity is thresholded from below and a
    distance from above. The inner product of unit vectors is their cosine similarity.
    METRIC is `l2`, `squared_l2`, `cosine` or `cosine_distance`.

    A number out of a paper or a forum, whose metric nobody wrote down:

        opengcn convert 1.28

    From one metric to another, or a column of a file, a number a line:

        opengcn convert 0.93 --from l2 --to cosine
        cut -f2 thresholds.tsv | opengcn convert - --from l2 --to cosine
    """
    if value == STDIN:
        if source is None or target is None:
            raise typer.BadParameter("expected --from and --to beside -, for a number a line")
        for line in sys.stdin:
            typer.echo(repr(converted(_number(line), source, target)))
        return
    number = _number(value)
    readings = _readings(number, source)
    targets = METRICS if target is None else (target,)
    found = {one: {m: converted(number, one, m) for m in targets} for one in readings}
    if json:
        answers = [_answer(number, one, thresholds) for one, thresholds in found.items()]
        print_json({"readings": answers} if source is None else answers[0])
    elif source is not None and target is not None:
        same = rule(number, source).removeprefix("match if ")
        typer.echo(f"{rule(found[source][target], target)} (the same as {same})")
    else:
        _print_table(number, found)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise OpenGCNError(f"threshold: expected a number, received {text.strip()!r}") from None


def _readings(number: float, source: Metric | None) -> tuple[Metric, ...]:
    """Return the metrics in which the number is meant: the one given, or all possible."""
    possible = []
    for metric in METRICS:
        with suppress(OpenGCNError):
            converted(number, metric, metric)
            possible.append(metric)
    if source is not None and source in possible:
        return (source,)
    if source is None and possible:
        return tuple(possible)
    raise OpenGCNError(
        f"threshold: expected a number in the range of {source or 'a metric'}, received "
        f"{number:g}" + (f", which can be {', '.join(possible)}" if possible else "")
    )


def _answer(number: float, source: Metric, thresholds: dict[Metric, float]) -> dict[str, Any]:
    return {
        "from": source,
        "value": number,
        "to": {m: {"value": v, "rule": rule(v, m)} for m, v in thresholds.items()},
    }


def _print_table(number: float, found: dict[Metric, dict[Metric, float]]) -> None:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, title="Two vectors match if", title_justify="left")
    table.add_column(f"when {number:g} is", no_wrap=True)
    for metric in next(iter(found.values())):
        words = rule(0, metric).removeprefix("match if ").split()[:-2]
        table.add_column(" ".join(words), justify="right")
    for source, thresholds in found.items():
        bounds = (rule(v, m).split()[-2:] for m, v in thresholds.items())
        table.add_row(source, *map(" ".join, bounds))
    people().print(table)

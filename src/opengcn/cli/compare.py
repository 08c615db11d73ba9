"""`opengcn compare`: every calibrator on the same sets, in one table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opengcn.cli.app import app
from opengcn.cli.output import Json, people
from opengcn.cli.sets import (
    CalLabels,
    EmbeddingColumn,
    LabelColumn,
    LabelSpace,
    TrainLabels,
    read_set,
)

if TYPE_CHECKING:
    from rich.table import Table

    from opengcn.calibrators.base import Calibrator
    from opengcn.comparison import Comparison

__all__ = ["compare"]

SHOWN = ("mae", "mae_tpr", "mae_tnr", "ae_tpr_90", "ae_tnr_90", "fit_seconds", "estimate_seconds")


@app.command()
def compare(
    train: Annotated[
        list[str],
        typer.Option(metavar="FILE", help="Labelled embeddings that the methods learn from."),
    ],
    cal: Annotated[
        list[str],
        typer.Option(metavar="FILE", help="Labelled embeddings of other classes to calibrate on."),
    ],
    test: Annotated[
        list[str],
        typer.Option(
            metavar="FILE",
            help="Labelled embeddings of yet other classes; no method sees the labels.",
        ),
    ],
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Some of `platt`, `beta`, `isotonic`, `histogram`, `dbscan`, `hi-lander`, "
            "`hard`, `paper` and `opengcn`, with commas between them; all by default.",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, metavar="NUMBER", help="Seed of the methods that draw at random.")
    ] = 0,
    train_labels: TrainLabels = None,
    cal_labels: CalLabels = None,
    test_labels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The same of --test.")
    ] = None,
    embedding_column: EmbeddingColumn = None,
    label_column: LabelColumn = None,
    label_space: LabelSpace = "shared",
    json: Json = False,
) -> None:
    r"""Fit every method on the same sets and measure each against the truth.

    MAE_comb is half the area between the estimated and the true curves of TPR and TNR, 0 when
    they are the same; AE is by how many points the rate at the estimated threshold misses its
    target. `hard` is the calibration set's TPR beside the TNR of all test pairs, the baseline
    that is hardest to beat; `paper` is OpenGCN as published. All methods together take some
    minutes.

        opengcn compare --train train.parquet --cal cal.parquet --test labelled.parquet
        opengcn compare --train t.npz --cal c.npz --test l.npz --methods isotonic,hard,opengcn
    """
    chosen = _chosen(methods, seed)
    columns: dict[str, Any] = {
        "embedding": embedding_column,
        "label": label_column,
        "label_space": label_space,
        "labelled": True,
    }
    sets = [
        read_set(paths, role, labels_file=file, **columns)
        for role, paths, file in (
            ("train", train, train_labels),
            ("cal", cal, cal_labels),
            ("test", test, test_labels),
        )
    ]

    from opengcn.trials import compare as run_all

    found = run_all(chosen, *sets)
    if json:
        typer.echo(found.to_json())
        return
    console = people()
    console.print(_table(found))
    for row in found.rows():
        if row.failures:
            console.print(f"{row.method} failed: {' '.join(row.failures[0].split())}", markup=False)


def _chosen(names: str | None, seed: int) -> dict[str, Calibrator]:
    from opengcn.scenarios.methods import BASELINES, METHODS

    known = (*BASELINES, "hard", "paper", "opengcn")
    chosen = known if names is None else tuple(name.strip() for name in names.split(","))
    odd = [name for name in chosen if name not in known]
    if odd:
        raise typer.BadParameter(
            f"expected methods of {', '.join(known)}, received {', '.join(map(repr, odd))}"
        )
    return {name: METHODS[name].make(seed) for name in chosen}


def _table(found: Comparison) -> Table:
    from rich import box
    from rich.table import Table

    from opengcn.comparison import COLUMNS

    shown = [column for column in COLUMNS if column[0] in SHOWN]
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("method", no_wrap=True)
    for heading in ("rank", *(heading for _, heading, _, _ in shown)):
        table.add_column(heading, justify="right", min_width=max(map(len, heading.split())))
    for row in sorted(found.rows(), key=lambda row: row.rank):
        numbers = [
            f"{factor * row.mean[key]:.{digits}f}" if key in row.mean else "failed"
            for key, _, factor, digits in shown
        ]
        table.add_row(row.method, str(row.rank) if row.mean else "-", *numbers)
    return table

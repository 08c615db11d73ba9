"""`opengcn evaluate`: the estimate against the truth, where labels are there to tell it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opengcn import __version__
from opengcn.cli.app import app
from opengcn.cli.engine import Address, Engine
from opengcn.cli.model import Classes, ModelFile, Prior, calibration_curve
from opengcn.cli.output import Json, collecting_warnings, facts, people, print_json
from opengcn.cli.sets import EmbeddingColumn, LabelColumn, LabelSpace, read_set

if TYPE_CHECKING:
    from rich.table import Table

    from opengcn.curve import OperatingCurve
    from opengcn.report.target import Target
    from opengcn.threshold import Threshold

__all__ = ["evaluate"]


@app.command()
def evaluate(
    model_file: ModelFile,
    data: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA",
            help="Labelled embeddings of classes that are in neither of the sets that the model "
            "was fitted on; `-` for standard input.",
        ),
    ],
    labels: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Labels of a .npy file: .npy, or a label a line."),
    ] = None,
    n_classes: Classes = None,
    prior: Prior = None,
    embedding_column: EmbeddingColumn = None,
    label_column: LabelColumn = None,
    label_space: LabelSpace = "shared",
    engine: Engine = "local",
    address: Address = None,
    json: Json = False,
) -> None:
    """Compare the estimate of a labelled set with the truth, which counts every pair.

    The model does not see the labels. For usual targets the table has the estimated and the
    true threshold, the rate that the estimated one reaches in truth, and by how many points
    it misses; for contrast the rate that the calibration set's own threshold would reach.
    MAE_comb is half the area between the curves of TPR and of TNR: 0 is perfect.

    A million rows are 5e11 pairs, an hour of one core or so: --engine ray counts them on a
    cluster.

        opengcn evaluate model.ogcn labelled.parquet
        opengcn evaluate model.ogcn labelled.npz --n-classes 500 --json
        opengcn evaluate model.ogcn million.parquet --engine ray --address auto
    """
    from opengcn.calibrators.opengcn import load
    from opengcn.curve import OperatingCurve
    from opengcn.metrics import mae_parts
    from opengcn.provenance import about_model
    from opengcn.report.usual_targets import USUAL
    from opengcn.tenants.exact import exact_curve_on

    model = load(model_file)
    test = read_set(
        data,
        "test",
        labels_file=labels,
        embedding=embedding_column,
        label=label_column,
        label_space=label_space,
        labelled=True,
    )
    with collecting_warnings() as notes:
        curve = model.estimate(test, n_classes=n_classes, prior=prior)
        if (engine, address) == ("local", None):  # in threads: processes take seconds to start
            truth = OperatingCurve.from_labels(test)
        else:
            truth = exact_curve_on(test, engine, address=address)
    tpr_part, tnr_part = mae_parts(curve, truth)
    reference = calibration_curve(model)
    targets = [_target(one, curve, truth, reference) for one in USUAL]
    answer: dict[str, Any] = {
        "mae": tpr_part + tnr_part,
        "mae_tpr": tpr_part,
        "mae_tnr": tnr_part,
        "mae_calibration": None if reference is None else reference.mae(truth),
        "samples": len(test),
        "classes": int(test.codes.max()) + 1,
        "prior": curve.info.get("prior"),
        "targets": targets,
        "source": f"estimated from {test.source} by {model_file}",
        "model": about_model(model),
        "notes": notes,
        "version": __version__,
    }
    if json:
        print_json(answer)
        return
    console = people()
    console.print(_table(targets, test.source))
    console.print(facts(_facts(answer)))


def _target(
    target: Target,
    curve: OperatingCurve,
    truth: OperatingCurve,
    reference: OperatingCurve | None,
) -> dict[str, Any]:
    """Return how the estimate does at one target."""
    from opengcn.report.usual_targets import look_up

    def reached(threshold: Threshold) -> float:
        return float(getattr(truth.at(threshold.distance), target.rate))

    estimated, exact = look_up(curve, target), look_up(truth, target).threshold
    theirs = None if reference is None else look_up(reference, target).threshold
    found = estimated.threshold
    return {
        "rate": target.rate,
        "target": target.value,
        "distance": None if found is None else found.distance,
        "true_distance": None if exact is None else exact.distance,
        "reached": None if found is None else reached(found),
        "error": None if found is None else abs(reached(found) - target.value),
        "reached_by_calibration": None if theirs is None else reached(theirs),
        "reason": estimated.reason,
    }


def _table(targets: list[dict[str, Any]], source: str) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from opengcn.report.wording import percent

    title = Text(f"Estimate and truth of {source}", style="bold")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=title, title_justify="left")
    table.add_column("target", no_wrap=True)
    for heading in (
        "estimated distance <",
        "true distance <",
        "reached in truth",
        "off by (points)",
        "reached by cal. set's",
    ):
        table.add_column(heading, justify="right")

    def cell(value: float | None, form: Callable[[float], str]) -> str:
        return "-" if value is None else form(value)

    for i, one in enumerate(targets):
        if i and one["rate"] != targets[i - 1]["rate"]:
            table.add_section()
        table.add_row(
            f"{one['rate'].upper()} {100 * one['target']:g} %",
            cell(one["distance"], "{:.4f}".format),
            cell(one["true_distance"], "{:.4f}".format),
            cell(one["reached"], percent),
            cell(one["error"], lambda error: f"{100 * error:.2f}"),
            cell(one["reached_by_calibration"], percent),
        )
    return table


def _facts(answer: dict[str, Any]) -> list[tuple[str, str]]:
    parts = f"TPR part {answer['mae_tpr']:.4f}, TNR part {answer['mae_tnr']:.4f}"
    rows = [("MAE_comb", f"{answer['mae']:.4f} ({parts})")]
    if answer["mae_calibration"] is not None:
        rows.append(("", f"{answer['mae_calibration']:.4f} for the calibration set's own curve"))
    rows += [
        ("truth", f"{answer['samples']:,} samples of {answer['classes']:,} classes, every pair"),
        ("source", answer["source"]),
        ("", answer["model"]),
    ]
    reasons = [
        (f"{t['rate'].upper()} {100 * t['target']:g} %", t["reason"])
        for t in answer["targets"]
        if t["reason"]
    ]
    return rows + reasons

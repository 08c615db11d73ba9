"""`opengcn threshold`: the distance that meets a target on unlabelled embeddings."""

from __future__ import annotations

import csv
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from opengcn.atomic import replacing
from opengcn.cli.app import app
from opengcn.cli.model import Classes, ModelFile, Prior, calibration_curve
from opengcn.cli.output import (
    STDOUT,
    Json,
    check_writable,
    collecting_warnings,
    people,
    print_json,
    writing,
)
from opengcn.cli.sets import EmbeddingColumn, read_set
from opengcn.cli.target import Confidence, Tnr, Tpr, check_target
from opengcn.errors import OpenGCNError, OpenGCNWarning

if TYPE_CHECKING:
    from opengcn.calibrators.opengcn import OpenGCN
    from opengcn.curve import OperatingCurve
    from opengcn.embeddings import EmbeddingSet
    from opengcn.threshold import Threshold

__all__ = ["threshold"]

MOST_ROWS = 10**6  # that anybody would be advised to collect


@app.command()
def threshold(
    model_file: ModelFile,
    data: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA",
            help="The embeddings, unlabelled: a .npz, .npy or .parquet file, several parquet "
            "files, a folder of them, `-` for standard input, or a vector store "
            "(`lancedb:FOLDER/TABLE`, `faiss:FILE`, `qdrant:URL/COLLECTION`).",
        ),
    ],
    tpr: Tpr = None,
    tnr: Tnr = None,
    confidence: Confidence = None,
    n_classes: Classes = None,
    prior: Prior = None,
    json: Json = False,
    report: Annotated[
        str | None,
        typer.Option(metavar="FILE.html", help="Write a page to look at, in one file."),
    ] = None,
    curve_file: Annotated[
        str | None,
        typer.Option(
            "--curve",
            metavar="FILE",
            help="Write TPR and TNR at every distance, as .csv or .json; `-` is .csv.",
        ),
    ] = None,
    snippet: Annotated[
        str | None,
        typer.Option(
            metavar="ENGINE",
            autocompletion=lambda: _engines(),
            help="Print the threshold as settings to paste, for `qdrant`, `faiss`, ...",
        ),
    ] = None,
    embedding_column: EmbeddingColumn = None,
) -> None:
    """Find the distance below which two embeddings are the same, for a target of yours.

    Say what you want, in shares or in percent: find at least 90 % of the true matches, or
    reject at least 99.9 % of the strangers (a FAR, or FMR, of 0.1 %). No labels are needed,
    and none are looked at.

        opengcn threshold model.ogcn new.parquet --find 90%
        opengcn threshold model.ogcn new.parquet --reject 99.9% --confidence 0.9
        opengcn threshold model.ogcn parts/ --tpr 0.9 --n-classes 500 --report new.html
        cat new.npz | opengcn threshold model.ogcn - --tnr 0.999 --json | jq .cosine

    The answer says on which side of the number pairs match, in three metrics, which rates to
    expect, how sure that is, and where it comes from. `--json` has the same under stable
    names: `distance`, `cosine`, `squared_l2`, `rule`, `tpr`, `tnr`, each with `_low` and `_high`
    where there is an interval, `samples`, `graphs`, `source`, `notes`. When standard output is
    taken (`--snippet`, `--curve -`, `--report -`) the table goes to standard error.
    """
    check_target(tpr, tnr)
    _check_outputs(json, report, curve_file, snippet)

    from opengcn.calibrators.opengcn import load
    from opengcn.cli.answer import Answer

    model = load(model_file)
    test = read_set(data, "test", embedding=embedding_column)
    with collecting_warnings() as notes:
        curve = model.estimate(test, n_classes=n_classes, prior=prior)
        found = curve.threshold(tpr=tpr, tnr=tnr, confidence=confidence)
        _warn_of_too_little_data(curve, found, len(test))
    pasted = None if snippet is None else _snippet(found, snippet)
    if report is not None:
        _report(report, model_file, model, test, curve, found)
    if curve_file is not None:
        _write_curve(curve_file, curve)
    answer = Answer(found, curve, test, model, model_file, notes)
    if json:
        print_json(answer.to_dict() | ({} if pasted is None else {"snippet": pasted}))
        return
    files = {"report": report, "curve": curve_file}
    written = {what: path for what, path in files.items() if path not in (None, STDOUT)}
    answer.show(people(stderr=pasted is not None or STDOUT in files.values()), written)
    if pasted is not None:
        typer.echo(pasted)


def _check_outputs(
    json: bool, report: str | None, curve_file: str | None, snippet: str | None
) -> None:
    """Refuse what cannot be written or pasted before anything is computed."""
    check_writable(report, curve_file)
    if curve_file not in (None, STDOUT) and Path(curve_file).suffix not in (".csv", ".json"):
        raise OpenGCNError(f"{curve_file}: expected a curve in .csv or .json")
    if snippet is not None and snippet not in _engines():
        raise typer.BadParameter(
            f"expected an engine of {', '.join(_engines())}, received {snippet!r}"
        )
    taken = [json, report == STDOUT, curve_file == STDOUT, snippet is not None and not json]
    if sum(taken) > 1:
        raise typer.BadParameter("expected standard output for one thing only")


def _engines() -> tuple[str, ...]:
    from opengcn.snippets import ENGINES

    return ENGINES


def _snippet(found: Threshold, engine: str) -> str:
    from opengcn.snippets import snippet

    return snippet(found, engine)


def _warn_of_too_little_data(curve: OperatingCurve, found: Threshold, rows: int) -> None:
    from opengcn.cli.checkup import rows_needed
    from opengcn.report.target import Target
    from opengcn.report.usual_targets import look_up

    target = Target.of(found)
    assert target is not None
    reason = look_up(curve, target).reason
    if not reason:
        return
    if target.rate == "tnr" and rows < rows_needed(target.value) < MOST_ROWS:
        reason += f"; it takes {rows_needed(target.value):,} rows or more"
    warnings.warn(f"do not rely on this threshold: {reason}", OpenGCNWarning, stacklevel=2)


def _report(
    path: str,
    model_file: str,
    model: OpenGCN,
    data: EmbeddingSet,
    curve: OperatingCurve,
    found: Threshold,
) -> None:
    from opengcn.provenance import provenance
    from opengcn.report import write_report

    with writing(path, ".html") as file:
        write_report(
            file,
            curve,
            threshold=found,
            reference=calibration_curve(model),
            provenance=provenance(model, data, model_file),
        )


def _write_curve(path: str, curve: OperatingCurve) -> None:
    from opengcn.curve import BAND

    names = ("distances", "tpr", "tnr", *(BAND if curve.has_band else ()))
    with writing(path, ".csv") as file, replacing(file) as temporary:
        if file.suffix == ".json":
            temporary.write_text(curve.to_json() + "\n", encoding="utf-8")
            return
        with temporary.open("w", newline="", encoding="utf-8") as stream:
            rows = csv.writer(stream)
            rows.writerow(["distance", "cosine", *names[1:]])
            for d, *rates in zip(*(getattr(curve, name).tolist() for name in names), strict=True):
                rows.writerow([d, 1 - d * d / 2, *rates])

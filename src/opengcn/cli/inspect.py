"""`opengcn inspect`: what is in a data set or a model file, and is it sound."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opengcn.cli.app import app
from opengcn.cli.model import calibration_curve
from opengcn.cli.output import Json, facts, people, print_json
from opengcn.cli.sets import STDIN, EmbeddingColumn, LabelColumn, stdin_file
from opengcn.errors import DataError

if TYPE_CHECKING:
    from opengcn.cli.checkup import Checkup
    from opengcn.files import Columns, Names

__all__ = ["inspect"]


@app.command()
def inspect(
    file: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            help="Embeddings (.npz, .npy, .parquet, several parquet files or a folder of them, "
            "`-` for standard input), or a model file (.ogcn).",
        ),
    ],
    labels: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Labels of a .npy file: .npy, or a label a line."),
    ] = None,
    embedding_column: EmbeddingColumn = None,
    label_column: LabelColumn = None,
    json: Json = False,
) -> None:
    """Say what is in a file of embeddings or in a model file, and whether it is sound.

    Every row is looked at: NaN, infinity, vectors of zeros, duplicates, norms, class sizes,
    and which targets so many pairs can support at all. The exit code is 1 when the file
    cannot be used as it is.

        opengcn inspect new.parquet
        opengcn inspect model.ogcn --json
    """
    if file[0].endswith(".ogcn"):
        answer, rows = _model(file[0])
        problems, remarks = [], []
    else:
        seen = _checkup(file, labels, embedding_column, label_column)
        answer, rows = seen.to_dict(), seen.facts()
        problems, remarks = seen.problems, seen.remarks
    if json:
        print_json({"file": file[0] if len(file) == 1 else file} | answer)
    else:
        rows += [("remark", text) for text in remarks]
        verdict = [("not sound", text) for text in problems] or [("sound", "yes")]
        people().print(facts([("file", ", ".join(file)), *rows, *verdict]))
    if problems:
        raise typer.Exit(1)


def _checkup(
    paths: list[str], labels: Path | None, embedding: str | None, label: str | None
) -> Checkup:
    from opengcn.cli.checkup import Checkup
    from opengcn.files import Names

    names = Names(embedding, label)
    with stdin_file() if paths == [STDIN] else nullcontext() as piped:
        places = paths if piped is None else [str(piped)]
        try:
            return Checkup.of(_opened(places, names, labels))
        except DataError as error:
            if label is not None or labels is not None:
                raise  # these labels were asked for
            # The vectors may be fine without them; if not, this raises again.
            seen = Checkup.of(_opened(places, replace(names, beside=()), None))
            return replace(seen, left_out=str(error).replace(places[0], paths[0]))


def _opened(places: list[str], names: Names, labels: Path | None) -> Columns:
    from opengcn.files import open_files
    from opengcn.stores import open_store, store_address

    address = store_address(places[0]) if len(places) == 1 else None
    if address is not None:
        return open_store(address, names, labels)
    return open_files([Path(place) for place in places], names, labels)


def _model(path: str) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    from opengcn.calibrators.opengcn import load
    from opengcn.model_file import read_model
    from opengcn.provenance import about_model
    from opengcn.report.target import Target

    header, arrays = read_model(path)
    model = load(path)  # whether it can be used
    numbers = sum(array.size for array in arrays.values())
    kept = len(arrays.get("reference.rows", ()))
    answer = {
        "kind": "model",
        "sound": True,
        **{name: header[name] for name in ("model", "preset", "version", "schema", "seed", "dim")},
        "train": model.summary_["train"],
        "cal": model.summary_["cal"],
        "numbers": numbers,
        "cal_rows_kept": kept,
    }
    rows = [
        ("model", about_model(model)),
        ("dimensions", f"{model.dim_:,}"),
        ("seed", str(model.seed)),
        ("written by", f"opengcn {header['version']}, schema {header['schema']}"),
        ("holds", f"{numbers:,} numbers in {len(arrays)} arrays; no code"),
    ]
    if kept:
        rows.append(("", f"among them {kept:,} rows of the calibration set: mind who may see them"))
    reference = calibration_curve(model)
    if reference is not None:
        for found in (reference.threshold(tpr=0.9), reference.threshold(tnr=0.999)):
            rows.append(("calibration set", f"{Target.of(found)}: {found.rule()}"))
    return answer, rows

"""`opengcn inspect`: what is in a data set or a model file, and is it sound."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opengcn.cli.app import app
from opengcn.cli.model import calibration_curve
from opengcn.cli.output import Json, facts, people, print_json
from opengcn.cli.sets import STDIN, EmbeddingColumn, LabelColumn, stdin_file

if TYPE_CHECKING:
    from opengcn.cli.checkup import Checkup

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
    from opengcn.files import Names, open_files
    from opengcn.stores import open_store, store_address

    names = Names(embedding, label)
    if paths == [STDIN]:
        with stdin_file() as path:
            return Checkup.of(open_files(path, names, labels))
    address = store_address(paths[0]) if len(paths) == 1 else None
    if address is not None:
        return Checkup.of(open_store(address, names, labels))
    return Checkup.of(open_files([Path(p) for p in paths], names, labels))


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

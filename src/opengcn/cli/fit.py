"""`opengcn fit`: learn from two labelled sets, once."""

from __future__ import annotations

import time
from typing import Annotated, Any, Literal

import typer

from opengcn import __version__
from opengcn.cli.app import app
from opengcn.cli.output import (
    STDOUT,
    Json,
    check_writable,
    collecting_warnings,
    facts,
    people,
    print_json,
    writing,
)
from opengcn.cli.sets import (
    CalLabels,
    EmbeddingColumn,
    LabelColumn,
    LabelSpace,
    TrainLabels,
    read_set,
)
from opengcn.cli.target import share

__all__ = ["fit"]


@app.command()
def fit(
    train: Annotated[
        list[str],
        typer.Option(
            metavar="FILE",
            help="Labelled embeddings of classes that the embedder was trained on (or of any "
            "others, many of them). A .npz, .npy or .parquet file; a folder of parquet files; "
            "or the option several times.",
        ),
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The model file to write; `-` for standard output.",
        ),
    ],
    cal: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Labelled embeddings of some other classes, that the embedder has not seen: "
            "ten are fine, more are better.",
        ),
    ] = None,
    cal_share: Annotated[
        float | None,
        typer.Option(
            parser=share,
            metavar="SHARE",
            help="Instead of --cal: set this share of the classes of --train aside for it, as in "
            "`10%`. For an embedder that was trained on none of them.",
        ),
    ] = None,
    preset: Annotated[
        Literal["default", "paper"],
        typer.Option(help="The method: the most accurate one, or the paper's to the letter."),
    ] = "default",
    seed: Annotated[
        int, typer.Option(min=0, metavar="NUMBER", help="Same seed, same machine: same model.")
    ] = 0,
    episodes: Annotated[
        int | None,
        typer.Option(
            min=10,
            metavar="NUMBER",
            help="Rehearsals of the default preset (3000 unless given). Fewer are faster and "
            "less accurate.",
        ),
    ] = None,
    train_labels: TrainLabels = None,
    cal_labels: CalLabels = None,
    embedding_column: EmbeddingColumn = None,
    label_column: LabelColumn = None,
    label_space: LabelSpace = "shared",
    json: Json = False,
) -> None:
    r"""Fit a model on two labelled sets. It then answers for any number of unlabelled ones.

    No class may be in both sets. Takes a few minutes on two cores with the default settings,
    however large the sets are.

        opengcn fit --train train.parquet --cal cal.parquet -o model.ogcn

        opengcn fit --train labelled.parquet --cal-share 10% -o model.ogcn

        opengcn fit --train train.npy --train-labels train.txt \
                    --cal cal.npy --cal-labels cal.txt -o model.ogcn

    When every file numbers its own classes from 0, add `--label-space separate`. The model
    file holds numbers and text only, and runs no code when it is loaded. It contains up to
    1,024 rows of the calibration set: do not publish it when those are private.
    """
    check_writable(output)
    if (cal is None) == (cal_share is None):
        raise typer.BadParameter(
            f"expected --cal or --cal-share, received {'neither' if cal is None else 'both'}"
        )
    options: dict[str, Any] = {} if episodes is None else {"episodes": episodes}
    if options and preset == "paper":
        raise typer.BadParameter("expected --episodes with the default preset only")
    columns: dict[str, Any] = {
        "embedding": embedding_column,
        "label": label_column,
        "label_space": label_space,
        "labelled": True,
    }
    train_set = read_set(train, "train", labels_file=train_labels, **columns)
    if cal is not None:
        cal_set = read_set(cal, "cal", labels_file=cal_labels, **columns)
    elif cal_share is not None:
        cal_set, train_set = train_set.split_classes(cal_share, seed)

    from opengcn.calibrators.opengcn import OpenGCN

    begin = time.perf_counter()
    with collecting_warnings() as notes:
        model = OpenGCN(preset, seed=seed, **options).fit(train_set, cal_set)
    seconds = time.perf_counter() - begin
    with writing(output, ".ogcn") as path:
        model.save(path)
    sets = {
        name: {"source": data.source, **model.summary_[name]}
        for name, data in (("train", train_set), ("cal", cal_set))
    }
    if json:
        print_json(
            {
                "model": output,
                "preset": preset,
                "seed": seed,
                "dim": model.dim_,
                **sets,
                "seconds": round(seconds, 3),
                "notes": notes,
                "version": __version__,
            }
        )
        return
    rows = [
        (name, f"{s['source']}: {s['rows']:,} rows of {s['classes']:,} classes")
        for name, s in (("trained on", sets["train"]), ("calibrated on", sets["cal"]))
    ]
    rows += [
        ("method", f"{preset} preset, seed {seed}, {model.dim_} dimensions, {seconds:.0f} s"),
        ("model", output),
    ]
    if output != STDOUT:
        rows.append(("next", f"opengcn threshold {output} NEW.parquet --find 90%"))
    people(stderr=output == STDOUT).print(facts(rows))

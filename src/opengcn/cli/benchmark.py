"""`opengcn benchmark`: the paper's scenarios on real data, from embeddings or images to tables."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from opengcn.cli.app import app
from opengcn.cli.output import check_writable, people
from opengcn.errors import DataError

__all__ = ["benchmark"]


@app.command()
def benchmark(
    data: Annotated[
        Path | None,
        typer.Option(
            help="A folder of embeddings or images, or a file; see above. Without it, characters "
            "made on the spot."
        ),
    ] = None,
    scenario: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Some of `samedist`, `shiftdist`, `shiftdist-augmented`, `diffdist` and "
            "`ablation`, with commas between them; all that the data allow by default.",
        ),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Some of `platt`, `beta`, `isotonic`, `histogram`, `dbscan`, `hi-lander`, `hard`, "
            "`paper-pt`, `paper`, `opengcn`, and of the ablation `paper-conn`, `paper-avg`, "
            "`paper-nbr`, `paper-avg-40`; all by default.",
        ),
    ] = None,
    embedder: Annotated[
        Path | None,
        typer.Option(
            help="Embed images with this file, which `opengcn embed --train` wrote. By default a "
            "head is trained on EfficientNet-Lite0."
        ),
    ] = None,
    severities: Annotated[
        str, typer.Option(metavar="NUMBERS", help="Severities of image corruptions, as in 1,3,5.")
    ] = "3",
    splits: Annotated[int, typer.Option(min=1, help="Random splits into D_cal and D_test.")] = 8,
    seeds: Annotated[
        int,
        typer.Option(
            min=1,
            help="Seeds of each method that draws at random; more where the data allow fewer "
            "splits (one of the long tail), so that it runs as often.",
        ),
    ] = 1,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, help="Processes at once, one thread each; all cores by default."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for tables and figures.")] = Path(
        "opengcn-benchmark"
    ),
    results: Annotated[
        Path | None,
        typer.Option(help="File that keeps every finished cell; OUT/results.jsonl by default."),
    ] = None,
    tables_only: Annotated[
        bool, typer.Option("--tables-only", help="Make tables and figures again; run nothing.")
    ] = False,
) -> None:
    r"""Run the paper's scenarios and write its tables and figures with your figures in them.

    **What runs.** A cell is one method on one test set: (scenario, data set, split, seed, method).
    Each method learns from D_train and D_cal, estimates TPR(d) and TNR(d) of D_test without its
    labels, and is measured against the truth.

    - `samedist`: D_cal and D_test are random classes of one data set, one to nine.

    - `shiftdist`: D_test is corrupted (13 kinds of noise, blur, weather and compression);
      D_train and D_cal are clean. `shiftdist-augmented`: corrupted images also join D_train.

    - `diffdist`: D_test is drawn as sketches, comes from another data set, consists of the rare
      classes (D_cal of the frequent ones), or has classes thinned to Zipf sizes.

    - `ablation`: `samedist` with parts of the paper's loss left out.

    Methods are the six baselines of the paper; `hard`, D_cal's TPR beside the TNR of all test
    pairs; `paper`, OpenGCN as published (`paper-pt` without fine-tuning); and `opengcn`.

    **Your data.** A .npz or .parquet file with labels; a folder of .npz files, each a data set; a
    folder of .parquet files, together one; or a folder of class folders of images (or CUB, Cars or
    iNaturalist as distributed), which needs opengcn[vision]: an embedder is trained on the training
    classes, and test images are corrupted and drawn as sketches. The first half of the classes is
    D_train, unless an array `train` in the .npz file says which; of the others a tenth is D_cal.
    NAME_shifted.npz beside NAME.npz holds corrupted test embeddings: docs/benchmark.md describes
    all that may be there.

    **Stop and go on.** Every finished cell is kept in the results file. Killed half way, the same
    command goes on where it was; cells that failed are tried again, those of other data or of
    another version run anew. `--tables-only` makes every table and figure again from that file.

        opengcn benchmark --scenario samedist --data FOLDER
        opengcn benchmark --data birds.parquet --methods isotonic,hard,opengcn --splits 3
        opengcn benchmark --data CUB_200_2011 --severities 1,2,3,4,5
        opengcn benchmark --data FOLDER --results all.jsonl --out docs/results
        opengcn benchmark --results all.jsonl --out docs/results --tables-only

    Time on two cores: a little over an hour for eight data sets of some 10,000 embeddings with 8
    splits, and two hours more for the paper's own methods, which train for one to two minutes a
    split; a few minutes for one scenario and one split. The long tail has one split and takes as
    many seeds instead, each of which learns anew: `--scenario samedist` does without. The time
    left is shown.
    """
    from opengcn.scenarios.definitions import SCENARIOS
    from opengcn.scenarios.methods import METHODS
    from opengcn.scenarios.overview import overview
    from opengcn.scenarios.pages import write_pages
    from opengcn.scenarios.results import read_results

    scenarios = _chosen("scenario", scenario, SCENARIOS)
    names = _chosen("methods", methods, METHODS)
    file = out / "results.jsonl" if results is None else results
    check_writable(str(file))
    if tables_only:
        if not file.exists():
            raise DataError(f"{file}: expected the results of an earlier run, received none")
        found = read_results(file)
    else:
        from opengcn.scenarios.benchmark import run_benchmark
        from opengcn.threads import cores

        found = run_benchmark(
            data,
            file,
            scenarios=scenarios,
            methods=names,
            splits=splits,
            seeds=seeds,
            processes=jobs or cores(),
            severities=_numbers(severities),
            embedder_file=embedder,
        )
    console = people()
    console.print(overview(found, scenarios))
    console.print(f"Tables and figures: {write_pages(found, out)}", markup=False)


def _numbers(text: str) -> list[int]:
    """Return severities given with commas between them."""
    try:
        numbers = sorted({int(part) for part in text.split(",")})
    except ValueError:
        numbers = []
    if not numbers or not set(numbers) <= set(range(1, 6)):
        raise typer.BadParameter(f"expected severities of 1 to 5, as in 1,3,5, received {text!r}")
    return numbers


def _chosen(option: str, names: str | None, known: Iterable[str]) -> list[str]:
    """Return names given with commas between them, in the order of the known ones."""
    known = list(known)
    given = known if names is None else [name.strip() for name in names.split(",")]
    for name in given:
        if name not in known:
            raise typer.BadParameter(f"expected {option} of {', '.join(known)}, received {name!r}")
    return [name for name in known if name in given]

"""The benchmark's pages: tables and figures in markdown, made from results alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

from opengcn.atomic import replacing
from opengcn.scenarios.definitions import SCENARIOS, SUBSTITUTES
from opengcn.scenarios.details import cost_table, opengcn_table
from opengcn.scenarios.figures import draw_ablations, draw_corruptions, draw_curves
from opengcn.scenarios.paper_results import paper_source
from opengcn.scenarios.results import Cell, Result
from opengcn.scenarios.summary import Column, columns_of
from opengcn.scenarios.tables import (
    as_printed,
    global_table,
    loss_table,
    markdown_table,
    pointwise_table,
    stage_table,
)
from opengcn.scenarios.time_left import in_words

__all__ = ["write_pages"]

Results = Mapping[Cell, Result]

PAPER_DATA = ("cars", "cub")  # the paper's own: they have its table to themselves
READING = (
    "MAE_comb in hundredths, mean ± standard deviation over class splits and seeds. Best of a "
    "column in **bold**, second best in *italics*. The rank is that of the mean over all columns, "
    "as in the paper; the average rank is the mean of the ranks in each column. The six baselines "
    "of the paper come first; the hard baseline takes TPR from D_cal and TNR from all pairs of "
    "D_test."
)
PRINTED = (
    "The paper's own figures, as printed, on its own embeddings (ResNet-50) and without a spread. "
    "Compare the order of the methods and the improvements, not the digits."
)


def write_pages(results: Results, folder: Path) -> Path:
    """Write every table and figure that the results allow.

    Parameters
    ----------
    results : mapping of Cell to Result
        See `opengcn.scenarios.results.read_results`.
    folder : Path
        Where to. Files of the same names are replaced.

    Returns
    -------
    index : Path
        The first page.
    """
    pages = {
        "samedist": _samedist(results, folder),
        "shiftdist": _shiftdist(results, folder),
        "diffdist": _diffdist(results, folder),
        "ablations": _ablations(results, folder),
    }
    written = {name: parts for name, content in pages.items() if (parts := list(content))}
    for name, parts in written.items():
        _write(folder / f"{name}.md", parts)
    index = folder / "index.md"
    _write(index, [*_index(results), _links(list(written))])
    return index


def _samedist(results: Results, folder: Path) -> Iterator[str]:
    columns = columns_of(results, "samedist")
    if not columns:
        return
    yield from _heading("samedist")
    yield f"## Whole curves\n\n{READING}"
    yield global_table(results, "samedist", columns)
    yield f"{PRINTED}\n\n{as_printed('samedist_global')}"
    yield (
        "## At a target\n\nAbsolute error in points of 100. Thresholds are interpolated between "
        "points of the grid; the paper's lie on it."
    )
    usual = [c for c in columns if c.data in PAPER_DATA]
    for part in (usual, [c for c in columns if c not in usual]):
        if part:
            yield pointwise_table(results, part)
    yield f"{PRINTED}\n\n{as_printed('samedist_pointwise')}"
    yield from _curves(results, "samedist", columns, folder)


def _shiftdist(results: Results, folder: Path) -> Iterator[str]:
    some = False
    for scenario in ("shiftdist", "shiftdist-augmented"):
        columns = columns_of(results, scenario)
        if not columns:
            continue
        some = True
        yield from _heading(scenario)
        yield READING
        for data in dict.fromkeys(c.data for c in columns):
            own = [c for c in columns if c.data == data]
            yield f"## {own[0].title.partition(':')[0]}"
            yield global_table(results, scenario, own)
            figure = folder / "figures" / f"{scenario}-{data}.svg"
            draw_corruptions(results, scenario, data, figure)
            yield f"![MAE_comb by corruption](figures/{quote(figure.name)})"
        yield from _curves(results, scenario, columns, folder)
    if some:
        yield f"## The paper's figures, on Cars\n\n{PRINTED}\n\n{as_printed('shiftdist')}"


def _diffdist(results: Results, folder: Path) -> Iterator[str]:
    columns = columns_of(results, "diffdist")
    if not columns:
        return
    yield from _heading("diffdist")
    yield READING
    used = [text for data, text in SUBSTITUTES.items() if data in {c.data for c in columns}]
    if used:
        yield ". ".join([*used, "No embeddings of iNaturalist were at hand."])
    yield global_table(results, "diffdist", columns)
    yield f"{PRINTED}\n\n{as_printed('diffdist')}"
    yield from _curves(results, "diffdist", columns, folder)


def _ablations(results: Results, folder: Path) -> Iterator[str]:
    loss, stages = columns_of(results, "ablation"), stage_table(results)
    if not loss and not stages:
        return
    yield "# Ablations of the paper's method"
    if loss:
        yield (
            "## Loss terms\n\nMAE_comb in hundredths. The control trains on the same loss as "
            "+ 10 L_nbr, written in another way: what the two differ by is noise."
        )
        yield loss_table(results)
    if stages:
        yield (
            "## Two stages\n\nMAE_comb in hundredths before (PT) and after (PT+FT) fine-tuning on "
            "D_cal; in brackets how far the second lies below the first."
        )
        yield stages
        yield f"{PRINTED}\n\n{as_printed('two_stage_ablation')}"
    if draw_ablations(results, folder / "figures" / "ablations.svg"):
        yield "![MAE_comb of the ablations](figures/ablations.svg)"


def _index(results: Results) -> Iterator[str]:
    done = {c: r for c, r in results.items() if not r.failure and not r.is_truth}
    yield "# Benchmark"
    yield "Made by `opengcn benchmark`; `opengcn benchmark --help` tells how."
    machines = sorted({", ".join(f"{k} {v}" for k, v in r.made_by.items()) for r in done.values()})
    seconds = sum(r.seconds["spent"] for r in done.values())
    yield (
        f"{len(done)} cells (a method on a test set), {_runs(done)}; {in_words(seconds)} of one "
        f"core. {'; '.join(machines)}."
    )
    table = opengcn_table(results)
    if table:
        yield (
            "## The default OpenGCN in every setting\n\nMAE_comb; the worst run against the hard "
            "baseline; the error when the number of classes is given as a hint; errors at a target "
            "in points of 100; the true false positive rate over what was asked for; how often the "
            "90 % band holds the truth where 0.02 < truth < 0.98, and its mean width."
        )
        yield table
    yield (
        "## Cost\n\nOne thread. What depends on D_train alone is computed once for all splits of a "
        "seed, and paid by the first."
    )
    yield cost_table(results)
    failed = [[str(c), r.failure.replace("|", "\\|")] for c, r in results.items() if r.failure]
    if failed:
        yield f"## Failed\n\n{markdown_table(['cell', 'reason'], failed)}"


def _runs(done: Results) -> str:
    """Say how many splits and seeds there are, and of which test sets other numbers."""
    runs: dict[Column, set[tuple[int, int]]] = {}
    for cell in done:
        runs.setdefault(Column.of(cell), set()).add((cell.split, cell.seed))
    counts = {
        column: (len({split for split, _ in own}), len({seed for _, seed in own}))
        for column, own in runs.items()
    }
    if not counts:
        return "no split"
    ((usual, _),) = Counter(counts.values()).most_common(1)
    others = [f"{c.title} {a} and {b}" for c, (a, b) in counts.items() if (a, b) != usual]
    said = f"class splits and seeds: {usual[0]} and {usual[1]}"
    return said + (f" ({', '.join(sorted(others))})" if others else "")


def _links(pages: list[str]) -> str:
    lines = [f"- [{name}]({name}.md)" for name in pages]
    return "\n".join(["## Pages", "", *lines, "", f"The paper: {paper_source()}"])


def _heading(scenario: str) -> Iterator[str]:
    yield f"# {SCENARIOS[scenario].title}"
    yield SCENARIOS[scenario].about


def _curves(results: Results, scenario: str, columns: list[Column], folder: Path) -> Iterator[str]:
    yield "## Curves"
    for column in columns:
        name = f"curves-{scenario}-{column.data}-{column.test}.svg"
        if draw_curves(results, scenario, column, folder / "figures" / name):
            yield f"![Estimated and true curves, {column.title}](figures/{quote(name)})"


def _write(path: Path, parts: list[str]) -> None:
    with replacing(path) as temporary:
        temporary.write_text("\n\n".join(parts) + "\n", encoding="utf-8")

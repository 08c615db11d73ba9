"""The paper's results tables in markdown, with our figures, and as printed there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from opengcn.metrics import rank_methods
from opengcn.scenarios.definitions import SCENARIOS
from opengcn.scenarios.methods import ABLATIONS, METHODS
from opengcn.scenarios.paper_results import paper_table
from opengcn.scenarios.results import Cell, Result
from opengcn.scenarios.summary import Column, Entry, best_baseline, columns_of, entries

__all__ = [
    "as_printed",
    "global_table",
    "loss_table",
    "markdown_table",
    "pointwise_table",
    "stage_table",
]

Results = Mapping[Cell, Result]
Columns = Mapping[str, Mapping[str, Entry]]  # by title, then by method

TARGETS = {
    "ae_tpr_80": "TPR=80 %",
    "ae_tpr_90": "TPR=90 %",
    "ae_tnr_80": "TNR=80 %",
    "ae_tnr_90": "TNR=90 %",
}
FACTOR = 100  # errors are shown in hundredths
NO_SPREAD = Entry(np.array([]))


def global_table(results: Results, scenario: str, columns: Sequence[Column]) -> str:
    """Return a table of MAE_comb, methods down and columns across.

    Parameters
    ----------
    results : mapping of Cell to Result
        All results.
    scenario : str
        A key of `SCENARIOS`.
    columns : sequence of Column
        Which columns.

    Returns
    -------
    markdown : str
        Mean ± standard deviation in hundredths; best in bold, second best in italics; ranks;
        improvements.
    """
    # In a table of corruptions the data set is the same throughout: name it once, above.
    one_data = len({c.data for c in columns}) == 1 and len(columns) > 1
    titles = [c.title.partition(": ")[2] if one_data else c.title for c in columns]
    found = {t: entries(results, scenario, c) for t, c in zip(titles, columns, strict=True)}
    return _method_table(found, SCENARIOS[scenario].methods)


def pointwise_table(results: Results, columns: Sequence[Column]) -> str:
    """Return the table of absolute errors at four targets, in SameDist.

    Parameters
    ----------
    results : mapping of Cell to Result
        All results.
    columns : sequence of Column
        The data sets.

    Returns
    -------
    markdown : str
        Mean ± standard deviation in points of 100.
    """
    found = {
        f"{target}: {column.title}": entries(results, "samedist", column, value)
        for value, target in TARGETS.items()
        for column in columns
    }
    return _method_table(found, SCENARIOS["samedist"].methods, improvements=False)


def as_printed(name: str) -> str:
    """Return a table of the paper with its own figures, in the layout of ours.

    Parameters
    ----------
    name : str
        See `opengcn.scenarios.paper_results.paper_table`.

    Returns
    -------
    markdown : str
        MAE_comb in hundredths, absolute errors in points of 100.
    """
    table = paper_table(name)
    factor = 1 if "points" in table.unit else FACTOR
    heading = ["method (paper's figures)", *map(_heading, table.columns)]
    marks = [_marks(column) for column in zip(*table.rows.values(), strict=True)]
    rows = [
        [
            "OpenGCN (the paper's)" if method == "paper" else _title(method),
            *(marks[i][place].format(_printed(factor * v)) for i, v in enumerate(row)),
        ]
        for place, (method, row) in enumerate(table.rows.items())
    ]
    if table.rank:
        heading.append("rank")
        rows = [[*row, str(table.rank[m])] for row, m in zip(rows, table.rows, strict=True)]
    if table.improvement:
        printed = [f"{v:.2f} %" for v in table.improvement]
        average = [f"{table.improvement_average:.2f} % (avg.)"] if table.rank else []
        rows.append(["improvement over the best baseline", *printed, *average])
    return markdown_table(heading, rows)


def loss_table(results: Results) -> str:
    """Return the ablation of the loss terms, a row a data set, and the paper's row.

    Parameters
    ----------
    results : mapping of Cell to Result
        All results.

    Returns
    -------
    markdown : str
        MAE_comb in hundredths.
    """
    rows = []
    for column in columns_of(results, "ablation"):
        same = entries(results, "samedist", column)
        parts = entries(results, "ablation", column)
        best = best_baseline(same)
        rows.append(
            [
                column.title,
                f"{_number(same[best])} ({METHODS[best].title})" if best else "-",
                *(_number(parts.get(name, NO_SPREAD)) for name in ABLATIONS[:3]),
                _number(same.get("paper", NO_SPREAD)),
                _number(parts.get(ABLATIONS[3], NO_SPREAD)),
            ]
        )
    printed = [_printed(FACTOR * row[0]) for row in paper_table("loss_ablation").rows.values()]
    rows.append(["iNaturalist (paper's figures)", *printed, "-"])
    terms = [METHODS[name].title for name in ABLATIONS]
    heading = ["data", "best baseline", *terms[:3], "+ 10 (L_avg + L_nbr)", terms[3]]
    return markdown_table(heading, rows)


def stage_table(results: Results) -> str:
    """Return the ablation of the two stages: before and after fine-tuning on D_cal.

    Parameters
    ----------
    results : mapping of Cell to Result
        All results.

    Returns
    -------
    markdown : str
        MAE_comb in hundredths, with the improvement; "" when nothing was run.
    """
    columns = {c: entries(results, "samedist", c) for c in columns_of(results, "samedist")}
    columns = {c: e for c, e in columns.items() if {"paper", "paper-pt"} <= set(e)}
    if not columns:
        return ""
    before = [_number(e["paper-pt"]) for e in columns.values()]
    after = [
        f"{_number(e['paper'])} ({_below(e['paper'].mean, e['paper-pt'].mean)})"
        for e in columns.values()
    ]
    heading = ["method", *(c.title for c in columns)]
    rows = [[METHODS["paper-pt"].title, *before], [METHODS["paper"].title, *after]]
    return markdown_table(heading, rows)


def markdown_table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in markdown, the first column to the left and the others to the right.

    Parameters
    ----------
    heading : sequence of str
        Titles.
    rows : sequence of sequence of str
        Cells.

    Returns
    -------
    markdown : str
        Without a line break at the end.
    """
    rule = "|---|" + "---:|" * (len(heading) - 1)
    lines = ["| " + " | ".join(line) + " |" for line in (heading, *rows)]
    return "\n".join([lines[0], rule, *lines[1:]])


def _method_table(found: Columns, methods: Sequence[str], *, improvements: bool = True) -> str:
    shown = [m for m in methods if any(m in column for column in found.values())]
    means = {m: [c.get(m, NO_SPREAD).mean for c in found.values()] for m in shown}
    ranks = rank_methods(means)
    by_column = [rank_methods({m: [row[i]] for m, row in means.items()}) for i in range(len(found))]
    marks = [_marks([row[i] for row in means.values()]) for i in range(len(found))]
    rows = []
    for place, method in enumerate(shown):
        cells = [
            marks[i][place].format(_number(column.get(method, NO_SPREAD)))
            for i, column in enumerate(found.values())
        ]
        average = np.mean([ranked[method] for ranked in by_column])
        rows.append([_title(method), *cells, str(ranks[method]), f"{average:.1f}"])
    if improvements:
        rows += _improvements(found, shown)
    heading = ["method", *map(_heading, found), "rank", "average rank"]
    return "\n".join([markdown_table(heading, rows), *_notes(found)])


def _improvements(found: Columns, shown: Sequence[str]) -> list[list[str]]:
    """Say how far OpenGCN's errors lie below those of what it should beat."""
    rows = []
    for method in ("paper", "opengcn"):
        for rival in ("best of the six", "hard"):
            if method not in shown or (rival == "hard" and "hard" not in shown):
                continue
            title = f"{METHODS[method].title}: below the {rival}"
            cells, shares = [], []
            for column in found.values():
                name = "hard" if rival == "hard" else best_baseline(column)
                own, other = (column.get(m, NO_SPREAD).mean for m in (method, name))
                cells.append(_below(own, other))
                shares.append(1 - own / other)
            average = np.mean(shares)
            rows.append([title, *cells, "" if np.isnan(average) else f"{average:.0%} (avg.)", ""])
    return rows


def _notes(found: Columns) -> list[str]:
    """Say which numbers rest on fewer runs than their neighbours."""
    notes = []
    for title, column in found.items():
        most = max((entry.splits for entry in column.values()), default=0)
        for method, entry in column.items():
            name = METHODS[method].title
            reason = f": {entry.failures[0]}" if entry.failures else ""
            if entry.splits < most:
                notes.append(f"\n{name} has {entry.splits} of {most} splits on {title}{reason}")
            elif entry.runs_missing:  # of splits that have others: seeds
                runs = len(entry.runs) + entry.runs_missing
                notes.append(f"\n{name} has {len(entry.runs)} of {runs} runs on {title}{reason}")
    return notes


def _marks(means: Sequence[float]) -> list[str]:
    """Return how each number of a column is set: the best bold, the second best in italics."""
    shown = np.round(means, 4)  # what looks the same is marked the same
    levels = np.unique(shown[~np.isnan(shown)])
    styles = dict(zip(levels[:2], ("**{}**", "*{}*"), strict=False))
    return [styles.get(v, "{}") for v in shown]


def _number(entry: Entry) -> str:
    if np.isnan(entry.mean):
        return "failed" if entry.failures else "-"
    number = f"{FACTOR * entry.mean:.2f}"
    return number if np.isnan(entry.spread) else f"{number} ± {FACTOR * entry.spread:.2f}"


def _printed(value: float) -> str:
    """Show a number with the three digits that the paper prints."""
    return f"{value:#.3g}"


def _below(own: float, other: float) -> str:
    share = 1 - own / other
    return "-" if np.isnan(share) else f"{share:.0%}"


def _title(method: str) -> str:
    if method not in METHODS:
        return method
    title = METHODS[method].title
    return f"**{title}**" if method == "opengcn" else title


def _heading(title: str) -> str:
    """Break a title such as "Noise: Gauss" in two lines, as the paper has it."""
    return title.replace(": ", "<br>")

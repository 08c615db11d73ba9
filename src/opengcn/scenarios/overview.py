"""The results on one screen: a row a setting, OpenGCN beside what it should beat."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from opengcn.scenarios.definitions import SCENARIOS
from opengcn.scenarios.results import Cell, Result
from opengcn.scenarios.summary import Entry, best_baseline, columns_of, entries

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["overview"]

SHOWN = ("hard", "paper", "opengcn")


def overview(results: Mapping[Cell, Result], scenarios: Iterable[str]) -> Table:
    """Return a table for the terminal.

    Parameters
    ----------
    results : mapping of Cell to Result
        All results.
    scenarios : iterable of str
        Which to show.

    Returns
    -------
    table : rich.table.Table
        Mean MAE_comb in hundredths. The ablation is left to its page.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(title="MAE_comb, hundredths", box=box.SIMPLE_HEAD)
    table.add_column("", no_wrap=True)
    table.add_column("best baseline", justify="right", no_wrap=True)
    for name in SHOWN:
        table.add_column(name, justify="right", no_wrap=True)
    for scenario in scenarios:
        columns = columns_of(results, scenario)
        if scenario == "ablation" or not columns:
            continue
        table.add_section()
        table.add_row(Text(SCENARIOS[scenario].title, "bold"))
        for column in columns:
            found = entries(results, scenario, column)
            best = best_baseline(found)
            baseline = f"{best} {_number(found[best])}" if best else "-"
            numbers = (_number(found.get(name)) for name in SHOWN)
            table.add_row(Text(column.title), baseline, *numbers)  # names are no markup
    return table


def _number(entry: Entry | None) -> str:
    if entry is None or not len(entry.runs):
        return "-"
    return f"{100 * entry.mean:.2f}"

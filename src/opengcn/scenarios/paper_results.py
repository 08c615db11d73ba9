"""The figures that the paper prints, for comparison; transcribed in paper_results.json."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["PaperTable", "paper_source", "paper_table"]


@dataclass(frozen=True)
class PaperTable:
    """One table of the paper.

    Attributes
    ----------
    unit : str
        What the numbers are.
    columns : list of str
        Titles.
    rows : dict of str to list of float
        Numbers by method, one for each column.
    rank : dict of str to int
        The printed ranks; empty where none are printed.
    improvement : list of float
        Improvement over the best baseline, in percent, as printed; empty likewise.
    improvement_average : float or None
        As printed. Some do not agree with the rows that they average.
    """

    unit: str
    columns: list[str]
    rows: dict[str, list[float]]
    rank: dict[str, int] = field(default_factory=dict)
    improvement: list[float] = field(default_factory=list)
    improvement_average: float | None = None


def paper_table(name: str) -> PaperTable:
    """Return a table of the paper.

    Parameters
    ----------
    name : str
        ``samedist_pointwise``, ``samedist_global``, ``shiftdist``, ``diffdist``,
        ``loss_ablation`` or ``two_stage_ablation``.

    Returns
    -------
    table : PaperTable
        Its numbers.

    Examples
    --------
    >>> paper_table("samedist_global").rows["paper"]
    [0.00525, 0.0065, 0.00482]
    """
    return PaperTable(**_read()[name])


def paper_source() -> str:
    """Return where the figures come from.

    Returns
    -------
    source : str
        A citation.
    """
    return str(_read()["source"])


@cache
def _read() -> dict[str, Any]:
    text = files("opengcn.scenarios").joinpath("paper_results.json").read_text("utf-8")
    read: dict[str, Any] = json.loads(text)
    return read

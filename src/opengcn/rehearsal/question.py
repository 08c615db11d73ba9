"""What is asked: views of a set, and what is believed of it beforehand."""

from __future__ import annotations

from dataclasses import dataclass

from opengcn.rehearsal.examples import View
from opengcn.rehearsal.mates import Correction

__all__ = ["Asked"]


@dataclass(frozen=True, eq=False)
class Asked:
    """A set to be read.

    Attributes
    ----------
    seen : list of View
        Views of its graphs.
    nodes : int
        Of each graph.
    correction : Correction
        Of D_cal's curve, by what its nodes see, for each of `candidates`.
    suggested : float
        Its share of same-class pairs, the prior, were its classes as large as D_cal's.
    hint : float or None
        Its prior, if a user has said so.
    """

    seen: list[View]
    nodes: int
    correction: Correction
    suggested: float
    hint: float | None = None

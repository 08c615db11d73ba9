"""What is asked: views of a set, and what is believed of it beforehand."""

from __future__ import annotations

from dataclasses import dataclass, field

from opengcn.rehearsal.examples import View
from opengcn.rehearsal.level import Said
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
    level : Said or None
        How much larger its same-class distances are than D_cal's, on average, by the directions
        in which it varies: see `opengcn.rehearsal.level`.
    stand_ins : list of View
        Of graphs with D_cal's rows in the place of nodes, as many class mates as `hint` or
        `suggested` says: see `opengcn.rehearsal.stand_ins`. Empty for a small set.
    """

    seen: list[View]
    nodes: int
    correction: Correction
    suggested: float
    hint: float | None = None
    level: Said | None = None
    stand_ins: list[View] = field(default_factory=list)

"""What the networks are asked: views of a set, and what is believed of it beforehand."""

from __future__ import annotations

from dataclasses import dataclass

from opengcn.rehearsal.examples import View

__all__ = ["Asked", "Guess"]


@dataclass(frozen=True)
class Guess:
    """What is believed of the prior beforehand.

    Attributes
    ----------
    prior : float
        Share of same-class pairs among all pairs.
    sure : bool
        True when a user has said so, False when it comes from the class sizes of D_cal.
    """

    prior: float
    sure: bool = False


@dataclass(frozen=True, eq=False)
class Asked:
    """A set about which the networks are asked.

    Attributes
    ----------
    seen : list of View
        Views of its graphs.
    guess : Guess or None
        What is believed of its prior.
    nodes : int
        Of each graph.
    """

    seen: list[View]
    guess: Guess | None
    nodes: int

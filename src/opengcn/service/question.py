"""What a client asks: a target, what it knows of its data, and which model to ask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from opengcn.errors import OpenGCNError

__all__ = ["Question", "in_one_line"]

SHOWN = 60  # characters of a wrong value that a message repeats

Share = Annotated[FiniteFloat, Field(gt=0, le=1)]


class Question(BaseModel):
    """The target and the hints, as in ``OpenGCN.estimate`` and ``OperatingCurve.threshold``.

    It comes in the query string; a set in JSON may carry fields of its own, which then
    stand before those of the query string.
    """

    model_config = ConfigDict(extra="forbid")

    model: str | None = Field(
        None, description="Name of the model; not needed when only one is served."
    )
    tpr: Share | None = Field(
        None, description="Target: find at least this share of the true matches."
    )
    tnr: Share | None = Field(
        None, description="Target: reject at least this share of the strangers."
    )
    confidence: Annotated[FiniteFloat, Field(ge=0.5, lt=1)] | None = Field(
        None, description="Reach the target with this confidence, rather than by the estimate."
    )
    n_classes: Annotated[FiniteFloat, Field(ge=1)] | None = Field(
        None, description="Hint: how many classes the set has, roughly."
    )
    prior: Share | None = Field(
        None, description="The same hint as the share of same-class pairs; give one or none."
    )
    curve: bool = Field(True, description="Whether to return the operating curve and its band.")

    def followed_by(self, own: Question) -> Question:
        """Return the question of a set that comes with fields of its own.

        Parameters
        ----------
        own : Question
            Fields that it sets stand before those of this question.

        Returns
        -------
        question : Question
            Both in one.
        """
        given = {name: getattr(own, name) for name in own.model_fields_set & set(_FIELDS)}
        return self.model_copy(update=given)

    def check(self) -> None:
        """Refuse a question without a single target, before anything is computed for it."""
        if (self.tpr is None) == (self.tnr is None):
            given = "neither" if self.tpr is None else "both"
            raise OpenGCNError(f"target: expected one of tpr and tnr, received {given}")
        if self.n_classes is not None and self.prior is not None:
            raise OpenGCNError("hint: expected n_classes or prior, received both")


_FIELDS = tuple(Question.model_fields)


def in_one_line(errors: Sequence[Any]) -> str:
    """Say in one line, and in the words of this package, what pydantic found.

    Parameters
    ----------
    errors : sequence of dict
        As from ``ValidationError.errors()``.

    Returns
    -------
    text : str
        As in "tpr: expected less than or equal to 1, received 1.5".
    """
    first = errors[0]
    where = ".".join(str(part) for part in first["loc"] if part != "query") or "body"
    if first["type"] == "extra_forbidden":
        return f"{where}: expected no such name; known are {', '.join(_FIELDS)}"
    if first["type"] == "missing":
        return f"{where}: expected a value, received none"
    if first["type"] == "json_invalid":
        return f"body: expected JSON, received something else ({first['ctx']['error']})"
    expected = first["msg"].replace("Input should be", "expected")
    received = repr(first.get("input"))
    if len(received) > SHOWN:
        received = received[:SHOWN] + "..."
    return f"{where}: {expected}, received {received}"

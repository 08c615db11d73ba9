"""The shapes of what the service answers, for the OpenAPI description."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

__all__ = ["Answer", "Answers", "ModelInfo", "Problem"]

Rate = list[float | None]


class ThresholdShape(BaseModel):
    """A threshold: two samples match when their distance is strictly below `distance`."""

    distance: float = Field(ge=0, le=2, description="L2 distance of unit vectors.")
    cosine: float = Field(description="The same threshold as a cosine similarity.")
    squared_l2: float = Field(description="The same threshold as a squared L2 distance.")
    rule: str = Field(description="When two samples match, in words.")
    target: str = Field(description="What was asked for.")
    tpr: float | None = Field(description="Share of true matches found; null when unknown.")
    tnr: float | None = Field(description="Share of strangers rejected; null when unknown.")
    tpr_low: float | None = Field(description="Ends of 90 % intervals, null without a band.")
    tpr_high: float | None
    tnr_low: float | None
    tnr_high: float | None
    distance_low: float | None
    distance_high: float | None


class CurveShape(BaseModel):
    """An operating curve on 201 distances; the band is absent when the model has none."""

    source: str
    info: dict[str, Any]
    distances: list[float]
    tpr: Rate
    tnr: Rate
    tpr_low: Rate | None = None
    tpr_high: Rate | None = None
    tnr_low: Rate | None = None
    tnr_high: Rate | None = None


class Answer(BaseModel):
    """The answer for one set."""

    model: str
    rows: int
    threshold: ThresholdShape
    curve: CurveShape | None = Field(description="Null when it was not asked for.")
    warnings: list[str] = Field(description="What a reader of the numbers should know.")


class SetAnswer(BaseModel):
    """The answer for one of several sets: `answer`, or `error` when the set is at fault."""

    id: str
    answer: Answer | None
    error: str | None


class Answers(BaseModel):
    """The answers for several sets."""

    sets: list[SetAnswer]


class Problem(BaseModel):
    """What went wrong, in one line."""

    detail: str
    id: str | None = Field(None, description="Finds it in the log when the service is at fault.")


class ModelInfo(BaseModel):
    """A model that is served."""

    name: str
    preset: str
    dim: int = Field(description="Dimension that embeddings must have.")
    summary: dict[str, Any] = Field(description="Rows and classes of D_train and D_cal.")

"""The target of a threshold, as people type it: `--find 90%` or `--tpr 0.9`."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["Confidence", "Tnr", "Tpr", "check_target", "share"]


def share(text: str | float) -> float:
    """Read a share in (0, 1], with or without a percent sign.

    Parameters
    ----------
    text : str or float
        As typed, or a default.

    Returns
    -------
    share : float
        The share.

    Examples
    --------
    >>> share("90%"), share("0.9")
    (0.9, 0.9)
    """
    digits = str(text).strip()
    percent = digits.endswith("%")
    try:
        number = float(digits.removesuffix("%"))
    except ValueError:
        number = float("nan")
    found = number / 100 if percent else number
    if not 0 < found <= 1:
        hint = f"; did you mean {digits}%?" if not percent and 2 <= number <= 100 else ""
        raise typer.BadParameter(f"expected a share such as 90% or 0.9, received {text!r}{hint}")
    return found


Tpr = Annotated[
    float | None,
    typer.Option(
        "--tpr",
        "--find",
        parser=share,
        metavar="SHARE",
        help="Find at least this share of the true matches, as in `0.9` or `90%`.",
    ),
]
Tnr = Annotated[
    float | None,
    typer.Option(
        "--tnr",
        "--reject",
        parser=share,
        metavar="SHARE",
        help="Reject at least this share of the strangers, as in `0.999` or `99.9%`.",
    ),
]


def _confidence(text: str | float) -> float:
    found = share(text)
    if not 0.5 <= found <= 0.999:
        raise typer.BadParameter(f"expected a confidence from 50% to 99.9%, received {text!r}")
    return found


Confidence = Annotated[
    float | None,
    typer.Option(
        parser=_confidence,
        metavar="SHARE",
        help="Reach the target with this confidence, as in `0.9` or `90%`, rather than by the "
        "best estimate. Intervals are those of 90 % in any case.",
    ),
]


def check_target(tpr: float | None, tnr: float | None) -> None:
    """Refuse a command without a target or with two.

    Parameters
    ----------
    tpr, tnr : float or None
        What the options hold.
    """
    if (tpr is None) == (tnr is None):
        raise typer.BadParameter(
            "expected one target, --find SHARE (--tpr) or --reject SHARE (--tnr), received "
            + ("none" if tpr is None else "both")
        )

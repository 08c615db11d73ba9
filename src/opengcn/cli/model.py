"""A model file named on the command line, and the hints that its estimate takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from opengcn.calibrators.opengcn import OpenGCN
    from opengcn.curve import OperatingCurve

__all__ = ["Classes", "ModelFile", "Prior", "calibration_curve"]

ModelFile = Annotated[
    str, typer.Argument(metavar="MODEL", help="A model file that `opengcn fit` wrote.")
]
Classes = Annotated[
    float | None,
    typer.Option(
        "--n-classes",
        min=1,
        metavar="NUMBER",
        help="How many classes (people, products, ...) the set has, roughly, if you know.",
    ),
]
Prior = Annotated[
    float | None,
    typer.Option(
        "--prior",
        min=0,
        max=1,
        metavar="SHARE",
        help="The same hint as a share of same-class pairs among all pairs.",
    ),
]


def calibration_curve(model: OpenGCN) -> OperatingCurve | None:
    """Return the exact curve of the set that a model was calibrated on, when it has kept it.

    Parameters
    ----------
    model : OpenGCN
        Fitted.

    Returns
    -------
    curve : OperatingCurve or None
        None with the paper's preset.
    """
    return getattr(model, "cal_curve_", None)

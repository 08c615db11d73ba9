"""What is kept of an estimate: its errors against the truth, and the curves."""

from __future__ import annotations

import numpy as np

from opengcn.curve import BAND, OperatingCurve
from opengcn.errors import OpenGCNError
from opengcn.metrics import ae_tnr, ae_tpr, mae_parts

__all__ = ["curves_of", "measure"]

INNER = (0.02, 0.98)  # truth beyond these is easy to cover, and nobody asks for it
STRICT = (0.99, 0.999)  # targets of TNR whose true FPR is kept
DIGITS = 5  # of the rates kept for figures


def measure(curve: OperatingCurve, truth: OperatingCurve) -> dict[str, float]:
    """Measure an estimated curve.

    Parameters
    ----------
    curve, truth : OperatingCurve
        The estimate and the exact curve.

    Returns
    -------
    values : dict of str to float
        ``mae`` (MAE_comb) and its parts ``mae_tpr`` and ``mae_tnr``; ``ae_tpr_80``,
        ``ae_tpr_90``, ``ae_tnr_80``, ``ae_tnr_90``; ``fpr_at_tnr_99`` and
        ``fpr_at_tnr_99.9``, the true false positive rate at the threshold chosen for that
        TNR; of a curve with a band also ``tpr_covered``, ``tpr_width``, ``tnr_covered`` and
        ``tnr_width``, its coverage and mean width where 0.02 < truth < 0.98. NaN where the
        curve has no threshold for a target.
    """
    tpr_part, tnr_part = mae_parts(curve, truth)
    values = {"mae": tpr_part + tnr_part, "mae_tpr": tpr_part, "mae_tnr": tnr_part}
    for percent in (80, 90):
        for rate, error in (("tpr", ae_tpr), ("tnr", ae_tnr)):
            try:
                values[f"ae_{rate}_{percent}"] = error(curve, truth, percent / 100)
            except OpenGCNError:  # the estimated rate never gets there
                values[f"ae_{rate}_{percent}"] = float("nan")
    for target in STRICT:
        chosen = curve.threshold(tnr=target).distance
        values[f"fpr_at_tnr_{100 * target:g}"] = 1 - truth.at(chosen).tnr
    return values | (_band_quality(curve, truth) if curve.has_band else {})


def _band_quality(curve: OperatingCurve, truth: OperatingCurve) -> dict[str, float]:
    found = {}
    for rate in ("tpr", "tnr"):
        low, high = getattr(curve, f"{rate}_low"), getattr(curve, f"{rate}_high")
        true = getattr(truth, rate)
        inner = (true > INNER[0]) & (true < INNER[1])
        inside = ((low <= true) & (true <= high))[inner]
        found[f"{rate}_covered"] = float(inside.mean()) if inner.any() else float("nan")
        found[f"{rate}_width"] = float((high - low)[inner].mean()) if inner.any() else float("nan")
    return found


def curves_of(curve: OperatingCurve) -> dict[str, list[float]]:
    """Return the rates of a curve, rounded for the results file.

    Parameters
    ----------
    curve : OperatingCurve
        The curve.

    Returns
    -------
    rates : dict of str to list of float
        ``tpr``, ``tnr`` and the four edges of the band, if there is one; 201 numbers each.
    """
    names = ("tpr", "tnr", *(BAND if curve.has_band else ()))
    return {name: np.round(getattr(curve, name), DIGITS).tolist() for name in names}

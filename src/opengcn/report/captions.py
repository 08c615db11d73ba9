"""The sentences around the charts, as HTML."""

from __future__ import annotations

from collections.abc import Collection
from html import escape

from opengcn.curve import OperatingCurve
from opengcn.report.target import Target
from opengcn.report.usual_targets import known_prior, look_up
from opengcn.report.wording import SPACE, interval, percent, strangers, true_share
from opengcn.threshold import Threshold

__all__ = [
    "about",
    "asked",
    "beside_pairs",
    "contrast",
    "expected",
    "key",
    "pairs",
    "strictness",
    "warning",
]

VIEWS = {"zoom": "Zoomed to same class", "log": "Logarithmic"}


def asked(threshold: Threshold, target: Target | None) -> str:
    """Say what the threshold was asked for."""
    if target is not None:
        return f"Asked to {target.task}"
    return f"Asked for {escape(threshold.target)}" if threshold.target else "Chosen by hand"


def expected(chosen: Threshold) -> str:
    """Say what the chosen threshold is expected to do."""
    rates = []
    for name in ("tpr", "tnr"):
        rate = getattr(chosen, name)
        share = percent(rate) if rate == rate else "an unknown share"
        rates.append(f'<strong class="{name}">{share}</strong>')
        low, high = getattr(chosen, f"{name}_low"), getattr(chosen, f"{name}_high")
        if low == low:
            which = f"90{SPACE}% interval " if name == "tpr" else ""
            rates[-1] += f" <span>({which}{interval(low, high)})</span>"
    let_in = f": {strangers(chosen.tnr)}" if chosen.tnr == chosen.tnr else ""
    return (
        f"Expected to find {rates[0]} of the true matches and to reject {rates[1]} of the "
        f"strangers{let_in}."
    )


def warning(curve: OperatingCurve, target: Target | None) -> str:
    """Say why the answer should not be trusted as it stands; "" when nothing speaks against."""
    reasons = []
    if target is not None and (reason := look_up(curve, target).reason):
        reasons.append(f"Do not rely on this threshold. {reason}.")
    if not curve.has_band:
        reasons.append("This method does not say how sure it is, so there are no intervals.")
    return "".join(f'<p class="warning">{escape(reason)}</p>' for reason in reasons)


def key(curve: OperatingCurve, reference: OperatingCurve | None) -> str:
    """Say what is shaded and what is dashed."""
    band = f" Shaded: 90{SPACE}% interval." if curve.has_band else ""
    return band if reference is None else f"{band} Dashed: the calibration set."


def beside_pairs(chosen: Threshold, prior: float | None, views: Collection[str]) -> str:
    """Return the choice of the scale and the share of true matches; "" without a prior."""
    if prior is None or not views:
        return ""
    radios = "".join(
        f'<label><input type="radio" name="view" value="{view}"{" checked" * (k == 0)}>'
        f"{VIEWS[view]}</label>"
        for k, view in enumerate(views)
    )
    return (
        f'<fieldset class="choice"><legend>Scale</legend>{radios}</fieldset>'
        '<dl class="readout"><div class="big rate"><dt>True matches among the pairs below the '
        f'threshold</dt><dd data-show="true_share">{percent(true_share(chosen, prior))}</dd></div>'
        "</dl>"
    )


def pairs(prior: float | None, views: Collection[str]) -> str:
    """Say what the histogram shows."""
    if not views:
        return "There is nothing to draw: a rate is unknown, or the same at all distances."
    if prior is None:
        return (
            "Each kind of pair as a share of its own, in steps of 0.02. How many of all pairs "
            "are same-class is not known for this curve."
        )
    others = float(f"{(1 - prior) / prior:.1e}")
    return (
        f"Share of all pairs, in steps of 0.02. About {percent(prior)} of all pairs are estimated "
        f"to be same-class; for each there are {others:,.7g} of different classes."
    )


def strictness(curve: OperatingCurve) -> str:
    """Say what the small figures of the table are, and when a target is too strict."""
    band = f"Small figures: 90{SPACE}% interval. " if curve.has_band else ""
    if isinstance(curve.info.get("nodes"), int):
        return (
            f"{band}There is too little data for a target when fewer than ten pairs would lie on "
            "its wrong side."
        )
    return (
        f"{band}How many pairs are behind the curve is not known, so none of these targets was "
        "checked for having enough data."
    )


def contrast(text: str) -> str:
    """Return the section on the calibration set."""
    return (
        '<section aria-labelledby="drift"><h2 id="drift">Against the calibration set</h2>'
        f'<p class="contrast">{escape(text)}</p></section>'
    )


def about(curve: OperatingCurve) -> dict[str, str]:
    """Return what the curve itself says about how it was made."""
    said = {"Method": curve.source or "not stated"}
    for name, title in (("graphs", "Sub-graphs"), ("nodes", "Rows in a sub-graph")):
        if isinstance(curve.info.get(name), int):
            said[title] = f"{curve.info[name]:,}"
    prior = known_prior(curve)
    return said if prior is None else said | {"Same-class pairs": f"{percent(prior)} of all"}

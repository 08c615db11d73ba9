"""The page: charts, tables and data put into the template, all in one file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from os import PathLike
from string import Template
from typing import Any

from opengcn import __version__
from opengcn.atomic import replacing
from opengcn.curve import OperatingCurve
from opengcn.errors import OpenGCNError
from opengcn.report import captions
from opengcn.report.drift import drift
from opengcn.report.frame import Frame
from opengcn.report.histogram import histogram
from opengcn.report.rates_chart import rates_chart
from opengcn.report.tables import provenance_list, rates_table, target_table
from opengcn.report.target import Target
from opengcn.report.usual_targets import USUAL, known_prior, look_up
from opengcn.report.wording import describe
from opengcn.threshold import Threshold

__all__ = ["write_report"]


def write_report(
    path: str | PathLike[str],
    curve: OperatingCurve,
    *,
    threshold: Threshold,
    reference: OperatingCurve | None = None,
    provenance: Mapping[str, str] | None = None,
) -> None:
    """Write an estimate and its threshold as one HTML file, to look at and to pass on.

    The file loads nothing, from the network or elsewhere, and its essential parts need no
    JavaScript. It shows the curves with their bands, the threshold, which can be dragged, the
    distances split into estimated same-class and different-class pairs, and thresholds at
    usual targets or why the data do not support them.

    Parameters
    ----------
    path : path
        Where to, usually in .html. Written whole or not at all.
    curve : OperatingCurve
        The estimate. Of its `info`, "prior" (share of same-class pairs) is needed to join the
        two kinds of pairs in one histogram, and "nodes" (rows seen at once) to tell which
        targets are too strict for the data.
    threshold : Threshold
        The chosen threshold. Its distance, target and interval of the distance are shown; the
        rates beside it are those of `curve`.
    reference : OperatingCurve, optional
        The calibration set's own curve, for contrast.
    provenance : mapping of str to str, optional
        Where the numbers come from, as in {"Model": "model.ogcn"}; shown in this order.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import opengcn as og
    >>> curve = og.OperatingCurve.from_labels(og.datasets.synthetic(n_classes=20, seed=0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = Path(folder) / "report.html"
    ...     og.write_report(page, curve, threshold=curve.threshold(tpr=0.9))
    ...     page.read_text(encoding="utf-8").startswith("<!doctype html>")
    True
    """
    for given, kind in ((curve, OperatingCurve), (threshold, Threshold)):
        if not isinstance(given, kind):
            raise OpenGCNError(f"report: expected {kind.__name__}, received {type(given).__name__}")
    here = files("opengcn.report")
    parts = _parts(curve, threshold, reference, dict(provenance or {})) | {
        name: (here / f"report.{name}").read_text(encoding="utf-8") for name in ("css", "js")
    }
    page = Template((here / "template.html").read_text(encoding="utf-8")).substitute(parts)
    with replacing(path) as temporary:
        temporary.write_text(page, encoding="utf-8", newline="\n")


def _parts(
    curve: OperatingCurve,
    threshold: Threshold,
    reference: OperatingCurve | None,
    provenance: dict[str, str],
) -> dict[str, str]:
    """Return what fills the template, by name."""
    prior, target = known_prior(curve), Target.of(threshold)
    chosen = curve.at(threshold.distance)
    rows = [look_up(curve, usual) for usual in USUAL]
    distances = [row.threshold.distance for row in rows if row.threshold is not None]
    curves = [curve] if reference is None else [curve, reference]
    frame = Frame.around(curves, [threshold.distance, *distances])
    low, high = frame.ends
    views = histogram(frame, curve, prior, frame.place(threshold.distance))
    payload = {
        "frame": frame.ends,
        "prior": prior,
        "threshold": threshold.to_dict(),
        "curve": _plain(curve),
        "reference": None if reference is None else _plain(reference),
        "provenance": provenance,
    }
    return describe(chosen, prior) | {
        "version": escape(__version__),
        "payload": _script_safe(payload),
        "low": f"{low:.2f}",
        "high": f"{high:.2f}",
        "place": f"{frame.place(threshold.distance):.3f}%",
        "tpr_top": _top(chosen.tpr),
        "tnr_top": _top(chosen.tnr),
        "asked": captions.asked(threshold, target),
        "expected": captions.expected(chosen),
        "warning": captions.warning(curve, target),
        "rates": rates_chart(frame, curve, reference, chosen),
        "key": captions.key(curve, reference),
        "views": "".join(views.values()),
        "beside": captions.beside_pairs(chosen, prior, views),
        "pairs": captions.pairs(prior, views),
        "drift": "" if reference is None else captions.contrast(drift(curve, reference, target)),
        "strictness": captions.strictness(curve),
        "find": target_table("tpr", [row for row in rows if row.target.rate == "tpr"]),
        "reject": target_table("tnr", [row for row in rows if row.target.rate == "tnr"]),
        "rates_table": rates_table(frame, curve),
        "provenance": provenance_list(captions.about(curve) | provenance),
    }


def _plain(curve: OperatingCurve) -> Any:
    """Return a curve as its JSON holds it, without the infinities that JavaScript cannot read."""
    return json.loads(curve.to_json(), parse_constant=lambda _: None)


def _script_safe(payload: Any) -> str:
    """Return JSON that cannot end the script element that it lies in, nor open a comment."""
    return json.dumps(payload, default=str).replace("<", "\\u003c")


def _top(rate: float) -> str:
    return "0%" if rate != rate else f"{100 * (1 - rate):.3f}%"

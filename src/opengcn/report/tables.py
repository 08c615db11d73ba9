"""The tables of the report: thresholds at usual targets, rates by distance, provenance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

from opengcn.curve import OperatingCurve
from opengcn.report.frame import Frame
from opengcn.report.usual_targets import Row
from opengcn.report.wording import SPACE, interval, percent
from opengcn.threshold import Threshold

__all__ = ["provenance_list", "rates_table", "target_table"]

DIGITS = {"tpr": 1, "tnr": 2}  # decimals of a column: numbers under one another line up
OTHER = {"tpr": "tnr", "tnr": "tpr"}
TITLES = {"tpr": "Find at least", "tnr": "Reject at least"}
WHAT = {"tpr": "of the true matches (TPR)", "tnr": "of the strangers (TNR)"}


def target_table(rate: str, rows: Iterable[Row]) -> str:
    """Return the table of thresholds for targets of one rate.

    Parameters
    ----------
    rate : {"tpr", "tnr"}
        The rate.
    rows : iterable of Row
        The targets with what was found for them.

    Returns
    -------
    html : str
        A table.
    """
    other = OTHER[rate]
    body = "".join(_target_row(row, other) for row in rows)
    return (
        f'<table class="targets"><caption>{TITLES[rate]} \N{HORIZONTAL ELLIPSIS} '
        f"<span>{WHAT[rate]}</span></caption>"
        '<thead><tr><th scope="col">Target</th><th scope="col">Distance&nbsp;&lt;</th>'
        '<th scope="col">Cosine&nbsp;&gt;</th><th scope="col">L2\N{SUPERSCRIPT TWO}&nbsp;&lt;</th>'
        f'<th scope="col" class="{other}">{other.upper()}</th></tr></thead>'
        f"<tbody>{body}</tbody></table>"
    )


def _target_row(row: Row, other: str) -> str:
    head = f'<th scope="row">{100 * row.target.value:g}{SPACE}%</th>'
    found = row.threshold
    if found is None:
        return f'<tr>{head}<td colspan="4">{escape(row.reason)}</td></tr>'
    return (
        f'<tr>{head}<td><button type="button" data-distance="{found.distance!r}" disabled '
        f'aria-label="Show distance {found.distance:.4f} in the charts">{found.distance:.4f}'
        f"</button>{_ends(found)}</td><td>{found.cosine:.4f}</td><td>{found.squared_l2:.4f}</td>"
        f"<td>{_rate(found, other, DIGITS[other])}</td></tr>"
    )


def _ends(found: Threshold) -> str:
    if found.distance_low != found.distance_low:
        return ""
    return f"<small>{found.distance_low:.3f}\N{EN DASH}{found.distance_high:.3f}</small>"


def _rate(found: Threshold, name: str, digits: int | None) -> str:
    value = getattr(found, name)
    low, high = getattr(found, f"{name}_low"), getattr(found, f"{name}_high")
    band = "" if low != low else f"<small>{interval(low, high, digits)}</small>"
    return f"{percent(value, digits)}{band}"


def rates_table(frame: Frame, curve: OperatingCurve) -> str:
    """Return the rates every 0.1, for those who want numbers rather than a chart.

    Parameters
    ----------
    frame : Frame
        The distances to show.
    curve : OperatingCurve
        The estimate.

    Returns
    -------
    html : str
        A table.
    """
    body = ""
    for step in range(frame.low, frame.high + 1, 10):
        point = curve.at(step / 100)
        body += (
            f'<tr><th scope="row">{point.distance:.1f}</th><td>{point.cosine:.3f}</td>'
            f"<td>{_rate(point, 'tpr', None)}</td><td>{_rate(point, 'tnr', None)}</td></tr>"
        )
    return (
        "<table><caption>Estimated rates by distance</caption><thead><tr>"
        '<th scope="col">Distance&nbsp;&lt;</th><th scope="col">Cosine&nbsp;&gt;</th>'
        '<th scope="col" class="tpr">TPR</th><th scope="col" class="tnr">TNR</th>'
        f"</tr></thead><tbody>{body}</tbody></table>"
    )


def provenance_list(entries: Mapping[str, str]) -> str:
    """Return where the numbers come from.

    Parameters
    ----------
    entries : mapping of str to str
        Names and values, of users.

    Returns
    -------
    html : str
        A description list.
    """
    items = "".join(
        f"<div><dt>{escape(str(name))}</dt><dd>{escape(str(value))}</dd></div>"
        for name, value in entries.items()
    )
    return f'<dl class="provenance">{items}</dl>'

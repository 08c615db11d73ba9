"""The demonstration behind `opengcn demo`: unseen characters, sharp and blurred."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from opengcn.atomic import replacing
from opengcn.calibrators.base import Calibrator
from opengcn.calibrators.inductive import (
    BetaCalibration,
    HistogramCalibration,
    IsotonicCalibration,
    PlattScaling,
)
from opengcn.calibrators.opengcn import OpenGCN
from opengcn.calibrators.pseudo_label import DBSCANCalibration
from opengcn.calibrators.split_curve import SplitCurve
from opengcn.curve import OperatingCurve
from opengcn.datasets import OpenWorldSplit, glyphs
from opengcn.errors import OpenGCNError
from opengcn.memo import exact_curve
from opengcn.threshold import Threshold

if TYPE_CHECKING:
    from opengcn.embeddings import EmbeddingSet

__all__ = ["run_demo"]

EPISODES = 300  # of OpenGCN's rehearsals: the demonstration should not take long
BLUR = 1.5  # pixels: enough that a person still reads the characters with ease

Estimates = dict[str, OperatingCurve]


def run_demo(tpr: float, out: Path, seed: int) -> None:
    """Make the data, fit every method, print a table and draw a picture.

    Parameters
    ----------
    tpr : float
        The share of true matches to find.
    out : Path
        Where to draw.
    seed : int
        Seed of the data set.
    """
    if not 0 < tpr <= 1:
        raise OpenGCNError(f"tpr: expected a share in (0, 1], received {tpr}")
    if out.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise OpenGCNError(f"{out}: expected a picture in .png, .svg or .pdf")
    console = Console(highlight=False)
    console.print("Rendering characters and training a small embedder on half of them ...")
    sharp = glyphs(seed)
    tests = {"sharp": sharp.test, "blurred": glyphs(seed, blur=BLUR).test}
    console.print(_about(sharp))
    methods: list[Calibrator] = [
        PlattScaling(),
        BetaCalibration(),
        IsotonicCalibration(),
        HistogramCalibration(),
        DBSCANCalibration(),
        SplitCurve(),
        OpenGCN(episodes=EPISODES),
    ]
    console.print(
        f"Fitting. OpenGCN rehearses {EPISODES} times here, four times as often by default."
    )
    estimates: dict[str, Estimates] = {name: {} for name in tests}
    for method in methods:
        method.fit(sharp.train, sharp.cal)
        for name, test in tests.items():
            curve = method.estimate(test.unlabelled())
            estimates[name][_name(method)] = curve
    for name, test in tests.items():
        console.print(_table(name, tpr, estimates[name], exact_curve(test)))
    console.print(_in_words(tpr, sharp, tests, {n: e["OpenGCN"] for n, e in estimates.items()}))
    _draw(out, tpr, sharp, tests)
    console.print(f"Picture: {out}")


def _name(method: Calibrator) -> str:
    return "OpenGCN" if isinstance(method, OpenGCN) else type(method).__name__


def _about(data: OpenWorldSplit) -> str:
    parts = {"train": data.train, "calibration": data.cal, "test": data.test}
    sizes = ", ".join(
        f"{name} {len(part):,} images of {part.codes.max() + 1} characters"
        for name, part in parts.items()
    )
    return f"Characters, no two sets share one: {sizes}."


def _table(name: str, tpr: float, estimates: Estimates, truth: OperatingCurve) -> Table:
    table = Table(title=f"\nUnseen {name} characters: the threshold that finds {tpr:.0%}")
    table.add_column("method", no_wrap=True)
    for heading in ("distance <", "cosine >", "finds in truth", "MAE_comb"):
        table.add_column(heading, justify="right", no_wrap=True)
    for method, curve in estimates.items():
        found = curve.threshold(tpr=tpr)
        error = f"{curve.mae(truth):.4f}"
        table.add_row(method, *_cells(found, truth), error)
    table.add_section()
    table.add_row("truth (needs labels)", *_cells(truth.threshold(tpr=tpr), truth), "0")
    return table


def _cells(found: Threshold, truth: OperatingCurve) -> tuple[str, str, str]:
    reached = truth.at(found.distance).tpr
    return f"{found.distance:.3f}", f"{found.cosine:.3f}", f"{reached:.1%}"


def _in_words(
    tpr: float, data: OpenWorldSplit, tests: dict[str, EmbeddingSet], estimates: Estimates
) -> str:
    lines = []
    for source, part in (("training", data.train), ("calibration", data.cal)):
        threshold = exact_curve(part).threshold(tpr=tpr)
        sharp, blurred = (
            f"{exact_curve(test).at(threshold.distance).tpr:.0%}" for test in tests.values()
        )
        lines.append(
            f"The threshold that finds {tpr:.0%} of the matches among the {source} characters, "
            f"distance < {threshold.distance:.3f}, finds {sharp} among unseen sharp characters "
            f"and {blurred} among unseen blurred ones."
        )
    for name, test in tests.items():
        threshold = estimates[name].threshold(tpr=tpr)
        reached = exact_curve(test).at(threshold.distance).tpr
        lines.append(
            f"OpenGCN, asked for {tpr:.0%} of the unseen {name} characters without their labels, "
            f"says distance < {threshold.distance:.3f}, which finds {reached:.0%}."
        )
    return "\n".join(lines)


def _draw(out: Path, tpr: float, data: OpenWorldSplit, tests: dict[str, EmbeddingSet]) -> None:
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    figure = Figure(figsize=(9.6, 4.2), layout="constrained")  # no window, whatever the screen
    ax = figure.add_subplot()
    parts = {
        "characters that the\nembedder was trained on": (data.train, "#1b7f5c"),
        "unseen characters": (tests["sharp"], "#2460a7"),
        "unseen characters, blurred": (tests["blurred"], "#c0392b"),
    }
    for part, colour in parts.values():
        curve = exact_curve(part)
        curve.plot(ax, color=colour)
        reached = curve.threshold(tpr=tpr).distance
        ax.plot([reached], [tpr], "o", color=colour, markersize=6, zorder=5)
        ax.plot([reached, reached], [0, tpr], ":", color=colour, linewidth=1)
    ax.axhline(tpr, color="0.6", linewidth=0.8)
    ax.set_title(f"The distance that finds {tpr:.0%} of the matches depends on the data")
    keys = [Line2D([], [], color=colour, label=name) for name, (_, colour) in parts.items()]
    keys += [
        Line2D([], [], color="0.3", label="TPR: true matches found"),
        Line2D([], [], color="0.3", linestyle="--", label="TNR: strangers rejected"),
    ]
    ax.legend(handles=keys, frameon=False, loc="center left", bbox_to_anchor=(1.01, 0.5))
    with replacing(out) as temporary:
        figure.savefig(temporary, dpi=150)

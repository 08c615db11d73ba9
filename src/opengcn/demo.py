"""The demonstration behind `opengcn demo`: unseen characters, sharp and blurred."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table

from opengcn.atomic import replacing
from opengcn.calibrators.opengcn import OpenGCN
from opengcn.curve import OperatingCurve
from opengcn.datasets import OpenWorldSplit, glyphs
from opengcn.errors import OpenGCNError
from opengcn.memo import exact_curve
from opengcn.progress import taking_the_screen
from opengcn.provenance import provenance
from opengcn.report import write_report
from opengcn.report.wording import percent
from opengcn.scenarios.methods import BASELINES, METHODS
from opengcn.threshold import Threshold

if TYPE_CHECKING:
    from opengcn.calibrators.base import Calibrator
    from opengcn.embeddings import EmbeddingSet

__all__ = ["run_demo"]

EPISODES = 450  # of OpenGCN's rehearsals, 150 of each kind: the demonstration should not take long
BLUR = 1.5  # pixels: enough that a person still reads the characters with ease

Sets = dict[str, "EmbeddingSet"]


def run_demo(tpr: float, out: Path, seed: int, console: Console) -> dict[str, Any]:
    """Make the data, fit every method, show a table, draw a picture and write a report.

    Parameters
    ----------
    tpr : float
        The share of true matches to find.
    out : Path
        Where to draw; the report goes beside it, in .html.
    seed : int
        Seed of the data set.
    console : rich.console.Console
        Where to tell the story.

    Returns
    -------
    story : dict
        The table as numbers, for JSON: of each test set and method ``distance``, the true
        ``tpr`` and ``tnr`` there, and ``mae``; and where the picture and the report are.
    """
    if out.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise OpenGCNError(f"{out}: expected a picture in .png, .svg or .pdf")
    begin = time.monotonic()
    console.print("Rendering characters and training a small embedder on half of them ...")
    sharp = glyphs(seed)
    tests = {"sharp": sharp.test, "blurred": glyphs(seed, blur=BLUR).test}
    console.print(_about(sharp))
    opengcn = OpenGCN(seed=seed, episodes=EPISODES)
    chosen = [METHODS[name] for name in (*BASELINES, "hard")]
    methods = {one.title.partition(" (")[0]: one.make(seed) for one in chosen}
    board = _Board(tpr, {name: exact_curve(test) for name, test in tests.items()})
    with taking_the_screen(), Live(board, console=console, refresh_per_second=4):
        for title, method in (methods | {"OpenGCN": opengcn}).items():
            board.fitting, board.since = title, time.monotonic()
            board.estimates[title] = _estimate(method, sharp, tests)
        board.fitting = ""
    usual = OpenGCN().get_params()["episodes"]
    console.print(
        f"OpenGCN has rehearsed {EPISODES} times here; by default it does {usual:,} times."
    )
    console.print(_in_words(board, sharp))
    _draw(out, tpr, sharp, tests)
    page = out.with_suffix(".html")
    curve = board.estimates["OpenGCN"]["blurred"]
    write_report(
        page,
        curve,
        threshold=curve.threshold(tpr=tpr),
        reference=exact_curve(sharp.cal),
        provenance=provenance(opengcn, tests["blurred"]),
    )
    console.print(f"\nPicture: {out}\nReport on the blurred characters: {page}", soft_wrap=True)
    seconds = time.monotonic() - begin
    console.print(f"All of it took {seconds:.0f} s.")
    return board.to_dict() | {"picture": str(out), "report": str(page), "seconds": seconds}


def _estimate(method: Calibrator, data: OpenWorldSplit, tests: Sets) -> dict[str, OperatingCurve]:
    method.fit(data.train, data.cal)
    return {name: method.estimate(test.unlabelled()) for name, test in tests.items()}


def _about(data: OpenWorldSplit) -> str:
    parts = {"train": data.train, "calibration": data.cal, "test": data.test}
    sizes = ", ".join(
        f"{name} {len(part):,} images of {part.codes.max() + 1} characters"
        for name, part in parts.items()
    )
    return f"Characters, no two sets share one: {sizes}."


@dataclass
class _Board:
    """The table, which fills while methods are fitted."""

    tpr: float
    truth: dict[str, OperatingCurve]
    estimates: dict[str, dict[str, OperatingCurve]] = field(default_factory=dict)
    fitting: str = ""
    since: float = 0.0

    def reached(self, test: str, curve: OperatingCurve) -> Threshold:
        """Return the threshold that a curve gives, with the rates that it has in truth."""
        return self.truth[test].at(curve.threshold(tpr=self.tpr).distance)

    def __rich__(self) -> Table:
        title = f"Asked for {percent(self.tpr, 0)} of the matches among unseen characters"
        table = Table(
            title=title,
            title_justify="left",
            box=box.SIMPLE_HEAD,
            padding=(0, 1, 0, 0),
            pad_edge=False,
        )
        table.add_column("\nmethod", no_wrap=True, min_width=21)
        for test in self.truth:
            for heading in (f"{test}\ndistance <", "\nfinds", "\nMAE"):
                table.add_column(heading, justify="right", no_wrap=True)
        for title, curves in self.estimates.items():
            table.add_row(title, *self._cells(curves))
        if self.fitting:
            seconds = time.monotonic() - self.since
            table.add_row(self.fitting, f"... {seconds:.0f} s", style="dim")
        table.add_section()
        table.add_row("truth (needs labels)", *self._cells(self.truth))
        return table

    def _cells(self, curves: dict[str, OperatingCurve]) -> list[str]:
        cells = []
        for test, curve in curves.items():
            there = self.reached(test, curve)
            error = curve.mae(self.truth[test])
            cells += [f"{there.distance:.3f}", percent(there.tpr, 1), f"{error:.4f}"]
        return cells

    def to_dict(self) -> dict[str, Any]:
        """Return the table as numbers."""
        answer: dict[str, Any] = {"target": f"tpr >= {self.tpr:g}", "tests": {}}
        for test, truth in self.truth.items():
            curves = {title: both[test] for title, both in self.estimates.items()}
            answer["tests"][test] = {
                title: {
                    **{
                        k: getattr(self.reached(test, curve), k) for k in ("distance", "tpr", "tnr")
                    },
                    "mae": curve.mae(truth),
                }
                for title, curve in (curves | {"truth": truth}).items()
            }
        return answer


def _in_words(board: _Board, data: OpenWorldSplit) -> str:
    """Tell what happened: the sentences that the whole package is about."""
    lines = []
    known = {
        "characters that the embedder was trained on": data.train,
        "calibration set": data.cal,
    }
    for test, truth in board.truth.items():
        lines.append(f"\nUnseen {test} characters:")
        for whose, part in known.items():
            there = truth.at(exact_curve(part).threshold(tpr=board.tpr).distance)
            lines.append(f"- the threshold of the {whose} would have {_did(there, board.tpr)};")
        ours = board.reached(test, board.estimates["OpenGCN"][test])
        lines.append(f"- OpenGCN's, which needed no labels of these, has {_did(ours, board.tpr)}.")
    return "\n".join(lines)


def _did(there: Threshold, tpr: float) -> str:
    found, asked = percent(there.tpr, 0), percent(tpr, 0)
    share = f"{found}, as asked," if found == asked else f"{found} instead of {asked}"
    return f"found {share} and let {percent(1 - there.tnr, 1)} of the strangers through"


def _draw(out: Path, tpr: float, data: OpenWorldSplit, tests: Sets) -> None:
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

"""Draw the pictures of the pages: `python docs/make_images.py [FOLDER]`.

The characters are made on the spot the first time, which takes a minute. One picture needs a fitted
model, which takes another; what it estimates is kept for the report that the pages show.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import opengcn as og
from opengcn.provenance import provenance
from opengcn.rehearsal.episodes import draw_episode
from opengcn.rehearsal.examples import KINDS
from opengcn.rehearsal.worlds import World

SAME, DIFFERENT, CAL = "#1b7f5c", "#8a8a8a", "#c0392b"
TPR = 0.9
REHEARSALS = 60
EPISODES = 300  # of the model: a short fit
SHARES = np.linspace(0.02, 0.98, 49)

Sets = dict[str, og.EmbeddingSet]


def draw_distances(sets: Sets) -> Figure:
    """Draw histograms of both kinds of pairs, each as a share of its own, a set a row."""
    figure = Figure(figsize=(8, 5.4), layout="constrained")
    for ax, (title, data) in zip(
        figure.subplots(len(sets), sharex=True), sets.items(), strict=True
    ):
        curve = og.OperatingCurve.from_labels(data)
        same, different = np.diff(curve.tpr), -np.diff(curve.tnr)
        ax.stairs(same, curve.distances, fill=True, color=SAME, alpha=0.7, label="one character")
        ax.stairs(different, curve.distances, fill=True, color=DIFFERENT, alpha=0.5, label="two")
        found = curve.threshold(tpr=TPR)
        ax.axvline(found.distance, color="black", linewidth=1)
        words = f"{TPR:.0%} of the matches\nlie below {found.distance:.2f}"
        ax.text(0.01, 0.9, words, transform=ax.transAxes, va="top")
        ax.set_title(title, loc="left", fontsize=10)
        _bare(ax)
    figure.axes[0].legend(frameon=False, loc=(0.53, 0.4), title="pairs that show")
    figure.axes[-1].set(xlabel="distance", xlim=(0, 1.8))
    return figure


def draw_pairs(data: og.EmbeddingSet) -> Figure:
    """Draw all pairs of a set by distance, the two kinds on one logarithmic scale."""
    figure = Figure(figsize=(8, 3.2), layout="constrained")
    ax = figure.subplots()
    curve = og.OperatingCurve.from_labels(data)
    sizes = np.bincount(data.codes)
    matches = (sizes * (sizes - 1) // 2).sum()
    strangers = len(data) * (len(data) - 1) // 2 - matches
    for count, label, colour in (
        (-np.diff(curve.tnr) * strangers, "different characters", DIFFERENT),
        (np.diff(curve.tpr) * matches, "one character", SAME),
    ):
        ax.stairs(count, curve.distances, fill=True, color=colour, alpha=0.6, label=label)
    ax.set(yscale="log", ylim=(1, None), xlim=(0, 1.8), xlabel="distance", ylabel="pairs")
    ax.set_title(
        f"{matches:,} of {matches + strangers:,} pairs show one character", loc="left", fontsize=10
    )
    ax.legend(frameon=False, loc="upper left")
    ax.spines[["top", "right"]].set_visible(False)
    return figure


def draw_rehearsals(train: og.EmbeddingSet) -> Figure:
    """Draw same-class distances of rehearsed test sets against those of their D_cal."""
    figure = Figure(figsize=(5.6, 4.6), layout="constrained")
    ax = figure.subplots()
    rng = np.random.default_rng(0)
    world = World.of(train, rng)
    for e in range(REHEARSALS):
        episode = draw_episode(world, rng, kind=KINDS[e % len(KINDS)])
        cal = og.OperatingCurve.from_labels(episode.cal, episode.cal_labels)
        test = og.OperatingCurve.from_labels(episode.test, episode.test_labels)
        there = [test.at(cal.threshold(tpr=share).distance).tpr for share in SHARES]
        ax.plot(SHARES, there, color=SAME, alpha=0.35, linewidth=1)
    ax.plot([0, 1], [0, 1], color="black", linewidth=1)
    ax.set(
        xlabel="asked for: TPR in the rehearsed D_cal",
        ylabel="found: TPR in the rehearsed test set",
        xlim=(0, 1),
        ylim=(0, 1),
        aspect="equal",
    )
    ax.spines[["top", "right"]].set_visible(False)
    return figure


def draw_estimates(model: og.OpenGCN, cal: og.EmbeddingSet, tests: Sets) -> Figure:
    """Draw estimates with their bands, the truth and D_cal's curve, a test set a column."""
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    known = og.OperatingCurve.from_labels(cal)
    axes = figure.subplots(1, len(tests), sharey=True)
    for ax, (title, test) in zip(axes, tests.items(), strict=True):
        known.plot(ax, label="D_cal", color=CAL, linewidth=1)
        og.OperatingCurve.from_labels(test).plot(ax, label="truth", color="black", linewidth=1)
        model.estimate(test.unlabelled()).plot(ax, label="estimate", color=SAME)
        ax.set_title(title, loc="left", fontsize=10)
        ax.set_xlim(0.2, 1.8)
        ax.spines[["top", "right"]].set_visible(False)
    for ax in axes[:-1]:
        ax.get_legend().remove()
    axes[-1].legend(frameon=False, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return figure


def describe(model: og.OpenGCN, cal: og.EmbeddingSet, test: og.EmbeddingSet) -> str:
    """Return what a report on a test set needs, as JSON; `example_report.py` makes it one."""
    curves = {
        "estimate": model.estimate(test.unlabelled()),
        "calibration": og.OperatingCurve.from_labels(cal),
    }
    parts = {name: json.loads(curve.to_json()) for name, curve in curves.items()}
    return json.dumps(parts | {"provenance": provenance(model, test)})


def _bare(ax: Axes) -> None:
    """Leave the distances only: heights are shares, and their shape is what counts."""
    ax.set_yticks([])
    ax.spines[["left", "top", "right"]].set_visible(False)


def main() -> None:
    """Draw all pictures into the folder given, or else into that of the pages."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "images"
    sharp, blurred = og.datasets.glyphs(), og.datasets.glyphs(blur=1.5)
    sets = {
        "characters that the embedder was trained on": sharp.train,
        "unseen characters": sharp.test,
        "unseen characters, blurred": blurred.test,
    }
    tests = {title: test for title, test in sets.items() if test is not sharp.train}
    model = og.OpenGCN(seed=0, episodes=EPISODES).fit(sharp.train, sharp.cal)
    pictures = {
        "distances": draw_distances(sets),
        "pairs": draw_pairs(blurred.test),
        "rehearsals": draw_rehearsals(sharp.train),
        "estimate": draw_estimates(model, sharp.cal, tests),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in pictures.items():
        figure.savefig(folder / f"{name}.png", dpi=130)
    described = describe(model, sharp.cal, blurred.test)
    (folder / "estimate.json").write_text(f"{described}\n", encoding="utf-8")


if __name__ == "__main__":
    main()

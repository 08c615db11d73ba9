"""The default OpenGCN against every baseline, in the paper's three scenarios.

    python benchmarks/scenarios.py --data FOLDER                       # everything, 8 splits
    python benchmarks/scenarios.py --data FOLDER --only cub cars:snow --splits 2

FOLDER holds .npz packs of real embeddings (see benchmarks/methods.py). SameDist: `cub`, `cars`,
their over-fitted twins, `omniglot`, and glyphs, which are made on the spot. ShiftDist:
`cars:<corruption>`, D_cal clean and D_test corrupted. DiffDist: `cars:sketch`,
`cross` (embedder and D_cal of dogs, D_test of birds), `longtail` (D_cal of frequent classes,
D_test of rare ones), and `cub:zipf`, `cars:zipf`, D_test thinned to Zipf class sizes.
Finished scenarios are kept in --out and not run again, fitted models in --models.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from packs import load_pack
from sklearn.base import clone

import opengcn as og
from opengcn.atomic import replacing
from opengcn.calibrators.base import Calibrator

SIX = {
    "Platt": og.PlattScaling(),
    "beta": og.BetaCalibration(),
    "isotonic": og.IsotonicCalibration(),
    "histogram": og.HistogramCalibration(),
    "DBSCAN": og.DBSCANCalibration(),
    "Hi-LANDER": og.HiLander(),
}
METHODS: dict[str, Calibrator] = {**SIX, "hard": og.SplitCurve(), "OpenGCN": og.OpenGCN()}
CORRUPTIONS = (
    *("gaussian_noise", "shot_noise", "impulse_noise", "defocus_blur", "motion_blur"),
    *("zoom_blur", "snow", "fog", "brightness", "contrast"),
    *("elastic_transform", "pixelate", "jpeg_compression"),
)
NAMES = [
    *("cub", "cars", "cub_overfit", "cars_overfit", "omniglot", "glyphs"),
    *(f"cars:{c}" for c in CORRUPTIONS),
    *("cars:sketch", "cross", "longtail", "cub:zipf", "cars:zipf"),
]
Sets = tuple[og.EmbeddingSet, og.EmbeddingSet, og.EmbeddingSet]


pack_of = cache(load_pack)  # sets that are the same object share what was computed of them


@cache
def classes_of(open_world: og.EmbeddingSet, seed: int) -> tuple[og.EmbeddingSet, og.EmbeddingSet]:
    """Return D_cal and D_test of a split."""
    return open_world.split_classes(0.1, seed)


def sets_of(name: str, folder: Path, splits: int) -> Iterator[Sets]:
    """Yield D_train, D_cal and D_test of each split of a scenario."""
    if name == "glyphs":
        for seed in range(min(splits, 2)):  # rendering and training an embedder takes a while
            made = og.datasets.glyphs(seed)
            yield made.train, made.cal, made.test
        return
    base, _, variant = name.partition(":")
    file = {"cross": "cross_dogs_to_cub", "longtail": "longtail_caltech"}.get(base, base)
    train, open_world = pack_of(folder / f"{file}.npz")
    if base == "longtail":
        with np.load(folder / f"{file}.npz") as pack:
            head, tail = pack["head"][~pack["train"]], pack["tail"][~pack["train"]]
        yield train, open_world.subset(head), open_world.subset(tail)
        return
    for seed in range(splits):
        cal, test = classes_of(open_world, seed)
        if base == "cross":
            with np.load(folder / f"{file}.npz") as pack:
                test = og.EmbeddingSet(pack["test_E"], pack["test_y"], label_space="birds")
        elif variant == "zipf":
            test = test.subset(zipf(test.codes, seed))
        elif variant:
            with np.load(folder / "cars_shifted.npz") as pack:
                kept = ~np.isin(pack["y"], np.unique(cal.require_labels()))
                test = og.EmbeddingSet(pack[variant][kept], pack["y"][kept])
        yield train, cal, test


def zipf(codes: np.ndarray[Any, Any], seed: int) -> np.ndarray[Any, Any]:
    """Return rows of classes thinned to sizes in proportion to rank ** -0.7, at least three."""
    rng = np.random.default_rng(1000 + seed)
    kept = []
    for rank, label in enumerate(rng.permutation(codes.max() + 1), 1):
        rows = rng.permutation(np.flatnonzero(codes == label))
        kept.append(rows[: max(3, int(len(rows) * rank**-0.7))])
    return np.sort(np.concatenate(kept))


def run(
    name: str, sets: Iterator[Sets], methods: dict[str, Calibrator], models: Path
) -> list[dict[str, Any]]:
    """Return a row a split and method."""
    rows = []
    for split, (train, cal, test) in enumerate(sets):
        truth = og.OperatingCurve.from_labels(test)
        for method, calibrator in methods.items():
            begin = time.perf_counter()
            if isinstance(calibrator, og.OpenGCN):
                kept = models / f"{name.partition(':')[0]}-{split}.ogcn"
                fitted: Any = fit_or_load(calibrator, train, cal, kept)
            else:
                fitted = clone(calibrator).fit(train, cal)
            middle = time.perf_counter()
            curve = fitted.estimate(test.unlabelled())
            row = {
                "scenario": name,
                "split": split,
                "method": method,
                "mae": curve.mae(truth),
                "fit": middle - begin,
                "estimate": time.perf_counter() - middle,
            } | point_errors(curve, truth)
            if curve.has_band:
                row |= band_quality(curve, truth)
                hint = fitted.estimate(test.unlabelled(), n_classes=int(test.codes.max()) + 1)
                row["mae_hint"] = hint.mae(truth)
            rows.append(row)
    return rows


def fit_or_load(
    calibrator: og.OpenGCN, train: og.EmbeddingSet, cal: og.EmbeddingSet, path: Path
) -> og.OpenGCN:
    """Return a model that an earlier scenario with the same D_train and D_cal has fitted."""
    if not path.exists():
        clone(calibrator).fit(train, cal).save(path)
    return og.load(path)


def point_errors(curve: og.OperatingCurve, truth: og.OperatingCurve) -> dict[str, float]:
    """Return errors of the rates reached at chosen thresholds, and of strict ones."""
    found = {
        f"ae_{rate}_{percent}": getattr(og.metrics, f"ae_{rate}")(curve, truth, percent / 100)
        for rate in ("tpr", "tnr")
        for percent in (80, 90)
    }
    for target in (0.99, 0.999):
        reached = 1 - truth.at(curve.threshold(tnr=target).distance).tnr
        found[f"fpr_over_target_{target}"] = reached / (1 - target)
    return found


def band_quality(curve: og.OperatingCurve, truth: og.OperatingCurve) -> dict[str, float]:
    """Return coverage and mean width of the bands, where 0.02 < truth < 0.98."""
    found = {}
    for rate in ("tpr", "tnr"):
        low, high = getattr(curve, f"{rate}_low"), getattr(curve, f"{rate}_high")
        true = getattr(truth, rate)
        inner = (true > 0.02) & (true < 0.98)
        found[f"{rate}_covered"] = float(((low <= true) & (true <= high))[inner].mean())
        found[f"{rate}_width"] = float((high - low)[inner].mean())
    return found


def summary(rows: list[dict[str, Any]]) -> str:
    """Return a line of markdown for one scenario."""

    def values(method: str, key: str = "mae") -> np.ndarray[Any, Any]:
        return np.array([r[key] for r in rows if r["method"] == method])

    mean = {m: values(m).mean() for m in {r["method"] for r in rows}}
    own, hard = values("OpenGCN"), mean["hard"]
    six = {m: mean[m] for m in SIX if m in mean}
    best = min(six, key=lambda m: six[m]) if six else "-"
    worst = (own - values("hard")).max()
    spread = f" ± {own.std(ddof=1):.4f}" if len(own) > 1 else ""
    cells = [
        rows[0]["scenario"],
        f"{own.mean():.4f}{spread}",
        f"{hard:.4f}",
        f"{six[best]:.4f} ({best})" if six else "-",
        f"{1 - own.mean() / hard:.0%}",
        f"{1 - own.mean() / six[best]:.0%}" if six else "-",
        f"{worst:+.4f}",
        f"{values('OpenGCN', 'mae_hint').mean():.4f}",
        *(f"{100 * values('OpenGCN', f'ae_{k}').mean():.1f}" for k in ("tpr_90", "tnr_90")),
        *(f"{values('OpenGCN', f'fpr_over_target_{t}').mean():.2f}" for t in (0.99, 0.999)),
        *(
            f"{values('OpenGCN', f'{r}_covered').mean():.0%}, "
            f"{values('OpenGCN', f'{r}_width').mean():.3f}"
            for r in ("tpr", "tnr")
        ),
    ]
    return "| " + " | ".join(cells) + " |"


HEAD = (
    "| scenario | OpenGCN | hard | best of six | below hard | below best | worst - hard | hint "
    "| AE TPR 90 % | AE TNR 90 % | FPR / target 1 % | 0.1 % | TPR covered, width | TNR |\n"
    "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
)


def main() -> None:
    """Run what has not been run, then print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the packs")
    parser.add_argument("--only", nargs="+", default=NAMES, choices=NAMES, metavar="NAME")
    parser.add_argument("--splits", type=int, default=8)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--models", type=Path, default=Path("benchmarks/results/models"))
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/scenarios"))
    given = parser.parse_args()
    warnings.simplefilter("ignore", og.OpenGCNWarning)
    for folder in (given.out, given.models):
        folder.mkdir(parents=True, exist_ok=True)
    print(HEAD)
    for name in given.only:
        file = given.out / f"{name.replace(':', '_')}.json"
        done = json.loads(file.read_text()) if file.exists() else []
        done = [r for r in done if r["of"] == given.splits]
        missing = [m for m in given.methods if m not in {r["method"] for r in done}]
        if missing:
            methods = {m: METHODS[m] for m in missing}
            rows = run(name, sets_of(name, given.data, given.splits), methods, given.models)
            done += [{"of": given.splits} | row for row in rows]
            with replacing(file) as temporary:
                temporary.write_text(json.dumps(done, indent=1) + "\n")
        if {"OpenGCN", "hard"} <= {r["method"] for r in done}:
            print(summary(done), flush=True)


if __name__ == "__main__":
    main()

from __future__ import annotations

import numpy as np
import pytest

import opengcn as og
from opengcn.rehearsal.among import AT_LEVELS, FEATURES, see_among
from opengcn.rehearsal.graph_profile import RANKS, SHARES, distances

DATA = og.datasets.synthetic(40, 15, 16, concentration=20.0, seed=0)
ROWS, LABELS = DATA.embeddings.astype(np.float32), np.asarray(DATA.codes, np.int64)
CAL, NODES = ROWS[LABELS < 6], ROWS[LABELS >= 6]
CAL_LABELS = LABELS[LABELS < 6]
PROFILE = np.linspace(0.5, 1.0, len(RANKS) + len(SHARES)).astype(np.float32)


def seen(cal: np.ndarray, labels: np.ndarray, chosen: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    return see_among(cal, labels, chosen, distances(cal[chosen], nodes), PROFILE, 1.3)


def by_loops(cal: np.ndarray, labels: np.ndarray, chosen: np.ndarray, nodes: np.ndarray) -> list:
    """The same, row by row and pair by pair."""
    at_ranks, found, strangers, counts = [], [], [], []
    for i in chosen:
        mates = [
            float(np.linalg.norm(cal[i] - cal[j]))
            for j in range(len(cal))
            if labels[i] == labels[j] and i != j
        ]
        if not mates:
            continue
        crowd = [float(np.linalg.norm(cal[i] - node)) for node in nodes]
        together = sorted([(d, True) for d in mates] + [(d, False) for d in crowd])
        ranks = [*RANKS, *(round(s * len(together)) for s in SHARES)]
        at_ranks.append([together[min(max(r, 1), len(nodes)) - 1][0] for r in ranks])
        found.append(
            [
                sum(own for _, own in together[: min(r, len(nodes))]) / min(r, len(mates))
                for r in RANKS
            ]
        )
        levels = [sorted(mates)[int(np.ceil(p * len(mates))) - 1] for p in AT_LEVELS]
        strangers.append([sum(d < level for d in crowd) for level in levels])
        counts.append(len(mates))
    n = len(nodes)
    return [
        *np.log(np.mean(at_ranks, 0) / 1.3 / PROFILE),
        *np.mean(found, 0),
        *np.log((np.mean(strangers, 0) + 0.5) / n),
        np.log(np.mean(counts) / n),
    ]


def test_it_is_what_loops_count() -> None:
    chosen = np.random.default_rng(0).permutation(len(CAL))[:20]
    np.testing.assert_allclose(
        seen(CAL, CAL_LABELS, chosen, NODES), by_loops(CAL, CAL_LABELS, chosen, NODES), atol=2e-3
    )


def test_classes_of_different_sizes_and_rows_alone() -> None:
    kept = np.r_[0, 15:18, 30:45]  # one row of a class, three of another, a whole one
    cal, labels = CAL[kept], CAL_LABELS[kept]
    chosen = np.arange(len(cal))
    found = seen(cal, labels, chosen, NODES)
    np.testing.assert_allclose(found, by_loops(cal, labels, chosen, NODES), atol=2e-3)
    np.testing.assert_array_equal(found, seen(cal, labels, chosen[1:], NODES))


def test_without_class_mates_there_is_nothing_to_see() -> None:
    found = seen(CAL[:6], np.arange(6), np.arange(6), NODES)
    assert found.shape == (FEATURES,)
    assert np.isnan(found).all()


@pytest.mark.parametrize("nodes", [8, 40])
def test_small_graphs(nodes: int) -> None:
    """Of more class mates than nodes, ranks end with the nodes."""
    chosen = np.arange(20)
    found = seen(CAL, CAL_LABELS, chosen, NODES[:nodes])
    np.testing.assert_allclose(found, by_loops(CAL, CAL_LABELS, chosen, NODES[:nodes]), atol=2e-3)


def test_copies_of_rows_are_found_once_each() -> None:
    cal, labels = np.repeat(CAL[:30], 8, axis=0), np.repeat(CAL_LABELS[:30], 8)
    found = seen(cal, labels, np.arange(len(cal)), NODES)
    assert (found[len(RANKS) + len(SHARES) :][: len(RANKS)] <= 1).all()


def test_in_a_graph_of_the_same_kind_rows_see_what_nodes_see() -> None:
    """Put into a graph of classes as tight as theirs, rows of D_cal look like any node."""
    inner = distances(NODES, NODES)
    mean = float(inner.sum() / (len(NODES) * (len(NODES) - 1)))
    inner.sort(axis=1)
    ranks = np.r_[RANKS, (SHARES * (len(NODES) - 1)).round().astype(int)].clip(1)  # itself is at 0
    profile = (inner[:, ranks].mean(0) / mean).astype(np.float32)
    chosen = np.arange(len(CAL))
    like = see_among(CAL, CAL_LABELS, chosen, distances(CAL, NODES), profile, mean)
    assert np.abs(like[: len(ranks)]).mean() < 0.05
    wide = og.datasets.synthetic(6, 15, 16, concentration=8.0, seed=3).embeddings.astype(np.float32)
    unlike = see_among(wide, CAL_LABELS, chosen, distances(wide, NODES), profile, mean)
    assert unlike[: len(RANKS)].mean() > like[: len(RANKS)].mean() + 0.05

"""Eq. 6 by a double loop, and Theorems 1 and 2 under the construction where they hold."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from opengcn.graph.class_scores import class_scores
from opengcn.graph.losses import densities

DIM, KAPPA = 16, 0.8


def unit(X: NDArray[np.float64]) -> NDArray[np.float64]:
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def draw(rng: np.random.Generator, centre: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    return unit(KAPPA * centre + rng.standard_normal((n, DIM)) / np.sqrt(DIM))


def test_scores_by_a_double_loop() -> None:
    rng = np.random.default_rng(0)
    y = np.array(list("aaabbbbcc"))
    X = unit(rng.standard_normal((9, 4)))
    scores = class_scores(X, y)
    for k, label in enumerate("abc"):
        mine = np.flatnonzero(y == label)
        others = np.flatnonzero(y != label)
        assert scores.tpr[k] == pytest.approx(np.linalg.norm(X[mine].sum(0)) / len(mine), abs=1e-6)
        assert scores.tnr[k] == pytest.approx(
            np.mean([1 - X[i] @ X[j] for i in mine for j in others]), abs=1e-6
        )
    assert np.isnan(class_scores(X, np.zeros(9, int)).tnr).all()


def theorem_estimates(
    X: NDArray[np.float64], same: NDArray[np.bool_], size: int
) -> tuple[float, float]:
    """Return the right-hand sides of Theorems 1 and 2 for the cluster X[:size].

    The neighbourhood of each member is all of X, itself included; densities are those that
    the network is trained on, with the pair i = i put back.
    """
    a = torch.from_numpy(X @ X.T)[None]
    found = densities(a, torch.from_numpy(same)[None])
    n = len(X)
    average = (found.average[0, :size].numpy() * (n - 1) + 1) / n  # a_ii = 1, of its own class
    neighbour = (found.neighbour[0, :size].numpy() * (n - 1) + 1) / n
    everything = a[0, :size].mean(1).numpy()
    tpr = np.sqrt(n / (2 * size) * (neighbour.mean() + everything.mean()))
    negatives = size * (n - size)
    tnr = 1 - size * n / negatives * (average - neighbour).mean()
    return float(tpr), float(tnr)


def error(n: int, seed: int) -> tuple[float, float]:
    """Return the errors of both theorems when a class is known by a sample of size n."""
    rng = np.random.default_rng(seed)
    centre = unit(rng.standard_normal((1, DIM)))[0]
    population = draw(rng, centre, 20_000)
    strangers = unit(rng.standard_normal((20_000, DIM)) + 0.3 * centre)
    truth = class_scores(np.r_[population, strangers].astype(np.float64), np.repeat([0, 1], 20_000))
    X = np.r_[population[:n], strangers[: 3 * n]]
    labels = np.repeat([0, 1], [n, 3 * n])
    tpr, tnr = theorem_estimates(X, labels[:, None] == labels[None], n)
    return abs(tpr - truth.tpr[0]), abs(tnr - truth.tnr[0])


def test_theorem_1_is_exact_for_the_whole_class() -> None:
    rng = np.random.default_rng(0)
    centre = unit(rng.standard_normal((1, DIM)))[0]
    X = np.r_[draw(rng, centre, 50), unit(rng.standard_normal((70, DIM)))]
    y = np.repeat([0, 1], [50, 70])
    tpr, tnr = theorem_estimates(X, y[:, None] == y[None], 50)
    scores = class_scores(X, y)
    assert tpr == pytest.approx(scores.tpr[0], abs=1e-6)
    assert tnr == pytest.approx(scores.tnr[0], abs=1e-6)


def test_both_theorems_hold_in_the_limit() -> None:
    small = np.mean([error(25, seed) for seed in range(10)], axis=0)
    large = np.mean([error(800, seed) for seed in range(10)], axis=0)
    assert (large < 0.4 * small).all()
    assert (large < 0.01).all()


def test_an_impure_cluster_keeps_a_bias() -> None:
    """One in ten members is a stranger that counts as a member: more samples do not help."""
    gaps = []
    for n in (200, 2000):
        rng = np.random.default_rng(0)
        centre = unit(rng.standard_normal((1, DIM)))[0]
        members, strangers = draw(rng, centre, n), unit(rng.standard_normal((n // 9, DIM)))
        cluster = np.r_[members, strangers]
        same = np.ones((len(cluster), len(cluster)), bool)
        X = np.r_[cluster, unit(rng.standard_normal((n, DIM)))]
        y = np.repeat([0, 1], [len(cluster), n])
        same = y[:, None] == y[None]
        tpr, _ = theorem_estimates(X, same, len(cluster))
        gaps.append(np.linalg.norm(members.mean(0)) - tpr)
    assert min(gaps) > 0.03
    assert abs(gaps[0] - gaps[1]) < 0.02

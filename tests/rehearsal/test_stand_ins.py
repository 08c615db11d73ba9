from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from opengcn.rehearsal.examples import view
from opengcn.rehearsal.graph_profile import RANKS, profile_graph
from opengcn.rehearsal.reference import Reference
from opengcn.rehearsal.stand_ins import _graph, see_stand_ins

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


def classes(count: int, size: int, seed: int, width: float = 0.6) -> tuple[Floats, Ints]:
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.standard_normal((count, 16)), size, axis=0)
    X += width * rng.standard_normal(X.shape)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X.astype(np.float32), np.repeat(np.arange(count), size)


NODES = np.random.default_rng(0).permutation(classes(100, 15, seed=1)[0])
PRIOR = float(np.log(14 / 1499))


def stand_ins(reference: Reference, log_prior: float = PRIOR) -> Floats:
    """Return what neighbours at ranks look like to them, over the mean distance."""
    seen = see_stand_ins(NODES, reference, log_prior, np.random.default_rng(0))
    assert seen is not None
    return seen.features[: len(RANKS)]


def nodes_see() -> Floats:
    rng = np.random.default_rng(0)
    reference = Reference.of_rows(*classes(20, 15, seed=2))
    return view(NODES, profile_graph(NODES, rng), reference, rng).features[: len(RANKS)]


@pytest.mark.parametrize("size", [15, 40])
def test_rows_of_the_same_world_see_what_nodes_see(size: int) -> None:
    """Also where D_cal's classes are larger: then some of their rows are left out."""
    reference = Reference.of_rows(*classes(20, size, seed=2))
    np.testing.assert_allclose(stand_ins(reference), nodes_see(), rtol=0.06)


@pytest.mark.parametrize("width", [0.3, 0.9])
def test_rows_of_other_classes_do_not(width: float) -> None:
    reference = Reference.of_rows(*classes(20, 15, seed=2, width=width))
    change = stand_ins(reference)[1:4] / nodes_see()[1:4]
    assert (change < 0.75).all() if width < 0.6 else (change > 1.1).all()


def test_of_small_classes_a_smaller_graph_is_looked_at() -> None:
    """D_cal has 6 of a class, nodes have 14 mates: beside D_cal, a third of the nodes is seen."""
    reference = Reference.of_rows(*classes(20, 6, seed=2))
    rng = np.random.default_rng(0)
    seen = see_stand_ins(NODES, reference, PRIOR, rng)
    assert seen is not None
    n = int(len(NODES) * 5 / 14)
    few = view(NODES[:n], profile_graph(NODES[:n], rng), reference, rng)
    assert seen.among[-1] == pytest.approx(few.among[-1])  # how many mates, over the nodes
    np.testing.assert_allclose(seen.features[: len(RANKS)], few.features[: len(RANKS)], rtol=0.1)
    np.testing.assert_allclose(seen.among[: len(RANKS)], few.among[: len(RANKS)], atol=0.1)


def test_the_more_class_mates_the_nearer_are_neighbours() -> None:
    reference = Reference.of_rows(*classes(20, 40, seed=2))
    assert (stand_ins(reference, np.log(30 / 1500)) < stand_ins(reference, np.log(4 / 1500)))[
        2:
    ].all()


def test_rows_have_as_many_mates_as_nodes() -> None:
    labels = np.repeat(np.arange(40), 25)
    found = []
    for seed in range(20):
        graph = _graph(len(NODES), labels, 10.0, np.random.default_rng(seed))
        assert graph is not None
        rows, n = graph
        assert n == len(NODES)
        assert (np.diff(rows) < 0).any()
        assert len(rows) <= 0.5 * len(NODES)
        size = np.bincount(labels[rows])
        found.append((size * (size - 1)).sum() / size.sum())
    assert np.mean(found) == pytest.approx(10, rel=0.05)


def test_of_small_classes_there_are_fewer_nodes() -> None:
    """Nodes have 20 mates, rows 10: in half of the graph they have as many."""
    labels = np.repeat(np.arange(10), 11)
    graph = _graph(len(NODES), labels, 20.0, np.random.default_rng(0))
    assert graph is not None
    rows, n = graph
    assert len(rows) == 110
    assert n == len(NODES) // 2


@pytest.mark.parametrize(
    ("labels", "mates"),
    [
        (np.arange(200), 10.0),  # no class mates
        (np.repeat(np.arange(5), 3), 1.0),  # too few rows
        (np.repeat(np.arange(50), 2), 20.0),  # hardly any graph would be left
        (np.repeat(np.arange(50), 20), 0.01),  # hardly any row
    ],
)
def test_where_dcal_cannot_stand_in_there_is_nothing(labels: Ints, mates: float) -> None:
    assert _graph(len(NODES), labels, mates, np.random.default_rng(0)) is None
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((len(labels), 16))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    reference = Reference(
        np.linspace(0.5, 1, 24),
        np.array([1.4, 0.1, 1.2]),
        len(np.unique(labels)),
        2.0,
        rows.astype(np.float32),
        labels,
        len(labels),
    )
    assert see_stand_ins(NODES, reference, float(np.log(mates / 1499)), rng) is None


def test_whole_classes_are_taken_when_there_are_too_many() -> None:
    labels = np.repeat(np.arange(100), 20)
    graph = _graph(len(NODES), labels, 19.0, np.random.default_rng(0))
    assert graph is not None
    size = np.bincount(labels[graph[0]], minlength=100)
    assert set(size) == {0, 20}
    assert 0.45 * len(NODES) < size.sum() <= 0.5 * len(NODES)

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

import numpy as np
import pytest

import opengcn as og
from opengcn.rehearsal import examples
from opengcn.rehearsal.among import see_among
from opengcn.rehearsal.episodes import Episode
from opengcn.rehearsal.examples import COMPARED, KINDS, Examples, _within, rehearse, view
from opengcn.rehearsal.graph_profile import distances, profile_graph
from opengcn.rehearsal.reference import Reference
from opengcn.rehearsal.worlds import World


def labelled(classes: int, size: int, seed: int = 0) -> og.EmbeddingSet:
    return og.datasets.synthetic(classes, size, 16, concentration=20.0, seed=seed)


def world(classes: int = 30, size: int = 20, seed: int = 0) -> World:
    return World.of(labelled(classes, size, seed), np.random.default_rng(0))


WORLD = world()


def test_examples_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    parallel = rehearse(WORLD, 6, seed=3)
    monkeypatch.setattr(examples, "cores", lambda: 1)
    serial = rehearse(WORLD, 6, seed=3)
    for name in ("features", "among", "bounds", "reference", "truth", "log_prior"):
        np.testing.assert_array_equal(getattr(parallel, name), getattr(serial, name))
    assert np.isfinite(parallel.features).all()
    assert (np.diff(parallel.truth) >= 0).all()
    assert (parallel.log_prior <= 0).all()


def test_bounds_bound_the_prior_when_nothing_shifts() -> None:
    """F(q_p) / p >= prior, since the same-class pairs below q_p are p of them."""
    data = labelled(20, 30)
    nodes = data.embeddings.astype(np.float32)
    reference = Reference.of_rows(nodes, data.codes)
    rng = np.random.default_rng(0)
    seen = view(nodes, profile_graph(nodes, rng), reference, rng)
    prior = 29 / 599
    assert (np.exp(seen.bounds[1:]) > 0.9 * prior).all()
    assert np.exp(seen.bounds.min()) < 2 * prior


def test_dcals_rows_look_at_the_graph_that_is_seen() -> None:
    data = labelled(40, 30)
    rows, labels = data.embeddings.astype(np.float32), np.asarray(data.codes, np.int64)
    cal, nodes = labels < 10, rows[labels >= 10]
    reference = Reference.of_rows(rows[cal], labels[cal])
    profile = profile_graph(nodes, np.random.default_rng(0))
    seen = view(nodes, profile, reference, np.random.default_rng(1))
    chosen = np.random.default_rng(1).permutation(cal.sum())[:COMPARED]
    crossing = distances(rows[cal][chosen], nodes)
    by_hand = see_among(
        rows[cal], labels[cal], chosen, crossing, profile.statistics[:21], profile.mean_distance
    )
    np.testing.assert_array_equal(seen.among, by_hand)
    assert np.abs(seen.among[:21]).mean() < 0.05  # they are of one world


def test_kinds_are_drawn_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn, draw = [], examples.draw_episode

    def recorded(*args: object, kind: str, **options: object) -> Episode:
        drawn.append(kind)
        return draw(*args, kind=kind, **options)

    monkeypatch.setattr(examples, "draw_episode", recorded)
    monkeypatch.setattr(examples, "cores", lambda: 1)
    rehearse(WORLD, 7, seed=0)
    assert [k for k, _ in groupby(drawn)] == [*KINDS, *KINDS, KINDS[0]]


def test_what_dcal_cannot_see_is_as_usual() -> None:
    found = rehearse(WORLD, 6, seed=3)
    among = found.among.copy()
    among[2] = np.nan
    whole = replace(found, among=among).with_among()
    assert isinstance(whole, Examples)
    others = np.delete(found.among, 2, axis=0)
    np.testing.assert_allclose(whole.features[2, -among.shape[1] :], others.mean(0), rtol=1e-4)
    np.testing.assert_array_equal(whole.features[0, -among.shape[1] :], found.among[0])


def test_too_little_to_rehearse_on() -> None:
    with pytest.raises(og.OpenGCNError, match="D_train: expected enough rows to rehearse on"):
        rehearse(world(2, 2), 1, seed=0)


def test_same_class_distances_are_those_of_every_pair() -> None:
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((40, 6)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    labels = rng.integers(9, size=40)
    naive = [
        np.linalg.norm(rows[i] - rows[j])
        for i in range(40)
        for j in range(i)
        if labels[i] == labels[j]
    ]
    np.testing.assert_allclose(np.sort(_within(rows, labels)), np.sort(naive), atol=1e-5)

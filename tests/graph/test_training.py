from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import opengcn as og
from opengcn.errors import DataError
from opengcn.graph.checkpoint import Checkpoint, fingerprint
from opengcn.graph.network import ConnectivityNetwork, NetworkShape
from opengcn.graph.training import Progress, Stage, draw_nodes, train

SMALL = NetworkShape(hidden=8, head_hidden=8)


@pytest.fixture(scope="module")
def data() -> og.EmbeddingSet:
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(10), 12)
    return og.EmbeddingSet(rng.standard_normal((10, 8))[y] + 0.4 * rng.standard_normal((120, 8)), y)


def weights(network: ConnectivityNetwork) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in network.parameters()])


def test_training_lowers_the_loss_and_repeats_to_the_bit(data: og.EmbeddingSet) -> None:
    stage, state = Stage("t", 80, nodes=64), torch.get_rng_state()
    runs = []
    for _ in range(2):
        network = ConnectivityNetwork(8, SMALL, seed=3)
        losses = train(network, data, stage, seed=5)
        runs.append((weights(network), losses))
    assert torch.equal(runs[0][0], runs[1][0])
    assert runs[0][1] == runs[1][1]
    assert np.mean(losses[-10:]) < 0.8 * np.mean(losses[:10])
    assert torch.equal(torch.get_rng_state(), state)  # nobody else's randomness is touched


class InterruptionError(Exception):
    pass


def test_an_interrupted_run_ends_in_the_same_weights(data: og.EmbeddingSet, tmp_path: Path) -> None:
    stage = Stage("t", 30, nodes=32)
    whole = ConnectivityNetwork(8, SMALL, seed=0)
    expected = train(whole, data, stage, seed=1)

    file = Checkpoint(tmp_path / "c.safetensors", fingerprint(data, stage))
    cut = ConnectivityNetwork(8, SMALL, seed=0)

    def save_then_stop(progress: Progress) -> None:
        file.save(cut, progress)
        if progress.step == 20:
            raise InterruptionError

    with pytest.raises(InterruptionError):
        train(cut, data, stage, seed=1, save=save_then_stop, save_every=10)
    fresh = ConnectivityNetwork(8, SMALL, seed=99)
    start = file.restore(fresh)
    assert start is not None
    assert start.step == 20
    losses = train(fresh, data, stage, seed=1, start=start)
    assert losses == expected
    assert torch.equal(weights(fresh), weights(whole))


def test_checkpoints_of_another_fit_and_damaged_ones_are_refused(
    data: og.EmbeddingSet, tmp_path: Path
) -> None:
    network, path = ConnectivityNetwork(8, SMALL, seed=0), tmp_path / "c.safetensors"
    assert Checkpoint(path, "a").restore(network) is None
    Checkpoint(path, "a").save(network, Progress())
    with pytest.raises(DataError, match="received one of other data or settings"):
        Checkpoint(path, "b").restore(network)
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(DataError, match="expected a checkpoint, received"):
        Checkpoint(path, "a").restore(network)
    other = og.EmbeddingSet(data.embeddings[::-1], data.labels)
    assert fingerprint(data, 1) == fingerprint(data, 1)
    assert len({fingerprint(data, 1), fingerprint(data, 2), fingerprint(other, 1)}) == 3


def test_resetting_the_head_freezes_the_rest(data: og.EmbeddingSet) -> None:
    network = ConnectivityNetwork(8, SMALL, seed=0)
    encoder = [p.clone() for p in network.encoder.parameters()]
    head = network.head.first.weight.clone()
    network.reset_head(seed=7)
    assert not torch.equal(network.head.first.weight, head)
    train(network, data, Stage("t", 5, nodes=32), seed=0)
    for before, after in zip(encoder, network.encoder.parameters(), strict=True):
        assert torch.equal(before, after)


def test_nodes_are_drawn_from_a_few_classes() -> None:
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(500), 6)
    rows = draw_nodes(codes, 64, 20, rng)
    assert len(np.unique(rows)) == 64
    assert len(np.unique(codes[rows])) <= 20
    few = draw_nodes(np.array([0, 0, 1]), 64, 20, rng)
    assert sorted(few) == [0, 1, 2]


def test_classes_of_one_or_two_rows(data: og.EmbeddingSet) -> None:
    """Graphs of a batch may come out of different size; training goes on."""
    sizes = data.subset(np.r_[np.arange(0, 120, 12), np.arange(5)])
    losses = train(
        ConnectivityNetwork(8, SMALL, 0), sizes, Stage("t", 5, nodes=8, graphs=3, classes=3), 0
    )
    assert np.isfinite(losses).all()

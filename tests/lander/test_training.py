import numpy as np
import pytest
import torch

from opengcn.calibrators.lander.hierarchy import LabelledLevel, training_levels
from opengcn.calibrators.lander.levels import Level, true_density
from opengcn.calibrators.lander.network import LanderNetwork
from opengcn.calibrators.lander.training import TrainingGraph, lander_loss, train


def naive_loss(logit, similarity, density, same, eligible):
    p = 1 / (1 + np.exp(-logit))
    estimated = (similarity * (2 * p - 1)).sum(axis=1) / logit.shape[1]
    loss = np.mean((estimated - density) ** 2)
    positive = [-np.log(p[e]) for e in np.ndindex(p.shape) if eligible[e] and same[e]]
    negative = [-np.log(1 - p[e]) for e in np.ndindex(p.shape) if eligible[e] and not same[e]]
    if positive and negative:
        loss += (np.mean(positive) + np.mean(negative)) / 2
    return loss


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_loss_equals_the_loops_and_survives_an_empty_mask(rng, share):
    shape = (9, 4)
    logit, similarity = rng.standard_normal(shape), rng.random(shape)
    density, same = rng.random(9), rng.random(shape) < 0.3
    eligible = rng.random(shape) < share
    arrays = (logit, similarity, density, same, eligible)
    tensors = [torch.from_numpy(array) for array in arrays]
    tensors[0].requires_grad_()
    loss = lander_loss(*tensors)
    loss.backward()
    assert loss.item() == pytest.approx(naive_loss(*arrays))
    assert torch.isfinite(tensors[0].grad).all()


def test_only_edges_to_truly_denser_neighbours_are_eligible(clumps):
    X, y = clumps(5, 6, spread=1.0)
    level = Level.build(X, X, 4)
    density = true_density(level, y)
    graph = TrainingGraph.of(LabelledLevel(level, y, density), cluster_features=False)
    for i, row in enumerate(level.neighbors):
        for e, j in enumerate(row):
            assert bool(graph.same[i, e]) == (y[i] == y[j])
            assert bool(graph.eligible[i, e]) == (
                bool(level.linked[i, e]) and density[j] > density[i]
            )


def test_training_lowers_the_loss(clumps):
    X, y = clumps(20, 10)
    graphs = [
        TrainingGraph.of(level, cluster_features=False)
        for level in training_levels(Level.build(X, X, 5), y, 5, 2)
    ]
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = LanderNetwork(16, 32, "gat", False)
    history = train(
        network,
        graphs,
        rounds=150,
        batch_size=64,
        learning_rate=3e-3,
        weight_decay=0.0,
        rng=np.random.default_rng(0),
    )
    assert history.shape == (150,)
    assert np.mean(history[-10:]) < 0.6 * np.mean(history[:10])

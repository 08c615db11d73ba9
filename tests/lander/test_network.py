import numpy as np
import pytest
import torch

from opengcn.calibrators.lander.levels import Level
from opengcn.calibrators.lander.network import (
    Graph,
    LanderNetwork,
    predicted_density,
    score_level,
)

variants = pytest.mark.parametrize(
    ("convolution", "cluster_features"),
    [("gat", False), ("gat", True), ("mean", False), ("mean", True)],
)


@pytest.fixture
def level(clumps):
    X, _ = clumps(6, 9, spread=1.0)
    other, _ = clumps(6, 9, seed=1)
    return Level.build(X, other, 5)


def new_network(convolution, cluster_features):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return LanderNetwork(16, 12, convolution, cluster_features)


def naive_logits(network, level):
    """The equations, node by node and edge by edge, in float64."""
    weight = {name: w.double().numpy() for name, w in network.state_dict().items()}
    x = level.features.astype(float)
    if network.cluster_features:
        x = np.concatenate([x, level.means.astype(float)], axis=1)
    h = []
    for i in range(len(level)):
        edges = [e for e in range(level.neighbors.shape[1]) if level.linked[i, e]]
        near = x[level.neighbors[i, edges]]
        if network.convolution == "gat":
            v, w = weight["attention.weight"]
            z = near @ v + x[i] @ w
            share = np.exp(np.where(z > 0, z, 0.2 * z))
        else:
            share = level.similarity[i, edges].astype(float)
        merged = share / share.sum() @ near if len(edges) else np.zeros(x.shape[1])
        if network.convolution == "mean":
            merged = np.concatenate([x[i], merged])
        h.append(np.maximum(weight["merge.weight"] @ merged + weight["merge.bias"], 0))
    logits = np.empty(level.neighbors.shape)
    for i, row in enumerate(level.neighbors):
        for e, j in enumerate(row):
            z = weight["neighbor.weight"] @ h[j] + weight["neighbor.bias"]
            z += weight["center.weight"] @ h[i]
            z = np.where(z > 0, z, weight["head.0.weight"] * z)
            z = weight["head.1.weight"] @ z + weight["head.1.bias"]
            z = np.where(z > 0, z, weight["head.2.weight"] * z)
            logits[i, e] = (weight["head.3.weight"] @ z + weight["head.3.bias"])[0]
    return logits


@variants
def test_logits_equal_the_loops(level, convolution, cluster_features):
    network = new_network(convolution, cluster_features)
    graph = Graph(level, cluster_features)
    found = network(graph, torch.arange(len(graph))).detach().numpy()
    np.testing.assert_allclose(found, naive_logits(network, level), atol=1e-5)


@variants
def test_a_batch_sees_what_the_whole_level_sees(level, convolution, cluster_features):
    network = new_network(convolution, cluster_features)
    scored = score_level(network, level)
    batch = torch.tensor([41, 3, 17])
    logit = network(Graph(level, cluster_features), batch)
    np.testing.assert_allclose(
        torch.sigmoid(logit).detach().numpy(), scored.probability[batch], atol=1e-5
    )


def test_scoring_in_chunks_changes_nothing(level, monkeypatch):
    network = new_network("gat", False)
    whole = score_level(network, level)
    monkeypatch.setattr("opengcn.calibrators.lander.network.SCORED_AT_ONCE", 7)
    parts = score_level(network, level)
    np.testing.assert_allclose(parts.probability, whole.probability, atol=1e-6)
    np.testing.assert_allclose(parts.density, whole.density, atol=1e-6)


def test_density_is_the_mean_signed_similarity():
    p = torch.tensor([[0.9, 0.2], [0.5, 1.0]])
    a = torch.tensor([[0.8, 0.1], [0.7, 0.0]])
    expected = [(0.8 * 0.8 + 0.1 * -0.6) / 2, 0.0]
    found = predicted_density(torch.logit(p), a)
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("convolution", ["gat", "mean"])
def test_nodes_without_any_edge_give_finite_logits_and_gradients(convolution):
    X = np.float32([[1, 0], [-1, 0]])
    network = LanderNetwork(2, 4, convolution, False)
    logit = network(Graph(Level.build(X, X, 2), False), torch.arange(2))
    logit.sum().backward()
    assert torch.isfinite(logit).all()
    assert all(p.grad is None or torch.isfinite(p.grad).all() for p in network.parameters())

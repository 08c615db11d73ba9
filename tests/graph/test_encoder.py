from __future__ import annotations

import pytest
import torch

from opengcn.errors import OpenGCNError
from opengcn.graph.encoder import Encoder, GraphAttention


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


def edges(graphs: int, nodes: int) -> torch.Tensor:
    """Every ordered pair of nodes of every graph, self-loops apart (PyG adds them)."""
    i, j = torch.meshgrid(torch.arange(nodes), torch.arange(nodes), indexing="ij")
    pairs = torch.stack([i[i != j], j[i != j]])
    return torch.cat([pairs + g * nodes for g in range(graphs)], dim=1)


@pytest.mark.parametrize("heads", [1, 3])
def test_gat_equals_the_edge_list_form(heads: int) -> None:
    pyg = pytest.importorskip("torch_geometric.nn")
    graphs, nodes, inputs, outputs = 2, 17, 8, 5
    dense = GraphAttention(inputs, outputs, heads)
    sparse = pyg.GATConv(inputs, outputs, heads)
    with torch.no_grad():
        sparse.lin.weight.copy_(dense.value.weight)
        sparse.att_src.copy_(dense.vector[0][None])
        sparse.att_dst.copy_(dense.vector[1][None])
        dense.bias.normal_()
        sparse.bias.copy_(dense.bias)
    x = torch.randn(graphs, nodes, inputs)
    expected = sparse(x.flatten(0, 1), edges(graphs, nodes)).view(graphs, nodes, -1)
    torch.testing.assert_close(dense(x), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("heads", [1, 2])
def test_gatv2_equals_the_edge_list_form(heads: int) -> None:
    pyg = pytest.importorskip("torch_geometric.nn")
    graphs, nodes, inputs, outputs = 2, 11, 6, 4
    dense = GraphAttention(inputs, outputs, heads, "gatv2")
    sparse = pyg.GATv2Conv(inputs, outputs, heads, bias=True)
    with torch.no_grad():
        sparse.lin_l.weight.copy_(dense.value.weight)
        sparse.lin_l.bias.zero_()
        sparse.lin_r.weight.copy_(dense.query.weight)
        sparse.lin_r.bias.zero_()
        sparse.att.copy_(dense.vector)
        sparse.bias.copy_(dense.bias)
    x = torch.randn(graphs, nodes, inputs)
    expected = sparse(x.flatten(0, 1), edges(graphs, nodes)).view(graphs, nodes, -1)
    torch.testing.assert_close(dense(x), expected, atol=1e-5, rtol=1e-5)


def test_cosine_attention_by_a_loop() -> None:
    layer = GraphAttention(6, 4, 1, "cosine")
    x = torch.randn(1, 5, 6)
    h = layer.value(x)[0]
    for i in range(5):
        e = torch.stack([10 * torch.cosine_similarity(h[i], h[j], dim=0) for j in range(5)])
        torch.testing.assert_close(layer(x)[0, i], e.softmax(0) @ h + layer.bias)


@pytest.mark.parametrize("attention", ["gat", "gatv2", "cosine"])
def test_the_order_of_nodes_does_not_matter(attention: str) -> None:
    encoder = Encoder(8, 4, layers=2, heads=2, attention=attention)
    x, order = torch.randn(3, 9, 8), torch.randperm(9)
    torch.testing.assert_close(encoder(x[:, order]), encoder(x)[:, order], atol=1e-5, rtol=1e-5)
    assert encoder(x).shape == (3, 9, encoder.width)
    torch.testing.assert_close(encoder(x)[..., -8:], x)  # the embedding stands beside


def test_unknown_attention() -> None:
    with pytest.raises(OpenGCNError, match="attention: expected one of gat, gatv2, cosine"):
        GraphAttention(2, 2, 1, "dot")  # type: ignore[arg-type]

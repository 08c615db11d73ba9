"""Graph attention over complete graphs, as batched dense tensors.

Every node attends to every node of its graph, itself included, so there is no edge list:
a batch of graphs is one tensor of shape (graphs, nodes, features) and a layer is a softmax
and a matrix product.
"""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor, nn

from opengcn.errors import OpenGCNError

__all__ = ["Attention", "Encoder", "GraphAttention"]

Attention = Literal["gat", "gatv2", "cosine"]
SLOPE = 0.2  # of the leaky rectifier in the attention logits, as in the GAT paper


class GraphAttention(nn.Module):
    """One attention layer on complete graphs with self-loops.

    The output of node i is ``sum_j softmax_j(e_ij) W x_j + b``, heads concatenated, with

    - ``gat``: e_ij = LeakyReLU(a_src . W x_j + a_dst . W x_i) (Velickovic et al. 2018). On
      a complete graph all nodes rank their neighbours alike, so the output is close to a
      learned summary of the whole graph;
    - ``gatv2``: e_ij = a . LeakyReLU(W x_j + W' x_i) (Brody et al. 2022);
    - ``cosine``: e_ij = s cos(W x_i, W x_j) with a learned scale s.

    Parameters
    ----------
    inputs : int
        Features of a node.
    outputs : int
        Features of a head.
    heads : int, default 1
        Heads, concatenated.
    attention : {"gat", "gatv2", "cosine"}, default "gat"
        The kind of logit.
    """

    def __init__(
        self, inputs: int, outputs: int, heads: int = 1, attention: Attention = "gat"
    ) -> None:
        super().__init__()
        if attention not in get_args(Attention):
            raise OpenGCNError(
                f"attention: expected one of {', '.join(get_args(Attention))}, "
                f"received {attention!r}"
            )
        self.heads = heads
        self.attention = attention
        width = heads * outputs
        self.value = nn.Linear(inputs, width, bias=False)
        self.bias = nn.Parameter(torch.zeros(width))
        nn.init.xavier_uniform_(self.value.weight)
        if attention == "cosine":
            self.scale = nn.Parameter(torch.full((heads,), 10.0))
        else:
            rows = 2 if attention == "gat" else 1
            self.vector = nn.Parameter(torch.empty(rows, heads, outputs))
            nn.init.xavier_uniform_(self.vector)
        if attention == "gatv2":
            self.query = nn.Linear(inputs, width, bias=False)
            nn.init.xavier_uniform_(self.query.weight)

    def forward(self, x: Tensor) -> Tensor:
        """Apply the layer.

        Parameters
        ----------
        x : Tensor of shape (graphs, nodes, inputs)
            Node features.

        Returns
        -------
        y : Tensor of shape (graphs, nodes, heads * outputs)
            New node features.
        """
        value = self._split(self.value(x))
        weight = self._logits(x, value).softmax(dim=-1)
        mixed = weight @ value  # (graphs, heads, nodes, outputs)
        return mixed.transpose(1, 2).flatten(2) + self.bias

    def _split(self, x: Tensor) -> Tensor:
        """Return (graphs, heads, nodes, outputs)."""
        graphs, nodes, width = x.shape
        return x.view(graphs, nodes, self.heads, width // self.heads).transpose(1, 2)

    def _logits(self, x: Tensor, value: Tensor) -> Tensor:
        """Return e_ij, of shape (graphs, heads, nodes, nodes)."""
        if self.attention == "cosine":
            unit = nn.functional.normalize(value, dim=-1)
            return self.scale[:, None, None] * (unit @ unit.transpose(-1, -2))
        if self.attention == "gat":
            source, target = (
                torch.einsum("ghnc,hc->ghn", value, part) for part in self.vector.unbind()
            )
            return nn.functional.leaky_relu(target[..., :, None] + source[..., None, :], SLOPE)
        query = self._split(self.query(x))
        both = nn.functional.leaky_relu(query[..., :, None, :] + value[..., None, :, :], SLOPE)
        return torch.einsum("ghijc,hc->ghij", both, self.vector[0])


class Encoder(nn.Module):
    """Attention layers, each followed by a rectifier; what they see is put beside the input.

    Parameters
    ----------
    dim : int
        Dimension of the embeddings.
    hidden : int
        Features of a head.
    layers, heads : int
        Depth and heads.
    attention : {"gat", "gatv2", "cosine"}
        The kind of attention.
    """

    def __init__(
        self, dim: int, hidden: int, layers: int = 1, heads: int = 1, attention: Attention = "gat"
    ) -> None:
        super().__init__()
        sizes = [dim] + [heads * hidden] * layers
        self.layers = nn.ModuleList(
            GraphAttention(size, hidden, heads, attention) for size in sizes[:-1]
        )
        self.width = sizes[-1] + dim

    def forward(self, x: Tensor) -> Tensor:
        """Encode nodes.

        Parameters
        ----------
        x : Tensor of shape (graphs, nodes, dim)
            Embeddings.

        Returns
        -------
        features : Tensor of shape (graphs, nodes, width)
            Encoder features and the embedding, concatenated (Sec. 3.2).
        """
        h = x
        for layer in self.layers:
            h = torch.relu(layer(h))
        return torch.cat([h, x], dim=-1)

"""The connectivity network: an encoder and a pair head."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from opengcn.graph.encoder import Attention, Encoder
from opengcn.graph.pair_head import PairHead

__all__ = ["ConnectivityNetwork", "NetworkShape"]


@dataclass(frozen=True)
class NetworkShape:
    """Sizes of the network, which the paper leaves open.

    Attributes
    ----------
    layers, heads : int
        Depth and heads of the encoder. One of each, as in Hi-LANDER by the same team.
    hidden : int
        Features of a head of the encoder.
    head_hidden : int
        Hidden units of the pair head.
    attention : {"gat", "gatv2", "cosine"}
        ``gat`` is the paper's.
    """

    layers: int = 1
    heads: int = 1
    hidden: int = 64
    head_hidden: int = 64
    attention: Attention = "gat"


class ConnectivityNetwork(nn.Module):
    """Predicts for all pairs of nodes of complete graphs whether they share a class.

    Parameters
    ----------
    dim : int
        Dimension of the embeddings.
    shape : NetworkShape
        Sizes.
    seed : int
        Seed of the initial weights; torch's global generator is left as it was.
    """

    def __init__(self, dim: int, shape: NetworkShape, seed: int) -> None:
        super().__init__()
        self.head_hidden = shape.head_hidden
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.encoder = Encoder(dim, shape.hidden, shape.layers, shape.heads, shape.attention)
            self.head = PairHead(self.encoder.width, shape.head_hidden)

    def reset_head(self, seed: int) -> None:
        """Give the pair head fresh initial weights and freeze everything else.

        Parameters
        ----------
        seed : int
            Seed of the new weights.
        """
        device = self.head.second.bias.device
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.head = PairHead(self.encoder.width, self.head_hidden).to(device)
        self.encoder.requires_grad_(False)

    def forward(self, x: Tensor) -> Tensor:
        """Return logits of p_ij.

        Parameters
        ----------
        x : Tensor of shape (graphs, nodes, dim)
            Unit embeddings.

        Returns
        -------
        logits : Tensor of shape (graphs, nodes, nodes)
            Symmetric; the diagonal means nothing.
        """
        logits: Tensor = self.head(self.encoder(x))
        return logits

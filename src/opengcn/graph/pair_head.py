"""The two-layer network that scores pairs of nodes."""

from __future__ import annotations

from torch import Tensor, nn

from opengcn.graph.additive_pairs import additive_pairs

__all__ = ["PairHead"]


class PairHead(nn.Module):
    """A two-layer perceptron on the concatenated features of both ends of a pair.

    Its first layer on [z_i ; z_j] is U z_i + V z_j: two small products a node, and an
    addition a pair. The logit of a pair is the mean over its two orders, so that p_ij = p_ji.

    Parameters
    ----------
    width : int
        Features of a node.
    hidden : int
        Units of the hidden layer.
    """

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.first = nn.Linear(2 * width, hidden)
        self.second = nn.Linear(hidden, 1)

    def forward(self, z: Tensor) -> Tensor:
        """Score all pairs of nodes of each graph.

        Parameters
        ----------
        z : Tensor of shape (graphs, nodes, width)
            Node features.

        Returns
        -------
        logits : Tensor of shape (graphs, nodes, nodes)
            Symmetric; p_ij is their sigmoid. The diagonal means nothing.
        """
        u, v = self.first.weight.chunk(2, dim=1)
        left = nn.functional.linear(z, u, self.first.bias)
        right = nn.functional.linear(z, v)
        ordered = additive_pairs(left, right, self.second.weight[0]) + self.second.bias
        return 0.5 * (ordered + ordered.transpose(1, 2))

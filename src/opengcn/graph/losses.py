"""The training objective: connectivity, and the two densities computed from it.

Pairs i = j are left out everywhere. For densities computed from p_ij, s_nbr = 2 s_avg -
a_avg with a_avg the mean similarity of a node, which does not depend on labels or
predictions. So L_nbr = 4 L_avg, always: the two density losses are one, and lambda (L_nbr +
L_avg) = 5 lambda L_avg. The paper's loss ablation therefore compares the weights 0, 10, 40
and 50 on one and the same loss.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

__all__ = ["Densities", "LossWeights", "connectivity_loss", "densities", "total_loss"]


class LossWeights(NamedTuple):
    """Weights of the terms (Eq. 7): 1, lambda and lambda in the paper, lambda = 10."""

    connectivity: float = 1.0
    average: float = 10.0
    neighbour: float = 10.0


class Densities(NamedTuple):
    """Densities of each node (Eq. 5), each of shape (graphs, nodes)."""

    average: Tensor
    neighbour: Tensor


def densities(similarity: Tensor, same: Tensor) -> Densities:
    """Return s_avg and s_nbr of each node (Eq. 5), its neighbours being all other nodes.

    Parameters
    ----------
    similarity : Tensor of shape (graphs, nodes, nodes)
        Cosine similarities a_ij of the embeddings.
    same : Tensor of shape (graphs, nodes, nodes)
        1 where i and j share a class and 0 elsewhere, or the probability p_ij of it.

    Returns
    -------
    densities : Densities
        The sums over j != i of a_ij same_ij, and of a_ij (2 same_ij - 1), over nodes - 1.
    """
    others = 1 - torch.eye(similarity.shape[-1], device=similarity.device)
    a = similarity * others
    count = max(similarity.shape[-1] - 1, 1)
    average = (a * same).sum(-1) / count
    neighbour = (a * (2 * same - 1)).sum(-1) / count
    return Densities(average, neighbour)


def connectivity_loss(logits: Tensor, same: Tensor) -> Tensor:
    """Return the balanced cross-entropy: same-class and other pairs weigh alike.

    The paper prints it without the minus sign. A graph without a same-class pair (or
    without any other) contributes the term that it has.

    Parameters
    ----------
    logits : Tensor of shape (graphs, nodes, nodes)
        Logits of p_ij.
    same : Tensor of shape (graphs, nodes, nodes), bool
        Whether i and j share a class.

    Returns
    -------
    loss : Tensor, scalar
        Mean over the graphs.
    """
    off_diagonal = ~torch.eye(logits.shape[-1], dtype=torch.bool, device=logits.device)
    total = logits.new_zeros(())
    for pairs, error in (
        (same & off_diagonal, functional.softplus(-logits)),  # -log p
        (~same & off_diagonal, functional.softplus(logits)),  # -log(1 - p)
    ):
        count = pairs.sum((1, 2)).clamp(min=1)
        total = total + ((error * pairs).sum((1, 2)) / count).mean()
    return total


def total_loss(x: Tensor, logits: Tensor, same: Tensor, weights: LossWeights) -> Tensor:
    """Return the objective (Eq. 7): connectivity plus weighted density errors.

    Parameters
    ----------
    x : Tensor of shape (graphs, nodes, dim)
        Unit embeddings.
    logits : Tensor of shape (graphs, nodes, nodes)
        Logits of p_ij.
    same : Tensor of shape (graphs, nodes, nodes), bool
        Whether i and j share a class.
    weights : LossWeights
        Weights of the terms; a term of weight 0 is not computed.

    Returns
    -------
    loss : Tensor, scalar
        The objective.
    """
    loss = logits.new_zeros(())
    if weights.connectivity:
        loss = loss + weights.connectivity * connectivity_loss(logits, same)
    if weights.average or weights.neighbour:
        a = x @ x.transpose(1, 2)
        true, estimated = densities(a, same), densities(a, logits.sigmoid())
        for weight, s, s_hat in zip(weights[1:], true, estimated, strict=True):
            if weight:
                loss = loss + weight * functional.mse_loss(s_hat, s)
    return loss

"""Joint training of connectivity and density over the hierarchies of a labelled set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from opengcn.calibrators.lander.decode import denser
from opengcn.calibrators.lander.hierarchy import LabelledLevel
from opengcn.calibrators.lander.network import Graph, LanderNetwork, predicted_density
from opengcn.progress import progress_bar
from opengcn.threads import one_torch_thread

__all__ = ["TrainingGraph", "lander_loss", "train"]


@dataclass(frozen=True)
class TrainingGraph:
    """A labelled level as tensors.

    Attributes
    ----------
    graph : Graph
        n nodes with m neighbours each.
    density : Tensor of shape (n,)
        True densities.
    same : Tensor of shape (n, m), bool
        Whether node and neighbour are of one class.
    eligible : Tensor of shape (n, m), bool
        Edges to truly denser neighbours: the only ones that decoding could ever choose.
    """

    graph: Graph
    density: Tensor
    same: Tensor
    eligible: Tensor

    @classmethod
    def of(cls, labelled: LabelledLevel, cluster_features: bool) -> TrainingGraph:
        """Turn a labelled level into tensors.

        Parameters
        ----------
        labelled : LabelledLevel
            A level with classes.
        cluster_features : bool
            Whether the cluster means are part of the input.

        Returns
        -------
        graph : TrainingGraph
            The same as tensors.
        """
        level, labels = labelled.level, labelled.labels
        return cls(
            Graph(level, cluster_features),
            torch.from_numpy(labelled.density),
            torch.from_numpy(labels[level.neighbors] == labels[:, None]),
            torch.from_numpy(level.linked & denser(labelled.density, level.neighbors)),
        )


def lander_loss(
    logit: Tensor, similarity: Tensor, density: Tensor, same: Tensor, eligible: Tensor
) -> Tensor:
    """Return the loss of connectivity plus that of density, section 3.2 of Hi-LANDER.

    ``mean cross-entropy over the eligible edges, both classes of edges weighing the same,
    + mean_i (estimated d_i - d_i)^2``. Weights do what dropping edges of the larger class at random
    does on average. With no eligible edge of one of the two classes only the second term is left.

    Parameters
    ----------
    logit, similarity : Tensor of shape (b, m)
        Logits of the network and similarities.
    density : Tensor of shape (b,)
        True densities.
    same, eligible : Tensor of shape (b, m), bool
        See `TrainingGraph`.

    Returns
    -------
    loss : Tensor of shape ()
        Finite, with a gradient.
    """
    loss = functional.mse_loss(predicted_density(logit, similarity), density)
    positive, negative = logit[eligible & same], logit[eligible & ~same]
    if len(positive) and len(negative):
        loss = (
            loss
            + (functional.softplus(-positive).mean() + functional.softplus(negative).mean()) / 2
        )
    return loss


def train(
    network: LanderNetwork,
    graphs: Sequence[TrainingGraph],
    *,
    rounds: int,
    batch_size: int,
    learning_rate: float,
    weight_decay: float,
    rng: np.random.Generator,
    progress: bool = True,
) -> NDArray[np.float64]:
    """Fit one network to all graphs, a batch of nodes of each graph in turn.

    Parameters
    ----------
    network : LanderNetwork
        Changed in place.
    graphs : sequence of TrainingGraph
        Levels of the hierarchies.
    rounds : int
        How often every graph has its turn.
    batch_size : int
        Nodes of a graph per step, all of their edges included.
    learning_rate : float
        Step size at the start; it falls to 0 along a cosine.
    weight_decay : float
        L2 penalty.
    rng : Generator
        Draws the batches.
    progress : bool, default True
        Show a bar when it takes more than two seconds.

    Returns
    -------
    loss : ndarray of shape (rounds,)
        Mean loss over the graphs, round by round.
    """
    optimizer = torch.optim.Adam(network.parameters(), lr=learning_rate, weight_decay=weight_decay)
    steps = rounds * len(graphs)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, max(1, steps))
    history = np.zeros(rounds)
    with one_torch_thread(), progress_bar("Training LANDER", steps, show=progress) as advance:
        for number in range(rounds):
            for graph in graphs:
                size = min(batch_size, len(graph.graph))
                nodes = torch.from_numpy(rng.choice(len(graph.graph), size, replace=False))
                logit = network(graph.graph, nodes)
                loss = lander_loss(
                    logit,
                    graph.graph.similarity[nodes],
                    graph.density[nodes],
                    graph.same[nodes],
                    graph.eligible[nodes],
                )
                optimizer.zero_grad()
                torch.autograd.backward(loss)
                optimizer.step()
                schedule.step()
                history[number] += loss.item() / len(graphs)
                advance(1)
    return history

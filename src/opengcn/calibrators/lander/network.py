"""The LANDER network: one graph convolution and an edge head, densities from the edges."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from opengcn.calibrators.lander.hierarchy import ScoredLevel
from opengcn.calibrators.lander.levels import Level
from opengcn.errors import OpenGCNError
from opengcn.threads import cores, one_torch_thread

__all__ = ["Convolution", "Graph", "LanderNetwork", "predicted_density", "score_level"]

Convolution = Literal["gat", "mean"]

SCORED_AT_ONCE = 512  # nodes: with 9 neighbours and 256 channels an activation takes 5 MB


class Graph:
    """A level as tensors.

    Parameters
    ----------
    level : Level
        A level of n nodes with m neighbours each.
    cluster_features : bool
        Whether the cluster mean is part of a node's input.

    Attributes
    ----------
    x : Tensor of shape (n, D) or (n, 2 D)
        Inputs: f, or f and c side by side.
    neighbors : Tensor of shape (n, m), int64
        Neighbours.
    similarity : Tensor of shape (n, m)
        Similarities a, 0 where there is no edge.
    linked : Tensor of shape (n, m), bool
        Which neighbours are edges.
    """

    def __init__(self, level: Level, cluster_features: bool) -> None:
        x = np.hstack([level.features, level.means]) if cluster_features else level.features
        self.x = _tensor(x)
        self.neighbors = _tensor(level.neighbors)
        self.similarity = _tensor(level.similarity)
        self.linked = _tensor(level.linked)

    def __len__(self) -> int:
        return len(self.x)


class LanderNetwork(nn.Module):
    """Connectivity of every node with its nearest neighbours, section 3.2 of Hi-LANDER.

    With x the input of a node and N(i) the neighbours of i, the convolution is one of ::

        gat:   h_i = ReLU(W sum_j alpha_ij x_j + b),
               alpha_ij = softmax over j in N(i) of LeakyReLU(v . x_j + w . x_i)
        mean:  h_i = ReLU(W [x_i ; sum_j a_ij x_j / sum_j a_ij] + b)

    The attention vectors act on x directly: with a single layer and head, v here is W^T v of the
    usual form, and the sum over neighbours runs over the input's channels instead of `hidden` ones.
    The edge head adds its two halves, so no pair of features is ever laid side by side::

        z_ij = MLP(U h_j + V h_i),   p_ij = sigmoid(z_ij)

    One logit and a sigmoid stand for the softmax over two logits.

    Parameters
    ----------
    dimension : int
        Length D of the vectors.
    hidden : int
        Channels of h; the edge head has half as many.
    convolution : {"gat", "mean"}
        Kind of the graph convolution.
    cluster_features : bool
        Whether the input is f and the cluster mean c side by side, or f alone.
    """

    def __init__(
        self, dimension: int, hidden: int, convolution: Convolution, cluster_features: bool
    ) -> None:
        super().__init__()
        if convolution not in get_args(Convolution):
            raise OpenGCNError(f"convolution: expected 'gat' or 'mean', received {convolution!r}")
        self.dimension = dimension
        self.convolution = convolution
        self.cluster_features = cluster_features
        width = 2 * dimension if cluster_features else dimension
        if convolution == "gat":
            self.attention = nn.Linear(width, 2, bias=False)
        self.merge = nn.Linear(width if convolution == "gat" else 2 * width, hidden)
        self.neighbor = nn.Linear(hidden, hidden // 2)
        self.center = nn.Linear(hidden, hidden // 2, bias=False)
        self.head = nn.Sequential(
            nn.PReLU(hidden // 2),
            nn.Linear(hidden // 2, hidden // 2),
            nn.PReLU(hidden // 2),
            nn.Linear(hidden // 2, 1),
        )

    def forward(self, graph: Graph, nodes: Tensor) -> Tensor:
        """Return the logits of the edges of some nodes.

        Parameters
        ----------
        graph : Graph
            The whole level.
        nodes : Tensor of shape (b,), int64
            Nodes whose edges are wanted.

        Returns
        -------
        logit : Tensor of shape (b, m)
            Log-odds that a node and its neighbour are of one class.
        """
        neighbors = graph.neighbors[nodes]
        touched, place = torch.unique(torch.cat([nodes, neighbors.flatten()]), return_inverse=True)
        h = self.convolve(graph, touched)
        # The gradient of index_select is summed in a fixed order; that of indexing need not be.
        as_neighbor = self.neighbor(h).index_select(0, place[len(nodes) :])
        as_center = self.center(h.index_select(0, place[: len(nodes)]))
        return self.edges(as_neighbor.view(*neighbors.shape, as_center.shape[1]), as_center)

    def convolve(self, graph: Graph, nodes: Tensor) -> Tensor:
        """Return the features h of some nodes.

        Parameters
        ----------
        graph : Graph
            The whole level.
        nodes : Tensor of shape (b,), int64
            Some of its nodes.

        Returns
        -------
        h : Tensor of shape (b, hidden)
            Not negative.
        """
        x, linked = graph.x.index_select(0, nodes), graph.linked[nodes]
        neighbors = graph.neighbors[nodes]
        around = graph.x.index_select(0, neighbors.flatten())
        around = around.view(*neighbors.shape, graph.x.shape[1])
        if self.convolution == "gat":
            by_neighbor, by_node = self.attention.weight
            logit = functional.leaky_relu(around @ by_neighbor + (x @ by_node)[:, None], 0.2)
            # A finite floor and a product, so that a node without any edge gets zeros and no NaN.
            share = torch.softmax(logit.masked_fill(~linked, -1e9), dim=1) * linked
            merged = torch.einsum("nm,nmd->nd", share, around)
        else:
            share = functional.normalize(graph.similarity[nodes], p=1.0, dim=1)
            merged = torch.cat([x, torch.einsum("nm,nmd->nd", share, around)], dim=1)
        return torch.relu(self.merge(merged))

    def edges(self, as_neighbor: Tensor, as_center: Tensor) -> Tensor:
        """Return the logits of edges from what their ends add.

        Parameters
        ----------
        as_neighbor : Tensor of shape (b, m, hidden // 2)
            ``U h`` of the neighbours.
        as_center : Tensor of shape (b, hidden // 2)
            ``V h`` of the nodes.

        Returns
        -------
        logit : Tensor of shape (b, m)
            Log-odds.
        """
        z = as_neighbor + as_center[:, None]
        logit: Tensor = self.head(z.flatten(0, 1)).view(z.shape[:2])
        return logit


def predicted_density(logit: Tensor, similarity: Tensor) -> Tensor:
    """Return the densities that follow from the connectivity; they have no head of their own.

    ``d_i = mean over the m neighbours j of a_ij (p_ij - (1 - p_ij))``

    Parameters
    ----------
    logit : Tensor of shape (n, m)
        Logits of p.
    similarity : Tensor of shape (n, m)
        Similarities a, 0 where there is no edge.

    Returns
    -------
    density : Tensor of shape (n,)
        In [-1, 1].
    """
    return (similarity * torch.tanh(logit / 2)).sum(dim=1) / max(1, similarity.shape[1])


def score_level(network: LanderNetwork, level: Level) -> ScoredLevel:
    """Apply the network to a whole level, some thousands of nodes at a time.

    Parameters
    ----------
    network : LanderNetwork
        A trained network.
    level : Level
        A level of n nodes with m neighbours each.

    Returns
    -------
    scored : ScoredLevel
        Connectivity and densities.
    """
    graph = Graph(level, network.cluster_features)
    logit = torch.empty(graph.neighbors.shape)
    channels = network.neighbor.out_features
    as_neighbor, as_center = torch.empty(len(graph), channels), torch.empty(len(graph), channels)
    chunks = torch.split(torch.arange(len(graph)), SCORED_AT_ONCE)

    @torch.no_grad()
    def ends(nodes: Tensor) -> None:
        h = network.convolve(graph, nodes)
        as_neighbor[nodes], as_center[nodes] = network.neighbor(h), network.center(h)

    @torch.no_grad()
    def edges(nodes: Tensor) -> None:
        logit[nodes] = network.edges(as_neighbor[graph.neighbors[nodes]], as_center[nodes])

    # One torch thread a worker: the workers are the parallelism.
    with one_torch_thread(), ThreadPoolExecutor(min(cores(), len(chunks))) as pool:
        for step in (ends, edges):
            for _ in pool.map(step, chunks):
                pass
    density = predicted_density(logit, graph.similarity)
    return ScoredLevel(level, torch.sigmoid(logit).numpy(), density.numpy())


def _tensor(array: NDArray[Any]) -> Tensor:
    """Share the memory of an array where torch accepts it: contiguous and writable."""
    return torch.from_numpy(np.require(array, requirements=["C", "W"]))

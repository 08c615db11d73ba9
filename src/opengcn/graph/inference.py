"""Estimating curves from random sub-graphs of an unlabelled set (Eq. 3-4), until they settle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from opengcn.embeddings import EmbeddingSet
from opengcn.graph.network import ConnectivityNetwork
from opengcn.pairs import PairHistogram, weigh_graph
from opengcn.progress import progress_bar
from opengcn.threads import one_torch_thread

__all__ = ["Sampling", "SubgraphEstimate", "score_rows", "subgraph_estimate"]

FEWEST = 8  # graphs: fewer give no standard error to speak of
BATCH = 8  # graphs scored before the next look at the standard errors


@dataclass(frozen=True)
class Sampling:
    """How sub-graphs are drawn, and when that is enough.

    Attributes
    ----------
    nodes : int
        Nodes of a sub-graph; 256, as in training.
    tolerance : float
        Both curves count as converged when the standard error of neither exceeds this at
        any distance.
    most : int
        Sub-graphs at most.
    """

    nodes: int = 256
    tolerance: float = 0.003
    most: int = 1000


@dataclass(frozen=True)
class SubgraphEstimate:
    """Pairs predicted same and different, summed over sub-graphs.

    Attributes
    ----------
    pairs : PairHistogram
        The sums. Pairs drawn twice count twice, which favours none.
    graphs : int
        Sub-graphs drawn.
    error : tuple of float
        Largest standard error of TPR and of TNR over all distances; zeros when the set
        fits into one graph, NaN when it is unknown.
    converged : bool
        Whether both are within the tolerance.
    """

    pairs: PairHistogram
    graphs: int
    error: tuple[float, float]
    converged: bool


def score_rows(
    network: ConnectivityNetwork, X: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return similarities and logits of all pairs of one sub-graph.

    Parameters
    ----------
    network : ConnectivityNetwork
        The network.
    X : ndarray of shape (nodes, D), float32
        Unit vectors.

    Returns
    -------
    similarity, logits : ndarray of shape (nodes, nodes), float32
        Cosine similarities, and logits of p_ij.
    """
    device = next(network.parameters()).device
    with torch.inference_mode(), one_torch_thread():
        x = torch.from_numpy(X).to(device)
        logits = network(x[None])[0]
        return (x @ x.T).cpu().numpy(), logits.cpu().numpy()


def subgraph_estimate(
    network: ConnectivityNetwork,
    test: EmbeddingSet,
    tau: float,
    sampling: Sampling,
    seed: int,
    *,
    show: bool = True,
) -> SubgraphEstimate:
    """Draw sub-graphs, predict connectivity, and sum pairs until both curves converge.

    Parameters
    ----------
    network : ConnectivityNetwork
        The network.
    test : EmbeddingSet
        The set; its labels are not looked at.
    tau : float
        Pairs with p_ij > tau are predicted to share a class.
    sampling : Sampling
        Graph size and stopping rule.
    seed : int
        Seed of the drawing.
    show : bool, default True
        Show a progress bar.

    Returns
    -------
    estimate : SubgraphEstimate
        Sums and standard errors.
    """
    cut = float(np.log(tau) - np.log1p(-tau))
    rng = np.random.default_rng(seed)
    whole = len(test) <= sampling.nodes
    same: list[NDArray[np.float64]] = []
    different: list[NDArray[np.float64]] = []
    error, converged = (np.nan, np.nan), False
    with progress_bar("Sampling sub-graphs", sampling.most, show=show) as advance:
        while not converged and len(same) < sampling.most:
            for _ in range(1 if whole else min(BATCH, sampling.most - len(same))):
                rows = np.sort(rng.choice(len(test), min(sampling.nodes, len(test)), replace=False))
                similarity, logits = score_rows(network, np.array(test.take(rows)))
                pairs = weigh_graph(similarity, logits > cut)
                same.append(pairs.same)
                different.append(pairs.different)
                advance(1)
            if whole:
                error, converged = (0.0, 0.0), True
            elif len(same) >= FEWEST:
                error = _standard_error(np.stack(same)), _standard_error(np.stack(different))
                converged = max(error) <= sampling.tolerance  # false for NaN
    sums = PairHistogram(np.sum(same, axis=0), np.sum(different, axis=0))
    return SubgraphEstimate(sums, len(same), error, converged)


def _standard_error(bins: NDArray[np.float64]) -> float:
    """Return the largest standard error of the share of pairs below a distance.

    The share is a ratio of sums over graphs, numerator N_g(d) and denominator D_g, so its
    variance is that of the residuals N_g(d) - R(d) D_g over the squared sum of the D_g.

    Parameters
    ----------
    bins : ndarray of shape (graphs, 201)
        Pairs by distance, a row a graph.

    Returns
    -------
    error : float
        NaN when no graph has a pair.
    """
    below, total = bins.cumsum(axis=1), bins.sum(axis=1)
    if total.sum() == 0:
        return float("nan")
    residual = below - below.sum(axis=0) / total.sum() * total[:, None]
    graphs = len(bins)
    variance = (residual**2).sum(axis=0) * graphs / (graphs - 1) / total.sum() ** 2
    return float(np.sqrt(variance.max()))

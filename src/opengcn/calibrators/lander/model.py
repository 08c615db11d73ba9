"""LANDER as one object: fit on labelled vectors, cluster unlabelled ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import NotFittedError

from opengcn.calibrators.lander.hierarchy import ScoredLevel, cluster_levels, training_levels
from opengcn.calibrators.lander.levels import Level
from opengcn.calibrators.lander.network import Convolution, LanderNetwork, score_level
from opengcn.calibrators.lander.training import TrainingGraph, train
from opengcn.distinct_rows import distinct_rows
from opengcn.errors import DataError, OpenGCNError
from opengcn.knn import check_unit_rows

__all__ = ["Lander"]


@dataclass
class Lander:
    """Hierarchical clustering by a graph network that learns from other classes (Hi-LANDER).

    Trained on labelled vectors, it finds the clusters of vectors of classes that it has never seen,
    without being told how many there are.

    Parameters
    ----------
    k : int, default 10
        Length of the neighbour lists when clustering, the node itself included.
    levels : int, default 10
        How many levels clustering builds at most.
    hierarchies : tuple of (int, int), default ((10, 2), (5, 3), (3, 4))
        Hierarchies to train on: length of the neighbour lists and number of levels of each.
    hidden : int, default 512
        Channels of the graph convolution.
    convolution : {"gat", "mean"}, default "gat"
        Attention, or a mean weighted by similarity.
    cluster_features : bool, default False
        Whether the network also sees the mean of the samples that a node stands for.
    rounds, batch_size, learning_rate, weight_decay
        See `train`.
    seed : int, default 0
        Of the initial weights and the batches. Same seed, same machine: the same network to the
        bit, on any number of threads.

    Attributes
    ----------
    network_ : LanderNetwork
        The trained network.
    loss_ : ndarray of shape (rounds,)
        Training loss, round by round.

    References
    ----------
    Xing et al., "Learning Hierarchical Graph Neural Networks for Image Clustering", ICCV 2021.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat(np.eye(8), 6, axis=0) + 0.02 * rng.standard_normal((48, 8))
    >>> X = (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)
    >>> model = Lander(rounds=5, hidden=32).fit(X, np.arange(48) // 6)
    >>> model.cluster(X, tau=0.5).shape
    (48,)
    """

    k: int = 10
    levels: int = 10
    hierarchies: tuple[tuple[int, int], ...] = ((10, 2), (5, 3), (3, 4))
    hidden: int = 512
    convolution: Convolution = "gat"
    cluster_features: bool = False
    rounds: int = 100
    batch_size: int = 512
    learning_rate: float = 1e-3
    weight_decay: float = 1e-5
    seed: int = 0
    network_: LanderNetwork = field(init=False, repr=False, compare=False)
    loss_: NDArray[np.float64] = field(init=False, repr=False, compare=False)

    def fit(self, X: NDArray[np.float32], y: ArrayLike, *, progress: bool = True) -> Self:
        """Learn which neighbours belong together.

        Parameters
        ----------
        X : ndarray of shape (n, D), float32
            Unit vectors.
        y : array_like of shape (n,), int
            Classes.
        progress : bool, default True
            Show a bar where it takes more than two seconds.

        Returns
        -------
        self : Lander
            With `network_` and `loss_`.
        """
        X = check_unit_rows(X)
        labels = np.asarray(y)
        if labels.shape != (len(X),) or labels.dtype.kind not in "iu":
            raise DataError(
                f"y: expected {len(X)} integers, received {labels.dtype} of shape {labels.shape}"
            )
        first = Level.build(X, X, max(k for k, _ in self.hierarchies), progress=progress)
        graphs = [
            TrainingGraph.of(level, self.cluster_features)
            for k, levels in self.hierarchies
            for level in training_levels(first, labels.astype(np.int64), k, levels)
        ]
        with torch.random.fork_rng(devices=[]):  # the caller's random state stays as it is
            torch.manual_seed(self.seed)
            network = self._new_network(X.shape[1])
        self.loss_ = train(
            network,
            graphs,
            rounds=self.rounds,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            rng=np.random.default_rng(self.seed),
            progress=progress,
        )
        self.network_ = network
        return self

    def cluster(
        self, X: NDArray[np.float32], tau: float, *, progress: bool = True
    ) -> NDArray[np.int64]:
        """Find the clusters of unlabelled vectors.

        Parameters
        ----------
        X : ndarray of shape (n, D), float32
            Unit vectors.
        tau : float
            Samples link only when the network's probability that they are of one class is larger:
            higher values give smaller and purer clusters.
        progress : bool, default True
            Show a bar where it takes more than two seconds.

        Returns
        -------
        cluster : ndarray of shape (n,), int64
            Cluster labels 0 to c - 1.
        """
        return self.cluster_many(X, [tau], progress=progress)[0]

    def cluster_many(
        self, X: NDArray[np.float32], taus: Sequence[float], *, progress: bool = True
    ) -> list[NDArray[np.int64]]:
        """Cluster the same vectors at several thresholds.

        The neighbours and the network's view of all samples are found once; what each threshold
        adds are the upper levels, which are small. Identical vectors count once and share a
        cluster: otherwise ten copies of a sample would be all that it sees of its neighbourhood.

        Parameters
        ----------
        X : ndarray of shape (n, D), float32
            Unit vectors.
        taus : sequence of float
            Thresholds in [0, 1], see `cluster`.
        progress : bool, default True
            Show a bar where it takes more than two seconds.

        Returns
        -------
        clusters : list of ndarray of shape (n,), int64
            Cluster labels 0 to c - 1, threshold by threshold.
        """
        network = self._fitted()
        for tau in taus:
            if not 0 <= tau <= 1:
                raise OpenGCNError(f"tau: expected 0 to 1, received {tau}")
        X = check_unit_rows(X)
        if X.shape[1] != network.dimension:
            raise DataError(
                f"X: expected dimension {network.dimension} as in training, received {X.shape[1]}"
            )

        def score(level: Level) -> ScoredLevel:
            return score_level(network, level)

        first_copy, copy_of = distinct_rows(X)
        distinct = X[first_copy]
        first = score(Level.build(distinct, distinct, self.k, progress=progress))
        return [cluster_levels(first, score, tau, self.k, self.levels)[copy_of] for tau in taus]

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return what the network has learnt, for a file.

        Returns
        -------
        arrays : dict of str to ndarray
            Copies of the weights, float32, and ``dimension``, int64 of shape (1,).
        """
        network = self._fitted()
        weights = {name: weight.numpy().copy() for name, weight in network.state_dict().items()}
        return weights | {"dimension": np.array([network.dimension])}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], **parameters: Any) -> Self:
        """Restore a fitted model.

        Parameters
        ----------
        arrays : mapping of str to ndarray
            What `to_arrays` returned.
        **parameters
            The parameters of the model that was saved.

        Returns
        -------
        model : Lander
            Ready to cluster; it has no `loss_`.
        """
        model = cls(**parameters)
        weights = {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}
        try:
            with torch.device("meta"):  # draws no random weights: all of them are replaced
                network = model._new_network(int(weights.pop("dimension")))
            network.load_state_dict(weights, assign=True)
        except (KeyError, RuntimeError) as error:
            raise OpenGCNError(
                f"arrays: expected the weights of {model}, received others:"
                f" {' '.join(str(error).split())}"
            ) from error
        model.network_ = network
        return model

    def _new_network(self, dimension: int) -> LanderNetwork:
        return LanderNetwork(dimension, self.hidden, self.convolution, self.cluster_features)

    def _fitted(self) -> LanderNetwork:
        if not hasattr(self, "network_"):
            raise NotFittedError("Lander: expected fit before clustering and saving")
        return self.network_

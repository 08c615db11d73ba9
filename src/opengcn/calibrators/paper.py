"""OpenGCN as the paper has it (Zhang et al. 2024): ``OpenGCN(preset="paper")``."""

from __future__ import annotations

import copy
import warnings
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from opengcn.calibrators.opengcn import OpenGCN
from opengcn.curve import OperatingCurve
from opengcn.embeddings import EmbeddingSet
from opengcn.errors import OpenGCNError, OpenGCNWarning
from opengcn.graph.checkpoint import Checkpoint, fingerprint
from opengcn.graph.inference import Sampling, score_rows, subgraph_estimate
from opengcn.graph.losses import LossWeights
from opengcn.graph.network import ConnectivityNetwork, NetworkShape
from opengcn.graph.tau import TAUS, PairTable, tau_errors
from opengcn.graph.training import Stage, train
from opengcn.memo import remembered

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["PaperOpenGCN"]

FOLDS = 10  # of the cross-validation for tau (Sec. 3.2)
TUNING_GRAPHS = 20  # sub-graphs of D_cal scored a fold: every pair is drawn a few times


class PaperOpenGCN(OpenGCN):
    """Predicts which pairs of the unlabelled test set share a class, and counts them.

    What ``OpenGCN(preset="paper")`` makes: the method of the paper to the letter. One graph
    attention layer on complete graphs of 256 nodes, the embedding put beside its output, a
    two-layer pair head; trained on D_train with a balanced connectivity loss and two
    density losses; then the pair head is reset and trained on D_cal alone; the connectivity
    threshold tau comes from 10-fold cross-validation over the classes of D_cal; curves are
    counted on random sub-graphs of the test set until they have converged. What the paper
    leaves open is chosen in the arguments below; `docs/paper.md` gives the reasons.

    Parameters
    ----------
    preset : {"paper"}
        This method; see `OpenGCN`.
    seed : int, default 0
        Seed of weights, training graphs and sub-graphs. Same seed, machine and number of
        threads: same curve, to the bit.
    device : str, default "auto"
        Where the network runs; "auto" takes CUDA when it is there.
    shape : NetworkShape, optional
        Sizes of the network, and the kind of attention.
    loss : LossWeights, optional
        Weights of the three losses; 0 leaves one out.
    finetune : bool, default True
        Reset the pair head and train it on D_cal. False keeps the pretrained one ("PT" in
        the paper's ablation); tau is then chosen on all of D_cal.
    pretrain_steps, finetune_steps : int, default 1200 and 400
        Steps of the two stages, one graph each.
    sampling : Sampling, optional
        Size of the sub-graphs, and when enough of them are drawn.
    checkpoint : path, optional
        A folder for checkpoints: an interrupted `fit` goes on where it was.

    Attributes
    ----------
    network_ : ConnectivityNetwork
        The trained network.
    tau_ : float
        The connectivity threshold.
    tau_errors_ : ndarray of shape (241,)
        Cross-validated MAE_comb of each candidate of ``opengcn.graph.tau.TAUS``.
    history_ : dict of str to list of float
        Loss of each step of each stage.
    summary_ : dict
        Rows and classes of the sets that it was fitted on.

    References
    ----------
    Zhang et al. (2024), Learning for transductive threshold calibration in open-world
    recognition. CVPR.
    """

    def __init__(
        self,
        preset: str = "paper",
        *,
        seed: int = 0,
        device: str = "auto",
        shape: NetworkShape = NetworkShape(),  # noqa: B008 - frozen
        loss: LossWeights = LossWeights(),  # noqa: B008 - frozen
        finetune: bool = True,
        pretrain_steps: int = 1200,
        finetune_steps: int = 400,
        sampling: Sampling = Sampling(),  # noqa: B008 - frozen
        checkpoint: str | PathLike[str] | None = None,
    ) -> None:
        self.preset = preset
        self.seed = seed
        self.device = device
        self.shape = shape
        self.loss = loss
        self.finetune = finetune
        self.pretrain_steps = pretrain_steps
        self.finetune_steps = finetune_steps
        self.sampling = sampling
        self.checkpoint = checkpoint

    def _fit(self, train_set: EmbeddingSet, cal: EmbeddingSet) -> None:
        self._check_settings()
        stage = Stage("Pretraining on D_train", self.pretrain_steps, loss=self.loss)
        key = ("OpenGCN", self.seed, self.device, self.shape, stage)
        pretrained, losses = remembered(train_set, key, lambda: self._pretrain(train_set, stage))
        self.network_ = copy.deepcopy(pretrained)
        self.history_ = {"pretraining": losses}
        self.tau_errors_ = tau_errors(self._held_out(cal, pretrained))
        if np.isnan(self.tau_errors_).all():
            raise OpenGCNError("tau: expected some pairs on both sides of it, received none")
        self.tau_ = float(TAUS[int(np.nanargmin(self.tau_errors_))])
        if self.finetune:
            self.history_["fine-tuning"] = self._tune_head(self.network_, cal, "finetune")

    def _pretrain(
        self, data: EmbeddingSet, stage: Stage
    ) -> tuple[ConnectivityNetwork, list[float]]:
        network = ConnectivityNetwork(data.dim, self.shape, self.seed).to(self._device())
        return network, self._run(network, data, stage, "pretrain")

    def _tune_head(self, network: ConnectivityNetwork, cal: EmbeddingSet, name: str) -> list[float]:
        network.reset_head(self.seed + 1)
        stage = Stage("Fine-tuning on D_cal", self.finetune_steps, loss=self.loss)
        return self._run(network, cal, stage, name)

    def _run(
        self, network: ConnectivityNetwork, data: EmbeddingSet, stage: Stage, name: str
    ) -> list[float]:
        if self.checkpoint is None:
            return train(network, data, stage, self.seed)
        identity = fingerprint(data, self.seed, self.shape, stage)
        file = Checkpoint(Path(self.checkpoint) / f"{name}.safetensors", identity)
        return train(
            network,
            data,
            stage,
            self.seed,
            start=file.restore(network),
            save=lambda progress: file.save(network, progress),
        )

    def _held_out(self, cal: EmbeddingSet, pretrained: ConnectivityNetwork) -> list[PairTable]:
        """Return labelled pairs of D_cal, each scored by a head that has not seen its class."""
        codes = cal.codes
        classes = int(codes.max()) + 1
        everything = np.ones(classes, bool)
        if not self.finetune:
            return [self._score(pretrained, cal, everything)]
        if classes < 3:
            warnings.warn(
                f"tau: D_cal has {classes} classes, too few to hold any out; it is chosen on the "
                f"classes that the head was trained on",
                OpenGCNWarning,
                stacklevel=4,
            )
            network = copy.deepcopy(pretrained)
            self._tune_head(network, cal, "finetune")
            return [self._score(network, cal, everything)]
        order = np.random.default_rng(self.seed).permutation(classes)
        tables = []
        for fold, held in enumerate(np.array_split(order, min(FOLDS, classes))):
            network = copy.deepcopy(pretrained)
            self._tune_head(network, cal.subset(~np.isin(codes, held)), f"fold-{fold}")
            tables.append(self._score(network, cal, np.isin(np.arange(classes), held)))
        return tables

    def _score(
        self, network: ConnectivityNetwork, cal: EmbeddingSet, held: np.ndarray
    ) -> PairTable:
        """Score pairs of D_cal that touch the held-out classes, on random sub-graphs."""
        rng = np.random.default_rng(self.seed)
        codes, table = cal.codes, PairTable()
        nodes = min(self.sampling.nodes, len(cal))
        for _ in range(1 if nodes == len(cal) else TUNING_GRAPHS):
            rows = rng.choice(len(cal), nodes, replace=False)
            similarity, logits = score_rows(network, cal.take(rows))
            table.add(similarity, logits, codes[rows], held[codes[rows]])
        return table

    def _estimate(self, test: EmbeddingSet) -> OperatingCurve:
        found = subgraph_estimate(self.network_, test, self.tau_, self.sampling, self.seed)
        if not found.converged:
            warnings.warn(
                f"{test.source}: the curves have not converged after {found.graphs} sub-graphs "
                f"(standard error of TPR {found.error[0]:.4f}, of TNR {found.error[1]:.4f}, "
                f"tolerance {self.sampling.tolerance})",
                OpenGCNWarning,
                stacklevel=3,
            )
        curve = OperatingCurve.from_histogram(found.pairs)
        info = {"subgraphs": found.graphs, "nodes": min(self.sampling.nodes, len(test))}
        return OperatingCurve(curve.tpr, curve.tnr, "OpenGCN (paper)", info)

    def _estimate_knowing(self, test: EmbeddingSet, prior: float) -> OperatingCurve:
        raise OpenGCNError("preset 'paper': expected no hint, received one; the paper has no use")

    def plot_history(self, ax: Axes | None = None) -> Axes:
        """Draw the loss of each stage over its steps.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        ax : matplotlib.axes.Axes
            The axes.
        """
        from opengcn.plot import plot_history

        return plot_history(self.history_, ax)

    def _device(self) -> torch.device:
        if self.device == "auto":
            return torch.device("cuda" if torch.cuda.is_available() else "cpu")
        return torch.device(self.device)

    def _state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        header = {
            "shape": asdict(self.shape),
            "loss": self.loss._asdict(),
            "sampling": asdict(self.sampling),
            "finetune": self.finetune,
            "pretrain_steps": self.pretrain_steps,
            "finetune_steps": self.finetune_steps,
            "tau": self.tau_,
        }
        weights = {k: v.cpu().numpy() for k, v in self.network_.state_dict().items()}
        losses = {f"history.{k}": np.array(v) for k, v in self.history_.items()}
        return header, weights | losses | {"tau_errors": self.tau_errors_}

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        self.shape = NetworkShape(**header["shape"])
        self.loss = LossWeights(**header["loss"])
        self.sampling = Sampling(**header["sampling"])
        self.finetune = bool(header["finetune"])
        self.pretrain_steps = int(header["pretrain_steps"])
        self.finetune_steps = int(header["finetune_steps"])
        self.tau_ = float(header["tau"])
        self.tau_errors_ = arrays.pop("tau_errors")
        self.history_ = {
            name.removeprefix("history."): arrays.pop(name).tolist()
            for name in sorted(arrays, reverse=True)  # pretraining before fine-tuning
            if name.startswith("history.")
        }
        self.network_ = ConnectivityNetwork(self.dim_, self.shape, self.seed)
        self.network_.load_state_dict({k: torch.from_numpy(v) for k, v in arrays.items()})
        self.network_.to(self._device()).eval().requires_grad_(False)

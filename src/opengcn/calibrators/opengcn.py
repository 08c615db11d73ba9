"""OpenGCN: transductive threshold calibration with a graph network (Zhang et al. 2024)."""

from __future__ import annotations

import copy
import warnings
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from sklearn.exceptions import NotFittedError

from opengcn import __version__
from opengcn.calibrators.base import Calibrator
from opengcn.curve import OperatingCurve
from opengcn.embeddings import EmbeddingSet
from opengcn.errors import DataError, OpenGCNError, OpenGCNWarning
from opengcn.graph.checkpoint import Checkpoint, fingerprint
from opengcn.graph.inference import Sampling, score_rows, subgraph_estimate
from opengcn.graph.losses import LossWeights
from opengcn.graph.network import ConnectivityNetwork, NetworkShape
from opengcn.graph.tau import TAUS, PairTable, tau_errors
from opengcn.graph.training import Stage, train
from opengcn.memo import remembered
from opengcn.model_file import read_model, write_model

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["OpenGCN", "load"]

FOLDS = 10  # of the cross-validation for tau (Sec. 3.2)
TUNING_GRAPHS = 20  # sub-graphs of D_cal scored a fold: every pair is drawn a few times


class OpenGCN(Calibrator):
    """Predicts which pairs of the unlabelled test set share a class, and counts them.

    ``preset="paper"`` is the method of the paper to the letter: one graph attention layer
    on complete graphs of 256 nodes, the embedding put beside its output, a two-layer pair
    head; trained on D_train with a balanced connectivity loss and two density losses; then
    the pair head is reset and trained on D_cal alone; the connectivity threshold tau comes
    from 10-fold cross-validation over the classes of D_cal; curves are counted on random
    sub-graphs of the test set until they have converged. What the paper leaves open is
    chosen in the arguments below; `docs/paper.md` gives the reasons.

    Parameters
    ----------
    preset : {"paper"}, default "paper"
        The method.
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
        if self.preset != "paper":
            raise OpenGCNError(f"preset: expected 'paper', received {self.preset!r}")
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
        self.summary_ = {
            name: {"rows": len(data), "classes": int(data.codes.max()) + 1}
            for name, data in (("train", train_set), ("cal", cal))
        }

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
        return OperatingCurve(curve.tpr, curve.tnr, f"OpenGCN ({self.preset})", info)

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

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model, whole or not at all: safetensors with a JSON header.

        Parameters
        ----------
        path : path
            Where to, usually in .ogcn.
        """
        if not hasattr(self, "network_"):
            raise NotFittedError(f"{type(self).__name__}: expected fit before save")
        settings = self.get_params() | {
            "shape": asdict(self.shape),
            "loss": self.loss._asdict(),
            "sampling": asdict(self.sampling),
        }
        settings.pop("checkpoint")
        header = {
            "version": __version__,
            "model": type(self).__name__,
            "metric": "l2",
            "dim": self.dim_,
            "settings": settings,
            "tau": self.tau_,
            "summary": self.summary_,
            "seen": {space: [c.tolist() for c in parts] for space, parts in self.seen_.items()},
        }
        weights = {k: v.cpu().numpy() for k, v in self.network_.state_dict().items()}
        losses = {f"history.{k}": np.array(v) for k, v in self.history_.items()}
        write_model(path, header, weights | losses | {"tau_errors": self.tau_errors_})

    def _device(self) -> torch.device:
        if self.device == "auto":
            return torch.device("cuda" if torch.cuda.is_available() else "cpu")
        return torch.device(self.device)


def load(path: str | PathLike[str], *, device: str = "auto") -> OpenGCN:
    """Read a model that `OpenGCN.save` wrote. No code of the file is run: it has none.

    Parameters
    ----------
    path : path
        The file.
    device : str, default "auto"
        Where the network runs; "auto" takes CUDA when it is there.

    Returns
    -------
    model : OpenGCN
        Fitted; on the same machine its estimates equal those of the one written, to the bit.
    """
    header, arrays = read_model(path)
    try:
        settings = dict(header["settings"])
        settings["device"] = device
        settings["shape"] = NetworkShape(**settings["shape"])
        settings["loss"] = LossWeights(**settings["loss"])
        settings["sampling"] = Sampling(**settings["sampling"])
        model = OpenGCN(**settings)
        model.dim_, model.tau_ = int(header["dim"]), float(header["tau"])
        model.summary_ = header["summary"]
        model.seen_ = {space: [np.array(c) for c in p] for space, p in header["seen"].items()}
        model.tau_errors_ = arrays.pop("tau_errors")
        model.history_ = {
            name.removeprefix("history."): arrays.pop(name).tolist()
            for name in sorted(arrays, reverse=True)  # pretraining before fine-tuning
            if name.startswith("history.")
        }
        model.network_ = ConnectivityNetwork(model.dim_, model.shape, model.seed)
        model.network_.load_state_dict({k: torch.from_numpy(v) for k, v in arrays.items()})
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise DataError(f"{path}: expected a whole OpenGCN model, received {error!r}") from error
    model.network_.to(model._device()).eval().requires_grad_(False)
    return model

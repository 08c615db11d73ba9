"""OpenGCN: transductive threshold calibration, in two presets that share one front."""

from __future__ import annotations

from abc import abstractmethod
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import NotFittedError

from opengcn import __version__
from opengcn.calibrators.base import Calibrator
from opengcn.curve import OperatingCurve
from opengcn.embeddings import EmbeddingSet
from opengcn.errors import DataError, OpenGCNError
from opengcn.model_file import read_model, write_model

__all__ = ["OpenGCN", "load"]


class OpenGCN(Calibrator):
    """Estimates TPR(d) and TNR(d) of unlabelled embeddings from the graph that they form.

    As `pathlib.Path` makes a path of the right kind, this makes a calibrator of the preset
    asked for: without arguments the most accurate one, with ``preset="paper"`` the method
    of the paper to the letter. Both fit, estimate, save and load alike.

    Parameters
    ----------
    preset : {"default", "paper"}, default "default"
        The method. "default" is described in `opengcn.calibrators.rehearsed` and
        docs/default.md, "paper" in `opengcn.calibrators.paper` and docs/paper.md.
    seed : int, default 0
        Seed of everything drawn at random. Same seed, same machine: same curve.
    device : str, default "auto"
        Where the networks of the paper's preset run; "auto" takes CUDA when it is there.
    **options
        Further settings of the preset.

    Attributes
    ----------
    summary_ : dict
        Rows and classes of the sets that it was fitted on.

    Examples
    --------
    >>> import opengcn as og
    >>> og.OpenGCN()
    RehearsedOpenGCN()
    >>> og.OpenGCN("paper", finetune=False)
    PaperOpenGCN(finetune=False)

    A quick one, to show the steps; the default fits in the same way and takes two minutes.

    >>> data = og.datasets.synthetic(n_classes=30, samples=8, dim=16)
    >>> train, rest = data.split_classes(0.5)
    >>> cal, test = rest.split_classes(0.3)
    >>> model = og.OpenGCN("paper", finetune=False, pretrain_steps=50).fit(train, cal)
    >>> curve = model.estimate(test.unlabelled())
    >>> curve.threshold(tpr=0.9).target
    'tpr >= 0.9'
    """

    seed: int
    device: str
    preset: str

    def __new__(cls, preset: str = "default", **options: Any) -> Self:
        """Make the calibrator of a preset."""
        return object.__new__(_preset(preset) if cls is OpenGCN else cls)

    if TYPE_CHECKING:

        def __init__(self, preset: str = "default", **options: Any) -> None: ...

    def estimate(
        self,
        test_X: ArrayLike | EmbeddingSet,
        *,
        n_classes: float | None = None,
        prior: float | None = None,
    ) -> OperatingCurve:
        """Estimate the operating curve of a set; its labels, if any, are not looked at.

        Parameters
        ----------
        test_X : EmbeddingSet, or array_like of shape (n, D)
            D_test.
        n_classes : float, optional
            How many classes the set has, roughly, if that is known: it helps where the
            graph alone does not tell few wide classes from many narrow ones.
        prior : float, optional
            The same hint as a share of same-class pairs among all pairs; give one or none.

        Returns
        -------
        curve : OperatingCurve
            The estimated curve.
        """
        test = self._checked(test_X)
        if n_classes is None and prior is None:
            return self._estimate(test)
        return self._estimate_knowing(test, _hint(len(test), n_classes, prior))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model, whole or not at all: safetensors with a JSON header.

        Parameters
        ----------
        path : path
            Where to, usually in .ogcn.
        """
        if not hasattr(self, "dim_"):
            raise NotFittedError(f"{type(self).__name__}: expected fit before save")
        state, arrays = self._state()
        header = {
            "version": __version__,
            "model": "OpenGCN",
            "preset": self.preset,
            "metric": "l2",
            "dim": self.dim_,
            "seed": int(self.seed),
            "summary": self.summary_,
            "seen": {space: [c.tolist() for c in parts] for space, parts in self.seen_.items()},
            "state": state,
        }
        write_model(path, header, arrays)

    def _check_settings(self) -> None:
        if _preset(self.preset) is not type(self):
            raise OpenGCNError(
                f"preset: expected the one of {type(self).__name__}, received {self.preset!r}; "
                f"make a new OpenGCN instead"
            )
        if not 0 <= self.seed < 2**31:
            raise OpenGCNError(f"seed: expected 0 to 2**31 - 1, received {self.seed}")

    @abstractmethod
    def _estimate_knowing(self, test: EmbeddingSet, prior: float) -> OperatingCurve:
        """Estimate with the share of same-class pairs given by a user."""

    @abstractmethod
    def _state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what JSON can hold and arrays: all that `_restore` needs."""

    @abstractmethod
    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Take up what `_state` returned; seed, device and dimension are set already."""


def _preset(name: str) -> type[OpenGCN]:
    if name == "default":
        from opengcn.calibrators.rehearsed import RehearsedOpenGCN

        return RehearsedOpenGCN
    if name == "paper":
        from opengcn.calibrators.paper import PaperOpenGCN

        return PaperOpenGCN
    raise OpenGCNError(f"preset: expected 'default' or 'paper', received {name!r}")


def _hint(n: int, n_classes: float | None, prior: float | None) -> float:
    """Return a hint as a prior, in the same way for classes of equal size."""
    if n_classes is not None and prior is not None:
        raise OpenGCNError("hint: expected n_classes= or prior=, received both")
    if n_classes is not None:
        if not 1 <= n_classes <= n:
            raise OpenGCNError(
                f"n_classes: expected 1 to {n}, the number of rows, received {n_classes}"
            )
        return max((n / n_classes - 1) / max(n - 1, 1), 0.5 / n**2)
    assert prior is not None
    if not 0 < prior <= 1:
        raise OpenGCNError(f"prior: expected a share in (0, 1], received {prior}")
    return prior


def load(path: str | PathLike[str], *, device: str = "auto") -> OpenGCN:
    """Read a model that `OpenGCN.save` wrote. No code of the file is run: it has none.

    Parameters
    ----------
    path : path
        The file.
    device : str, default "auto"
        Where the network of the paper's preset runs; "auto" takes CUDA when it is there.

    Returns
    -------
    model : OpenGCN
        Fitted; on the same machine its estimates equal those of the one written, to the bit.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import opengcn as og
    >>> data = og.datasets.synthetic(n_classes=30, samples=8, dim=16)
    >>> train, rest = data.split_classes(0.5)
    >>> cal, test = rest.split_classes(0.3)
    >>> model = og.OpenGCN("paper", finetune=False, pretrain_steps=50).fit(train, cal)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(Path(folder) / "model.ogcn")
    ...     again = og.load(Path(folder) / "model.ogcn")
    >>> again.estimate(test) == model.estimate(test)
    True
    """
    header, arrays = read_model(path)
    try:
        model = OpenGCN(header["preset"], seed=int(header["seed"]), device=device)
        model.dim_, model.summary_ = int(header["dim"]), header["summary"]
        model.seen_ = {space: [np.array(c) for c in p] for space, p in header["seen"].items()}
        model._restore(header["state"], arrays)
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise DataError(f"{path}: expected a whole OpenGCN model, received {error!r}") from error
    return model

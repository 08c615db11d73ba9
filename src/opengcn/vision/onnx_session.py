"""Networks under ONNX Runtime, the fastest way to run them on a processor."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from opengcn.atomic import replacing
from opengcn.errors import DataError, require
from opengcn.threads import cores

if TYPE_CHECKING:
    from torch import nn

__all__ = ["OnnxSession", "export_network"]


class OnnxSession:
    """A network in an ONNX file.

    Parameters
    ----------
    path : Path
        The file. Its first input takes images of shape (n, 3, height, width) or
        (n, height, width, 3); its first output has shape (n, D), or (n, D, height, width),
        of which the mean over height and width is taken.

    Attributes
    ----------
    size : int or None
        Side of the images that it takes; None when it takes any.
    """

    def __init__(self, path: Path) -> None:
        runtime = require("onnxruntime", "vision")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = cores()
        options.log_severity_level = 3  # errors; it has remarks on every file
        try:
            self._session = runtime.InferenceSession(
                str(path), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # its exceptions have no root of their own
            raise DataError(f"{path}: expected an ONNX network, received {error}") from error
        self._path = path
        self._input = self._session.get_inputs()[0]
        shape = self._input.shape
        if len(shape) != 4 or 3 not in (shape[1], shape[3]):
            raise DataError(
                f"{path}: expected an input of shape (n, 3, height, width) or "
                f"(n, height, width, 3), received {shape}"
            )
        self._channels_last = shape[1] != 3
        side = shape[1] if self._channels_last else shape[2]
        self.size = side if isinstance(side, int) else None

    def __call__(self, images: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the features of some images.

        Parameters
        ----------
        images : ndarray of shape (n, 3, size, size), float32
            Scaled as the network expects.

        Returns
        -------
        features : ndarray of shape (n, D), float32
            The features.
        """
        given = (
            np.ascontiguousarray(images.transpose(0, 2, 3, 1)) if self._channels_last else images
        )
        first = self._session.get_outputs()[0].name
        try:
            (output,) = self._session.run([first], {self._input.name: given})
        except Exception as error:  # as above
            raise DataError(
                f"{self._path}: expected a network for images of shape {given.shape}, received "
                f"{error}"
            ) from error
        if output.ndim == 4:
            output = output.mean((2, 3))
        if output.ndim != 2:
            raise DataError(
                f"{self._path}: expected features of shape (n, D), received {output.shape}"
            )
        return np.asarray(output, np.float32)


def export_network(network: nn.Module, size: int, path: Path) -> None:
    """Write a torch network to an ONNX file, for batches of any length.

    Parameters
    ----------
    network : torch.nn.Module
        From (n, 3, size, size) to (n, D); it is switched to inference.
    size : int
        Side of the images.
    path : Path
        The file, written whole or not at all.
    """
    import torch

    require("onnxscript", "vision")
    example = torch.zeros(2, 3, size, size)
    batch = ({0: torch.export.Dim.DYNAMIC},)
    with _quiet(), replacing(path) as temporary:
        program = torch.onnx.export(
            network.eval().cpu(), (example,), dynamo=True, dynamic_shapes=batch, verbose=False
        )
        assert program is not None
        program.save(temporary)


@contextmanager
def _quiet() -> Iterator[None]:
    """Hold back what the exporter has to say about packages that are not there."""
    logger = logging.getLogger("torch.onnx")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)

"""Backbones: from squares of pixels to features, by a network, a file or a function."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from opengcn.errors import DataError, OpenGCNError
from opengcn.user_cache import user_cache
from opengcn.vision.devices import mixed_precision
from opengcn.vision.onnx_session import OnnxSession, export_network
from opengcn.vision.pixels import scaling

if TYPE_CHECKING:
    from torch import Tensor, nn

__all__ = ["Backbone", "FunctionBackbone", "NetworkBackbone", "OnnxBackbone"]

SIZE = 224  # of images, where neither the user nor the backbone says otherwise


class Backbone(Protocol):
    """Turns images into features.

    Attributes
    ----------
    name : str
        As `load_backbone` takes it.
    size : int
        Side of the images.
    """

    name: str
    size: int

    @property
    def digest(self) -> str:
        """Changes when the features do."""

    def features(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return features of shape (n, D) of pixels of shape (n, size, size, 3)."""


class NetworkBackbone:
    """A torch network, which can be trained too.

    Parameters
    ----------
    name : str
        What to call it.
    network : torch.nn.Module
        From images of shape (n, 3, size, size) to features of shape (n, D).
    size : int, default 224
        Side of the images.
    scaling_name : str, default "imagenet"
        See `opengcn.vision.pixels.scaling`.
    pretrained : bool, default True
        Whether its weights mean anything yet. Features are refused otherwise.
    device : str, default "cpu"
        ``cpu``: it runs under ONNX Runtime; ``cuda``: under torch, in mixed precision.
    version : str, default ""
        Change it with the code of the network: features are kept under it, the weights and
        the other arguments.
    """

    def __init__(
        self,
        name: str,
        network: nn.Module,
        *,
        size: int = SIZE,
        scaling_name: str = "imagenet",
        pretrained: bool = True,
        device: str = "cpu",
        version: str = "",
    ) -> None:
        self.name, self.size, self.scaling_name = name, size, scaling_name
        self.network, self.pretrained, self.device = network, pretrained, device
        self.version = version
        self.scale = scaling(scaling_name)
        self._session: OnnxSession | None = None

    @property
    def digest(self) -> str:
        """Digest of the weights and of how they are used."""
        about = f"{self.name}\t{self.size}\t{self.scaling_name}{self.version}"
        digest = hashlib.sha256(about.encode())
        for name, tensor in self.network.state_dict().items():
            digest.update(name.encode())
            digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()

    def features(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return the features of some images.

        Parameters
        ----------
        pixels : ndarray of shape (n, size, size, 3), uint8
            The images.

        Returns
        -------
        features : ndarray of shape (n, D), float32
            The features.
        """
        if not self.pretrained:
            raise OpenGCNError(
                f"{self.name}: expected pretrained weights, received random ones, whose features "
                f"mean nothing; give --weights, or train the network with --fine-tune"
            )
        images = self.scale(pixels)
        if self.device != "cpu":
            return self._torch_features(images)
        if self._session is None:
            file = user_cache() / "networks" / f"{self.digest[:32]}.onnx"
            if not file.exists():
                export_network(self.network, self.size, file)
            self._session = OnnxSession(file)
        return self._session(images)

    def _torch_features(self, images: NDArray[np.float32]) -> NDArray[np.float32]:
        import torch

        self.network.eval().to(self.device)
        with torch.inference_mode(), mixed_precision(self.device):
            found: Tensor = self.network(torch.from_numpy(images).to(self.device))
        return found.float().cpu().numpy()


class OnnxBackbone:
    """A network in an ONNX file.

    Parameters
    ----------
    path : Path
        The file; see `OnnxSession`.
    size : int, optional
        Side of the images, where the file leaves it open; 224 if not given.
    scaling_name : str, default "imagenet"
        What the network expects; see `opengcn.vision.pixels.scaling`.
    """

    def __init__(
        self, path: Path, *, size: int | None = None, scaling_name: str = "imagenet"
    ) -> None:
        if not path.is_file():
            raise DataError(f"{path}: expected an ONNX file, received a path where there is none")
        self.name, self.scaling_name = str(path), scaling_name
        self._session = OnnxSession(path)
        if None not in (size, self._session.size) and size != self._session.size:
            raise OpenGCNError(
                f"{path}: expected size {self._session.size}, which is fixed in the file, "
                f"received {size}"
            )
        self.size = self._session.size or size or SIZE
        self.scale = scaling(scaling_name)
        text = f"{self.size}\t{scaling_name}".encode()
        self.digest = hashlib.sha256(text + path.read_bytes()).hexdigest()

    def features(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return the features of some images.

        Parameters
        ----------
        pixels : ndarray of shape (n, size, size, 3), uint8
            The images.

        Returns
        -------
        features : ndarray of shape (n, D), float32
            The features.
        """
        return self._session(self.scale(pixels))


class FunctionBackbone:
    """Any function from images to vectors.

    Parameters
    ----------
    name : str
        What to call it.
    function : callable
        From pixels of shape (n, size, size, 3), uint8, to vectors of shape (n, D), as an
        array or a tensor. It scales the pixels itself.
    size : int, default 224
        Side of the images.
    version : str, default ""
        Change it with the function: its features are kept under name, size and version.
    """

    def __init__(
        self,
        name: str,
        function: Callable[[NDArray[np.uint8]], Any],
        *,
        size: int = SIZE,
        version: str = "",
    ) -> None:
        self.name, self.function, self.size = name, function, size
        self.digest = hashlib.sha256(f"{name}\t{size}\t{version}".encode()).hexdigest()

    def features(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return the features of some images.

        Parameters
        ----------
        pixels : ndarray of shape (n, size, size, 3), uint8
            The images.

        Returns
        -------
        features : ndarray of shape (n, D), float32
            The features.
        """
        found = np.asarray(self.function(pixels), np.float32)
        if found.ndim != 2 or len(found) != len(pixels):
            raise DataError(
                f"{self.name}: expected vectors of shape ({len(pixels)}, D), received {found.shape}"
            )
        return found

"""Embedders: a backbone with a linear head on top, and how they embed images."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opengcn import __version__
from opengcn.embeddings import EmbeddingSet
from opengcn.errors import DataError
from opengcn.files import write_parquet
from opengcn.model_file import read_model, write_model
from opengcn.unit import unit_vectors
from opengcn.vision.backbones import Backbone, NetworkBackbone
from opengcn.vision.features import features
from opengcn.vision.image_set import ImageSet
from opengcn.vision.named_backbones import load_backbone
from opengcn.vision.shifts import Shift

__all__ = ["Embedder"]

KIND = "embedder"


class Embedder:
    """Turns images into unit vectors.

    Parameters
    ----------
    backbone : Backbone
        Computes features.
    weight : ndarray of shape (dim, D), float32, optional
        Linear head on the features; without it the features are the embedding.
    bias : ndarray of shape (dim,), float32, optional
        Of the head.
    identity : str, default ""
        Digest of what the embedder was trained on and how.

    Examples
    --------
    >>> from opengcn.vision import Embedder, load_backbone, read_images
    >>> embedder = Embedder(load_backbone("efficientnet_lite0", size=128))  # doctest: +SKIP
    >>> embedder.embed(read_images("photos"))  # doctest: +SKIP
    EmbeddingSet(n=4821, dim=1280, classes=37)
    """

    def __init__(
        self,
        backbone: Backbone,
        weight: NDArray[np.float32] | None = None,
        bias: NDArray[np.float32] | None = None,
        identity: str = "",
    ) -> None:
        self.backbone, self.weight, self.bias, self.identity = backbone, weight, bias, identity

    def blocks(
        self, images: ImageSet, shift: Shift | None = None, **how: Any
    ) -> Iterator[NDArray[np.float32]]:
        """Yield the embeddings of all images, in order, block by block.

        Parameters
        ----------
        images : ImageSet
            The images.
        shift : Shift, optional
            Applied to each image first.
        **how
            ``resume`` and ``progress`` of `opengcn.vision.features.features`.

        Yields
        ------
        block : ndarray of shape (m, dim), float32
            Unit vectors.
        """
        done = 0
        for block in features(self.backbone, images, shift, **how):
            if self.weight is not None:
                block = block @ self.weight.T + (0 if self.bias is None else self.bias)
            yield unit_vectors(block, lambda row: str(images.ids[row]), done)
            done += len(block)

    def embed(self, images: ImageSet, shift: Shift | None = None, **how: Any) -> EmbeddingSet:
        """Embed images.

        Parameters
        ----------
        images : ImageSet
            The images.
        shift : Shift, optional
            Applied to each image first.
        **how
            As for `blocks`.

        Returns
        -------
        embeddings : EmbeddingSet
            With the classes of the images as labels, and their ids.
        """
        return EmbeddingSet(
            np.concatenate(list(self.blocks(images, shift, **how))),
            images.labels,
            ids=images.ids,
            source=images.source,
        )

    def write(self, images: ImageSet, path: Path, shift: Shift | None = None, **how: Any) -> None:
        """Embed images into a parquet file, without ever holding all vectors in memory.

        Parameters
        ----------
        images : ImageSet
            The images.
        path : Path
            The file, written whole or not at all, with the columns ``embedding``, ``label``
            and ``id``.
        shift : Shift, optional
            Applied to each image first.
        **how
            As for `blocks`.
        """
        columns = {"label": images.labels, "id": images.ids}
        write_parquet(path, self.blocks(images, shift, **how), columns)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the embedder: the head, and the weights of a torch backbone.

        Parameters
        ----------
        path : path
            Where to, usually in .safetensors.
        """
        header = {
            "kind": KIND,
            "version": __version__,
            "identity": self.identity,
            "backbone": self.backbone.name,
            "size": self.backbone.size,
            "digest": self.backbone.digest,
        }
        arrays: dict[str, NDArray[Any]] = {}
        if isinstance(self.backbone, NetworkBackbone):
            header["scaling"] = self.backbone.scaling_name
            state = self.backbone.network.state_dict()
            arrays = {f"backbone.{name}": t.detach().cpu().numpy() for name, t in state.items()}
        for name in ("weight", "bias"):
            if (array := getattr(self, name)) is not None:
                arrays[name] = array
        write_model(path, header, arrays)

    @classmethod
    def load(
        cls, path: str | PathLike[str], *, backbone: Backbone | None = None, device: str = "auto"
    ) -> Embedder:
        """Read what `save` wrote.

        Parameters
        ----------
        path : path
            The file.
        backbone : Backbone, optional
            The backbone, where it is a function or network that the file can only name.
        device : {"auto", "cpu", "cuda"}, default "auto"
            Where a torch network runs.

        Returns
        -------
        embedder : Embedder
            It gives the embeddings of the one written.
        """
        header, arrays = read_model(path)
        if header.get("kind") != KIND:
            raise DataError(
                f"{path}: expected an embedder, received a model of the kind "
                f"{header.get('kind', header.get('preset', 'unknown'))!r}"
            )
        known = {"size": header["size"], "scaling_name": header.get("scaling"), "device": device}
        backbone = backbone or load_backbone(header["backbone"], **known)
        if isinstance(backbone, NetworkBackbone):
            _restore(backbone, arrays)
        if backbone.digest != header["digest"]:
            raise DataError(
                f"{path}: expected the backbone that the head was trained on, received another "
                f"{backbone.name}"
            )
        return cls(backbone, arrays.get("weight"), arrays.get("bias"), header["identity"])


def _restore(backbone: NetworkBackbone, arrays: dict[str, NDArray[Any]]) -> None:
    import torch

    state = {
        name.removeprefix("backbone."): torch.from_numpy(array.copy())
        for name, array in arrays.items()
        if name.startswith("backbone.")
    }
    try:
        backbone.network.load_state_dict(state)
    except RuntimeError as error:
        raise DataError(
            f"{backbone.name}: expected the weights of this network, received {error}"
        ) from error
    backbone.pretrained = True

"""The paper's parts of a data set, all of them by class."""

from __future__ import annotations

from typing import Literal, get_args

from opengcn.errors import DataError
from opengcn.labels import head_and_tail, sample_classes
from opengcn.vision.image_set import ImageSet

__all__ = ["Part", "take_part"]

Part = Literal["all", "train", "open", "cal", "test", "head", "tail"]
CAL_SHARE = 0.1  # of the open classes: cal and test stand one to nine


def take_part(images: ImageSet, part: Part, seed: int = 0) -> ImageSet:
    """Return the images of one of the paper's parts.

    Parameters
    ----------
    images : ImageSet
        A whole data set.
    part : {"all", "train", "open", "cal", "test", "head", "tail"}
        ``train``: the classes that train the embedder. ``open``: all others. ``cal`` and
        ``test``: a tenth of the open classes, drawn at random, and the rest. ``head`` and
        ``tail``: the largest open classes and the rest, with about as many images each.
    seed : int, default 0
        Chooses the classes of ``cal``. `EmbeddingSet.split_classes` with the same seed
        chooses the same ones among the embeddings of ``open``.

    Returns
    -------
    images : ImageSet
        The images of the part.
    """
    if part not in get_args(Part):
        raise DataError(f"part: expected one of {', '.join(get_args(Part))}, received {part!r}")
    if part == "all":
        return images
    in_training = images.codes < images.train_classes
    chosen = images.subset(in_training if part == "train" else ~in_training)
    if not len(chosen):
        raise DataError(f"{images.source}: expected images of the part '{part}', received none")
    if part in ("cal", "test"):
        cal = sample_classes(chosen.labels, CAL_SHARE, seed, images.source)
        return chosen.subset(cal if part == "cal" else ~cal)
    if part in ("head", "tail"):
        head = head_and_tail(chosen.labels)
        return chosen.subset(head if part == "head" else ~head)
    return chosen

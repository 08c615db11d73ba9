"""The paper's parts of a data set, all of them by class."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from opengcn.errors import DataError
from opengcn.labels import sample_classes
from opengcn.vision.image_set import ImageSet

__all__ = ["Part", "head_and_tail", "take_part"]

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


def head_and_tail(labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Divide classes by their size so that both parts have about the same number of rows.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        Class of each row.

    Returns
    -------
    head : ndarray of shape (n,), bool
        The rows of the largest classes; the others are the tail. Classes of equal size are
        taken in the order of their labels.

    Examples
    --------
    >>> import numpy as np
    >>> head_and_tail(np.array(["cat"] * 4 + ["dog"] * 3 + ["emu"] * 2)).tolist()
    [True, True, True, True, False, False, False, False, False]
    """
    classes, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    if len(classes) < 2:
        raise DataError(f"labels: expected two classes or more, received {len(classes)}")
    order = np.argsort(-counts, kind="stable")
    inside = np.cumsum(counts[order])[:-1]  # rows of the head if it ends here
    last = int(np.argmin(np.abs(2 * inside - len(labels))))
    head = np.zeros(len(classes), bool)
    head[order[: last + 1]] = True
    return head[codes]

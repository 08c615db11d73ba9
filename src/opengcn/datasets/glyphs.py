"""Glyphs: an open-world data set with its own embedder, made on the spot and kept."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opengcn.datasets.glyph_embedder import embed, train_embedder
from opengcn.datasets.glyph_images import check_blur, gaussian_blur, glyph_images
from opengcn.embeddings import EmbeddingSet
from opengcn.errors import DataError, OpenGCNWarning
from opengcn.files import write_npz
from opengcn.user_cache import user_cache

__all__ = ["OpenWorldSplit", "glyphs"]

VERSION = 1  # raise it when the pictures or the embedder change: old cache files are left alone

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class OpenWorldSplit:
    """Three labelled embedding sets without a common class.

    Attributes
    ----------
    train : EmbeddingSet
        Classes that the embedder was trained on.
    cal : EmbeddingSet
        A few unseen classes, to calibrate with.
    test : EmbeddingSet
        The other unseen classes.

    Examples
    --------
    >>> import opengcn as og
    >>> data = og.datasets.synthetic(n_classes=10, samples=5)
    >>> train, rest = data.split_classes(0.4)
    >>> og.datasets.OpenWorldSplit(train, *rest.split_classes(0.4)).cal
    EmbeddingSet(n=10, dim=64, classes=2)
    """

    train: EmbeddingSet
    cal: EmbeddingSet
    test: EmbeddingSet


def glyphs(
    seed: int = 0,
    *,
    blur: float = 0.0,
    classes: int = 640,
    images: int = 20,
    cache: bool | Path = True,
    progress: bool = True,
) -> OpenWorldSplit:
    """Make an open-world data set of characters in many fonts, with a trained embedder.

    Each class is a character, drawn in the fonts that matplotlib ships with random
    rotation, shear, size, place, stroke weight and noise. Half of the classes train a small
    network; of the others a tenth is for calibration. Nothing is downloaded. The first call
    takes less than a minute, later ones read the result from the cache.

    Parameters
    ----------
    seed : int, default 0
        Chooses the characters, the split, the pictures and the first weights. The same seed
        on the same machine gives the same bits.
    blur : float, default 0
        Standard deviation in pixels (of 32) of a Gaussian blur on the pictures of the test
        part: a shift that neither the embedder nor the calibration classes have seen.
    classes : int, default 640
        The number of characters in all three parts, at least 8.
    images : int, default 20
        The number of pictures of each character, at least 2.
    cache : bool or path, default True
        Where to keep the results: a folder; True for ``$OPENGCN_CACHE`` or else the user's
        cache folder; False to keep nothing.
    progress : bool, default True
        Draw a progress bar on standard error when it takes longer than two seconds.

    Returns
    -------
    OpenWorldSplit
        ``train``, ``cal`` and ``test``: 128-dimensional embedding sets whose labels are the
        characters.

    Examples
    --------
    >>> import opengcn as og
    >>> split = og.datasets.glyphs(classes=16, images=4, cache=False)
    >>> split.train
    EmbeddingSet(n=32, dim=128, classes=8)
    >>> split.cal, split.test
    (EmbeddingSet(n=8, dim=128, classes=2), EmbeddingSet(n=24, dim=128, classes=6))
    """
    check_blur(blur)
    folder = user_cache() if cache is True else Path(cache) if cache else None
    making = _Making(seed, classes, images, folder, progress)
    return OpenWorldSplit(
        train=making.part("train"), cal=making.part("cal"), test=making.part("test", blur)
    )


@dataclass
class _Making:
    """The steps from a seed to embeddings; each runs when asked for and not in the cache."""

    seed: int
    classes: int
    images: int
    folder: Path | None
    progress: bool

    @cached_property
    def pictures(self) -> Arrays:
        def draw() -> Arrays:
            return glyph_images(
                self.seed, classes=self.classes, images=self.images, progress=self.progress
            )._asdict()

        return self._kept("pictures", draw)

    @cached_property
    def weights(self) -> Arrays:
        def train() -> Arrays:
            rows = self.pictures["parts"] == "train"
            return train_embedder(
                self.pictures["images"][rows],
                self.pictures["characters"][rows],
                self.seed,
                progress=self.progress,
            )

        return self._kept("weights", train)

    def part(self, part: str, blur: float = 0.0) -> EmbeddingSet:
        def embed_part() -> Arrays:
            rows = self.pictures["parts"] == part
            images = gaussian_blur(self.pictures["images"][rows], blur)
            return {
                "embeddings": embed(self.weights, images),
                "labels": self.pictures["characters"][rows],
            }

        kept = self._kept(f"{part}-blur{float(blur)}", embed_part)
        return EmbeddingSet(**kept, label_space="glyphs", source=f"glyphs {part}")

    def _kept(self, step: str, make: Callable[[], Arrays]) -> Arrays:
        """Return the arrays of a step from the cache, or make them and keep them there."""
        if self.folder is None:
            return make()
        name = f"glyphs-v{VERSION}-seed{self.seed}-classes{self.classes}-images{self.images}"
        path = self.folder / f"{name}-{step}.npz"
        # A damaged archive fails in many ways (no archive, wrong checksum, absurd header);
        # all have the same cure, which is to make it again.
        with suppress(Exception):
            return _read(path)
        arrays = make()
        try:
            write_npz(path, arrays)
        except OSError as error:
            warnings.warn(
                f"{path}: expected to keep the result there, received {error}; "
                "set OPENGCN_CACHE to a folder that can be written to",
                OpenGCNWarning,
                stacklevel=4,
            )
        return arrays


def _read(path: Path) -> Arrays:
    with zipfile.ZipFile(path) as archive:
        damaged = archive.testzip()
    if damaged is not None:
        raise DataError(f"{path}: expected {damaged} whole, received a wrong checksum")
    with np.load(path, allow_pickle=False) as stored:
        return dict(stored)

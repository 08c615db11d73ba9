"""From images to a data set of the benchmark: embeddings, clean and corrupted, kept in files."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from opengcn.files import write_npz
from opengcn.scenarios.data import pack_arrays
from opengcn.scenarios.definitions import CORRUPTIONS, SCENARIOS
from opengcn.sources import readable

if TYPE_CHECKING:
    from opengcn.vision import Embedder, ImageSet, Shift

__all__ = ["embed_images"]

BACKBONE, SIZE = "efficientnet_lite0", 128  # weights in a package, and quick without a GPU
MADE_OF = "made_of"  # array that names the images and the embedder behind a file


def embed_images(
    path: Path,
    folder: Path,
    scenarios: Collection[str],
    *,
    severities: Sequence[int] = (3,),
    embedder_file: Path | None = None,
) -> Path:
    """Embed images into the files that `opengcn.scenarios.data` reads.

    What is there already, of the same images and the same embedder, is kept.

    Parameters
    ----------
    path : Path
        What `opengcn.vision.read_images` takes.
    folder : Path
        Where the files go.
    scenarios : collection of str
        What is to run: images are corrupted and drawn as sketches only when asked for.
    severities : sequence of int, default (3,)
        Of the corruptions.
    embedder_file : Path, optional
        An embedder that ``opengcn embed --train`` wrote. By default a head is trained on
        EfficientNet-Lite0 features of the training classes, at 128 pixels.

    Returns
    -------
    file : Path
        The .npz file with the clean embeddings; the others lie beside it.
    """
    from opengcn.vision import Shift, read_images, take_part

    images = read_images(path)
    embedding = _Embedding(images, embedder_file)
    name = path.resolve().name if path.is_dir() else path.stem
    clean = folder / f"{name}.npz"
    if not embedding.has_made(clean):
        found = embedding.embed(images)
        train = images.codes < images.train_classes
        embedding.write(clean, {"E": found, "y": images.labels, "train": train})
    tests = {test for scenario in scenarios for test in SCENARIOS[scenario].tests}
    shifts = [Shift(c, s) for c in CORRUPTIONS if c in tests for s in severities]
    shifts += [Shift("sketch")] if "sketch" in tests else []
    if shifts:
        opened = take_part(images, "open")
        embedding.add(folder / f"{name}_shifted.npz", opened, shifts)
    if any(SCENARIOS[scenario].augmented for scenario in scenarios):
        file = folder / f"{name}_augmented.npz"
        how = f", severities {sorted(severities)}"
        if not embedding.has_made(file, how):
            learned = take_part(images, "train")
            embedding.write(file, embedding.augmented(learned, severities), how)
    return clean


class _Embedding:
    """An embedder that is made when it is first needed, and files of what it embeds."""

    def __init__(self, images: ImageSet, embedder_file: Path | None) -> None:
        from opengcn.vision import Embedder, Recipe, load_backbone, take_part
        from opengcn.vision.embedder_training import training_identity

        self._embedder: Embedder | None = None
        if embedder_file is not None:
            self._embedder = Embedder.load(embedder_file)
            identity = self._embedder.identity
        else:
            self._train = take_part(images, "train")
            self._backbone = load_backbone(BACKBONE, size=SIZE)
            identity = training_identity(self._train, self._backbone, Recipe())
        self._made_of = f"images {images.fingerprint()}, embedder {identity}"

    def embed(self, images: ImageSet, shift: Shift | None = None) -> NDArray[np.float32]:
        """Return unit vectors, of shape (n, dim)."""
        from opengcn.vision import train_embedder

        if self._embedder is None:
            self._embedder = train_embedder(self._train, self._backbone)
        return self._embedder.embed(images, shift).embeddings

    def augmented(self, train: ImageSet, severities: Sequence[int]) -> dict[str, NDArray[Any]]:
        """Corrupt every training image once, each kind of corruption as many."""
        from opengcn.vision import Shift

        shifts = [Shift(corruption, s) for corruption in CORRUPTIONS for s in severities]
        parts, labels = [], []
        for i, shift in enumerate(shifts):
            some = train.subset(np.arange(i, len(train), len(shifts)))
            if len(some):
                parts.append(self.embed(some, shift))
                labels.append(some.labels)
        return {"E": np.concatenate(parts), "y": np.concatenate(labels)}

    def add(self, file: Path, images: ImageSet, shifts: list[Shift]) -> None:
        """Add shifts of images to a file, those that it does not have."""
        arrays: dict[str, NDArray[Any]] = {"y": images.labels}
        if self.has_made(file):
            with readable(file), np.load(file, allow_pickle=False) as held:
                arrays = {name: held[name] for name in held.files}
        missing = [shift for shift in shifts if str(shift) not in arrays]
        for shift in missing:
            arrays[str(shift)] = self.embed(images, shift)
        if missing:
            self.write(file, arrays)

    def has_made(self, file: Path, how: str = "") -> bool:
        """Whether a file is there and holds the same images under the same embedder."""
        if MADE_OF not in pack_arrays(file):
            return False
        with readable(file), np.load(file, allow_pickle=False) as held:
            return str(held[MADE_OF]) == self._made_of + how

    def write(self, file: Path, arrays: dict[str, NDArray[Any]], how: str = "") -> None:
        """Write a file, whole or not at all."""
        write_npz(file, arrays | {MADE_OF: np.array(self._made_of + how)})

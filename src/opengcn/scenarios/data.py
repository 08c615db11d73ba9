"""Data sets of the benchmark: D_train, and D_cal and D_test of each split.

A data set is a file (or a folder of parquet files) of labelled embeddings. In .npz packs
further arrays say more: `train`, a mask of the classes that the embedder has seen (without
it these are the first half of the classes, in the order of their labels); `head`, a mask of
the frequent classes among the others; `test_E` and `test_y`, a test set of another domain
under the same embedder. Beside NAME.npz may lie NAME_shifted.npz with `y` and an array for
each corruption of open-world images, called as in `opengcn.scenarios.definitions.TESTS` or
with the severity at the end ("snow-3"), and NAME_augmented.npz with `E` and `y`: corrupted
images of the training classes.
"""

from __future__ import annotations

import hashlib
import zipfile
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from opengcn.embeddings import EmbeddingSet
from opengcn.errors import DataError
from opengcn.labels import head_and_tail
from opengcn.scenarios.definitions import CORRUPTIONS, SCENARIOS, Setting, split_severity
from opengcn.scenarios.zipf import zipf_rows
from opengcn.sources import readable

__all__ = ["DataSet", "Glyphs", "Pack", "Sets", "open_data", "pack_arrays"]

SHIFTS = {*CORRUPTIONS, "sketch"}
CAL_SHARE = 0.1  # of the open-world classes, as in the paper

Sets = tuple[EmbeddingSet, EmbeddingSet, EmbeddingSet]


class DataSet(Protocol):
    """What the benchmark asks of a data set."""

    @property
    def name(self) -> str:
        """Its name in results and tables."""

    def check(self) -> None:
        """Refuse what cannot be split into D_train, D_cal and D_test."""

    def tests(self) -> list[str]:
        """Return the kinds of D_test that it can make."""

    @property
    def has_augmented(self) -> bool:
        """Whether there are corrupted images of the training classes."""

    def most_splits(self, test: str) -> int | None:
        """Return how many splits there are of a kind of D_test; None when there is no end."""

    def fingerprint(self, setting: Setting) -> str:
        """Return a digest of what a setting uses: results of other contents do not count."""

    def sets(self, setting: Setting, split: int) -> Sets:
        """Return D_train, D_cal and D_test of a split, all labelled."""


class Pack:
    """A data set in files; see the module.

    Parameters
    ----------
    path : Path
        A .npz or .parquet file, or a folder of .parquet files.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.resolve().name if path.is_dir() else path.stem
        self._split: tuple[int, EmbeddingSet, EmbeddingSet] | None = None

    def tests(self) -> list[str]:
        """Return the kinds of D_test that the files hold or allow."""
        shifts = [a for a in pack_arrays(self._beside("shifted")) if split_severity(a)[0] in SHIFTS]
        other = ["other"] if "test_E" in pack_arrays(self.path) else []
        return ["same", *shifts, *other, "tail", "zipf"]

    def check(self) -> None:
        """Refuse a file that cannot be split into D_train, D_cal and D_test."""
        train, open_world = self._halves
        for part, fewest in ((train, 2), (open_world, 3)):
            classes = len(np.unique(part.require_labels()))
            if classes < fewest:
                what = "D_train" if part is train else "D_cal and D_test"
                raise DataError(
                    f"{self.path}: expected {fewest} classes or more for {what}, received {classes}"
                )

    @property
    def has_augmented(self) -> bool:
        """Whether there are corrupted images of the training classes."""
        return self._beside("augmented").exists()

    def most_splits(self, test: str) -> int | None:
        """Return 1 for the long tail, which class sizes split in one way."""
        return 1 if test == "tail" else None

    def fingerprint(self, setting: Setting) -> str:
        """Return a digest of the file, and of what beside it the setting uses."""
        parts = [self._digest]
        if split_severity(setting.test)[0] in SHIFTS:
            parts += _checksums(self._beside("shifted"), ("y", setting.test))
        if SCENARIOS[setting.scenario].augmented:
            parts += _checksums(self._beside("augmented"), ("E", "y"))
        return hashlib.blake2b(repr(parts).encode(), digest_size=8).hexdigest()

    @cached_property
    def _digest(self) -> str:
        files = sorted(self.path.rglob("*.parquet")) if self.path.is_dir() else [self.path]
        digest = hashlib.blake2b()
        for file in files:
            with file.open("rb") as handle:
                digest.update(hashlib.file_digest(handle, "blake2b").digest())
        return digest.hexdigest()

    def sets(self, setting: Setting, split: int) -> Sets:
        """Return D_train, D_cal and D_test of a split; sets of one split are kept."""
        train, open_world = self._halves
        if SCENARIOS[setting.scenario].augmented:
            train = self._augmented
        if setting.test == "tail":
            head = self._head(open_world)
            return train, open_world.subset(head), open_world.subset(~head)
        if self._split is None or self._split[0] != split:
            self._split = (split, *open_world.split_classes(CAL_SHARE, split))
        _, cal, rest = self._split
        if setting.test == "same":
            return train, cal, rest
        if setting.test == "zipf":
            return train, cal, rest.subset(zipf_rows(rest.codes, split))
        if setting.test == "other":
            return train, cal, self._other
        return train, cal, self._shifted(setting.test, rest)

    @cached_property
    def _everything(self) -> EmbeddingSet:
        return EmbeddingSet.load(self.path)

    @cached_property
    def _train_mask(self) -> NDArray[np.bool_]:
        labels = self._everything.require_labels()
        if "train" in pack_arrays(self.path):
            return np.asarray(_read(self.path, "train"), bool)
        classes = np.unique(labels)
        return np.isin(labels, classes[: len(classes) // 2])

    @cached_property
    def _halves(self) -> tuple[EmbeddingSet, EmbeddingSet]:
        mask = self._train_mask
        if mask.all() or not mask.any():
            raise DataError(
                f"{self.path}: expected classes for D_train and others for D_cal and D_test, "
                f"received {'none of the latter' if mask.all() else 'none of the former'}"
            )
        return self._everything.subset(mask), self._everything.subset(~mask)

    @cached_property
    def _augmented(self) -> EmbeddingSet:
        train, more = self._halves[0], EmbeddingSet.load(self._beside("augmented"))
        return EmbeddingSet(
            np.concatenate([train.embeddings, more.embeddings]),
            np.concatenate([train.require_labels(), more.require_labels()]),
            source=f"{self.path} with corrupted images",
        )

    @cached_property
    def _other(self) -> EmbeddingSet:
        rows, labels = _read(self.path, "test_E"), _read(self.path, "test_y")
        return EmbeddingSet(rows, labels, label_space="other", source=f"{self.path}: test_E")

    def _head(self, open_world: EmbeddingSet) -> NDArray[np.bool_]:
        """Return the rows of the frequent classes."""
        if "head" in pack_arrays(self.path):
            return np.asarray(_read(self.path, "head")[~self._train_mask], bool)
        return head_and_tail(open_world.require_labels())

    def _shifted(self, shift: str, rest: EmbeddingSet) -> EmbeddingSet:
        """Return the corrupted images of the classes of D_test."""
        file = self._beside("shifted")
        labels = _read(file, "y")
        kept = np.isin(labels, rest.require_labels())
        return EmbeddingSet(_read(file, shift)[kept], labels[kept], source=f"{file}: {shift}")

    def _beside(self, what: str) -> Path:
        return self.path.resolve().with_name(f"{self.name}_{what}.npz")


class Glyphs:
    """Characters made on the spot; each split has other characters and an embedder of its own."""

    name = "glyphs"
    has_augmented = False

    def check(self) -> None:
        """Refuse nothing: they are made to be split."""

    def tests(self) -> list[str]:
        """Return the one kind of D_test."""
        return ["same"]

    def most_splits(self, test: str) -> int | None:
        """Return 2: every split trains an embedder, and every method learns from D_train anew."""
        return 2

    def fingerprint(self, setting: Setting) -> str:
        """Return the version of the pictures and of the embedder."""
        from opengcn.datasets.glyphs import VERSION

        return f"glyphs-{VERSION}"

    def sets(self, setting: Setting, split: int) -> Sets:
        """Return D_train, D_cal and D_test."""
        from opengcn.datasets import glyphs

        made = glyphs(split, progress=False)
        return made.train, made.cal, made.test


def open_data(path: Path | None) -> DataSet:
    """Open a data set.

    Parameters
    ----------
    path : Path or None
        Its file or folder; None for the glyphs.

    Returns
    -------
    data : DataSet
        Nothing is read yet.
    """
    return Glyphs() if path is None else Pack(path)


def pack_arrays(path: Path) -> list[str]:
    """Return the names of the arrays in a .npz file; none for what is not there or not .npz.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    names : list of str
        In the order of the file.
    """
    if path.suffix.lower() != ".npz" or not path.exists():
        return []
    with readable(path), path.open("rb") as file, np.load(file, allow_pickle=False) as pack:
        return list(pack.files)


def _read(path: Path, name: str) -> NDArray[Any]:
    with readable(path), path.open("rb") as file, np.load(file, allow_pickle=False) as pack:
        return np.asarray(pack[name])


def _checksums(path: Path, names: tuple[str, ...]) -> list[str]:
    """Return the checksums that a .npz file keeps of some of its arrays."""
    with readable(path), zipfile.ZipFile(path) as pack:
        members = [pack.getinfo(f"{name}.npy") for name in names]
        return [f"{m.filename} {m.file_size} {m.CRC}" for m in members]

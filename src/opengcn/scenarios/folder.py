"""What `--data` points to: which data sets are there, and what can run on each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from opengcn.errors import DataError
from opengcn.scenarios.data import open_data, pack_arrays
from opengcn.scenarios.definitions import Setting, own_settings, standard_settings

__all__ = ["Source", "find_sources", "holds_images"]

EMBEDDINGS = {"embeddings", "E"}  # as `EmbeddingSet.load` has it
COMPANIONS = ("_shifted", "_augmented")


@dataclass(frozen=True)
class Source:
    """A data set that was found.

    Attributes
    ----------
    path : Path or None
        Its file or folder; None for the glyphs, which are made on the spot.
    fingerprints : dict of Setting to str
        What can run on it, each with a digest of the contents that it uses.
    most_splits : dict of str to int
        Kinds of D_test of which there is a limited number of splits.
    """

    path: Path | None
    fingerprints: dict[Setting, str]
    most_splits: dict[str, int]


def find_sources(path: Path | None) -> list[Source]:
    """Find the data sets in a folder.

    Parameters
    ----------
    path : Path or None
        A .npz or .parquet file, which runs all that it allows; or a folder, in which every
        .npz file with embeddings is a data set, and all .parquet files together are one.
        Usual data sets in a folder run in their usual settings, and the glyphs join them.
        None for the glyphs alone.

    Returns
    -------
    sources : list of Source
        At least one.
    """
    if path is None:
        return [_source(None)]
    if not path.exists():
        raise DataError(f"{path}: expected a folder of data, received a path with nothing there")
    if path.is_file():
        return [_source(path, all_settings=True)]
    found = _data_in(path)
    if not found:
        raise DataError(
            f"{path}: expected .npz files with an array 'embeddings' or 'E', .parquet files, or "
            f"class folders of images, received none of these"
        )
    names = [open_data(p).name for p in found]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise DataError(f"{path}: expected data sets of distinct names, received {twice[0]} twice")
    if any(standard_settings(name) for name in names):
        return [*map(_source, found), _source(None)]
    return [_source(p) for p in found]


def holds_images(path: Path) -> bool:
    """Tell images from embeddings.

    Parameters
    ----------
    path : Path
        What a user calls data.

    Returns
    -------
    images : bool
        Whether it is a .npz pack of images; or a folder with images in it and without
        embeddings.
    """
    if path.is_file():
        return bool({"images", "jpeg"} & set(pack_arrays(path)))
    if not path.is_dir() or _data_in(path):
        return False

    from opengcn.vision.image_folder import SUFFIXES

    return any(file.suffix.lower() in SUFFIXES for file in path.rglob("*.*"))


def _data_in(folder: Path) -> list[Path]:
    """Return the data sets of a folder: .npz files, and the folder itself for .parquet files."""
    found = [p for p in sorted(folder.glob("*.npz")) if _is_data(p)]
    return [*found, folder] if any(folder.rglob("*.parquet")) else found


def _is_data(path: Path) -> bool:
    companion = any(
        path.stem.endswith(end) and path.with_name(f"{path.stem.removesuffix(end)}.npz").exists()
        for end in COMPANIONS
    )
    return not companion and bool(EMBEDDINGS & set(pack_arrays(path)))


def _source(path: Path | None, *, all_settings: bool = False) -> Source:
    data = open_data(path)
    data.check()
    tests = data.tests()
    usual = [s for s in standard_settings(data.name) if s.test in tests]
    settings = (not all_settings and usual) or own_settings(
        data.name, tests, augmented=data.has_augmented
    )
    most = {s.test: data.most_splits(s.test) for s in settings}
    limits = {test: splits for test, splits in most.items() if splits is not None}
    return Source(path, {s: data.fingerprint(s) for s in settings}, limits)

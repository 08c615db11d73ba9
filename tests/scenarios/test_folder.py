from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import opengcn as og
from opengcn.errors import DataError
from opengcn.scenarios.folder import find_sources

MakePack = Callable[..., Path]


def names(path: Path | None) -> list[str]:
    return [next(iter(source.fingerprints)).data for source in find_sources(path)]


def test_every_npz_is_a_data_set_and_companions_are_not(pack: MakePack) -> None:
    folder = pack("birds", "snow").parent
    pack("fish")
    np.savez(folder / "fish_images.npz", images=np.zeros((2, 4, 4), np.uint8))
    assert names(folder) == ["birds", "fish"]
    tests = {s.test for s in find_sources(folder)[0].fingerprints}
    assert tests == {"same", "snow", "tail", "zipf"}


def test_parquet_files_of_a_folder_are_one_data_set(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    data = og.datasets.synthetic(8, 4, dim=8)
    data.subset(data.labels < 4).save(folder / "a.parquet")
    data.subset(data.labels >= 4).save(folder / "b.parquet")
    assert names(folder) == ["mine"]


def test_usual_data_sets_bring_their_settings_and_the_glyphs(pack: MakePack) -> None:
    folder = pack("cars", "snow").parent
    assert names(folder) == ["cars", "glyphs"]
    tests = {s.test for s in find_sources(folder)[0].fingerprints}
    assert tests == {"same", "snow", "zipf"}  # no other corruption is there


def test_without_data_there_are_the_glyphs() -> None:
    (source,) = find_sources(None)
    assert source.path is None
    assert source.most_splits == {"same": 2}


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone: expected a folder of data"):
        find_sources(tmp_path / "gone")
    with pytest.raises(DataError, match=r"expected .npz files with an array .* received none"):
        find_sources(tmp_path)


def test_a_damaged_file_is_named(pack: MakePack) -> None:
    path = pack("birds")
    path.with_name("fish.npz").write_bytes(path.read_bytes()[:500])
    with pytest.raises(DataError, match=r"fish.npz: expected a whole .npz file"):
        find_sources(path.parent)


def test_two_data_sets_of_one_name(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    data = og.datasets.synthetic(8, 4, dim=8)
    data.save(folder / "mine.npz")
    data.save(folder / "part.parquet")
    with pytest.raises(DataError, match="distinct names, received mine twice"):
        find_sources(folder)

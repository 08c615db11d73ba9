from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from opengcn.atomic import replacing
from opengcn.model_file import write_model


def write_half(path: Path) -> None:
    with replacing(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError


def test_a_failure_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(RuntimeError):
        write_half(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_files_are_as_readable_as_any_other(tmp_path: Path) -> None:
    """A model is written by one user and served by another."""
    plain = tmp_path / "plain"
    plain.touch()
    write_model(tmp_path / "m.ogcn", {}, {"a": np.zeros(3)})
    assert (tmp_path / "m.ogcn").stat().st_mode == plain.stat().st_mode
    assert not list(tmp_path.glob(".*"))

"""What the README shows is what happens."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opengcn as og
from opengcn.calibrators.rehearsed import RehearsedOpenGCN

README = Path(__file__).parents[1] / "README.md"


def test_readme_begins_with_the_two_commands_and_one_picture() -> None:
    text = README.read_text(encoding="utf-8")
    assert text.index("make demo") < text.index("make test") < text.index("![")
    for link in re.findall(r"\]\(([^)]+)\)", text):
        assert (README.parent / link).exists(), link


def test_the_snippet_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a small set and in a hurry: rendering the characters and a real fit take minutes."""
    train, rest = og.datasets.synthetic(n_classes=60, samples=8, dim=16).split_classes(0.5)
    small = og.datasets.OpenWorldSplit(train, *rest.split_classes(0.4))
    monkeypatch.setattr(og.datasets, "glyphs", lambda: small)
    defaults: Any = RehearsedOpenGCN.__init__.__kwdefaults__
    monkeypatch.setitem(defaults, "episodes", 10)
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    og.EmbeddingSet(np.eye(4)).save(tmp_path / "embeddings.parquet")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(code, names)
    assert "match if distance <" in capsys.readouterr().out
    assert len(names["mine"]) == 4  # type: ignore[arg-type]

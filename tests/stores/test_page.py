"""docs/stores.md: what it shows is what the library says and does."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import opengcn as og

PAGE = (Path(__file__).parents[2] / "docs" / "stores.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(?:python|sql)\n(.*?)```", PAGE, re.DOTALL)
MARK = "OpenGCN's threshold for"
THRESHOLD = og.Threshold(0.93, tpr=0.9, tnr=0.991, target="tpr >= 0.9")


def test_the_snippets_are_those_of_the_library() -> None:
    shown = {block for block in BLOCKS if MARK in block}
    assert shown == {og.snippets.snippet(THRESHOLD, engine) for engine in og.snippets.ENGINES}


def test_the_code_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in ("lancedb", "faiss", "qdrant_client"):
        pytest.importorskip(module)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in BLOCKS:
        if MARK not in block:
            exec(block, names)
            said = re.findall(r"print\(.*\)  # (EmbeddingSet.*)", block)
            if said:
                assert capsys.readouterr().out.strip() == said[0]
            else:
                assert '"rule": "match if distance < 0.9300"' in capsys.readouterr().out
    for other in ("same_birds", "again"):
        np.testing.assert_allclose(names[other].embeddings, names["birds"].embeddings, atol=2e-7)  # type: ignore[attr-defined]
        assert names[other].labels.tolist() == names["birds"].labels.tolist()  # type: ignore[attr-defined]


def test_the_probe_tells_the_metrics_apart() -> None:
    """The table of scores: each value is what its formula makes of the two vectors."""
    d = float(np.linalg.norm(np.array([1, 0]) - np.array([0.28, 0.96])))
    rows = re.findall(r"^\| (-?[\d.]+) \|.*\| `(.*)` \| (above|below) \|$", PAGE, re.MULTILINE)
    assert len(rows) == 9
    assert len({value for value, _, _ in rows}) == 9
    for value, formula, side in rows:
        probe = eval(formula, {"threshold": og.Threshold(d)})
        assert abs(probe - float(value)) < 6e-4
        nearer = eval(formula, {"threshold": og.Threshold(d / 2)})
        assert (nearer > probe) == (side == "above")

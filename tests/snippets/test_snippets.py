"""What every snippet says; whether it is right is in the engines' own tests."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import opengcn as og
from opengcn.errors import OpenGCNError
from opengcn.snippets import ENGINES, snippet

T = og.Threshold(
    0.93,
    tpr=0.9,
    tnr=0.991,
    target="tpr >= 0.9",
    tpr_low=0.87,
    tpr_high=0.93,
    tnr_low=0.98,
    tnr_high=0.995,
)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_snippet_says_what_was_asked_for_and_what_to_expect(engine: str) -> None:
    text = snippet(T, engine)
    mark = "--" if engine == "pgvector" else "#"
    head = [line.removeprefix(f"{mark} ") for line in text.splitlines()[:6]]
    assert head[0].endswith("asked for tpr >= 0.9")
    assert head[1:4] == [
        "match if distance < 0.9300",
        "      or cosine similarity > 0.5675",
        "      or squared L2 distance < 0.8649",
    ]
    assert "finds 90.00 % of the true matches (TPR) and rejects 99.10 %" in head[4]
    assert head[5].startswith("90 % sure: TPR 87.00 % to 93.00 %")
    assert "unit vectors" in text or "any length" in text or "normalises" in text


@pytest.mark.parametrize("engine", ENGINES)
def test_without_rates_and_target_the_snippet_says_so(engine: str) -> None:
    text = snippet(og.Threshold(0.93), engine)
    assert "no target given" in text
    assert "TPR and TNR to expect: unknown" in text
    assert "nan" not in text


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("distance", [0.0, 1e-5, 2 / 3, 2.0])
def test_numbers_have_all_their_digits(engine: str, distance: float) -> None:
    t = og.Threshold(distance)
    code = re.sub(r"(#|--).*", "", snippet(t, engine))  # comments say the rule with 4 digits
    written = {float(n) for n in re.findall(r"(?<![\w$])-?\d+(?:\.\d+)?(?:e-?\d+)?(?!\w)", code)}
    exact = (t.distance, t.squared_l2, t.cosine, -t.cosine, t.to("cosine_distance"))
    assert any(abs(w - e) <= 3e-16 for w in written for e in exact)
    if engine != "pgvector":
        compile(code, engine, "exec")


def test_no_line_is_too_long_to_paste() -> None:
    for engine in ENGINES:
        assert max(map(len, snippet(T, engine).splitlines())) <= 100


def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(OpenGCNError, match="engine: expected one of deepface, faiss, .*'milvus'"):
        snippet(T, "milvus")


def test_a_snippet_costs_no_heavy_import() -> None:
    code = (
        "import sys, opengcn as og; og.snippets.snippet(og.Threshold(1.0), 'faiss');"
        "heavy = {'numpy', 'torch', 'faiss', 'lancedb', 'qdrant_client'} & set(sys.modules);"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

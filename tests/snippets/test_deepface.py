"""DeepFace's own `verify`, on embeddings; its models, and TensorFlow with them, stay away.

DeepFace cannot be among the dependencies of the tests, as it brings TensorFlow. Its wheel
alone is small, and what decides on a match is plain numpy.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

WHEEL = "deepface==0.0.103"
MODELS = {512: "ArcFace", 24: "SFace"}  # names that DeepFace knows, for our sizes


def build_model(model_name: str, **_: Any) -> SimpleNamespace:
    (size,) = (size for size, name in MODELS.items() if name == model_name)
    return SimpleNamespace(output_shape=size)


@pytest.fixture
def deepface(kept_folder: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make DeepFace importable, with its models replaced by one that only knows its size."""
    folder = kept_folder("deepface")
    if not list(folder.glob("*.whl")):
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "-q", "-d", folder, WHEEL]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        except subprocess.TimeoutExpired:
            pytest.skip("pip took more than 120 s; is the package index reachable?")
        if done.returncode:
            pytest.skip(f"pip could not download {WHEEL}")
    before = set(sys.modules)
    monkeypatch.syspath_prepend(next(folder.glob("*.whl")))
    for name in ("representation", "detection", "modeling"):
        monkeypatch.setitem(
            sys.modules, f"deepface.modules.{name}", ModuleType(f"deepface.modules.{name}")
        )
    sys.modules["deepface.modules.modeling"].build_model = build_model  # type: ignore[attr-defined]
    verification = importlib.import_module("deepface.modules.verification")
    api = ModuleType("deepface.DeepFace")
    api.verify = verification.verify  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "deepface.DeepFace", api)
    yield
    for name in set(sys.modules) - before:
        if name.startswith("deepface"):
            del sys.modules[name]


@pytest.mark.slow
@pytest.mark.usefixtures("deepface")
@pytest.mark.parametrize("metric", ["cosine", "euclidean_l2"])
def test_deepface(crowds: list[Any], metric: str) -> None:
    for crowd in crowds:
        if metric == "cosine" and crowd.threshold.distance < 0.3:
            continue  # rounding to 6 decimals is too coarse, as the snippet says
        data = crowd.scaled()
        code = data.snippet("deepface").replace(
            "threshold=threshold\n", "threshold=threshold, silent=True\n"
        )
        assert code.count('distance_metric = "euclidean_l2"') == 1
        code = code.replace('distance_metric = "euclidean_l2"', f'distance_metric = "{metric}"')
        find = compile(code, "snippet", "exec")
        names = {"model_name": MODELS[data.stored.shape[1]]}
        found = []
        for q in data.queries:
            matches = []
            for face in data.stored:
                names |= {"img1": q.tolist(), "img2": face.tolist()}
                exec(find, names)
                matches.append(names["match"])
            found.append(np.flatnonzero(matches))
        data.check(found)


def test_the_numbers_are_just_below_the_threshold(crowd: Any) -> None:
    """DeepFace includes its threshold: written is the largest number below it."""
    names: dict[str, Any] = {}
    code = crowd.snippet("deepface")
    settings = code[code.index("distance_metric =") : code.index("# DeepFace includes")]
    for metric, exact in (
        ("cosine", crowd.threshold.to("cosine_distance")),
        ("euclidean_l2", crowd.threshold.distance),
    ):
        exec(settings.replace('= "euclidean_l2"', f'= "{metric}"'), names)
        assert names["threshold"] == np.nextafter(exact, 0)

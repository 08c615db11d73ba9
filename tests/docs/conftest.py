"""The pages, what runs their code, and ways to make that cheap."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import opengcn as og
from opengcn.calibrators.rehearsed import RehearsedOpenGCN
from opengcn.rehearsal import readout

ROOT = Path(__file__).parents[2]
STEPS, EPISODES = 30, 10
# The real command line, after a short training.
SHORT = f"""#!{sys.executable}
from opengcn.rehearsal import readout
readout.STEPS = readout.OWN_STEPS = {STEPS}
from opengcn.calibrators.rehearsed import RehearsedOpenGCN
RehearsedOpenGCN.__init__.__kwdefaults__["episodes"] = {EPISODES}
from opengcn.cli import main
main()
"""


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


def load_script(name: str) -> ModuleType:
    path = ROOT / "docs" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"docs_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def code_blocks() -> ModuleType:
    return load_script("code_blocks")


@pytest.fixture(scope="session")
def make_images() -> ModuleType:
    return load_script("make_images")


@pytest.fixture
def short_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the default fit take a second or two, here."""
    monkeypatch.setattr(readout, "STEPS", STEPS)
    monkeypatch.setattr(readout, "OWN_STEPS", STEPS)
    defaults: Any = RehearsedOpenGCN.__init__.__kwdefaults__
    monkeypatch.setitem(defaults, "episodes", EPISODES)


@pytest.fixture
def short_commands(tmp_path: Path) -> dict[str, str]:
    """Environment in which `opengcn` and `python` are those of the tests, and fits are short."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "opengcn").write_text(SHORT, encoding="utf-8")
    (folder / "opengcn").chmod(0o755)
    return {"PATH": os.pathsep.join([str(folder), *paths_of_tests()])}


@pytest.fixture
def real_commands() -> dict[str, str]:
    """Environment in which `opengcn` and `python` are those of the tests."""
    return {"PATH": os.pathsep.join(paths_of_tests())}


def paths_of_tests() -> list[str]:
    return [str(Path(sys.executable).parent), os.environ["PATH"]]


@pytest.fixture
def faces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders of people, and a DeepFace that knows their embeddings: in its layout, not real."""
    made = og.datasets.synthetic(n_classes=60, samples=6, dim=24, concentration=30, seed=0)
    known: dict[str, Any] = {}
    for row, label in zip(made.embeddings, made.labels, strict=True):
        folder = "public-faces" if label < 40 else "our-faces"
        file = Path(folder, f"person{label}", f"{len(known)}.jpg")
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
        known[str(file)] = row

    def represent(img_path: str, **options: Any) -> list[dict[str, Any]]:
        assert set(options) == {"model_name", "enforce_detection"}
        face = {"embedding": (7 * known[img_path]).tolist(), "facial_area": {"x": 0, "y": 0}}
        sure = 0.0 if img_path.endswith("/3.jpg") else 0.97
        return [face | {"face_confidence": sure}]

    package = ModuleType("deepface")
    package.DeepFace = SimpleNamespace(represent=represent)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "deepface", package)
    assert np.isfinite(made.embeddings).all()

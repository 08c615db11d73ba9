"""The pages, what runs their code, and ways to make that cheap."""

from __future__ import annotations

import importlib.util
import shlex
import sys
import warnings
from collections.abc import Callable
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import opengcn as og
from opengcn.calibrators.rehearsed import RehearsedOpenGCN
from opengcn.cli import main

ROOT = Path(__file__).parents[2]


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
def short_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the default fit take a second or two."""
    defaults: Any = RehearsedOpenGCN.__init__.__kwdefaults__
    monkeypatch.setitem(defaults, "episodes", 10)


@pytest.fixture
def run_here(
    code_blocks: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str, Path], str]:
    """Run `opengcn` commands in this process, which saves importing torch each time."""
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # main changes it
    for name, value in code_blocks.SETTINGS.items():
        monkeypatch.setenv(name, value)

    def run(code: str, folder: Path) -> str:
        printed = ""
        for line in code.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            name, *arguments = words[: words.index(">")] if ">" in words else words
            assert name == "opengcn", line
            monkeypatch.setattr(sys, "argv", [name, *arguments])
            said = StringIO()
            with chdir(folder), redirect_stdout(StringIO()) as out, redirect_stderr(said):
                with pytest.raises(SystemExit) as stop:
                    main()
                if ">" in words:
                    Path(words[-1]).write_text(out.getvalue(), encoding="utf-8")
            assert not stop.value.code, f"{line}: {said.getvalue()}"
            printed += "" if ">" in words else out.getvalue()
        return printed

    return run


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

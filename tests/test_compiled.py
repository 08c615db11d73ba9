from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import opengcn


def test_loops_compile_where_nothing_can_be_kept(tmp_path: Path) -> None:
    """A read-only installation and no home: counting works all the same."""
    package = Path(opengcn.__file__).parent
    copy = tmp_path / "opengcn"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "__pycache__").write_text("not a folder, so numba cannot write there")
    code = (
        "import numpy as np, opengcn as og;"
        "print(og.OperatingCurve.from_labels(np.eye(4), [0, 0, 1, 1]).source, og.__file__)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "HOME": "/proc", "XDG_CACHE_HOME": "/proc", "PYTHONPATH": str(tmp_path)},
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == f"exact {copy / '__init__.py'}"

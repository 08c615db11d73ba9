"""The package as a whole: what importing it costs, and what it promises."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version

import opengcn as og


def test_version_is_in_one_place() -> None:
    assert og.__version__ == version("opengcn")


def test_every_public_name_is_there() -> None:
    for name in og.__all__:
        assert getattr(og, name).__doc__
    assert set(og.__all__) <= set(dir(og))


def test_a_function_stays_a_function_after_its_module_is_imported() -> None:
    code = "import opengcn as og; og.compare_splits; assert callable(og.compare); assert callable(og.convert)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_importing_is_light() -> None:
    code = (
        "import sys, opengcn; opengcn.EmbeddingSet; opengcn.OperatingCurve;"
        "heavy = {'torch', 'sklearn', 'matplotlib', 'numba', 'pandas', 'pyarrow', 'rich'} & set(sys.modules);"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

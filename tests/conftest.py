from __future__ import annotations

import os
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from hypothesis import settings

matplotlib.use("Agg")
settings.register_profile("opengcn", deadline=None, max_examples=50)
settings.load_profile("opengcn")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder of real embeddings, which the project does not ship."""
    folder = Path(os.environ.get("OPENGCN_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("real embeddings are not here (set OPENGCN_DATA to their folder)")
    return folder

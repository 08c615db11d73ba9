from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opengcn as og
from opengcn.errors import DataError

N, D = 100, 6


@pytest.fixture(scope="session")
def birds() -> og.EmbeddingSet:
    rng = np.random.default_rng(0)
    return og.EmbeddingSet(
        rng.standard_normal((N, D)).astype(np.float32),
        [f"b{i // 3}" for i in range(N)],
        ids=np.arange(N) + 5,
        tenants=[f"t{i % 2}" for i in range(N)],
    )


def check_same(one: og.EmbeddingSet, two: og.EmbeddingSet, atol: float = 0) -> None:
    np.testing.assert_allclose(one.embeddings, two.embeddings, rtol=0, atol=atol)
    for name in ("labels", "ids", "tenants"):
        a, b = getattr(one, name), getattr(two, name)
        assert (a is None) == (b is None), name
        if a is not None:
            np.testing.assert_array_equal(a, b)


@pytest.fixture(scope="session")
def same() -> Callable[..., None]:
    """Assert that two sets hold the same vectors, labels, ids and tenants."""
    return check_same


@pytest.fixture(scope="session")
def refuses() -> Callable[..., None]:
    """Assert that loading fails with one line that matches."""

    def refuse(path: Any, message: str, **options: Any) -> None:
        with pytest.raises(DataError, match=message) as caught:
            og.EmbeddingSet.load(path, **options)
        assert "\n" not in str(caught.value)

    return refuse

"""Pairs around a threshold, and what the snippets must make of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import opengcn as og

# Distances, and dimensions to have them in; cosines are 0.995, 0.955, 0.57, 0.09 and -0.28.
CASES = [(0.1, 24), (0.3, 24), (0.93, 512), (1.35, 24), (1.6, 24)]
BESIDE = 2e-6  # how near to the threshold a pair may fall on either side
PLANTED = np.array([3e-6, 5e-6, 1e-5, 1e-4])  # distances from the threshold, both ways


@dataclass(frozen=True)
class Crowd:
    """Queries of shape (m, D), stored vectors of shape (n, D), and the threshold between them."""

    threshold: og.Threshold
    queries: NDArray[np.float32]
    stored: NDArray[np.float32]

    @property
    def distances(self) -> NDArray[np.float64]:
        """L2 distances of the normalised vectors, in float64, of shape (m, n)."""
        queries, x = (unit(a.astype(np.float64)) for a in (self.queries, self.stored))
        return np.array([np.linalg.norm(q - x, axis=1) for q in queries])

    def scaled(self) -> Crowd:
        """Return the same directions as vectors of other lengths."""
        rng = np.random.default_rng(1)
        q, x = (
            (a * rng.uniform(0.2, 5, (len(a), 1))).astype(np.float32)
            for a in (self.queries, self.stored)
        )
        return Crowd(self.threshold, q, x)

    def check(self, found: Iterable[Iterable[Any]]) -> None:
        """Assert that the stored rows found for each query are those below the threshold."""
        d = self.distances
        matches = np.zeros(d.shape, bool)
        for query, rows in enumerate(found):
            matches[query, np.asarray(list(rows), int)] = True
        assert query == len(d) - 1
        off = d - self.threshold.distance
        sure = np.abs(off) > BESIDE
        for side in (off < 0, off > 0):  # the test is worth nothing without pairs so near
            assert (sure & side & (np.abs(off) < 1e-5)).sum() >= len(d)
        np.testing.assert_array_equal(matches[sure], (off < 0)[sure])

    def snippet(self, engine: str) -> str:
        return og.snippets.snippet(self.threshold, engine)


def unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def at_distance(query: NDArray[np.float64], d: float, rng: np.random.Generator) -> Any:
    """Return a unit vector at L2 distance d of a unit vector."""
    other = rng.standard_normal(len(query))
    other -= query * (query @ other)
    cosine = 1 - d * d / 2
    return cosine * query + np.sqrt(1 - cosine * cosine) * other / np.linalg.norm(other)


def make_crowd(d: float, dim: int) -> Crowd:
    """Ten queries; around each 40 vectors about as far as the threshold, 16 of them planted."""
    rng = np.random.default_rng(0)
    queries = unit(rng.standard_normal((10, dim)))
    near = np.concatenate([PLANTED, -PLANTED, PLANTED, -PLANTED, rng.normal(0, 0.05, 24)])
    rows = [at_distance(q, d + off, rng) for q in queries for off in near]
    return Crowd(
        og.Threshold(d, tpr=0.9, tnr=0.99, target="tpr >= 0.9"),
        queries.astype(np.float32),
        np.array(rows, np.float32),
    )


@pytest.fixture(params=CASES, ids=str)
def crowd(request: pytest.FixtureRequest) -> Crowd:
    return make_crowd(*request.param)


@pytest.fixture
def crowds() -> list[Crowd]:
    return [make_crowd(*case) for case in CASES]


def run(code: str, **names: Any) -> dict[str, Any]:
    exec(compile(code, "snippet", "exec"), names)
    return names


@pytest.fixture(scope="session")
def run_code() -> Any:
    """Run a snippet's text with the names that it needs, and return the names it leaves."""
    return run


@pytest.fixture(scope="session")
def kept_folder(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Path]:
    """Return a folder for downloads, in pytest's cache where it has one."""
    cache = getattr(request.config, "cache", None)
    return tmp_path_factory.mktemp if cache is None else cache.mkdir

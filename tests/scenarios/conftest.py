"""Small data sets in the layouts that the benchmark reads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opengcn as og
from opengcn.scenarios.results import Cell, Result


def write_pack(path: Path, *, classes: int = 24, seed: int = 0, **arrays: Any) -> np.ndarray:
    """Write a pack whose first half of classes is for training; return its labels."""
    data = og.datasets.synthetic(classes, 8, dim=16, concentration=30.0, seed=seed)
    labels = data.labels.astype(np.int32)
    np.savez(
        path,
        E=data.embeddings.astype(np.float16),
        y=labels,
        train=labels < classes // 2,
        **arrays,
    )
    return labels


def write_shifted(path: Path, *shifts: str, classes: int = 24) -> None:
    """Write corrupted images of the open-world classes of a pack."""
    data = og.datasets.synthetic(classes, 6, dim=16, concentration=20.0, seed=9)
    kept = data.labels >= classes // 2
    np.savez(
        path,
        y=data.labels[kept].astype(np.int32),
        index=np.arange(kept.sum()),
        **{shift: data.embeddings[kept].astype(np.float16) for shift in shifts},
    )


@pytest.fixture
def pack(tmp_path: Path) -> Callable[..., Path]:
    """Write NAME.npz, and NAME_shifted.npz when shifts are asked for."""

    def make(name: str = "birds", *shifts: str, **arrays: Any) -> Path:
        write_pack(tmp_path / f"{name}.npz", **arrays)
        if shifts:
            write_shifted(tmp_path / f"{name}_shifted.npz", *shifts)
        return tmp_path / f"{name}.npz"

    return make


@pytest.fixture
def result() -> Callable[..., Result]:
    """Make a result by hand."""

    def make(
        method: str,
        mae: float = 0.1,
        *,
        scenario: str = "samedist",
        data: str = "cub",
        test: str = "same",
        split: int = 0,
        seed: int = 0,
        failure: str = "",
        fit: float = 1.0,
        spent: float = 1.5,
        **values: float,
    ) -> Result:
        d = np.linspace(0, 2, 201)
        curves = {"tpr": (d / 2).tolist(), "tnr": (1 - d / 2).tolist()}
        points = {f"ae_{rate}_{at}": mae for rate in ("tpr", "tnr") for at in (80, 90)}
        return Result(
            Cell(scenario, data, test, split, seed, method),
            {} if failure else {"mae": mae, **points, **values},
            {} if failure else curves,
            {"fit": fit, "estimate": 0.1, "spent": spent},
            failure,
        )

    return make

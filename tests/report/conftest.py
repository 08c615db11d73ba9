from __future__ import annotations

import json
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opengcn as og
from opengcn.pairs import GRID


def bell(centre: float, width: float) -> np.ndarray:
    """A smooth rate that rises from 0 to 1 around a distance, both reached on the grid."""
    raw = 1 / (1 + np.exp(-(GRID - centre) / width))
    return (raw - raw[0]) / (raw[-1] - raw[0])


@pytest.fixture
def estimate() -> og.OperatingCurve:
    """An estimate with everything that OpenGCN says: bands, prior, graphs, nodes."""
    return og.OperatingCurve(
        bell(0.8, 0.06),
        1 - bell(1.3, 0.05),
        "OpenGCN",
        {"graphs": 4, "nodes": 4096, "prior": 0.004, "confidence": 0.9},
        tpr_low=np.minimum(bell(0.86, 0.06), bell(0.8, 0.06)),
        tpr_high=np.maximum(bell(0.74, 0.06), bell(0.8, 0.06)),
        tnr_low=np.minimum(1 - bell(1.28, 0.05), 1 - bell(1.3, 0.05)),
        tnr_high=np.maximum(1 - bell(1.32, 0.05), 1 - bell(1.3, 0.05)),
    )


@pytest.fixture
def reference() -> og.OperatingCurve:
    """A calibration set's curve, further left."""
    return og.OperatingCurve(bell(0.72, 0.06), 1 - bell(1.25, 0.05), "exact")


class Read(HTMLParser):
    """The page as a parser sees it: elements, their texts, and the data."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.shown: dict[str, list[str]] = {}
        self.scripts: list[str] = []
        self.feed(html)
        self.close()

    @property
    def data(self) -> Any:
        def refuse(constant: str) -> None:
            raise ValueError(constant)

        return json.loads(self.scripts[0], parse_constant=refuse)

    @property
    def text(self) -> str:
        """All texts in a row, with plain spaces."""
        return " ".join(" ".join(self.texts).replace("\N{NO-BREAK SPACE}", " ").split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        tag, attributes = self.tags[-1] if self.tags else ("", {})
        if tag == "script":
            self.scripts.append(data)
        elif tag != "style" and data.strip():
            self.texts.append(data)
            if "data-show" in attributes:
                self.shown.setdefault(str(attributes["data-show"]), []).append(data)
                self.tags.append(("", {}))


@pytest.fixture
def report(tmp_path: Path) -> Callable[..., Read]:
    """Writes a report and reads it back."""

    def write(curve: og.OperatingCurve, **options: Any) -> Read:
        path = tmp_path / "report.html"
        og.write_report(path, curve, **options)
        return Read(path.read_text(encoding="utf-8"))

    return write

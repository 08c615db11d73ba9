"""OpenGCN: distance thresholds for embeddings of classes that nobody has labelled.

From unlabelled embeddings it estimates TPR(d) and TNR(d), the share of true matches that a
distance threshold d finds and the share of strangers that it rejects, and returns the
threshold that meets a target.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

if TYPE_CHECKING:
    from opengcn import datasets as datasets
    from opengcn import metrics as metrics
    from opengcn.curve import OperatingCurve as OperatingCurve
    from opengcn.distance import convert as convert
    from opengcn.embeddings import EmbeddingSet as EmbeddingSet
    from opengcn.errors import DataError as DataError
    from opengcn.errors import OpenGCNError as OpenGCNError
    from opengcn.errors import OpenGCNWarning as OpenGCNWarning
    from opengcn.threshold import Threshold as Threshold

__all__ = [
    "DataError",
    "EmbeddingSet",
    "OpenGCNError",
    "OpenGCNWarning",
    "OperatingCurve",
    "Threshold",
    "convert",
    "datasets",
    "metrics",
]

# Names are imported when first used, so that `import opengcn` costs next to nothing.
_HOME = {
    "DataError": "errors",
    "EmbeddingSet": "embeddings",
    "OpenGCNError": "errors",
    "OpenGCNWarning": "errors",
    "OperatingCurve": "curve",
    "Threshold": "threshold",
    "convert": "distance",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"opengcn.{_HOME[name]}"), name)
    if name in __all__:
        return importlib.import_module(f"opengcn.{name}")
    raise AttributeError(f"module 'opengcn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])

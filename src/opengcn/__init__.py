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
    from opengcn import snippets as snippets
    from opengcn.calibrators.inductive import BetaCalibration as BetaCalibration
    from opengcn.calibrators.inductive import HistogramCalibration as HistogramCalibration
    from opengcn.calibrators.inductive import IsotonicCalibration as IsotonicCalibration
    from opengcn.calibrators.inductive import PlattScaling as PlattScaling
    from opengcn.calibrators.opengcn import OpenGCN as OpenGCN
    from opengcn.calibrators.opengcn import load as load
    from opengcn.calibrators.pseudo_label import DBSCANCalibration as DBSCANCalibration
    from opengcn.calibrators.pseudo_label import HiLander as HiLander
    from opengcn.calibrators.split_curve import SplitCurve as SplitCurve
    from opengcn.comparison import Comparison as Comparison
    from opengcn.curve import OperatingCurve as OperatingCurve
    from opengcn.distance import convert as convert
    from opengcn.embeddings import EmbeddingSet as EmbeddingSet
    from opengcn.errors import DataError as DataError
    from opengcn.errors import OpenGCNError as OpenGCNError
    from opengcn.errors import OpenGCNWarning as OpenGCNWarning
    from opengcn.report import write_report as write_report
    from opengcn.tenants.bulk import calibrate_tenants as calibrate_tenants
    from opengcn.threshold import Threshold as Threshold
    from opengcn.trials import compare as compare
    from opengcn.trials import compare_splits as compare_splits

__all__ = [
    "BetaCalibration",
    "Comparison",
    "DBSCANCalibration",
    "DataError",
    "EmbeddingSet",
    "HiLander",
    "HistogramCalibration",
    "IsotonicCalibration",
    "OpenGCN",
    "OpenGCNError",
    "OpenGCNWarning",
    "OperatingCurve",
    "PlattScaling",
    "SplitCurve",
    "Threshold",
    "calibrate_tenants",
    "compare",
    "compare_splits",
    "convert",
    "datasets",
    "load",
    "metrics",
    "snippets",
    "write_report",
]

# Names are imported when first used, so that `import opengcn` costs next to nothing.
_HOME = {
    "BetaCalibration": "calibrators.inductive",
    "Comparison": "comparison",
    "DBSCANCalibration": "calibrators.pseudo_label",
    "DataError": "errors",
    "EmbeddingSet": "embeddings",
    "HiLander": "calibrators.pseudo_label",
    "HistogramCalibration": "calibrators.inductive",
    "IsotonicCalibration": "calibrators.inductive",
    "OpenGCN": "calibrators.opengcn",
    "OpenGCNError": "errors",
    "OpenGCNWarning": "errors",
    "OperatingCurve": "curve",
    "PlattScaling": "calibrators.inductive",
    "SplitCurve": "calibrators.split_curve",
    "Threshold": "threshold",
    "calibrate_tenants": "tenants.bulk",
    "compare": "trials",
    "compare_splits": "trials",
    "convert": "distance",
    "load": "calibrators.opengcn",
    "write_report": "report",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"opengcn.{_HOME[name]}"), name)
    if name in __all__:
        return importlib.import_module(f"opengcn.{name}")
    raise AttributeError(f"module 'opengcn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])

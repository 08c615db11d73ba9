"""Where a threshold comes from: the model, the data, the day and the version."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from opengcn import __version__

if TYPE_CHECKING:
    from opengcn.calibrators.opengcn import OpenGCN
    from opengcn.embeddings import EmbeddingSet

__all__ = ["about_model", "provenance"]

ROWS = 16_384  # of a large set that its fingerprint covers: not to read ten million


def about_model(model: OpenGCN) -> str:
    """Say in one line what a model is and what it was fitted on.

    Parameters
    ----------
    model : OpenGCN
        Fitted.

    Returns
    -------
    text : str
        For people.
    """
    done = {"trained": model.summary_["train"], "calibrated": model.summary_["cal"]}
    parts = [f"{how} on {s['rows']:,} rows of {s['classes']:,} classes" for how, s in done.items()]
    return f"OpenGCN, {model.preset} preset, {' and '.join(parts)}"


def provenance(model: OpenGCN, data: EmbeddingSet, model_file: str = "") -> dict[str, str]:
    """Return what a colleague needs to make a threshold again.

    Parameters
    ----------
    model : OpenGCN
        Who estimated.
    data : EmbeddingSet
        The set that the threshold is for.
    model_file : str, default ""
        Where the model lies, if anywhere.

    Returns
    -------
    facts : dict of str to str
        Names and values, for people.
    """
    rows = np.unique(np.linspace(0, len(data) - 1, min(len(data), ROWS)).astype(np.intp))
    digest = hashlib.sha256(f"{len(data)} x {data.dim}".encode())
    digest.update(np.ascontiguousarray(data.take(rows)).tobytes())
    facts = {"Model": about_model(model), "Seed": str(model.seed)}
    if model_file:
        facts["Model file"] = model_file
        facts["Model fingerprint"] = hashlib.sha256(Path(model_file).read_bytes()).hexdigest()[:16]
    return facts | {
        "Data": f"{data.source}: {len(data):,} rows of {data.dim} dimensions",
        "Data fingerprint": digest.hexdigest()[:16],
        "Date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "Version": f"opengcn {__version__}",
    }

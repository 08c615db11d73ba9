"""A worker: a process that holds the models, reads bodies and estimates, one at a time.

Processes rather than threads: a body that kills its reader, or takes all its memory, costs
one request; and what an estimate sets for its process (warnings that are recorded, the
number of threads of BLAS and torch) is its own.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from multiprocessing import parent_process
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

from opengcn.errors import OpenGCNError
from opengcn.service.answers import Estimate, UnknownModelError
from opengcn.service.bodies import JSON, Sent, TooLargeError, one_set, several_sets
from opengcn.service.question import Question
from opengcn.threads import one_core

if TYPE_CHECKING:
    from opengcn.calibrators.opengcn import OpenGCN

__all__ = ["HTML", "Done", "Job", "Kind", "prepare", "run"]

HTML = "text/html; charset=utf-8"
HEADROOM = 2 * 2**30  # bytes that a worker may take on top of what it has when it is ready
SECONDS = 300  # that a job may take: a worker that hangs must not stay lost
WARM_ROWS = 64

Kind = Literal["threshold", "thresholds", "report"]

_models: dict[str, OpenGCN] = {}


@dataclass(frozen=True)
class Job:
    """A request, as it goes to a worker.

    Attributes
    ----------
    kind : {"threshold", "thresholds", "report"}
        What is to be made: an answer, answers for several sets, or a page.
    body : bytes
        The body.
    media : str
        Its media type.
    question : Question
        Of the query string.
    limit : int
        Rows that are allowed.
    """

    kind: Kind
    body: bytes
    media: str
    question: Question
    limit: int


@dataclass(frozen=True)
class Done:
    """What came of a job.

    Attributes
    ----------
    status : int
        Of HTTP.
    body : bytes
        The answer.
    media : str
        Its media type.
    seconds : float
        How long it took.
    rows : dict of str to int
        Rows that were estimated, by model.
    """

    status: int
    body: bytes
    media: str
    seconds: float
    rows: dict[str, int] = field(default_factory=dict)


def prepare(paths: Mapping[str, str]) -> list[dict[str, Any]]:
    """Load the models, estimate once with each (which compiles), and describe them.

    Parameters
    ----------
    paths : mapping of str to str
        Model files by name.

    Returns
    -------
    models : list of dict
        What `opengcn.service.shapes.ModelInfo` describes.
    """
    from opengcn.calibrators.opengcn import load  # torch: in workers only

    # The service decides when a worker ends: a terminal's Ctrl-C and a supervisor's SIGTERM
    # go to all processes, and would cut off what the service has promised to finish.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    Thread(target=_end_with_the_service, daemon=True).start()
    _models.update({name: load(path) for name, path in paths.items()})
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model in _models.values():
            model.estimate(rng.standard_normal((WARM_ROWS, model.dim_), np.float32))
    _limit_memory()
    return [
        {"name": name, "preset": model.preset, "dim": model.dim_, "summary": model.summary_}
        for name, model in _models.items()
    ]


def run(job: Job) -> Done:
    """Do a job; what the client got wrong is an answer too.

    Parameters
    ----------
    job : Job
        The job.

    Returns
    -------
    done : Done
        The answer.
    """
    started = time.perf_counter()
    signal.alarm(SECONDS)  # which ends this process, whatever it is stuck in
    rows: dict[str, int] = {}
    status, media = 200, JSON
    found: Any
    try:
        if job.kind == "thresholds":
            sets = several_sets(job.body, job.media, job.question, job.limit)
            found = {"sets": [_verdict(sent, rows) for sent in sets]}
        else:
            sent = one_set(job.body, job.media, job.question, job.limit)
            estimate = _estimate(sent, rows)
            if job.kind == "report":
                found, media = estimate.to_html(), HTML
            else:
                found = estimate.to_dict(curve=sent.question.curve)
    except OpenGCNError as error:
        status, found = _status(error), {"detail": str(error)}
    except MemoryError:
        status, found = 413, {"detail": "body: expected less data, received more than fits"}
    text = found if media == HTML else json.dumps(found, allow_nan=False)
    signal.alarm(0)
    pa.default_memory_pool().release_unused()  # which would keep the room of the largest body
    return Done(status, text.encode(), media, time.perf_counter() - started, rows)


def _estimate(sent: Sent, rows: dict[str, int]) -> Estimate:
    with one_core():  # the others are for other requests
        estimate = Estimate.of(_models, sent)
    rows[estimate.name] = rows.get(estimate.name, 0) + len(estimate.data)
    return estimate


def _verdict(sent: Sent, rows: dict[str, int]) -> dict[str, Any]:
    """Answer for one of several sets; its fault is its own."""
    answer, problem = None, None
    try:
        answer = _estimate(sent, rows).to_dict(curve=sent.question.curve)
    except OpenGCNError as error:
        problem = str(error)
    return {"id": sent.id, "answer": answer, "error": problem}


def _status(error: OpenGCNError) -> int:
    if isinstance(error, TooLargeError):
        return 413
    return 404 if isinstance(error, UnknownModelError) else 422


def _end_with_the_service() -> None:
    """Wait for the parent's end, however it comes: nobody else would end this process."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _limit_memory() -> None:
    """Let a body that unpacks to far more than it is fail here, not the machine."""
    if sys.platform != "linux":
        return
    import resource

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + HEADROOM
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))

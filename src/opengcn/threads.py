"""Cores and threads: who may use how many."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from threading import Lock
from typing import Any

__all__ = ["cores", "one_blas_thread", "one_core", "one_torch_thread"]


def cores() -> int:
    """Return the cores that this process may use, which may be fewer than the machine has.

    Returns
    -------
    n : int
        At least 1.
    """
    if _ONE_CORE.get():
        return 1
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


_ONE_CORE = ContextVar("one_core", default=False)


@contextmanager
def one_core() -> Iterator[None]:
    """Let `cores` return 1 in the body: for a worker that is one of as many as there are cores.

    Yields
    ------
    None
    """
    token = _ONE_CORE.set(True)
    try:
        yield
    finally:
        _ONE_CORE.reset(token)


class _BlasLimit:
    """One limit for all who ask at once: the first sets it, the last takes it away."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._users = 0
        self._limit: Any = None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            if self._users == 0:
                self._limit = _controller().limit(limits=1, user_api="blas")
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if self._users == 0:
                    _let_any_thread_set_limits()
                    self._limit.restore_original_limits()
                    _let_any_thread_set_limits()


# Keep numpy's matrix products on one thread: for those who bring threads of their own.
one_blas_thread = _BlasLimit()


def _let_any_thread_set_limits() -> None:
    """Undo that recent threadpoolctl listens only to the thread that set the first limit."""
    import threadpoolctl

    clear = getattr(threadpoolctl.OpenBLASController, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


@cache
def _controller() -> Any:
    """Look for BLAS libraries once: it takes milliseconds."""
    import numpy  # noqa: F401 - its BLAS must be loaded before it can be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Let torch compute on one thread, and give its setting back afterwards.

    Its threads wait for each other by spinning. On operations as small as ours they gain
    little on an idle machine and cost a factor of ten on a busy one; and results then do not
    depend on how many cores there are.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)

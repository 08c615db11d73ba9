"""Cores and threads: who may use how many."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["cores", "one_torch_thread"]


def cores() -> int:
    """Return the cores that this process may use, which may be fewer than the machine has.

    Returns
    -------
    n : int
        At least 1.
    """
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


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

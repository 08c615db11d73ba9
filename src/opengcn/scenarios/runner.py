"""Runs jobs on several processes and keeps each result as it comes."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import cast

from opengcn.scenarios.plan import Job
from opengcn.scenarios.results import Result
from opengcn.scenarios.worker import serve

__all__ = ["run_jobs"]

# Read by libraries when they are loaded: one thread a process, as processes are the parallelism.
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass
class _Process:
    """A worker process and the job that it is at."""

    process: BaseProcess
    job: Job
    finished: int = 0  # cells of the job
    idle: bool = False


def run_jobs(jobs: list[Job], processes: int, keep: Callable[[list[Result]], None]) -> None:
    """Run jobs; results are handed over one cell at a time, in the calling process.

    A process that dies costs the cell that it was at: that cell is reported as failed, and
    the others of its job go on in a new process.

    Parameters
    ----------
    jobs : list of Job
        What to run, in about this order.
    processes : int
        How many at once, on one thread each.
    keep : callable
        Called with the results of each cell: its own, then that of its exact curve.
    """
    waiting = deque(jobs)
    workers: dict[Connection, _Process] = {}
    try:
        while waiting or any(not w.idle for w in workers.values()):
            while waiting and len(workers) < processes:
                connection, process = _start()
                workers[connection] = _Process(process, waiting.popleft())
                _send(connection, workers[connection].job)
            busy = [c for c, w in workers.items() if not w.idle]
            for connection in cast(list[Connection], wait(busy)):
                _receive(connection, workers, waiting, keep)
    finally:
        for worker in workers.values():
            worker.process.kill()  # at the end they are idle, and on Ctrl-C there is no use
        for worker in workers.values():
            worker.process.join()


def _receive(
    connection: Connection,
    workers: dict[Connection, _Process],
    waiting: deque[Job],
    keep: Callable[[list[Result]], None],
) -> None:
    worker = workers[connection]
    try:
        results = connection.recv()
    except (EOFError, OSError):
        del workers[connection]
        worker.process.join()
        _bury(worker, waiting, keep)
        return
    if results is not None:
        worker.finished += 1
        keep(results)
    elif waiting:
        worker.job, worker.finished = waiting.popleft(), 0
        _send(connection, worker.job)
    else:
        worker.idle = True


def _send(connection: Connection, job: Job) -> None:
    with suppress(OSError):  # a process that has died is noticed when its answer is awaited
        connection.send(job)


def _bury(worker: _Process, waiting: deque[Job], keep: Callable[[list[Result]], None]) -> None:
    """Report the cell that a process died at, and put the rest of its job back."""
    job, at = worker.job, worker.finished
    if at == len(job.cells):
        return
    code = worker.process.exitcode
    reason = f"its process ended with exit code {code} (out of memory is a usual cause)"
    keep([Result(job.cells[at], failure=reason)])
    rest = job.cells[at + 1 :]
    if rest:
        waiting.appendleft(replace(job, cells=rest))


def _start() -> tuple[Connection, BaseProcess]:
    context = get_context("spawn")  # a fork would inherit threads that are not there
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(theirs,), daemon=True)
    with _one_thread():
        process.start()
    theirs.close()  # so that the end of the process is the end of the connection
    return ours, process


@contextmanager
def _one_thread() -> Iterator[None]:
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value

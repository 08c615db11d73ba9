"""The pool: a worker a core, and a bounded queue before them."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from types import TracebackType
from typing import Any, Self

from opengcn.errors import OpenGCNError
from opengcn.service import worker
from opengcn.service.worker import Done, Job

__all__ = ["FullError", "GoneError", "Pool"]

log = logging.getLogger(__name__)

RESTART_SECONDS = 1.0  # between attempts to replace a worker


class FullError(Exception):
    """The queue is full; room is to be expected in `seconds`."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"expected fewer requests at once; try again in {seconds} s")
        self.seconds = seconds


class GoneError(Exception):
    """Nobody waits for the answer any more."""


class _Worker:
    """One process, in an executor of its own: when it dies, no other one is affected."""

    def __init__(self, models: Mapping[str, str]) -> None:
        # Not forked: the service has threads, which few libraries survive.
        self._executor = ProcessPoolExecutor(1, get_context("spawn"))
        self.ready: Future[list[dict[str, Any]]] = self._executor.submit(worker.prepare, models)

    async def run(self, job: Job) -> Done:
        return await asyncio.wrap_future(self._executor.submit(worker.run, job))

    def close(self) -> None:
        self._executor.shutdown(wait=True, cancel_futures=True)


class Pool:
    """Workers that take jobs in the order in which they came.

    Parameters
    ----------
    models : mapping of str to str
        Model files by name.
    workers : int
        Processes.
    queue : int
        Jobs that may wait while all workers are busy.

    Attributes
    ----------
    models : list of dict
        Descriptions of the models.
    waiting, busy, alive, replaced : int
        Jobs in the queue, jobs that a worker is at, workers that are there, workers that have
        died so far.

    Raises
    ------
    OpenGCNError
        When a model cannot be loaded, or a worker does not start.
    """

    def __init__(self, models: Mapping[str, str], workers: int, queue: int) -> None:
        self._paths = dict(models)
        self._size, self._queue = workers, queue
        self._turn = asyncio.Semaphore(workers)  # first come, first served; a Queue is not
        self._replacing: set[asyncio.Task[None]] = set()
        self._jobs, self._seconds = 0, 0.0
        self.waiting, self.busy, self.alive, self.replaced = 0, 0, workers, 0
        self._all = {_Worker(self._paths) for _ in range(workers)}
        self._free = list(self._all)
        try:
            self.models, *_ = [one.ready.result() for one in self._free]
        except BrokenProcessPool as error:
            self.close()
            raise OpenGCNError(
                f"workers: expected {workers} processes that start, received one that died "
                f"(killed, or out of memory)"
            ) from error
        except BaseException:
            self.close()
            raise

    async def run(self, job: Job, wanted: Callable[[], Awaitable[bool]]) -> Done:
        """Have a job done by the next free worker.

        Parameters
        ----------
        job : Job
            The job.
        wanted : callable
            Whether someone still waits for the answer; asked before the job begins.

        Returns
        -------
        done : Done
            What came of it.

        Raises
        ------
        FullError
            When too many are waiting.
        GoneError
            When the answer is not wanted any more.
        """
        self.check_room()
        self.waiting += 1
        try:
            await self._turn.acquire()
        finally:
            self.waiting -= 1
        one = self._free.pop()
        self.busy += 1
        try:
            if not await wanted():
                raise GoneError
            done = await one.run(job)
        except BrokenProcessPool:
            self._replace(one)  # its turn ends when there is a new one
            raise
        except BaseException:
            self._release(one)
            raise
        finally:
            self.busy -= 1
        self._release(one)
        self._jobs += 1
        self._seconds += done.seconds
        return done

    def check_room(self) -> None:
        """Raise `FullError` when a job would not be taken now."""
        if self._turn.locked() and self.waiting >= self._queue:
            mean = self._seconds / max(self._jobs, 1)
            raise FullError(max(1, math.ceil(self.waiting * mean / self._size)))

    def _release(self, one: _Worker) -> None:
        self._free.append(one)
        self._turn.release()

    def _replace(self, dead: _Worker) -> None:
        self.alive -= 1
        self.replaced += 1
        task = asyncio.create_task(self._start_again(dead))
        self._replacing.add(task)
        task.add_done_callback(self._replacing.discard)

    async def _start_again(self, dead: _Worker) -> None:
        while True:
            self._all.discard(dead)
            await asyncio.to_thread(dead.close)
            one = _Worker(self._paths)
            self._all.add(one)
            try:
                await asyncio.wrap_future(one.ready)
            except Exception:
                log.exception("a worker could not be started")
                await asyncio.sleep(RESTART_SECONDS)
                dead = one
            else:
                break
        self.alive += 1
        self._release(one)

    def close(self) -> None:
        """End the workers, each after the job that it is at."""
        for one in self._all:
            one.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

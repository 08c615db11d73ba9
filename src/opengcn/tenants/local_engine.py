"""The engine of one machine: worker processes, kept by joblib."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor
from contextlib import redirect_stderr
from functools import cache
from itertools import count
from pathlib import Path
from threading import Thread
from typing import TypeVar
from warnings import catch_warnings, filterwarnings

from opengcn.tenants.engine import Failure, attempt
from opengcn.threads import cores

__all__ = ["LocalEngine"]

TRIES = 2  # of a task that was in flight when a worker died, each on its own

Shared = TypeVar("Shared")
Task = TypeVar("Task")
Result = TypeVar("Result")


class LocalEngine:
    """Worker processes of one thread each; see `opengcn.tenants.engine.Engine`.

    Joblib's workers need no ``if __name__ == "__main__"`` in the caller's script, and stay for
    some minutes in case there is more to do.

    Parameters
    ----------
    workers : int, optional
        How many; one a core by default. With one, tasks run in this process.
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or cores()

    def run(
        self, work: Callable[[Shared, Task], Result], shared: Shared, tasks: Iterable[Task]
    ) -> Iterator[tuple[Task, Result | Failure]]:
        """Yield every task with its result, in the order in which they are done."""
        if self.workers == 1:
            for task in tasks:
                yield task, attempt(work, shared, task)
            return
        waiting, left = iter(tasks), True
        while left:
            flying: dict[int, Task] = {}
            try:
                yield from self._batch(work, shared, waiting, flying)
                left = False
            except BrokenExecutor:  # a worker died: killed, or out of memory
                for task in flying.values():
                    yield task, self._alone(work, shared, task)

    def _batch(
        self,
        work: Callable[[Shared, Task], Result],
        shared: Shared,
        tasks: Iterator[Task],
        flying: dict[int, Task],
    ) -> Iterator[tuple[Task, Result | Failure]]:
        """Run tasks until all are done or a worker dies; `flying` holds those not done."""
        import joblib

        def dispatched() -> Iterator[tuple[object, ...]]:
            for number, task in zip(count(), tasks):
                flying[number] = task
                yield joblib.delayed(_in_worker)(os.getpid(), number, work, shared, task)

        with catch_warnings(), joblib.parallel_config("loky", inner_max_num_threads=1):
            # Joblib replaces a worker that has grown, which is none of a user's concern.
            filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
            pool = joblib.Parallel(
                self.workers, batch_size=1, return_as="generator_unordered", pre_dispatch="2*n_jobs"
            )
            for number, result in pool(dispatched()):
                yield flying.pop(number), result

    def _alone(
        self, work: Callable[[Shared, Task], Result], shared: Shared, task: Task
    ) -> Result | Failure:
        """Run one task with no other beside it, so that it is known whose worker dies."""
        for _ in range(TRIES):
            try:
                return next(self._batch(work, shared, iter([task]), {}))[1]
            except BrokenExecutor:
                continue
        return Failure("the worker process died (killed, or out of memory)")


def _in_worker(
    driver: int, number: int, work: Callable[[Shared, Task], Result], shared: Shared, task: Task
) -> tuple[int, Result | Failure]:
    """Run a task in a worker process, whose progress bars nobody wants to see."""
    _end_with(driver)
    with Path(os.devnull).open("w") as nowhere, redirect_stderr(nowhere):
        return number, attempt(work, shared, task)


@cache
def _end_with(driver: int) -> None:
    """End this worker when its driver is gone: one that was killed could not tell it."""

    def watch() -> None:
        while os.getppid() == driver:
            time.sleep(1)
        os._exit(1)

    Thread(target=watch, daemon=True).start()

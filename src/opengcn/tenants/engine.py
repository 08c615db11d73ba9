"""Engines: who runs many small tasks. Local processes, or a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar

from opengcn.errors import OpenGCNError
from opengcn.threads import one_blas_thread, one_core

__all__ = ["Engine", "EngineName", "Failure", "attempt", "open_engine"]

EngineName = Literal["local", "ray"]

Shared = TypeVar("Shared")
Task = TypeVar("Task")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Failure:
    """A task that has no result.

    Attributes
    ----------
    reason : str
        Why, for people.
    """

    reason: str


class Engine(Protocol):
    """Runs tasks in worker processes of one thread each."""

    def run(
        self,
        work: Callable[[Shared, Task], Result],
        shared: Shared,
        tasks: Iterable[Task],
    ) -> Iterator[tuple[Task, Result | Failure]]:
        """Yield every task with its result, in the order in which they are done.

        A task whose worker dies is tried again. Tasks are taken from the iterable as workers
        become free.

        Parameters
        ----------
        work : callable
            ``work(shared, task)`` returns the result. A function of a module.
        shared : object
            What all tasks need; handed out once where that is possible.
        tasks : iterable
            The tasks.

        Yields
        ------
        task, result
            The task, and what `work` returned or a `Failure`.
        """


def attempt(work: Callable[[Shared, Task], Result], shared: Shared, task: Task) -> Result | Failure:
    """Run a task in a worker; an error becomes a `Failure`.

    Parameters
    ----------
    work, shared, task
        As for `Engine.run`.

    Returns
    -------
    result
        What `work` returned, or a `Failure`.
    """
    try:
        with one_core(), one_blas_thread():
            return work(shared, task)
    except OpenGCNError as error:
        return Failure(str(error))
    except Exception as error:
        return Failure(f"unexpected {error!r}")


def open_engine(
    name: EngineName, *, workers: int | None = None, address: str | None = None
) -> Engine:
    """Return an engine.

    Parameters
    ----------
    name : {"local", "ray"}
        Which one.
    workers : int, optional
        Tasks at a time; by default one a core, of this machine or of the cluster.
    address : str, optional
        Of a running Ray cluster; by default Ray is started on this machine, and stopped.

    Returns
    -------
    engine : Engine
        The engine.
    """
    if workers is not None and workers < 1:
        raise OpenGCNError(f"workers: expected 1 or more, received {workers}")
    if name == "ray":
        from opengcn.tenants.ray_engine import RayEngine

        return RayEngine(workers, address)
    if name != "local":
        raise OpenGCNError(f"engine: expected 'local' or 'ray', received {name!r}")
    if address is not None:
        raise OpenGCNError("address: expected with engine 'ray' only, received one with 'local'")
    from opengcn.tenants.local_engine import LocalEngine

    return LocalEngine(workers)

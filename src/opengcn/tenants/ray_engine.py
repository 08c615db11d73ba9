"""The engine of a cluster: Ray's tasks, which Ray runs again when a worker or a node dies."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

from opengcn.errors import OpenGCNError, require
from opengcn.tenants.engine import Failure, attempt
from opengcn.threads import cores

__all__ = ["RayEngine"]

TRIES = 3  # of a task whose worker or node died, before it is given up
AHEAD = 2  # tasks handed out for each core, so that none waits for the driver
# For a Ray started here: it reports to nobody, and its workers have our own priority.
ENVIRONMENT = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}

Shared = TypeVar("Shared")
Task = TypeVar("Task")
Result = TypeVar("Result")


class RayEngine:
    """Ray tasks of one core each; see `opengcn.tenants.engine.Engine`.

    Parameters
    ----------
    workers : int, optional
        Tasks at a time; as many as the cluster has cores by default.
    address : str, optional
        Of a running cluster. Without it, and when this process is not connected to one, Ray is
        started on this machine and stopped at the end.
    """

    def __init__(self, workers: int | None = None, address: str | None = None) -> None:
        self.workers = workers
        self.address = address

    def run(
        self, work: Callable[[Shared, Task], Result], shared: Shared, tasks: Iterable[Task]
    ) -> Iterator[tuple[Task, Result | Failure]]:
        """Yield every task with its result, in the order in which they are done."""
        ray = require("ray", "ray")
        waiting = iter(tasks)
        with self._connected(ray):
            remote = ray.remote(num_cpus=1, max_retries=TRIES - 1)(attempt)
            handle = ray.put(shared)
            flying: dict[Any, Task] = {}
            while True:
                for task in islice(waiting, max(0, self._room(ray) - len(flying))):
                    flying[remote.remote(work, handle, task)] = task
                if not flying:
                    return
                ready, _ = ray.wait(list(flying))
                for reference in ready:
                    yield flying.pop(reference), _result(ray, reference)

    def _room(self, ray: Any) -> int:
        """Return how many tasks may be under way; a cluster may grow meanwhile."""
        if self.workers is not None:
            return self.workers
        return AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))

    @contextmanager
    def _connected(self, ray: Any) -> Iterator[None]:
        if ray.is_initialized():  # the caller's: it stays as it is
            yield
            return
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
        if self.address is not None:
            options["address"] = self.address
        else:
            for name, value in ENVIRONMENT.items():
                os.environ.setdefault(name, value)
            options |= {
                "address": "local",
                "num_cpus": self.workers or cores(),
                "include_dashboard": False,
            }
        try:
            _check_there(self.address)
            ray.init(**options)
        except (OSError, ValueError, RuntimeError) as error:
            where = f"address {self.address}" if self.address else "this machine"
            raise OpenGCNError(f"{where}: expected a Ray cluster, received {error}") from error
        try:
            yield
        finally:
            ray.shutdown()


def _check_there(address: str | None) -> None:
    """Refuse an address where nobody listens; Ray itself would go on asking for minutes."""
    host, _, port = (address or "").rpartition(":")
    if host and "/" not in host and port.isdigit():  # not "auto", nor "ray://..."
        with socket.create_connection((host.strip("[]"), int(port)), timeout=10):
            pass


def _result(ray: Any, reference: Any) -> Any:
    """Return what a task returned; a Failure when Ray gave up."""
    try:
        return ray.get(reference)
    except ray.exceptions.RayError as error:
        reason = str(error).strip().splitlines()[0]
        return Failure(f"the worker process died ({type(error).__name__}: {reason})")

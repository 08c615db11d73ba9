"""What Prometheus reads at /metrics."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

from opengcn.service.pool import Pool
from opengcn.service.worker import Done

__all__ = ["Metrics"]

SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """Counters of one service, in a registry of their own.

    Parameters
    ----------
    pool : Pool
        Whose queue and workers are shown.

    Attributes
    ----------
    registry : CollectorRegistry
        Holds them all.
    """

    def __init__(self, pool: Pool) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._requests = Counter(
            "opengcn_requests", "Requests answered.", ["path", "status"], registry=self.registry
        )
        self._latency = Histogram(
            "opengcn_request_seconds",
            "Seconds from the head of a request to the end of its answer.",
            ["path"],
            buckets=SECONDS,
            registry=self.registry,
        )
        self._work = Histogram(
            "opengcn_work_seconds",
            "Seconds that a worker spent on a request.",
            buckets=SECONDS,
            registry=self.registry,
        )
        self._rows = Counter("opengcn_rows", "Rows estimated.", ["model"], registry=self.registry)
        for name, text, value in (
            ("waiting", "Requests that wait for a worker.", lambda: pool.waiting),
            ("busy", "Requests that a worker is at.", lambda: pool.busy),
            ("workers", "Workers that are there.", lambda: pool.alive),
            ("workers_replaced", "Workers that died and were replaced.", lambda: pool.replaced),
        ):
            Gauge(f"opengcn_{name}", text, registry=self.registry).set_function(value)

    def answered(self, path: str, status: int, seconds: float) -> None:
        """Count a request.

        Parameters
        ----------
        path : str
            The route, not the path as sent: labels must be few.
        status : int
            Of HTTP.
        seconds : float
            How long it took.
        """
        self._requests.labels(path, str(status)).inc()
        self._latency.labels(path).observe(seconds)

    def worked(self, done: Done) -> None:
        """Count a worker's job.

        Parameters
        ----------
        done : Done
            What came of it.
        """
        self._work.observe(done.seconds)
        for model, rows in done.rows.items():
            self._rows.labels(model).inc(rows)

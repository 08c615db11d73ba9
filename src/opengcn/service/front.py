"""What every request passes first: it gets an id, is counted, and never sees a traceback."""

from __future__ import annotations

import logging
import secrets
import time

from starlette.datastructures import MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from opengcn.service.metrics import Metrics

__all__ = ["Front"]

log = logging.getLogger(__name__)


class Front:
    """ASGI middleware around the whole application.

    Parameters
    ----------
    app : ASGI application
        What it stands before.
    metrics : Metrics
        Where requests are counted.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        name, started, status = secrets.token_hex(8), time.perf_counter(), 0

        async def passed_on(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Request-Id"] = name
                headers["X-Content-Type-Options"] = "nosniff"
            await send(message)

        try:
            await self.app(scope, receive, passed_on)
        except Exception:
            log.exception("request %s: %s %s failed", name, scope["method"], scope["path"])
            if status == 0:
                problem = {"detail": "the service is at fault, not the request", "id": name}
                await JSONResponse(problem, 500)(scope, receive, passed_on)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            self.metrics.answered(route, status, time.perf_counter() - started)

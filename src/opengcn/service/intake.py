"""How a body comes in: within limits of size and time, or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import HTTPException, Request
from starlette.requests import ClientDisconnect

from opengcn.service.pool import FullError, GoneError

__all__ = ["Intake"]

SECONDS = 60.0  # that a body may take to arrive
BODIES = 4  # of the largest size that are held in memory at once
RETRY_SECONDS = 5


class Intake:
    """Reads bodies, and knows how much memory they take.

    Parameters
    ----------
    limit : int
        Bytes of one body that are allowed.

    Attributes
    ----------
    held : int
        Bytes of bodies that are arriving, waiting or being worked on.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.held = 0

    @asynccontextmanager
    async def body(self, request: Request) -> AsyncIterator[bytes]:
        """Read the body of a request; it counts as held until the context ends.

        Parameters
        ----------
        request : Request
            The request.

        Yields
        ------
        body : bytes
            The whole body.
        """
        # A body that is announced as too large is refused before any of it is sent.
        self._check(int(request.headers.get("content-length", 0)))
        parts: list[bytes] = []
        size = 0
        try:
            try:
                async with asyncio.timeout(SECONDS):
                    async for part in request.stream():
                        size += len(part)
                        self.held += len(part)
                        self._check(size)
                        parts.append(part)
                        if self.held > BODIES * self.limit:
                            raise FullError(RETRY_SECONDS)
            except TimeoutError as error:
                raise HTTPException(408, f"body: expected within {SECONDS:g} s") from error
            except ClientDisconnect as error:
                raise GoneError from error
            yield b"".join(parts)
        finally:
            self.held -= size

    def _check(self, size: int) -> None:
        if size > self.limit:
            raise HTTPException(413, f"body: expected at most {self.limit} bytes, received more")

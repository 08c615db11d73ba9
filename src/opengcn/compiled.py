"""Compiled loops, kept on disk between runs where that is possible."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, TypeVar

import numba

__all__ = ["compiled"]

F = TypeVar("F", bound=Callable[..., Any])


def compiled(*, fastmath: Collection[str] = ()) -> Callable[[F], F]:
    """Return a decorator that compiles a loop, without holding Python's lock while it runs.

    Parameters
    ----------
    fastmath : collection of str, optional
        Liberties with floating point, as numba names them.

    Returns
    -------
    decorator : callable
        Compiles on first call.
    """

    def decorate(function: F) -> F:
        options: dict[str, Any] = {"nogil": True, "fastmath": set(fastmath)}
        try:
            done: F = numba.njit(cache=True, **options)(function)
        except RuntimeError:  # no folder to keep it in, as in a container without a home
            done = numba.njit(**options)(function)
        return done

    return decorate

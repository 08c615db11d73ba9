"""A progress bar that appears only when a job turns out to take a while."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import Lock

__all__ = ["progress_bar", "taking_the_screen"]

_SCREEN = Lock()  # one bar at a time: a job inside another one leaves the screen to it
PATIENCE = 2.0  # seconds that people wait without asking what is going on


@contextmanager
def progress_bar(
    description: str, total: float, *, unit: str = "", show: bool = True
) -> Iterator[Callable[[float], None]]:
    """Yield a function that advances the bar; the bar is drawn after two seconds.

    Parameters
    ----------
    description : str
        What is being done, for the left side of the bar.
    total : float
        The amount of work, in the unit in which the function is called.
    unit : str, default ""
        What is counted, as in "tenants"; when given, the bar says how many a second.
    show : bool, default True
        Never draw anything when false. Nothing is drawn either when standard error is
        not a terminal.

    Yields
    ------
    advance : callable
        Call it with the amount of work just finished. It returns nothing.

    Examples
    --------
    >>> with progress_bar("Counting", total=3) as advance:
    ...     for _ in range(3):
    ...         advance(1)
    """
    if not show:
        yield lambda amount: None
        return

    from rich.console import Console  # costs 50 ms: not for those who see no bar
    from rich.progress import BarColumn, Progress, TextColumn

    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("{task.fields[rate]}"),
        TextColumn("{task.fields[left]}"),
        console=console,
        transient=True,
    )
    task = bar.add_task(description, total=total, rate="", left="")
    begin = time.monotonic()
    drawn = False

    def advance(amount: float) -> None:
        nonlocal drawn
        bar.advance(task, amount)
        # Of the whole job so far: rich's own looks at the last few steps, and jobs whose parts
        # end in pairs then seem to be nearly done.
        rate = bar.tasks[0].completed / max(time.monotonic() - begin, 1e-3)
        left = timedelta(seconds=round((total - bar.tasks[0].completed) / max(rate, 1e-9)))
        bar.update(task, rate=f"{rate:.3g} {unit}/s" if unit else "", left=f"{left} left")
        if drawn or not console.is_terminal or time.monotonic() - begin < PATIENCE:
            return
        drawn = _SCREEN.acquire(blocking=False)
        if drawn:
            bar.start()

    try:
        yield advance
    finally:
        if drawn:
            bar.stop()
            _SCREEN.release()


@contextmanager
def taking_the_screen() -> Iterator[None]:
    """Draw no bar inside the body, which draws something of its own.

    Yields
    ------
    None
    """
    with _SCREEN:
        yield

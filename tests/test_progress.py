from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import pytest
from rich import console as rich_console

from opengcn import progress


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Let every console be a terminal that writes here."""
    text = io.StringIO()
    original = rich_console.Console

    def terminal(**_: Any) -> rich_console.Console:
        return original(file=text, force_terminal=True, width=80)

    monkeypatch.setattr(rich_console, "Console", terminal)
    return text


def test_short_jobs_draw_nothing(screen: io.StringIO) -> None:
    with progress.progress_bar("Quick", 2) as advance:
        advance(1)
        advance(1)
    assert screen.getvalue() == ""


def test_long_jobs_draw_a_bar(screen: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with progress.progress_bar("Counting pairs", 4) as advance:
        advance(1)
        advance(1)
    assert "Counting pairs" in screen.getvalue()
    assert "50 %" in screen.getvalue()


def test_a_unit_gives_a_rate(screen: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 100, 2))
    # The bar's own clock, not the one of every thread: a server that runs beside it sleeps by that.
    own = SimpleNamespace(monotonic=lambda: next(clock))
    monkeypatch.setattr(progress, "time", own)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with progress.progress_bar("Tenants", 12, unit="tenants") as advance:
        advance(5)
    assert "2.5 tenants/s 0:00:03 left" in screen.getvalue()


def test_one_bar_at_a_time(screen: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with progress.progress_bar("Outer", 2) as outer:
        outer(1)
        with progress.progress_bar("Inner", 2) as inner:
            inner(1)
        outer(1)
    assert "Outer" in screen.getvalue()
    assert "Inner" not in screen.getvalue()
    with progress.progress_bar("Next", 1) as following:
        following(1)
    assert "Next" in screen.getvalue()


def test_it_can_be_switched_off(screen: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with progress.progress_bar("Quiet", 1, show=False) as advance:
        advance(1)
    assert screen.getvalue() == ""

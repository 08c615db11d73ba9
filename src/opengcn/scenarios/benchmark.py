"""The benchmark from data to results: what is missing is run, what is there is kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from rich.console import Console

from opengcn import __version__
from opengcn.errors import DataError, OpenGCNError
from opengcn.scenarios.definitions import SCENARIOS, Setting
from opengcn.scenarios.folder import find_sources, holds_images
from opengcn.scenarios.plan import Job, plan_cells, plan_jobs
from opengcn.scenarios.results import Cell, Result, append_results, read_results
from opengcn.scenarios.runner import run_jobs
from opengcn.scenarios.time_left import TimeLeft, in_words

__all__ = ["run_benchmark"]

PLAIN: dict[str, Any] = {"markup": False, "soft_wrap": True}  # names are names, a line a line
QUIET = 30.0  # seconds between lines of progress where there is no terminal to redraw


def run_benchmark(
    data: Path | None,
    results_file: Path,
    *,
    scenarios: Collection[str],
    methods: Collection[str],
    splits: int,
    seeds: int,
    processes: int,
    severities: Sequence[int] = (3,),
    embedder_file: Path | None = None,
) -> dict[Cell, Result]:
    """Run the cells that a results file does not have yet, and add them to it.

    A cell counts as finished when it did not fail and was made from the same data by the
    same version.

    Parameters
    ----------
    data : Path or None
        See `opengcn.scenarios.folder.find_sources`; or images, which are embedded first,
        into a folder beside the results.
    results_file : Path
        Where results are kept; see `opengcn.scenarios.results`.
    scenarios, methods : collection of str
        Which to run.
    splits, seeds : int
        How many.
    processes : int
        How many run at once.
    severities, embedder_file
        How images are corrupted and embedded; see `opengcn.scenarios.images.embed_images`.

    Returns
    -------
    results : dict of Cell to Result
        All that the file holds.
    """
    known = read_results(results_file)
    if data is not None and holds_images(data):
        from opengcn.scenarios.images import embed_images

        data = embed_images(
            data,
            results_file.parent / "embeddings",
            scenarios,
            severities=severities,
            embedder_file=embedder_file,
        )
    elif embedder_file is not None:
        raise DataError(f"{data or 'data'}: expected images for an embedder, received none")
    jobs: list[Job] = []
    fingerprints: dict[Setting, str] = {}
    planned = 0
    for source in find_sources(data):
        fingerprints |= source.fingerprints
        cells = plan_cells(source, scenarios=scenarios, methods=methods, splits=splits, seeds=seeds)
        planned += len(cells)
        missing = [c for c in cells if not _is_finished(known.get(c), fingerprints)]
        jobs += plan_jobs(source, missing)
    if not planned:
        _refuse(data, scenarios, methods, {setting.scenario for setting in fingerprints})
    truths = {(r.cell, r.fingerprint) for r in known.values() if r.is_truth}
    console = Console(stderr=True)
    waiting = {cell for job in jobs for cell in job.cells}
    if len(waiting) < planned:
        console.print(f"{planned - len(waiting)} of {planned} cells are in {results_file}", **PLAIN)
    left = TimeLeft(known.values())

    with _progress(console) as show:

        def keep(results: list[Result]) -> None:
            cell, *truth = (replace(r, fingerprint=fingerprints[r.cell.setting]) for r in results)
            new = [t for t in truth if (t.cell, t.fingerprint) not in truths]
            append_results(results_file, [*new, cell])
            truths.update((t.cell, t.fingerprint) for t in new)
            waiting.discard(cell.cell)
            left.learn(cell)
            if cell.failure:
                console.print(f"failed: {cell.cell}: {cell.failure}", **PLAIN)
            seconds = left.estimate(waiting, processes)
            show(f"{planned - len(waiting)} of {planned} cells, about {in_words(seconds)} left")

        run_jobs(jobs, processes, keep)
    return read_results(results_file)


def _refuse(
    data: Path | None, scenarios: Collection[str], methods: Collection[str], allowed: set[str]
) -> NoReturn:
    """Say why there is nothing to run."""
    wanted = " or ".join(scenarios)
    if allowed.isdisjoint(scenarios):
        given = ", ".join(name for name in SCENARIOS if name in allowed)
        raise DataError(
            f"{data or 'glyphs'}: expected data for {wanted}, received some that allow {given}"
        )
    raise OpenGCNError(
        f"methods: expected some that run in {wanted}, received {', '.join(methods)}"
    )


def _is_finished(result: Result | None, fingerprints: Mapping[Setting, str]) -> bool:
    return (
        result is not None
        and not result.failure
        and result.fingerprint == fingerprints[result.cell.setting]
        and result.made_by.get("opengcn") == __version__
    )


@contextmanager
def _progress(console: Console) -> Iterator[Callable[[str], None]]:
    """Yield a function that shows a line: redrawn on a terminal, now and then in a log."""
    if console.is_terminal:
        with console.status("starting") as status:
            yield status.update
        return
    last = time.monotonic()

    def show(line: str) -> None:
        nonlocal last
        if time.monotonic() - last >= QUIET:
            last = time.monotonic()
            console.print(line)

    yield show

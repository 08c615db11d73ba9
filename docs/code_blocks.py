"""The code on the pages: found, run, and its output put below it.

A ```` ```python ```` or ```` ```sh ```` block is run, the blocks of a page one after another in one
folder. A ```` ```text ```` block below it is what it prints; with a title, as in
```` ```text title="your numbers may differ" ````, numbers may differ. Code that is not run says
why, in a comment before it: ``<!-- not run: needs a camera -->``.

The tests run every page, with models fitted in a hurry. To run those pages whose numbers may differ
for real (a few minutes), and write what they print into them:

    python docs/code_blocks.py
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

FENCE = re.compile(
    r"(?:^<!-- not run: (?P<reason>[^\n]+?) -->\n+)?"
    r"^```(?P<language>python|sh)\n(?P<code>.*?)^```$"
    r"(?:\n+^```text(?P<title>[^\n]*)\n(?P<output>.*?)^```$)?",
    re.DOTALL | re.MULTILINE,
)
SETTINGS = {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"}  # plain text, as wide as a page


@dataclass(frozen=True)
class Block:
    """A piece of code on a page.

    Attributes
    ----------
    language : {"python", "sh"}
        What runs it.
    code : str
        The code.
    line : int
        Where it begins.
    reason : str
        Why it is not run; "" when it is.
    output : str or None
        What the page says that it prints.
    exact : bool
        Whether it prints that to the letter.
    span : tuple of int
        Where the output lies in the page.
    """

    language: str
    code: str
    line: int
    reason: str
    output: str | None
    exact: bool
    span: tuple[int, int]


def find_blocks(text: str) -> list[Block]:
    """Find the code on a page.

    Parameters
    ----------
    text : str
        The page, in Markdown.

    Returns
    -------
    blocks : list of Block
        In their order.
    """
    return [
        Block(
            found["language"],
            found["code"],
            text.count("\n", 0, found.start("code")) + 1,
            found["reason"] or "",
            found["output"],
            not (found["title"] or "").strip(),
            found.span("output"),
        )
        for found in FENCE.finditer(text)
    ]


def in_bash(code: str, folder: Path) -> str:
    """Run commands in a shell that finds the programs beside this Python first.

    Parameters
    ----------
    code : str
        The commands; the first that fails is an error.
    folder : Path
        Where they run.

    Returns
    -------
    output : str
        What they print.
    """
    here = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", code],
        cwd=folder,
        env=os.environ | SETTINGS | here,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"exit code {done.returncode}: {done.stderr}")
    return done.stdout


def run_page(
    path: Path, folder: Path, shell: Callable[[str, Path], str] = in_bash
) -> Iterator[tuple[Block, str]]:
    """Run a page's code in a folder.

    Parameters
    ----------
    path : Path
        The page.
    folder : Path
        Where files are written to and read from.
    shell : callable, default `in_bash`
        Runs commands in a folder and returns what they print.

    Yields
    ------
    block : Block
        What has been run.
    output : str
        What it printed.
    """
    names: dict[str, Any] = {}
    for block in find_blocks(path.read_text(encoding="utf-8")):
        if block.reason:
            continue
        try:
            if block.language == "python":
                output = _run_python(block, path, folder, names)
            else:
                output = shell(block.code, folder)
        except RuntimeError as error:
            raise RuntimeError(f"{path}:{block.line}: {error}") from error
        yield block, "\n".join(line.rstrip() for line in output.strip().splitlines()) + "\n"


def _run_python(block: Block, path: Path, folder: Path, names: dict[str, Any]) -> str:
    code = compile("\n" * (block.line - 1) + block.code, path, "exec")
    with chdir(folder), redirect_stdout(StringIO()) as printed:
        exec(code, names)
    return printed.getvalue()


def refresh(path: Path) -> None:
    """Run a page and write into it what its code prints.

    Parameters
    ----------
    path : Path
        The page.
    """
    text, shift = path.read_text(encoding="utf-8"), 0
    with tempfile.TemporaryDirectory() as folder:
        for block, output in run_page(path, Path(folder)):
            if block.output is not None:
                begin, end = (edge + shift for edge in block.span)
                text = text[:begin] + output + text[end:]
                shift += len(output) - len(block.output)
    path.write_text(text, encoding="utf-8", newline="\n")


def pages_with_moving_numbers() -> list[Path]:
    """Return the pages that show an output which need not be the same everywhere.

    Returns
    -------
    pages : list of Path
        Sorted by name.
    """
    return [
        path
        for path in sorted(Path(__file__).parent.glob("*.md"))
        if not all(block.exact for block in find_blocks(path.read_text(encoding="utf-8")))
    ]


if __name__ == "__main__":
    for page in pages_with_moving_numbers():
        refresh(page)

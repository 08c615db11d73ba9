"""The code on the pages: found, run, and its output put below it.

A ```` ```python ```` or ```` ```sh ```` block is run, the blocks of a page one after another in one
folder. A ```` ```text ```` block below it is what it prints; with a title, as in
```` ```text title="your numbers may differ" ````, its first column is what counts. Code that is
not run says why, in a comment before it: ``<!-- not run: needs a camera -->``.

The tests run every page. To run pages here and write what they print into them:

    python docs/code_blocks.py docs/tutorial.md docs/choosing-a-target.md
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
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


def run_page(
    path: Path, folder: Path, *, environment: Mapping[str, str] | None = None
) -> Iterator[tuple[Block, str]]:
    """Run a page's code in a folder.

    Parameters
    ----------
    path : Path
        The page.
    folder : Path
        Where files are written to and read from.
    environment : mapping of str to str, optional
        Further variables for shell commands.

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
        if block.language == "python":
            output = _run_python(block, path, folder, names)
        else:
            output = _run_shell(block, path, folder, dict(environment or {}))
        yield block, "\n".join(line.rstrip() for line in output.strip().splitlines()) + "\n"


def _run_python(block: Block, path: Path, folder: Path, names: dict[str, Any]) -> str:
    code = compile("\n" * (block.line - 1) + block.code, path, "exec")
    with chdir(folder), redirect_stdout(StringIO()) as printed:
        exec(code, names)
    return printed.getvalue()


def _run_shell(block: Block, path: Path, folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block.code],
        cwd=folder,
        env=os.environ | SETTINGS | environment,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"{path}:{block.line}: exit code {done.returncode}: {done.stderr}")
    return done.stdout


def refresh(path: Path) -> None:
    """Run a page and write into it what its code prints.

    Parameters
    ----------
    path : Path
        The page.
    """
    text, shift = path.read_text(encoding="utf-8"), 0
    here = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    with tempfile.TemporaryDirectory() as folder:
        for block, output in run_page(path, Path(folder), environment=here):
            if block.output is not None:
                begin, end = (edge + shift for edge in block.span)
                text = text[:begin] + output + text[end:]
                shift += len(output) - len(block.output)
    path.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        refresh(Path(name))

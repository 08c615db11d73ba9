"""Every `opengcn` command on the pages and in the README has options that exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer

from opengcn.cli import app

ROOT = Path(__file__).parents[2]
GROUP = typer.main.get_command(app)


def commands(path: Path) -> list[list[str]]:
    """Return the arguments of the commands in the shell blocks of a page."""
    found = []
    for block in re.findall(r"```sh\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            for part in line.split(" | "):
                words = shlex.split(part, comments=True)
                if words and words[0] == "opengcn":
                    found.append(words[1:])
    return found


SHOWN = {
    f"{page.name}: {' '.join(words)}": words
    for page in [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]
    for words in commands(page)
}


@pytest.mark.parametrize("words", SHOWN.values(), ids=SHOWN)
def test_a_command_is_one_that_exists(words: list[str]) -> None:
    context = typer.Context(GROUP, info_name="opengcn")
    command = GROUP.get_command(context, words[0])
    assert command is not None, words[0]
    command.make_context(words[0], words[1:], parent=context)  # parses, and runs nothing


def test_commands_are_found() -> None:
    assert len(SHOWN) > 20


def test_a_wrong_option_is_noticed() -> None:
    with pytest.raises(Exception, match="(?i)no such option"):
        test_a_command_is_one_that_exists(["inspect", "new.npz", "--labells", "new.txt"])

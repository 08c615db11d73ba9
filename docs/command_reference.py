"""A hook of mkdocs: fills commands.md from the help of the command line itself."""

from __future__ import annotations

from typing import Any

import typer
from typer.cli import get_docs_for_click

from opengcn.cli import app


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Add the help of every command to the page of commands.

    Parameters
    ----------
    markdown : str
        A page.
    page : mkdocs.structure.pages.Page
        Which one.

    Returns
    -------
    markdown : str
        The page, unchanged unless it is commands.md.
    """
    if page.file.src_uri != "commands.md":
        return markdown
    group = typer.main.get_command(app)
    context = typer.Context(group, info_name="opengcn")
    return markdown + get_docs_for_click(obj=group, ctx=context, indent=1, name="opengcn")

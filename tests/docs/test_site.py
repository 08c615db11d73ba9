"""The site builds without a warning, and loads nothing from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest

import opengcn as og


@pytest.fixture(scope="module")
def site(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs", reason="the extra docs is not installed")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=root,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


class Assets(HTMLParser):
    """Collects the addresses that a page loads by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        loads = ["src", "srcset", "data", "poster"]
        if tag == "link":
            loads.append("href")
        self.found += [value for name in loads if (value := given.get(name))]


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 15
    for path in pages:
        reader = Assets()
        reader.feed(path.read_text(encoding="utf-8"))
        assert [a for a in reader.found if re.match(r"(\w+:)?//", a)] == [], path
    for path in site.rglob("*.css"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"url\(\s*['\"]?(https?:)?//|@import", text), path


def test_the_reference_describes_every_public_name(site: Path) -> None:
    text = (site / "reference.html").read_text(encoding="utf-8")
    for name in og.__all__:
        assert f'id="opengcn.{name}"' in text, name
    assert 'id="opengcn.OpenGCN.fit"' in text


def test_the_command_line_page_has_every_command(site: Path) -> None:
    text = (site / "commands.html").read_text(encoding="utf-8")
    for command in ("fit", "threshold", "evaluate", "compare", "convert", "inspect", "demo"):
        assert f"<code>opengcn {command}</code>" in text


def test_scripts_and_their_data_stay_out_of_the_site(site: Path) -> None:
    assert list(site.rglob("*.py")) == []
    assert not (site / "images" / "estimate.json").exists()


def test_the_report_is_made_with_the_site(site: Path) -> None:
    assert 'src="images/report.html"' in (site / "reading-the-report.html").read_text("utf-8")
    text = (site / "images" / "report.html").read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert "Data fingerprint" in text


@pytest.mark.parametrize("name", ["index", "how-it-works", "reading-the-report", "reference"])
def test_a_browser_is_content(site: Path, browser: Any, name: str) -> None:
    browser.open((site / f"{name}.html").as_uri())
    assert browser.evaluate("document.querySelectorAll('nav').length") > 0
    loaded = "[...document.images].every(i => i.complete && i.naturalWidth > 0)"
    assert browser.evaluate(loaded)
    elsewhere = [url for url in browser.requests if not url.startswith(("file:", "data:", "blob:"))]
    assert elsewhere == []
    # Search needs a server; every other file must be there.
    files = [url2pathname(urlsplit(u).path) for u in browser.requests if u.startswith("file:")]
    assert [f for f in files if not Path(f).exists() and "search" not in f] == []
    expected = ("search", "ERR_FILE_NOT_FOUND")
    assert [p for p in browser.problems if not any(e in p for e in expected)] == []

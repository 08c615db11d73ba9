"""The code on the pages runs, and prints what the pages say."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import opengcn as og

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [
    "choosing-a-target",
    "develop",
    "faq",
    "how-it-works",
    "index",
    "own-embeddings",
    "reading-the-report",
    "tutorial",
    "when-not-to-trust-it",
]
ELSEWHERE = {  # pages whose Python has tests of its own
    "service": "tests/service/test_docs.py",
    "stores": "tests/stores/test_page.py",
}


def headings(text: str) -> list[str]:
    """Return what lines begin with, numbers blotted out: what does not depend on the fit.

    A line begins at the margin and its first column ends with two spaces. What is said for a
    second time, such as a remark on a row of a table, need not be said.
    """
    lines = (line for line in text.splitlines() if re.match(r" ?\w", line))
    columns = (re.split(r" {2,}", line.strip())[0] for line in lines)
    return list(dict.fromkeys(re.sub(r"\d[\d.,]*", "#", column) for column in columns))


def run_and_compare(
    code_blocks: ModuleType, page: str, folder: Path, shell: Callable[[str, Path], str]
) -> int:
    ran = 0
    for block, output in code_blocks.run_page(DOCS / f"{page}.md", folder, shell):
        ran += 1
        if block.output is None:
            continue
        if block.exact:
            assert output == block.output, f"{page}.md:{block.line}"
        else:
            assert headings(output) == headings(block.output), f"{page}.md:{block.line}"
    return ran


@pytest.mark.usefixtures("short_fits", "faces")
@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_page_runs(
    page: str, code_blocks: ModuleType, tmp_path: Path, run_here: Callable[[str, Path], str]
) -> None:
    blocks = code_blocks.find_blocks((DOCS / f"{page}.md").read_text(encoding="utf-8"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", og.OpenGCNWarning)  # fits this short have reason to warn
        ran = run_and_compare(code_blocks, page, tmp_path, run_here)
    assert ran == sum(not block.reason for block in blocks)


@pytest.mark.slow
def test_the_tutorial_runs_as_it_stands(code_blocks: ModuleType, tmp_path: Path) -> None:
    assert run_and_compare(code_blocks, "tutorial", tmp_path, code_blocks.in_bash) > 5


def test_another_heading_is_noticed() -> None:
    page = "asked for 90 %\n\nrows  1,200 of 32\n      going on\n ───\n TPR 90 %  0.9\nrows  7\n"
    assert headings(page) == ["asked for # %", "rows", "TPR # %"]
    assert headings(page) == headings(page.replace("1,200", "12").replace("0.9", "-"))
    assert headings(page) != headings(page.replace("rows", "samples"))


def test_no_python_is_left_out(root: Path, code_blocks: ModuleType) -> None:
    shown = {
        page.stem
        for page in DOCS.glob("*.md")
        for block in code_blocks.find_blocks(page.read_text(encoding="utf-8"))
        if block.language == "python" and not block.reason
    }
    assert shown - set(PAGES) == set(ELSEWHERE)
    for page, test in ELSEWHERE.items():
        assert f"{page}.md" in (root / test).read_text(encoding="utf-8")


def test_every_fence_of_the_pages_is_found(code_blocks: ModuleType) -> None:
    for page in PAGES:
        text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
        fences = len(re.findall(r"^```(?:python|sh)\b", text, re.MULTILINE))
        blocks = code_blocks.find_blocks(text)
        assert len(blocks) == fences, page
        assert sum(bool(block.reason) for block in blocks) == text.count("<!-- not run: "), page


class TestCodeBlocks:
    PAGE = """\
# A page

```python
x = 20 + 3
print(x)
```

```text
23
```

<!-- not run: no such command -->
```sh
nonsense
```

```sh
echo "a   $(cat note.txt 2>/dev/null || true)"; touch note.txt
```

```text title="differs"
old
```
"""

    def test_runs_in_order_in_one_folder(self, code_blocks: ModuleType, tmp_path: Path) -> None:
        page = tmp_path / "page.md"
        page.write_text(self.PAGE, encoding="utf-8")
        folder = tmp_path / "folder"
        folder.mkdir()
        ran = list(code_blocks.run_page(page, folder))
        assert [output for _, output in ran] == ["23\n", "a\n"]
        assert [(block.line, block.exact) for block, _ in ran] == [(4, True), (18, False)]
        assert (folder / "note.txt").exists()

    def test_refresh_writes_what_is_printed(self, code_blocks: ModuleType, tmp_path: Path) -> None:
        page = tmp_path / "page.md"
        page.write_text(self.PAGE.replace("\n23\n", "\nwrong\n"), encoding="utf-8")
        code_blocks.refresh(page)
        assert page.read_text(encoding="utf-8") == self.PAGE.replace("old", "a")

    def test_an_error_says_where(self, code_blocks: ModuleType, tmp_path: Path) -> None:
        page = tmp_path / "page.md"
        page.write_text("\n```sh\nls nowhere\n```\n", encoding="utf-8")
        with pytest.raises(RuntimeError, match=r"page\.md:3: exit code .*nowhere"):
            list(code_blocks.run_page(page, tmp_path))

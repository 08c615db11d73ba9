"""The code on the pages runs, and prints what the pages say."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from types import ModuleType

import pytest

import opengcn as og

pytestmark = pytest.mark.slow  # fits models and compares what is printed

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


def first_column(text: str) -> list[str]:
    """Return what the lines begin with, up to two spaces, with numbers blotted out."""
    lines = (line for line in text.splitlines() if line[:1].strip())  # others go on with one
    return [re.sub(r"\d[\d.,]*", "#", re.split(r" {2,}", line)[0]) for line in lines]


def run_and_compare(
    code_blocks: ModuleType, page: str, folder: Path, environment: dict[str, str]
) -> int:
    ran = 0
    for block, output in code_blocks.run_page(DOCS / f"{page}.md", folder, environment=environment):
        ran += 1
        if block.output is None:
            continue
        if block.exact:
            assert output == block.output, f"{page}.md:{block.line}"
        else:
            assert first_column(output) == first_column(block.output), f"{page}.md:{block.line}"
    return ran


@pytest.mark.usefixtures("short_training", "faces")
@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_page_runs(
    page: str, code_blocks: ModuleType, tmp_path: Path, short_commands: dict[str, str]
) -> None:
    blocks = code_blocks.find_blocks((DOCS / f"{page}.md").read_text(encoding="utf-8"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", og.OpenGCNWarning)  # fits this short have reason to warn
        ran = run_and_compare(code_blocks, page, tmp_path, short_commands)
    assert ran == sum(not block.reason for block in blocks)


@pytest.mark.slow
def test_the_tutorial_runs_as_it_stands(
    code_blocks: ModuleType, tmp_path: Path, real_commands: dict[str, str]
) -> None:
    assert run_and_compare(code_blocks, "tutorial", tmp_path, real_commands) > 5


def test_no_python_is_left_out(root: Path) -> None:
    shown = {page.stem for page in DOCS.glob("*.md") if "```python" in page.read_text("utf-8")}
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

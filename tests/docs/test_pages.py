"""What the pages promise: every public name, every page in the navigation, every question."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import ModuleType

import pytest
import yaml

import opengcn as og

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def page(name: str) -> str:
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


def test_the_reference_has_every_public_name() -> None:
    listed = re.findall(r"^::: opengcn\.(\w+)$", page("reference"), re.MULTILINE)
    assert sorted(listed) == sorted(og.__all__)


def test_every_page_is_in_the_navigation() -> None:
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    listed = re.findall(r"[\w/-]+\.md", str(config["nav"]))
    pages = DOCS.rglob("*.md")
    assert sorted(listed) == sorted(path.relative_to(DOCS).as_posix() for path in pages)
    assert len(config["nav"]) <= 6


def test_the_questions_have_answers_and_say_who_asked() -> None:
    answers = re.split(r"^### .+$", page("faq"), flags=re.MULTILINE)[1:]
    assert len(answers) == 29
    for answer in answers:
        text = answer.split("\n## ")[0]
        links = re.findall(r"\(https://github\.com/[\w-]+/[\w.-]+/(?:issues|pull)/\d+\)", text)
        assert links, text
        words = re.sub(r"\[[^\]]*\]\([^)]*\)|```.*?```", "", text, flags=re.DOTALL).split()
        assert 5 < len(words) < 90, text


def test_pictures_have_descriptions_and_exist() -> None:
    pictures = 0
    for path in DOCS.glob("*.md"):
        for words, target in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", path.read_text("utf-8")):
            pictures += 1
            assert len(words) > 20, target
            assert (DOCS / target).is_file(), target
    assert pictures >= 4


@pytest.mark.usefixtures("short_fits")
def test_pictures_are_drawn_by_the_script(
    make_images: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = og.datasets.synthetic(n_classes=60, samples=20, dim=16, concentration=30, seed=0)
    train, rest = data.split_classes(0.5)
    small = og.datasets.OpenWorldSplit(train, *rest.split_classes(0.4))
    monkeypatch.setattr(og.datasets, "glyphs", lambda **_: small)
    monkeypatch.setattr(make_images, "EPISODES", 10)
    monkeypatch.setattr(make_images, "REHEARSALS", 3)
    monkeypatch.setattr("sys.argv", ["make_images.py", str(tmp_path)])
    make_images.main()
    made = {path.name for path in tmp_path.iterdir()}
    assert made | {"demo.png"} == {path.name for path in (DOCS / "images").iterdir()}
    assert set(json.loads((tmp_path / "estimate.json").read_text(encoding="utf-8"))) == set(
        json.loads((DOCS / "images" / "estimate.json").read_text(encoding="utf-8"))
    )

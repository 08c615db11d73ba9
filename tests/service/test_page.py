"""The page at `/` and the description at `/docs`, in a browser."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import opengcn as og


@pytest.fixture
def page(browser: Any, service: Any) -> Any:
    browser.resize(1000, 900)
    browser.open(f"{service.url}/")
    return browser


def wait_for(page: Any, script: str, value: Any = True, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while (found := page.evaluate(script)) != value:
        assert time.monotonic() < end, f"{script}: expected {value!r}, received {found!r}"
        time.sleep(0.05)


INSIDE = "document.getElementById('report').contentDocument"
SHOWN = f"{INSIDE}?.querySelector('[data-show=distance]')?.textContent"


def choose(page: Any, path: Path) -> None:
    document = page.send("DOM.getDocument")["root"]["nodeId"]
    node = page.send("DOM.querySelector", nodeId=document, selector="#file")["nodeId"]
    page.send("DOM.setFileInputFiles", files=[str(path)], nodeId=node)


def distance(model: og.OpenGCN, rows: Any, **target: float) -> str:
    return f"{model.estimate(rows).threshold(**target).distance:.4f}"


@pytest.fixture
def file(tmp_path: Path, rows: Any) -> Path:
    np.savez(tmp_path / "new.npz", embeddings=rows)
    return tmp_path / "new.npz"


def test_a_file_becomes_curves_that_can_be_dragged(
    page: Any, file: Path, model: og.OpenGCN, rows: Any, service: Any
) -> None:
    choose(page, file)
    wait_for(page, SHOWN, distance(model, rows, tpr=0.9))
    assert page.evaluate("document.getElementById('status').textContent").startswith("Report on")
    # The frame is as tall as the report in it: nothing scrolls twice.
    wait_for(page, f"{INSIDE}.documentElement.scrollHeight <= {INSIDE}.defaultView.innerHeight")

    plot = f"{INSIDE}.querySelector('[data-drag]')"
    page.evaluate(f"{plot}.scrollIntoView({{block: 'center'}})")
    x, y, width, height = page.evaluate(
        f"(() => {{ const f = document.getElementById('report').getBoundingClientRect(), "
        f"b = {plot}.getBoundingClientRect(); "
        f"return [f.x + b.x, f.y + b.y, b.width, b.height]; }})()"
    )
    page.drag((x + width / 3, y + height / 2), (x + 0.9 * width, y + height / 2))
    dragged = float(page.evaluate(SHOWN))
    assert dragged > float(distance(model, rows, tpr=0.9)) + 0.05
    rates = page.evaluate(f"{INSIDE}.querySelector('[data-show=tpr]').textContent")
    assert float(rates.split()[0]) > 90

    assert page.problems == []
    assert all(url.startswith((service.url, "data:", "about:")) for url in page.requests)


def test_dragging_the_target_asks_again(
    page: Any, file: Path, model: og.OpenGCN, rows: Any
) -> None:
    choose(page, file)
    wait_for(page, SHOWN, distance(model, rows, tpr=0.9))
    page.evaluate("document.getElementById('target').focus()")
    for _ in range(10):
        page.press("ArrowLeft")
    wait_for(page, "document.getElementById('percent').value", "89")
    wait_for(page, SHOWN, distance(model, rows, tpr=0.89))
    page.evaluate(
        "(() => { const s = document.getElementById('rate'); s.value = 'tnr'; "
        "s.dispatchEvent(new Event('change')); })()"
    )
    wait_for(page, SHOWN, distance(model, rows, tnr=0.89))
    assert page.problems == []


def test_a_file_can_be_dropped(page: Any, file: Path, model: og.OpenGCN, rows: Any) -> None:
    x, y, width, height = page.evaluate(
        "(() => { const b = document.getElementById('drop').getBoundingClientRect(); "
        "return [b.x, b.y, b.width, b.height]; })()"
    )
    data = {"items": [], "files": [str(file)], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        page.send(
            "Input.dispatchDragEvent", type=kind, x=x + width / 2, y=y + height / 2, data=data
        )
    wait_for(page, SHOWN, distance(model, rows, tpr=0.9))


def test_what_is_wrong_is_said(page: Any, file: Path, tmp_path: Path) -> None:
    choose(page, file)
    wait_for(page, "document.getElementById('report').hidden", False)
    np.save(tmp_path / "narrow.npy", np.ones((9, 3), np.float32))
    problem = "document.getElementById('problem')"
    choose(page, tmp_path / "narrow.npy")
    wait_for(page, f"{problem}.textContent.endsWith('as in D_train, received 3')")
    assert page.evaluate(f"{problem}.hidden") is False
    assert page.evaluate("document.getElementById('report').hidden") is True  # of another file
    assert page.evaluate(f"{problem}.getAttribute('role')") == "alert"
    (tmp_path / "letter.txt").write_text("hello")
    choose(page, tmp_path / "letter.txt")
    wait_for(page, f"{problem}.textContent.startsWith('letter.txt: expected .npz')")
    assert page.evaluate("document.getElementById('report').hidden") is True


def test_controls_have_names_and_the_page_fits_a_phone(page: Any, tmp_path: Path) -> None:
    nameless = page.evaluate(
        "[...document.querySelectorAll('input, select, button')].filter((e) => "
        "!e.labels?.length && !e.ariaLabel && !e.textContent.trim()).map((e) => e.id)"
    )
    assert nameless == []
    page.resize(360, 700, mobile=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    light, dark = (
        page.send(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )
        or page.evaluate("getComputedStyle(document.body).backgroundColor")
        for scheme in ("light", "dark")
    )
    assert light != dark
    page.screenshot(tmp_path / "phone.png")


def test_a_token_is_asked_for_and_models_are_chosen(
    browser: Any, pool: Any, serving: Any, file: Path, model_files: Any, rows: Any
) -> None:
    from opengcn.service.app import create_app

    app = create_app(pool, max_body=1_000_000, max_rows=1000, token="s3cret")
    with serving(app) as client:
        browser.open(str(client.base_url))
        choose(browser, file)
        wait_for(browser, "document.getElementById('problem').textContent.includes('token')")
        wait_for(browser, "document.activeElement.id", "token")
        browser.evaluate(
            "(() => { const t = document.getElementById('token'); t.value = 's3cret'; "
            "t.dispatchEvent(new Event('change')); })()"
        )
        wait_for(browser, "document.getElementById('model').options.length", 2)
        browser.evaluate("document.getElementById('model').value = 'faces'")
        browser.evaluate("document.getElementById('form').requestSubmit()")
        wait_for(browser, SHOWN, distance(og.load(model_files["faces"]), rows, tpr=0.9))
        browser.open("about:blank")  # or its connection would keep the server


def test_the_description_needs_no_network(browser: Any, service: Any) -> None:
    browser.open(f"{service.url}/docs")
    wait_for(browser, "document.querySelectorAll('.opblock').length", 7)
    assert browser.problems == []
    assert all(url.startswith((service.url, "data:")) for url in browser.requests)
    text = httpx.get(f"{service.url}/docs").text
    assert "https://" not in text

"""The report in headless Chromium: what a reader sees, and what moving the threshold does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opengcn as og
from opengcn.pairs import GRID
from opengcn.report.wording import describe

SHOWN = """Object.fromEntries([...document.querySelectorAll("[data-show]")].map(
    (element) => [element.dataset.show, element.textContent]))"""
WIDEST = """Math.max(document.documentElement.scrollWidth,
    ...[...document.querySelectorAll("body *")].map((e) => e.getBoundingClientRect().right))"""
VISIBLE = "(name) => document.querySelector(name).checkVisibility()"


@pytest.fixture
def opened(browser, estimate, reference, tmp_path: Path) -> Any:
    """The browser with the report of an estimate that has everything."""
    open_report(browser, tmp_path, estimate, estimate.threshold(tpr=0.9), reference)
    return browser


def open_report(browser, folder: Path, curve, threshold, reference=None, **options) -> None:
    path = folder / "report.html"
    og.write_report(path, curve, threshold=threshold, reference=reference, **options)
    browser.open(path.as_uri())


def extremes(estimate: og.OperatingCurve) -> dict[str, og.OperatingCurve]:
    tpr, tnr, unknown = estimate.tpr, estimate.tnr, np.full(201, np.nan)
    jump = 1.0 * (GRID > 0)
    return {
        "no band": og.OperatingCurve(tpr, tnr, info={"prior": 0.01, "nodes": 30}),
        "no prior": og.OperatingCurve(tpr, tnr),
        "tpr is 1 at once": og.OperatingCurve(jump, tnr, info={"prior": 0.5, "nodes": 100}),
        "no tpr": og.OperatingCurve(unknown, tnr, info={"prior": 0.01}),
        "no tnr": og.OperatingCurve(tpr, unknown),
        "nothing known": og.OperatingCurve(unknown, unknown),
        "no stranger below 2": og.OperatingCurve(tpr, np.ones(201), info={"prior": 0.01}),
        "prior next to nothing": og.OperatingCurve(tpr, tnr, info={"prior": 1e-12}),
    }


def shown(browser) -> dict[str, str]:
    return dict(browser.evaluate(SHOWN))


def slide(browser, distance: float) -> None:
    browser.evaluate(
        f"slider.value = {distance}; slider.dispatchEvent(new Event('input', {{bubbles: true}}))"
    )


def point(browser, chart: str, share: float) -> tuple[float, float]:
    """A point of a chart: a share of its width from the left, half way up."""
    browser.evaluate(f"document.querySelector('{chart}').scrollIntoView({{block: 'center'}})")
    x, y, width, height = browser.evaluate(
        f"(({{x, y, width, height}}) => [x, y, width, height])"
        f"(document.querySelector('{chart} .frame').getBoundingClientRect())"
    )
    return x + share * width, y + height / 2


def test_loads_in_silence(opened) -> None:
    assert opened.problems == []
    assert [url for url in opened.requests if not url.startswith(("file:", "data:"))] == []
    assert opened.evaluate("document.querySelector('h1').innerText").startswith("Match if distance")


def test_the_browser_would_have_told(browser, tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    page.write_text("<img src='gone.png'><script>console.error('a'); throw Error('b')</script>")
    browser.open(page.as_uri())
    assert len(browser.problems) == 3


@pytest.mark.parametrize(
    "hostile",
    ["</script><script>hit = 1</script>", "<!-- <script>", "<img src=x onerror='hit = 1'>"],
)
def test_strings_of_users_run_nothing(browser, estimate, tmp_path: Path, hostile: str) -> None:
    curve = og.OperatingCurve(estimate.tpr, estimate.tnr, hostile, {"prior": 0.01, "note": hostile})
    threshold = og.Threshold(0.9, target=hostile)
    open_report(browser, tmp_path, curve, threshold, provenance={hostile: hostile})
    assert browser.evaluate("typeof hit") == "undefined"
    assert browser.evaluate("document.body.innerText").count(hostile) == 4
    slide(browser, 1.0)
    assert shown(browser) == describe(curve.at(1.0), 0.01)
    assert browser.problems == []


def test_slider_and_curve_agree(opened, estimate) -> None:
    low, high = opened.evaluate("[Number(slider.min), Number(slider.max)]")
    for distance in (low, 0.613, 0.8, 1.005, 1.299, high):
        slide(opened, distance)
        assert shown(opened) == describe(estimate.at(distance), 0.004)


@pytest.mark.parametrize("name", list(extremes(og.OperatingCurve(GRID / 2, 1 - GRID / 2))))
def test_extreme_curves(browser, estimate, reference, tmp_path: Path, name: str) -> None:
    curve = extremes(estimate)[name]
    open_report(browser, tmp_path, curve, og.Threshold(1.0), reference)
    prior = curve.info.get("prior")
    for distance in (0.5, 1.0, 1.234):
        slide(browser, distance)
        expected = describe(curve.at(distance), prior)
        assert shown(browser).items() <= expected.items()
    browser.resize(360, 740, mobile=True)
    assert browser.evaluate(WIDEST) <= 360
    assert browser.problems == []


@pytest.mark.parametrize("chart", [".rates", ".view-zoom"])
def test_dragging_on_either_chart(opened, estimate, chart: str) -> None:
    low, high = opened.evaluate("[Number(slider.min), Number(slider.max)]")
    opened.drag(point(opened, chart, 0.3), point(opened, chart, 0.6))
    texts = shown(opened)
    distance = float(texts["distance"])
    assert distance == pytest.approx(low + 0.6 * (high - low), abs=0.003)
    assert texts == describe(estimate.at(distance), 0.004)
    assert float(opened.evaluate("slider.value")) == pytest.approx(distance)
    # The line is under the pointer.
    x = opened.evaluate(f"document.querySelector('{chart} .cursor').getBoundingClientRect().x")
    assert x == pytest.approx(point(opened, chart, 0.6)[0], abs=2)


def test_the_other_mouse_button_moves_nothing(opened) -> None:
    chosen = shown(opened)
    x, y = point(opened, ".rates", 0.3)
    for kind in ("mousePressed", "mouseReleased"):
        opened.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="right", clickCount=1)
    assert shown(opened) == chosen


def test_dots_stay_on_the_curves(opened, estimate) -> None:
    slide(opened, 0.85)
    for name in ("tpr", "tnr"):
        share = opened.evaluate(
            f"""(() => {{
                const box = document.querySelector(".rates .frame").getBoundingClientRect();
                const dot = document.querySelector(".dot.{name}").getBoundingClientRect();
                return 1 - (dot.y + dot.height / 2 - box.y) / box.height;
            }})()"""
        )
        assert share == pytest.approx(getattr(estimate.at(0.85), name), abs=0.005)


def test_a_finger_drags_sideways_and_scrolls_up_and_down(opened) -> None:
    opened.resize(360, 740, mobile=True)
    opened.send("Emulation.setTouchEmulationEnabled", enabled=True)

    def stroke(path: list[tuple[float, float]]) -> None:
        for kind, at in zip(["touchStart", *["touchMove"] * len(path)], path, strict=False):
            opened.send(
                "Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": at[0], "y": at[1]}]
            )
        opened.send("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    chosen = shown(opened)["distance"]
    x, y = point(opened, ".rates", 0.3)
    before = opened.evaluate("scrollY")
    stroke([(x, y - 20 * step) for step in range(8)])
    assert shown(opened)["distance"] == chosen
    assert opened.evaluate("scrollY") > before
    end = point(opened, ".rates", 0.7)
    x, y = point(opened, ".rates", 0.3)
    stroke([(x + (end[0] - x) * step / 8, y) for step in range(9)])
    low, high = opened.evaluate("[Number(slider.min), Number(slider.max)]")
    moved = float(shown(opened)["distance"])
    assert moved == pytest.approx(low + 0.7 * (high - low), abs=0.01)


def test_keyboard(opened, estimate) -> None:
    opened.evaluate("slider.focus()")
    opened.press("Home")
    low = opened.evaluate("Number(slider.min)")
    assert float(shown(opened)["distance"]) == low
    opened.press("ArrowRight")
    opened.press("ArrowRight")
    texts = shown(opened)
    assert texts == describe(estimate.at(low + 0.002), 0.004)
    spoken = opened.evaluate("slider.getAttribute('aria-valuetext')")
    assert all(texts[name] in spoken for name in ("distance", "cosine", "tpr", "tnr"))
    assert opened.evaluate("slider.matches(':focus-visible')")
    assert opened.evaluate("getComputedStyle(slider).outlineStyle") == "solid"


def test_back_to_the_chosen_threshold(opened, estimate) -> None:
    assert not opened.evaluate(f"({VISIBLE})('#reset')")
    slide(opened, 1.1)
    assert opened.evaluate(f"({VISIBLE})('#reset')")
    opened.evaluate("reset.focus()")
    opened.press(" ")
    assert shown(opened) == describe(estimate.threshold(tpr=0.9), 0.004)
    assert opened.evaluate("document.activeElement.id") == "slider"


def test_thresholds_of_the_table_can_be_shown(opened, estimate) -> None:
    opened.evaluate("document.querySelectorAll('td button')[6].click()")
    assert shown(opened) == describe(estimate.threshold(tnr=0.999), 0.004)


def test_scale_of_the_histogram(opened) -> None:
    for view, other in (("zoom", "log"), ("log", "zoom"), ("zoom", "log")):
        opened.evaluate(f"document.querySelector('[value={view}]').click()")
        assert opened.evaluate(f"({VISIBLE})('.view-{view}')")
        assert not opened.evaluate(f"({VISIBLE})('.view-{other}')")


def test_light_dark_and_print(opened) -> None:
    def paper() -> float:
        colour = opened.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(map(int, colour.removeprefix("rgb(").removesuffix(")").split(","))) / 3

    def prefer(scheme: str, media: str = "screen") -> None:
        wish = [{"name": "prefers-color-scheme", "value": scheme}]
        opened.send("Emulation.setEmulatedMedia", media=media, features=wish)
        for _ in range(5):  # frames: then the page knows, on a busy machine too
            opened.evaluate("new Promise(requestAnimationFrame)")

    prefer("dark")
    assert paper() < 50
    assert opened.evaluate("theme.innerText") == "Light"
    opened.evaluate("theme.click()")
    assert paper() > 200
    prefer("light")
    opened.evaluate("theme.click()")
    assert paper() < 50
    prefer("dark", "print")
    assert paper() > 200


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast(opened, scheme: str) -> None:
    wish = [{"name": "prefers-color-scheme", "value": scheme}]
    opened.send("Emulation.setEmulatedMedia", features=wish)

    def luminance(name: str) -> float:
        rgb = opened.evaluate(
            f"""(() => {{
                document.body.style.color = "var(--{name})";
                return getComputedStyle(document.body).color.match(/\\d+/g).map(Number);
            }})()"""
        )
        linear = [
            v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in np.divide(rgb, 255)
        ]
        return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))

    pairs = [(text, "paper") for text in ("ink", "muted", "same", "other")] + [("ink", "warn")]
    for text, ground in pairs:
        dark, bright = sorted((luminance(text), luminance(ground)))
        assert (bright + 0.05) / (dark + 0.05) >= 4.5, (text, ground)


@pytest.mark.parametrize("width", [360, 600, 768, 1280])
def test_nothing_is_wider_than_the_window(
    browser, estimate, reference, tmp_path: Path, width: int
) -> None:
    browser.resize(width, 740, mobile=width < 700)
    provenance = {"Fingerprint": "9c1b7a55e0d4f2ab" * 8, "a_rather_long_name" * 3: "x"}
    chosen = estimate.threshold(tnr=0.9999)
    open_report(browser, tmp_path, estimate, chosen, reference, provenance=provenance)
    browser.evaluate("document.querySelector('details').open = true")
    for distance in browser.evaluate("[slider.min, slider.max]"):
        slide(browser, distance)
        assert browser.evaluate(WIDEST) <= width


def test_screen_readers_find_their_way(opened) -> None:
    nodes = opened.send("Accessibility.getFullAXTree")["nodes"]
    roles: dict[str, list[str]] = {}
    for node in nodes:
        if not node["ignored"]:
            name = node.get("name", {}).get("value", "")
            roles.setdefault(node["role"]["value"], []).append(name)
    assert {"banner", "main", "contentinfo"} <= set(roles)
    assert roles["slider"] == ["Distance threshold"]
    assert len(roles["image"]) == 2  # the second view of the histogram is hidden
    assert all(len(name) > 80 for name in roles["image"])
    assert [name for name in roles["region"] if not name] == []
    assert all(roles["button"])


def test_complete_without_javascript(browser, estimate, reference, tmp_path: Path) -> None:
    browser.send("Emulation.setScriptExecutionDisabled", value=True)
    open_report(browser, tmp_path, estimate, estimate.threshold(tpr=0.9), reference)
    assert shown(browser) == describe(estimate.threshold(tpr=0.9), 0.004)
    assert not browser.evaluate(f"({VISIBLE})('#slider')")
    assert not browser.evaluate(f"({VISIBLE})('#theme')")
    assert browser.evaluate(f"({VISIBLE})('.rates')")
    assert not browser.evaluate(f"({VISIBLE})('.view-log')")

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from hypothesis import settings

matplotlib.use("Agg")
settings.register_profile("opengcn", deadline=None, max_examples=50)
settings.load_profile("opengcn")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder of real embeddings, which the project does not ship."""
    folder = Path(os.environ.get("OPENGCN_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("real embeddings are not here (set OPENGCN_DATA to their folder)")
    return folder


class Tab:
    """A tab of headless Chromium, driven over its DevTools protocol.

    What a page complains about is in `problems` (console errors and warnings, uncaught
    exceptions), what it loads in `requests`; both are complete up to the last call.
    """

    def __init__(self, address: str) -> None:
        import websocket

        self.problems: list[str] = []
        self.requests: list[str] = []
        self._seen: set[str] = set()
        self._last = 0
        self._socket = websocket.create_connection(address, timeout=20, suppress_origin=True)
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def open(self, url: str) -> None:
        """Load a page and wait until it is there."""
        self._seen.discard("Page.loadEventFired")
        self.send("Page.navigate", url=url)
        while "Page.loadEventFired" not in self._seen:
            self._receive()

    def evaluate(self, script: str) -> Any:
        """Return the value of a JavaScript expression; a promise is waited for."""
        answer = self.send(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        """Press a key on what has the focus, named as in KeyboardEvent.key: "ArrowLeft"."""
        codes = {"Tab": 9, "Enter": 13, "PageUp": 33, "PageDown": 34, "End": 35, "Home": 36}
        codes |= {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, " ": 32}
        for kind in ("rawKeyDown", "keyUp"):
            self.send(
                "Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=codes[key]
            )

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Press the mouse at a point of the window, move it to another and let go."""
        for kind, (x, y) in (("mousePressed", start), ("mouseMoved", end), ("mouseReleased", end)):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def resize(self, width: int, height: int, *, mobile: bool = False) -> None:
        """Give the page a window of another size."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=mobile,
        )

    def screenshot(self, path: Path) -> None:
        """Write a picture of the whole page."""
        answer = self.send("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(answer["data"]))

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send any command of the protocol and return its answer."""
        self._last += 1
        number = self._last
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while (answer := self._receive()).get("id") != number:
            pass
        assert "error" not in answer, f"{method}: {answer['error']['message']}"
        return dict(answer["result"])

    def close(self) -> None:
        """Leave the tab."""
        self._socket.close()

    def _receive(self) -> dict[str, Any]:
        message = json.loads(self._socket.recv())
        name, told = message.get("method"), message.get("params")
        self._seen.add(name)
        if name == "Runtime.exceptionThrown":
            self.problems.append(str(told["exceptionDetails"]))
        elif name == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert"):
            self.problems.append(str(told["args"]))
        elif name == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            self.problems.append(told["entry"]["text"])
        elif name == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
        return dict(message)


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a headless Chromium that runs as long as the tests."""
    pytest.importorskip("websocket", reason="websocket-client is not installed")
    names = ("chromium", "chromium-browser", "google-chrome")
    program = next(filter(None, map(shutil.which, names)), None)
    if program is None:
        pytest.skip(f"no browser on this machine: looked for {', '.join(names)}")
    profile = tmp_path_factory.mktemp("chromium")
    quiet = ("background-networking", "component-update", "gpu", "quic", "sync")
    process = subprocess.Popen(
        [
            program,
            "--headless",
            "--no-sandbox",  # without it Chromium does not start as root, as in containers
            "--no-first-run",
            *(f"--disable-{part}" for part in quiet),
            f"--user-data-dir={profile}",
            "--remote-debugging-port=0",
            "about:blank",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        told = profile / "DevToolsActivePort"  # written once it listens
        for _ in range(300):
            if told.is_file() and (port := told.read_text().partition("\n")[0]):
                break
            assert process.poll() is None, "Chromium ended before it was ready"
            time.sleep(0.1)
        else:
            pytest.fail("Chromium was not ready within 30 seconds")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)


@pytest.fixture
def browser(chromium: str) -> Iterator[Tab]:
    """A new tab of headless Chromium; skips where there is none."""
    request = urllib.request.Request(f"{chromium}/json/new?about:blank", method="PUT")
    with urllib.request.urlopen(request) as answer:
        about = json.load(answer)
    tab = Tab(about["webSocketDebuggerUrl"])
    yield tab
    tab.close()
    urllib.request.urlopen(f"{chromium}/json/close/{about['id']}").close()

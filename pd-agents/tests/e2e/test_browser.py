"""`pdbench ui` in a real browser: headless Chromium, spoken to over its own protocol."""

import base64
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

client = pytest.importorskip("websockets.sync.client", reason="comes with streamlit")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PATIENCE_S = 90


class Page:
    """A tab of a browser."""

    def __init__(self, browser: str, address: str) -> None:
        opened = urlopen(Request(f"{browser}/json/new?{address}", method="PUT"))
        where = json.load(opened)["webSocketDebuggerUrl"]
        self._socket = client.connect(where, max_size=None).__enter__()
        self._calls = 0

    def call(self, method: str, **parameters) -> dict:
        self._calls += 1
        request = {"id": self._calls, "method": method, "params": parameters}
        self._socket.send(json.dumps(request))
        while True:
            answer = json.loads(self._socket.recv(PATIENCE_S))
            if answer.get("id") == self._calls:
                return answer["result"]

    def text(self) -> str:
        expression = "document.body ? document.body.innerText : ''"
        return self.call("Runtime.evaluate", expression=expression)["result"]["value"]

    def wait_for(self, words: str) -> str:
        wait(lambda: words in self.text())
        return self.text()

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))


def wait(is_there) -> None:
    end = time.monotonic() + PATIENCE_S
    while not is_there():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.2)


def answers(address: str) -> bool:
    try:
        return urlopen(address).status == 200
    except OSError:
        return False


@pytest.fixture
def browser(tmp_path):
    if CHROMIUM is None:
        pytest.skip("there is no Chromium")
    profile = tmp_path / "profile"
    command = [
        CHROMIUM,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--window-size=1280,800",
    ]
    command += [
        f"--user-data-dir={profile}",
        "--remote-debugging-port=0",
        "about:blank",
    ]
    log = tmp_path / "chromium.log"
    with log.open("w") as errors:
        process = subprocess.Popen(command, stderr=errors)
    wait(lambda: "DevTools listening" in log.read_text())
    yield "http://" + re.search(r"ws://([^/]+)", log.read_text())[1]
    process.terminate()
    process.wait()


@pytest.fixture
def viewer(project, pdbench):
    pdbench("run", "configs/experiment.yaml", "--replicates", "2")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "pdbench.cli", "ui", "data/runs/default"]
    process = subprocess.Popen(
        [*command, "--port", str(port)], stdout=subprocess.DEVNULL
    )
    address = f"http://127.0.0.1:{port}"
    wait(lambda: answers(address))
    yield address
    process.terminate()
    process.wait()


def test_the_viewer_opens_on_the_table_of_all_conditions(viewer, browser):
    page = Page(browser, viewer)
    text = page.wait_for("exploitative-model")
    assert "Means over complete matches" in text
    assert "tft-vs-alld" in text
    assert "SIMULATED" in text
    assert "Traceback" not in text
    if "SCREENSHOT" in os.environ:  # the picture of the README
        page.screenshot(Path(os.environ["SCREENSHOT"]))

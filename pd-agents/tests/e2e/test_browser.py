"""Viewer and report in a real headless Chromium: what a person would see.

Where axe-core is installed (AXE_CORE=path/to/axe.min.js, or npm install axe-core beside the
scripts), its rules are run as well.
"""

import os
import shutil
import socket
import subprocess
import sys
import urllib.request
from itertools import product
from pathlib import Path

import pytest

from conftest import pair, written
from hostile import wait_for
from pdbench.report.colours import COLOURS
from support import CONFIGS

playwright = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed"
)
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
    None,
)
VIEWS = list(product((1280, 390), ("light", "dark")))
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory):
    """A run and its report, for tests that only look."""
    project = tmp_path_factory.mktemp("project")
    shutil.copytree(CONFIGS, project / "configs")
    evil = {
        "strategy": "coin",
        "label": '<script>alert(1)</script> & "x"',
        "p_cooperate": 0.5,
    }
    path = written(
        project,
        [pair("alld-tft", "ALLD", "TFT"), pair("coin-tft", evil, "TFT")],
        run={"replicates": 2},
        horizon={"type": "fixed", "n": 30},
    )
    for command in (("run", path), ("report", "data/runs/test")):
        subprocess.run(
            [sys.executable, "-m", "pdbench.cli", *command],
            cwd=project,
            check=True,
            capture_output=True,
        )
    return project / "data/runs/test"


@pytest.fixture(scope="module")
def viewer(run_dir):
    """The viewer's address; the server ends with the tests."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "pdbench.cli", "ui", str(run_dir), "--port", str(port)],
        cwd=run_dir, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    url = f"http://127.0.0.1:{port}"

    def up() -> bool:
        if process.poll() is not None:
            pytest.fail("the viewer ended by itself")
        try:
            return bool(urllib.request.urlopen(f"{url}/_stcore/health", timeout=60))
        except OSError:
            return False

    try:
        wait_for(up)
        yield url
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def tab(browser):
    """tab(width, scheme) opens one, and keeps what the page says on its console."""
    tabs = []

    def opened(width=1280, scheme="light"):
        page = browser.new_page(
            viewport={"width": width, "height": 1400}, color_scheme=scheme
        )
        page.set_default_timeout(
            600_000
        )  # a bound for what never comes; it costs no time
        page.said = []
        page.on("console", lambda message: page.said.append(message.text))
        page.on("pageerror", lambda error: page.said.append(str(error)))
        tabs.append(page)
        return page

    yield opened
    for page in tabs:
        page.close()


def choose(page, name):
    """The page of a condition, by the picker."""
    page.get_by_test_id("stSelectbox").first.locator("input").click()
    page.get_by_role("option", name=name).click()
    page.get_by_role("heading", name=name, exact=True).wait_for()


def click_second_row(page, heading):
    """Until a page with this heading opens: a table that is still being drawn takes no click."""
    table = page.get_by_test_id("stDataFrame")
    table.locator("canvas").first.wait_for()
    while not page.get_by_role("heading", name=heading).count():
        table.click(position={"x": 15, "y": 35 + 35 + 18})  # the second row's box
        page.wait_for_timeout(1000)


def test_the_viewer_leads_from_all_conditions_to_a_match(tab, viewer):
    page = tab()
    page.goto(viewer)
    page.get_by_role("heading", name="All conditions").wait_for()
    click_second_row(page, "coin-tft")
    page.get_by_text("SIMULATED").first.wait_for()
    chart = page.get_by_test_id("stVegaLiteChart")
    chart.locator("canvas, svg").first.wait_for()
    assert chart.bounding_box()["width"] > 600
    click_second_row(page, "coin-tft, replicate 1")
    page.get_by_text("Prompts and answers").wait_for()
    page.get_by_test_id("stVegaLiteChart").nth(1).locator(
        "canvas, svg"
    ).first.wait_for()
    assert page.get_by_test_id("stException").count() == 0
    assert page.get_by_test_id("stAlertContentError").count() == 0
    assert page.said == []


@pytest.mark.parametrize(("width", "scheme"), VIEWS)
def test_the_viewer_fits_and_is_legible(tab, viewer, width, scheme):
    """Phone and screen, light and dark: no sideways scrolling, no word on the console."""
    page = tab(width, scheme)
    page.goto(viewer)
    page.get_by_text("cirrus-bench").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    choose(page, "alld-tft")
    page.get_by_test_id("stVegaLiteChart").locator("canvas, svg").first.wait_for()
    sheet = page.evaluate(
        "getComputedStyle(document.querySelector('.stApp')).backgroundColor"
    )
    assert sheet == PAPER[scheme]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    contrasts = page.evaluate(CONTRASTS)
    assert len(contrasts) > 15
    assert min(contrasts) >= 4.5
    assert page.get_by_role("heading", level=1).count() == 1
    assert page.said == []


PAPER = {scheme: "rgb({}, {}, {})".format(*bytes.fromhex(getattr(COLOURS["paper"], scheme)[1:]))
         for scheme in ("light", "dark")}  # fmt: skip


@pytest.mark.parametrize(("width", "scheme"), VIEWS)
def test_the_report_fits_and_is_legible(tab, run_dir, width, scheme):
    page = tab(width, scheme)
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.on(
        "dialog", lambda dialog: (page.said.append(dialog.message), dialog.dismiss())
    )
    page.goto(f"file://{run_dir}/report.html")
    assert page.locator("details[open]").count() == 0
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.get_by_role("heading", level=1).inner_text().endswith("dilemma: test")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".charts svg[role=img]").count() == 2
    assert page.locator("main > figure svg[role=img]").count() == 1
    assert page.locator("script").count() == 0
    assert (len(asked), page.said) == (1, [])
    assert page.get_by_text("<script>alert(1)</script>").count() > 0
    assert page.get_by_text("SIMULATED").count() >= 3
    contrasts = page.evaluate(CONTRASTS)
    assert len(contrasts) > 40
    assert min(contrasts) >= 4.5  # WCAG 2.1, 1.4.3
    label = page.locator("main > figure svg text").first
    assert label.evaluate("e => getComputedStyle(e).fill") == INK[scheme]


def rgb(name, scheme):
    return "rgb({}, {}, {})".format(*bytes.fromhex(getattr(COLOURS[name], scheme)[1:]))


INK = {
    scheme: rgb("dim", scheme) for scheme in ("light", "dark")
}  # the sheet's, not the file's


CONTRASTS = """() => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const rgba = (...paints) => { canvas.clearRect(0, 0, 1, 1); for (const c of paints) {
    canvas.fillStyle = c; canvas.fillRect(0, 0, 1, 1); }
    return canvas.getImageData(0, 0, 1, 1).data; };
  const light = c => { const [r, g, b] = [...c].map(v => (v /= 255) <= 0.04045 ? v / 12.92
    : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = e => { for (; e; e = e.parentElement) { const c =
    getComputedStyle(e).backgroundColor; if (rgba(c)[3] > 250) return c; } return 'white'; };
  return [...document.querySelectorAll('h1, h2, h3, p, th, td, dt, dd, li, label, .tag, .stamp,'
    + ' .ka, .kb')]
    .filter(e => e.innerText.trim()).map(e => {
      const pair = [light(rgba(behind(e), getComputedStyle(e).color)), light(rgba(behind(e)))];
      const [x, y] = pair.sort((a, b) => b - a);
      return (x + 0.05) / (y + 0.05); });
}"""


@pytest.fixture(scope="module")
def axe(request):
    """The script of axe-core."""
    path = Path(
        os.environ.get("AXE_CORE")
        or request.config.rootpath.parent / "node_modules/axe-core/axe.min.js"
    )
    if not path.is_file():
        pytest.skip("axe-core is not installed")
    return path.read_text()


VIOLATIONS = """axe.run().then(result => result.violations.map(
    each => [each.id, each.nodes.length, each.nodes[0].html.slice(0, 200)]))"""


@pytest.mark.parametrize(("width", "scheme"), VIEWS)
def test_axe_finds_nothing(tab, axe, viewer, run_dir, width, scheme):
    page = tab(width, scheme)
    for address in (f"file://{run_dir}/report.html", viewer):
        page.goto(address)
        page.get_by_text("cirrus-bench").last.wait_for()
        page.locator("svg").first.wait_for()
        page.evaluate(axe)
        assert page.evaluate(VIOLATIONS) == []
    choose(page, "coin-tft")
    page.get_by_test_id("stSelectbox").nth(1).locator("input").click()
    page.get_by_role("option", name="replicate 1").click()
    page.get_by_test_id("stVegaLiteChart").nth(1).locator(
        "canvas, svg"
    ).first.wait_for()
    assert page.evaluate(VIOLATIONS) == []


def test_the_report_prints_on_paper(browser, run_dir, tmp_path):
    page = browser.new_page(color_scheme="dark")
    page.goto(f"file://{run_dir}/report.html")
    page.emulate_media(media="print", color_scheme="dark")
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == "rgb(255, 255, 255)"
    assert page.pdf(format="A4").startswith(b"%PDF")
    page.close()

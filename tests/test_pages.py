"""Every page that people open, in a real Chromium: 390 and 1280 px, light and dark, keyboard."""

import re
from pathlib import Path

import pytest
from conftest import ROOT, ended
from test_document import evil

from show.page import page

EXAMPLES = ROOT / "results/examples"
COMMITTED = (
    "pilot-smollm2",
    "lever",
    "mechanism",
    "twin",
    "confirmatory",
    "urrp-smollm2",
    "calibration",
)  # are what the code makes now, as other tests show
PAGES = (*COMMITTED, "pilot", "urrp", "index", "no runs", "hostile")
AXE = """axe.run({exclude: ['#trials tr:nth-child(n+10)']}).then(r => r.violations.map(
    v => [v.id, v.nodes.length, v.nodes[0].html.slice(0, 200)]))"""
BROKEN_LINKS = """[...document.querySelectorAll('a[href^="#"]')].filter(
    a => !document.getElementById(a.getAttribute('href').slice(1))).length"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """{name: path}"""
    made = tmp_path_factory.mktemp("pages")
    (made / "none").mkdir()
    for command in (
        "run_pilot.py --out runs/pilot --run-id four",
        "urrp_run.py --pilot --trials 2 --out urrp --output t.jsonl",
        "urrp_analyze.py t.jsonl --html urrp.html",
        "analyze.py --index runs",
        "analyze.py --index none",
    ):
        assert ended(made, *command.split()).returncode == 0
    (made / "hostile.html").write_text(page(evil()), encoding="utf-8")
    return {
        **{name: EXAMPLES / name / "report.html" for name in COMMITTED},
        "pilot": made / "runs/pilot/four/report.html",
        "urrp": made / "urrp.html",
        "index": made / "runs/index.html",
        "no runs": made / "none/index.html",
        "hostile": made / "hostile.html",
    }


@pytest.fixture(scope="module")
def axe():
    """The script of axe-core, which requirements-dev.txt brings."""
    package = pytest.importorskip("axe_playwright_python")
    return Path(package.__file__).with_name("axe.min.js").read_text(encoding="utf-8")


@pytest.fixture
def opened(browser, pages):
    """opened(name, width, scheme) → a tab in which the page is open."""
    tabs = []

    def open_page(name, width=1280, scheme="light"):
        tab = browser.new_page(
            viewport={"width": width, "height": 900}, color_scheme=scheme
        )
        tabs.append(tab)
        tab.messages, tab.requests = [], []
        tab.on("console", lambda message: tab.messages.append(message.text))
        tab.on("pageerror", lambda error: tab.messages.append(str(error)))
        tab.on("request", lambda request: tab.requests.append(request.url))
        tab.goto(pages[name].as_uri())
        return tab

    yield open_page
    for tab in tabs:
        tab.close()


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1280, "dark")])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_loads_nothing_and_satisfies_axe(opened, axe, name, width, scheme):
    """Contrast included; of its trials ten rows."""
    tab = opened(name, width, scheme)
    tab.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.evaluate(BROKEN_LINKS) == 0
    assert tab.messages == [] and len(tab.requests) == 1
    tab.evaluate(axe)
    assert tab.evaluate(AXE) == []


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
@pytest.mark.parametrize("name", [*COMMITTED[1:], "pilot"])
def test_the_answer_and_the_whole_figure_are_above_the_fold(
    opened, name, width, height
):
    tab = opened(name, width)
    answer, figure = (
        tab.locator(part).bounding_box() for part in (".answer", ".first svg")
    )
    assert answer["y"] < figure["y"] + figure["height"] <= height


@pytest.mark.parametrize(("name", "most"), [("pilot", 2), ("confirmatory", 6)])
def test_it_prints_on_few_pages(opened, name, most):
    paper = opened(name).pdf(prefer_css_page_size=True)
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b", paper)) <= most


STOPS = """() => {
  const all = [...document.querySelectorAll('a[href],summary,input,select,button,[tabindex="0"]')]
    .filter(e => e.checkVisibility());
  all.forEach((e, i) => e.dataset.stop = i);
  return all.length;
}"""
FOCUS = """() => {
  const e = document.activeElement, s = getComputedStyle(e);
  return [Number(e.dataset.stop), s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2];
}"""


@pytest.mark.parametrize("name", ["pilot", "confirmatory", "index", "hostile"])
def test_tab_reaches_everything_and_shows_where_it_is(opened, name):
    tab = opened(name)
    stops = min(tab.evaluate(STOPS), 40)  # more folds say nothing more
    reached = []
    for _ in range(stops):
        tab.keyboard.press("Tab")
        reached.append(tab.evaluate(FOCUS))
    assert reached == [[stop, True] for stop in range(stops)]


def test_the_trial_table_is_filtered_by_column_and_by_words(opened):
    tab = opened("pilot")
    shown = tab.locator("#trials tbody tr:visible")
    tab.select_option("select[aria-label=cell]", "neither")
    assert shown.count() == 10 and tab.inner_text("output") == "10 of 40"
    tab.select_option("select[aria-label=sim-coin]", "PREEMPT")
    assert 0 < shown.count() < 10
    tab.fill("input[type=search]", "no such words anywhere")
    assert shown.count() == 0


@pytest.mark.parametrize("width", [1280, 390])
def test_a_row_opens_its_prompt_and_each_answer_by_keyboard_and_closes_again(
    opened, width
):
    tab = opened("mechanism", width)
    tab.locator("#trials tbody button").first.focus()
    tab.keyboard.press("Enter")
    titles = tab.locator("#trials h3").all_inner_texts()
    named = [title.split()[0] for title in titles[:4]]
    assert named == ["sim-conformist", "sim-correlation", "sim-adder", "sim-coin"]
    assert titles[4] == "System prompt"
    texts = tab.locator("#trials pre")
    assert texts.first.inner_text().startswith("Decision: ")
    assert texts.first.bounding_box()["width"] <= width
    tab.keyboard.press("Enter")
    assert texts.count() == 0

"""Every page that people open, in a real Chromium: 390 and 1280 px, light and dark, keyboard.

What is checked: nothing scrolls sideways, nothing is fetched, the console stays empty, axe-core has
nothing to say on contrast and structure, and Tab reaches everything that can be used, with a
visible ring around it.
"""

import importlib.util
import os
import re
from pathlib import Path

import pytest
from conftest import ended
from test_document import evil

import analyze
from common import VERSION
from show import html
from show.listing import entries, index

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "results/examples"
LOOKS = ((390, "light"), (1280, "dark"))
COMMITTED = ("pilot-smollm2", "lever", "mechanism", "twin", "confirmatory", "urrp-smollm2",
             "calibration")   # are what the code makes now, as other tests show
PAGES = (*COMMITTED, "pilot", "urrp", "index", "no runs", "hostile")


@pytest.fixture(scope="module")
def pages(browser, tmp_path_factory):
    """{name: path}"""
    made = tmp_path_factory.mktemp("pages")
    for flags in (("run_pilot.py", "--out", "pilot", "--run-id", "four"),
                  ("urrp_run.py", "--pilot", "--trials", 2, "--out", "urrp", "--output", "t.jsonl"),
                  ("urrp_analyze.py", "t.jsonl", "--html", "urrp.html")):
        assert ended(made, *flags).returncode == 0
    return {**{name: EXAMPLES / name / "report.html" for name in COMMITTED},
            "pilot": made / "pilot/four/report.html", "urrp": made / "urrp.html",
            "index": listed(made / "listed", [EXAMPLES, made, ROOT / "pd-agents/data/examples"]),
            "no runs": listed(made / "empty", []), "hostile": hostile(made)}


def hostile(made):
    """Every word of it comes from a server that means harm."""
    path = made / "hostile.html"
    path.write_text(html.page(evil()), encoding="utf-8")
    return path


def listed(folder, paths):
    folder.mkdir()
    made = html.page(index(entries(paths, analyze.HEADLINES), folder, VERSION))
    (folder / "index.html").write_text(made, encoding="utf-8")
    return folder / "index.html"


@pytest.fixture(scope="module")
def axe_script():
    """axe-core, which requirements-dev.txt brings; AXE_CORE=path/to/axe.min.js in its place."""
    package = importlib.util.find_spec("axe_playwright_python")
    path = os.environ.get("AXE_CORE") or (
        package and Path(package.origin).with_name("axe.min.js"))
    if path is None:
        pytest.skip("axe-core is not installed")
    return Path(path).read_text(encoding="utf-8")


@pytest.fixture
def opened(browser, pages):
    """opened(name, width, scheme) → a tab in which the page is open, all folds open if asked."""
    tabs = []

    def open_page(name, width=1280, scheme="light", folds=True, **more):
        tab = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme,
                               **more)
        tabs.append(tab)
        tab.messages, tab.requests = [], []
        tab.on("console", lambda message: tab.messages.append(message.text))
        tab.on("pageerror", lambda error: tab.messages.append(str(error)))
        tab.on("request", lambda request: tab.requests.append(request.url))
        tab.goto(pages[name].as_uri())
        if folds:
            tab.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        return tab
    yield open_page
    for tab in tabs:
        tab.close()


CONTRASTS = """() => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const seen = {};
  const rgba = c => seen[c] ??= (() => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = c;
    canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; })();
  const light = c => { const [r, g, b] = c.map(v => (v /= 255) <= 0.04045 ? v / 12.92
    : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = e => { for (; e; e = e.parentElement) {
    const c = rgba(getComputedStyle(e).backgroundColor); if (c[3] > 250) return c; }
    return [255, 255, 255, 255]; };
  const low = {};
  let read = 0;
  for (const e of document.querySelectorAll('body *')) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || ['SCRIPT', 'STYLE', 'OPTION', 'title', 'desc'].includes(e.tagName)) continue;
    if (!e.checkVisibility()) continue;
    const style = getComputedStyle(e), svg = e.tagName === 'text';
    const pair = [light(rgba(svg ? style.fill : style.color)), light(behind(e))];
    const [y, x] = pair.sort((a, b) => a - b);
    read += 1;
    const ratio = (x + 0.05) / (y + 0.05);
    if (ratio < 4.5) low[e.tagName + '.' + e.getAttribute('class')] = ratio.toFixed(2);
  }
  return [read, low];
}"""

@pytest.mark.parametrize(("width", "scheme"), LOOKS)
@pytest.mark.parametrize("name", PAGES)
def test_it_fits_is_legible_and_quiet(opened, name, width, scheme):
    tab = opened(name, width, scheme)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.evaluate("""[...document.querySelectorAll('a[href^="#"]')].filter(
        a => !document.getElementById(a.getAttribute('href').slice(1))).length""") == 0
    read, low = tab.evaluate(CONTRASTS)
    assert read > 5 and low == {}
    assert tab.messages == [] and len(tab.requests) == 1


@pytest.mark.parametrize("name", PAGES)
def test_axe_has_no_complaint(opened, axe_script, name):
    """Contrast aside, which is computed above, in a tenth of the time; of trials ten rows."""
    tab = opened(name, 390, folds=False)
    tab.evaluate(axe_script)
    assert tab.evaluate("axe.run({exclude: ['#trials tr:nth-child(n+10)']}, {rules: "
                        "{'color-contrast': {enabled: false}}}).then(r => "
                        "r.violations.map(v => [v.id, v.nodes.length, "
                        "v.nodes[0].html.slice(0, 200)]))") == []


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
@pytest.mark.parametrize("name", ["lever", "mechanism", "twin", "confirmatory", "pilot"])
def test_the_answer_and_the_whole_figure_stand_above_the_fold(opened, name, width, height):
    tab = opened(name, width, folds=False)
    answer, figure = (tab.locator(part).bounding_box() for part in (".answer", ".first svg"))
    assert answer["y"] < figure["y"] + figure["height"] <= height


@pytest.mark.parametrize(("name", "most"), [("pilot", 2), ("confirmatory", 6)])
def test_it_prints_on_few_pages(opened, name, most):
    paper = opened(name, folds=False).pdf(prefer_css_page_size=True)
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b", paper)) <= most


STOPS = """() => {
  const all = [...document.querySelectorAll('a[href],summary,input,select,button,[tabindex="0"]')]
    .filter(e => e.checkVisibility());
  all.forEach((e, i) => e.dataset.stop = i);
  return all.length;
}"""
RING = """() => { const e = document.activeElement, s = getComputedStyle(e);
  const ring = s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2;
  return [e.dataset.stop ?? null, ring]; }"""


@pytest.mark.parametrize("name", PAGES)
def test_tab_reaches_everything_and_shows_where_it_is(opened, name):
    tab = opened(name, folds=False)
    stops = tab.evaluate(STOPS)
    most = min(stops, 40)  # a page of 200 folds says nothing more after that
    reached = []
    for _ in range(most):
        tab.keyboard.press("Tab")
        stop, ring = tab.evaluate(RING)
        assert ring, f"no ring at stop {stop}"
        reached.append(int(stop))
    assert reached == list(range(most))


def test_the_trial_table_is_filtered_by_column_and_by_words(opened):
    tab = opened("pilot", folds=False)
    shown = tab.locator("#trials tbody tr:visible")
    tab.select_option("select[aria-label=model]", "sim-coin")
    tab.select_option("select[aria-label=cell]", "neither")
    assert shown.count() == 10 and tab.inner_text("output") == "10 of 160"
    tab.fill("input[type=search]", "no such words anywhere")
    assert shown.count() == 0


def test_a_row_opens_its_prompt_and_answer_by_keyboard_and_closes_again(opened):
    tab = opened("pilot-smollm2", folds=False)
    tab.locator("#trials tbody button").first.focus()
    tab.keyboard.press("Enter")
    assert tab.locator("#trials h3").all_inner_texts()[1:3] == ["System prompt", "Worked examples"]
    assert "\n\nDecision: [" in tab.locator("#trials pre").last.inner_text()
    tab.keyboard.press("Enter")
    assert tab.locator("#trials pre").count() == 0

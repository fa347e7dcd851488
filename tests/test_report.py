"""What people look at: the report in a real browser, and foreign text that must stay text."""

import base64
import hashlib
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from cirrus import pilot_files
from cirrus.ask import pilot
from cirrus.ask.prompts import load_domain
from cirrus.ask.respondents import RESPONDENTS
from common.reading import read
from common.simulated import Simulated
from show import html

ROOT = Path(__file__).resolve().parents[1]
MODELS = ["superrational", "coin"]
CONFIG = {"seed": 7, "runs": 4, "compliance": "low", "tells": "standard", "temperature": 0.7,
          "max_out": 96, "reasoning_effort": None}
PAYLOADS = ("<script>document.title='owned'</script>", "<img src=x onerror=alert(1)>",
            "</pre></details><h1>out</h1>", "\x1b[31mred\x1b[0m\x07", "a & b < c > d \" ' `",
            "<svg onload=alert(1)>", "‮right to left", "\x00nul")


@pytest.fixture(scope="module")
def study():
    """(rows, prompts, study) of a small simulated pilot."""
    blocks = pilot.design(load_domain("cvd"), CONFIG, MODELS)
    provider = Simulated(RESPONDENTS, CONFIG["seed"])
    rows = pilot.rows(blocks, [[read(provider.complete(t.request)).reply for t in block]
                               for block in blocks])
    prompts = {t.id: (t.request.system, t.request.user) for block in blocks for t in block}
    return rows, prompts, {"config": CONFIG | {"models": MODELS}, "provider": "simulated",
                           "prompts": {}}


def hostile(rows):
    """The same rows with payloads wherever a server has the word."""
    return [row | {"text": PAYLOADS[i % len(PAYLOADS)], "served_model": PAYLOADS[-1 - i % 3],
                   "provider": PAYLOADS[i % 3], "decision": None, "cooperates": None,
                   "status": "unreadable"}
            for i, row in enumerate(rows)]


class Tags(HTMLParser):
    """Counts the tags that a browser would see."""

    def __init__(self, html):
        super().__init__()
        self.seen = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))


def page_of(rows, prompts, study):
    return pilot_files.derive(rows, prompts, study, None)["report.html"].decode()


def test_model_output_adds_no_tag_and_no_handler(study):
    rows, prompts, identity = study
    tags = Tags(page_of(hostile(rows), prompts, identity)).seen
    assert sum(tag == "script" for tag, _ in tags) == 1
    assert not [tag for tag, _ in tags if tag == "img"]
    assert not [name for _, attrs in tags for name in attrs if name.startswith("on")]


def test_model_output_brings_no_control_character(study):
    rows, prompts, identity = study
    page = page_of(hostile(rows), prompts, identity)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\x9b‮]", page)


def test_a_name_from_a_server_brings_no_tag_into_the_markdown(study):
    rows, prompts, identity = study
    served = [row | {"served_model": f"<img src={i}>", "provider": "a\n# b"}
              for i, row in enumerate(rows)]
    summary = pilot_files.derive(served, prompts, identity, None)["pilot-summary.md"].decode()
    assert "&lt;img src=1>" in summary and "<img" not in summary and "\n# b" not in summary


def test_the_page_loads_nothing_and_allows_its_own_script_only(study):
    page = page_of(*study)
    outside = [v for tag, attrs in Tags(page).seen for name, v in attrs.items()
               if name in ("src", "href", "action") and not v.startswith("#")]
    script = re.search(r"<script>(.*?)</script>", page, re.S).group(1)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert outside == []
    assert f"script-src 'sha256-{digest}'" in page and "default-src 'none'" in page


def test_every_trial_shows_its_prompt_and_answer(study):
    rows, prompts, identity = study
    page = page_of(rows, prompts, identity)
    assert page.count('<details data-keys=') == len(rows)
    assert all(html.text(row["text"]) in page for row in rows)
    assert all(html.text(user) in page for _, user in prompts.values())


def test_simulated_is_stamped_on_every_file_that_people_read(study):
    files = pilot_files.derive(*study, None)
    assert b"SIMULATED" in files["report.html"] and b"SIMULATED" in files["pilot-summary.md"]
    assert b'"stamp": "SIMULATED"' in files["pilot-analysis.json"]
    assert files["trials.csv"].count(b"SIMULATED") == len(study[0])


def test_a_long_answer_is_cut_and_says_where_the_rest_is(study):
    rows, prompts, identity = study
    page = page_of([rows[0] | {"text": "x" * 3_000_000}, *rows[1:]], prompts, identity)
    assert len(page) < 1_000_000 and "2,980,000 more characters in trials.jsonl.gz" in page


def test_a_formula_from_a_server_stays_text_in_the_csv(study):
    rows, prompts, identity = study
    bad = [rows[0] | {"served_model": "=1+1"}, *rows[1:]]
    assert b",'=1+1," in pilot_files.derive(bad, prompts, identity, None)["trials.csv"]


@pytest.fixture(scope="module")
def reports(study, tmp_path_factory):
    """{name: path} of an ordinary report and of one full of payloads."""
    folder, (rows, prompts, identity) = tmp_path_factory.mktemp("reports"), study
    for name, own in (("plain", rows), ("hostile", hostile(rows))):
        (folder / f"{name}.html").write_text(page_of(own, prompts, identity), encoding="utf-8")
    return {name: folder / f"{name}.html" for name in ("plain", "hostile")}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", ["plain", "hostile"])
def test_no_sideways_scrolling_and_no_error_in_a_browser(browser, reports, name, width, scheme):
    tab = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    said = []
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.goto(reports[name].as_uri())
    tab.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert said == [] and tab.title() == "CIRRUS-24 pilot"
    tab.close()


def test_the_filter_finds_trials_by_model_and_words(browser, reports, study):
    tab = browser.new_page()
    tab.goto(reports["plain"].as_uri())
    tab.select_option("select[aria-label=model]", "coin")
    shown = tab.locator("#texts details:visible").count()
    assert shown == sum(row["model"] == "coin" for row in study[0])
    tab.fill("input[type=search]", "no such words anywhere")
    assert tab.locator("#texts details:visible").count() == 0
    tab.close()


def test_folds_open_by_keyboard(browser, reports):
    tab = browser.new_page()
    tab.goto(reports["plain"].as_uri())
    tab.locator("#texts details summary").first.focus()
    tab.keyboard.press("Enter")
    assert tab.locator("#texts details[open]").count() == 1
    tab.close()


def test_help_of_the_pilot_loads_no_package():
    code = ("import sys, run_pilot\ntry: run_pilot.arguments(['--help'])\nexcept SystemExit: pass\n"
            "sys.exit(bool({'requests', 'stats', 'cirrus.ask.pilot'} & set(sys.modules)))")
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False,
                          stdout=subprocess.DEVNULL).returncode == 0

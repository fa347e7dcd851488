"""The pilot's report: every trial as it was, stamped, and whole or said to be cut."""

from pathlib import Path

import pytest

from cirrus.ask import pilot
from cirrus.ask.prompts import load_domain
from cirrus.ask.respondents import RESPONDENTS
from cirrus.instruments import pilot_files
from common.instrument import Simulated
from common.reading import read
from show import html

ROOT = Path(__file__).resolve().parents[1]
MODELS = ["superrational", "coin"]
CONFIG = {"seed": 7, "runs": 4, "compliance": "low", "tells": "standard", "temperature": 0.7,
          "max_out": 96, "reasoning_effort": None}

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


def page_of(rows, prompts, study):
    return pilot_files(rows, prompts, study, None)["report.html"].decode()


def test_a_name_from_a_server_brings_no_tag_into_the_markdown(study):
    rows, prompts, identity = study
    served = [row | {"served_model": f"<img src={i}>", "provider": "a\n# b"}
              for i, row in enumerate(rows)]
    summary = pilot_files(served, prompts, identity, None)["pilot-summary.md"].decode()
    assert "&lt;img src=1>" in summary and "<img" not in summary and "\n# b" not in summary


def test_every_trial_shows_its_prompt_and_answer(study):
    rows, prompts, identity = study
    page = page_of(rows, prompts, identity)
    assert page.count('<details data-keys=') == len(rows)
    assert all(html.text(row["text"]) in page for row in rows)
    assert all(html.text(user) in page for _, user in prompts.values())


def test_simulated_is_stamped_on_every_file_that_people_read(study):
    files = pilot_files(*study, None)
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
    assert b",'=1+1," in pilot_files(bad, prompts, identity, None)["trials.csv"]

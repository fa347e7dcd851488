"""The viewer, by Streamlit's own means: every element it draws, without a browser."""

import json
import sys
from pathlib import Path

import pandas as pd
import pytest

from conftest import pair
from pdbench.ui.launch import APP

testing = pytest.importorskip(
    "streamlit.testing.v1", reason="streamlit is not installed"
)
RUN_DIR = Path("data/runs/test")
REFUSAL = "I would rather not."


@pytest.fixture
def view(monkeypatch):
    def show(run_dir: Path):
        monkeypatch.setattr(sys, "argv", ["streamlit_app.py", str(run_dir)])
        return testing.AppTest.from_file(str(APP), default_timeout=300).run()

    return show


@pytest.fixture
def run_dir(experiment, pdbench) -> Path:
    """Six rounds; the model refuses in round_index 1 of its second condition."""
    script = {"strategy": "script", "script": ["C", "hm", "D"], "persona": "wsls"}
    refusing = {"strategy": "script", "script": ["C", *[REFUSAL] * 3]}
    conditions = [
        pair("alld-tft", "ALLD", "TFT"),
        pair("script-tft", script, "TFT"),
        pair("refuses", refusing, "TFT"),
    ]
    horizon = {"type": "fixed", "n": 6}
    pdbench("run", experiment(*conditions, run={"replicates": 2}, horizon=horizon))
    return RUN_DIR


def opened(page, condition: str, replicate: int = 0):
    """The page of one match."""
    page.selectbox(key="condition").select(condition).run()
    page.selectbox(key="replicate").select(replicate).run()
    assert not page.exception
    return page


def metrics(page) -> dict[str, str]:
    return {metric.label: metric.value for metric in page.metric}


def charts(page) -> list[str]:
    specs = [json.loads(chart.proto.spec) for chart in page.get("vega_lite_chart")]
    return [spec["mark"]["type"] for spec in specs]


def test_it_opens_on_the_table_of_all_conditions(view, run_dir):
    page = view(run_dir)
    assert not page.exception
    assert page.selectbox(key="condition").options == [
        "all conditions",
        "alld-tft",
        "script-tft",
        "refuses",
    ]
    table = page.table[0].value
    first, second, third = table.index
    assert first == "alld-tft"
    assert second == "script-tft (SIMULATED)"
    # DDDDDD against CDDDDD: 1 C of 12; 10 and 5 points in 6 rounds
    row = table.loc[first]
    assert row["complete"] == "2 of 2"
    assert row["share of C"] == "8%"
    assert row["points a round: A / B"] == "1.67 / 0.83"
    assert table.loc[third]["complete"] == "0 of 2"
    assert charts(page) == []


def test_a_match_shows_metrics_actions_and_points(view, run_dir):
    page = opened(view(run_dir), "alld-tft")
    assert metrics(page)["Rounds"] == "6"
    assert metrics(page)["Cooperation, both"] == "8%"
    assert charts(page) == ["rect", "line"]
    table = page.table[0].value
    assert table["A: ALLD"].tolist() == ["0%", "100%", "0%", "10", "1.67", "-5"]
    assert table["B: TFT"].tolist() == ["17%", "100%", "0%", "5", "0.83", "+5"]


def test_every_attempt_with_its_prompt_and_raw_answer(view, run_dir):
    page = opened(view(run_dir), "script-tft", 1)
    assert "SIMULATED" in page.warning[0].value
    page.selectbox(key="round").select(1).run()
    code = [element.value for element in page.code]
    assert "hm" in code
    assert any("could not be read" in each for each in code)
    assert any("repeat your last action" in each for each in code)


def test_a_refusal_is_shown_where_the_match_ended(view, run_dir):
    page = opened(view(run_dir), "refuses")
    assert any("Incomplete" in warning.value for warning in page.warning)
    assert [element.value for element in page.code].count(REFUSAL) == 3
    assert metrics(page)["Rounds"] == "1"


def test_a_run_that_is_still_being_written_or_has_no_manifest(view, run_dir):
    rounds = run_dir / "rounds.jsonl"
    rounds.write_bytes(rounds.read_bytes()[:1800])
    (run_dir / "run_manifest.json").unlink()
    page = view(run_dir)
    assert not page.exception
    assert any("torn" in warning.value for warning in page.warning)
    page = opened(page, "alld-tft")
    assert any("Partial" in warning.value for warning in page.warning)


def test_lines_with_the_minimum_fields(view, tmp_path):
    line = {
        "run_id": "r",
        "condition": "x",
        "replicate": 0,
        "round_index": 0,
        "agent_a_action": "C",
        "agent_b_action": "D",
        "agent_a_payoff": 0,
        "agent_b_payoff": 5,
        "agent_a_cum_payoff": 0,
        "agent_b_cum_payoff": 5,
    }
    (tmp_path / "rounds.jsonl").write_text(json.dumps(line) + "\n")
    page = opened(view(tmp_path), "x")
    assert charts(page) == ["rect", "line"]


def test_a_long_match_shows_a_window_of_it(view, experiment, pdbench):
    long = {"type": "fixed", "n": 2500}
    pdbench("run", experiment(pair("x", "TFT", "ALLD"), horizon=long))
    page = opened(view(RUN_DIR), "x")
    page.slider(key="first").set_value(2300).run()
    assert not page.exception
    assert metrics(page)["Rounds"] == "2500"


def test_it_reads_only(view, run_dir):
    before = {file: file.read_bytes() for file in run_dir.iterdir()}
    opened(view(run_dir), "script-tft")
    assert {file: file.read_bytes() for file in run_dir.iterdir()} == before


def test_the_committed_run_of_a_real_model(view, request):
    example = request.config.rootpath / "data/examples/local-smollm2"
    page = opened(view(example), "smollm2-vs-tft")
    assert "You choose C." in [element.value for element in page.code]
    assert not any("SIMULATED" in warning.value for warning in page.warning)
    rows = pd.read_parquet(example / "aggregates.parquet")
    assert not rows["simulated"].any()


@pytest.mark.parametrize("text", ["{]\n", "[]\n"])
def test_a_damaged_run_is_one_message(view, run_dir, text):
    (run_dir / "rounds.jsonl").write_text(text)
    page = view(run_dir)
    assert not page.exception
    assert len(page.error) == 1
    assert "line 1" in page.error[0].value

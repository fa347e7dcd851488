"""The viewer, by Streamlit's own means: every element it draws, without a browser."""

import json
import sys
import tomllib

import pytest

from conftest import pair
from pdbench.report import VERSION
from pdbench.report.colours import COLOURS
from pdbench.ui import theme
from support import manifest_changed, unfinished

testing = pytest.importorskip(
    "streamlit.testing.v1", reason="streamlit is not installed"
)
APP = "src/pdbench/ui/streamlit_app.py"


@pytest.fixture
def view(monkeypatch, request):
    app = str(request.config.rootpath / APP)

    def show(run_dir):
        monkeypatch.setattr(sys, "argv", ["streamlit_app.py", str(run_dir)])
        return testing.AppTest.from_file(app, default_timeout=600).run()

    return show


@pytest.fixture
def run_dir(experiment, pdbench, project):
    script = {
        "strategy": "script",
        "script": ["C", "<b>hm</b>", "D"],
        "persona": "wsls",
    }
    never = {
        "strategy": "script",
        "script": ["C", "*", "*", "*"],
        "label": "never|[x](y)",
    }
    path = experiment(
        [pair("alld-tft", "ALLD", "TFT"), pair("script-tft", script, "TFT"),
         pair("never-tft", never, "TFT")],
        run={"replicates": 2}, horizon={"type": "fixed", "n": 6},
    )  # fmt: skip
    pdbench("run", path)
    return project / "data/runs/test"


def metrics(page):
    return {m.label: m.value for m in page.metric}


def charts(page):
    """The marks of each chart on the page."""
    specs = [json.loads(x.proto.spec) for x in page.get("vega_lite_chart")]
    return [[layer["mark"]["type"] for layer in spec["layer"]] for spec in specs]


def opened(page, condition, replicate):
    """The page of one match."""
    page.selectbox(key="condition").select(condition).run()
    return page.selectbox(key="replicate").select(replicate).run()


def test_it_opens_on_an_overview_of_all_conditions(view, run_dir):
    page = view(run_dir)
    assert not page.exception
    assert not page.error
    assert page.selectbox(key="condition").options == [
        "all conditions",
        "alld-tft",
        "script-tft",
        "never-tft",
    ]
    table = page.dataframe[0].value
    assert table["Condition"].tolist() == ["alld-tft", "script-tft", "never-tft"]
    assert table["Complete / all matches"].tolist() == ["2 / 2", "2 / 2", "0 / 2"]
    # DDDDDD against CDDDDD: 1 C of 12, 10 and 5 points in 6 rounds
    first = table.iloc[0]
    assert (
        first["Cooperation, both"],
        first["Points a round, A"],
        first["Points a round, B"],
    ) == pytest.approx((100 / 12, 10 / 6, 5 / 6))
    assert charts(page) == []


def test_a_condition_shows_all_its_replicates(view, run_dir):
    page = view(run_dir)
    page.selectbox(key="condition").select("alld-tft").run()
    assert not page.exception
    assert page.selectbox(key="replicate").options == [
        "all replicates",
        "replicate 0",
        "replicate 1",
    ]
    assert charts(page) == [["area", "line"]]  # intervals and cooperation by round
    assert metrics(page) == {
        "Complete / all matches": "2 / 2",
        "Rounds a match": "6",
        "Cooperation, both": "8%",
    }
    table = page.table[0].value
    assert table["B: TFT"].tolist() == [
        "17%",
        "100%",
        "0%",
        "+5",
        "0.83",
    ]  # no interval: alike
    matches = page.dataframe[0].value
    assert matches["Replicate"].tolist() == [0, 1]
    assert matches["Points a round, A: ALLD"].tolist() == [10 / 6, 10 / 6]
    assert matches["Share of C, B: TFT"].tolist() == pytest.approx([100 / 6] * 2)
    assert not page.warning


def test_a_condition_counts_complete_matches_only(view, run_dir):
    page = view(run_dir)
    page.selectbox(key="condition").select("never-tft").run()
    assert not page.exception
    assert metrics(page)["Complete / all matches"] == "0 / 2"
    assert metrics(page)["Cooperation, both"] == "–"
    assert charts(page) == []
    assert page.dataframe[0].value["Status"].tolist() == ["incomplete"] * 2


def test_a_match_with_its_rounds_from_1(view, run_dir):
    page = opened(view(run_dir), "alld-tft", 0)
    # DDDDDD against CDDDDD: 1 C of 12 actions; 5+5 against 0+5 points
    assert metrics(page)["Rounds"] == "6"
    assert metrics(page)["Cooperation, both"] == "8%"
    assert charts(page) == [["rect"], ["line"]]
    table = page.table[0].value
    assert table["A: ALLD"].tolist() == ["0%", "100%", "0%", "−5", "10", "1.67"]
    actions = json.loads(page.get("vega_lite_chart")[0].proto.spec)
    rounds = [row["round"] for row in actions["layer"][0]["data"]["values"]]
    assert (min(rounds), max(rounds)) == (1, 6)


def test_another_condition_and_replicate(view, run_dir):
    page = opened(view(run_dir), "script-tft", 1)
    assert not page.exception
    assert page.header[0].value == "script-tft, replicate 1"
    assert "SIMULATED" in page.warning[0].value
    assert charts(page) == [["rect"], ["line"]]
    page.selectbox(key="condition").select("alld-tft").run()
    assert (
        page.header[0].value == "alld-tft"
    )  # another condition opens with all its replicates


def test_every_attempt_with_its_prompt_and_raw_answer(view, run_dir):
    page = opened(view(run_dir), "script-tft", 0)
    page.number_input(key="round").set_value(2).run()
    code = [c.value for c in page.code]
    assert "<b>hm</b>" in code
    assert "D" in code
    assert any(c.startswith("Round 2.") and "could not be read" in c for c in code)
    assert any("repeat your last action" in c for c in code)


def test_an_incomplete_match_says_so(view, run_dir):
    page = opened(view(run_dir), "never-tft", 0)
    assert not page.exception
    assert any("Incomplete" in w.value for w in page.warning)
    assert metrics(page)["Rounds"] == "1"


def test_a_run_that_is_still_being_written(view, run_dir):
    rounds = run_dir / "rounds.jsonl"
    whole = rounds.read_bytes()
    (run_dir / "aggregates.parquet").unlink()
    rounds.write_bytes(whole[:2000])
    manifest_changed(run_dir, unfinished("running"))
    page = view(run_dir)
    assert not page.exception
    assert page.dataframe[0].value["Complete / all matches"].tolist() == ["0 / 1"]
    page = opened(page, "alld-tft", 0)
    assert any("still being played" in w.value for w in page.warning)
    before = metrics(page)["Rounds"]
    rounds.write_bytes(whole)
    page.button[0].click().run()
    assert int(before) < 6 == int(metrics(page)["Rounds"])


def test_the_committed_run_of_a_real_model(view, request):
    page = view(request.config.rootpath / "data/examples/local-smollm2")
    assert not page.exception
    page = opened(page, "smollm2-vs-tft", 0)
    assert not page.exception  # a match without a single valid round
    assert metrics(page)["Rounds"] == "0"
    assert "You choose C." in [c.value for c in page.code]
    page = opened(page, "smollm2-choice-vs-tft", 0)
    assert not page.exception
    assert not any("SIMULATED" in w.value for w in page.warning)


def test_the_foot_names_version_seed_and_hashes(view, run_dir):
    manifest = json.loads((run_dir / "run_manifest.json").read_text())
    foot = view(run_dir).markdown[-1].value
    assert f"partly SIMULATED · cirrus-bench {VERSION} · seed 7" in foot
    assert f"configuration {manifest['config_sha256'][:12]}" in foot


def test_the_theme_is_the_reports():
    assert theme.CONFIG.read_text() == theme.config()
    for scheme in ("light", "dark"):
        own = tomllib.loads(theme.config())["theme"][scheme]
        assert own["backgroundColor"] == getattr(COLOURS["paper"], scheme)
        assert set(own) >= {"primaryColor", "textColor", "linkColor"}


def test_it_reads_only(view, run_dir):
    before = {f: (f.read_bytes(), f.stat().st_mtime_ns) for f in run_dir.iterdir()}
    view(run_dir)
    assert {
        f: (f.read_bytes(), f.stat().st_mtime_ns) for f in run_dir.iterdir()
    } == before


def test_no_round_yet(view, run_dir):
    (run_dir / "rounds.jsonl").unlink()
    page = view(run_dir)
    assert not page.exception
    assert page.info[0].value == "No round has been played yet."


@pytest.mark.parametrize("break_it", [
    lambda d: (d / "rounds.jsonl").write_text("{]\n"),
    lambda d: (d / "run_manifest.json").write_text("{}"),
    lambda d: (d / "run_manifest.json").unlink(),
])  # fmt: skip
def test_a_damaged_run_is_one_message(view, run_dir, break_it):
    break_it(run_dir)
    page = view(run_dir)
    assert not page.exception
    assert len(page.error) == 1

"""analyze.py on plans: which runs belong together, bad input, the files that are written."""

import json
import re
import shutil

import pytest
from conftest import ROOT, edit
from study_rows import plan

from cirrus.judge.rows import read_study
from cirrus.judge.study import analyse
from cirrus.reports import study as reports
from common import UsageError
from common.artifacts import sha256
from common.verify import find_runs
from show.document import markdown

EXAMPLE = ROOT / "results" / "examples" / "confirmatory"


def analysed(*folders):
    return analyse(read_study(find_runs(list(map(str, folders)))))


def established(out):
    return {gate["gate"]: gate["established"]["verdict"] for gate in out["gates"]}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return plan(tmp_path_factory.mktemp("small"), agents=4)


@pytest.fixture
def copy(small, tmp_path):
    return shutil.copytree(small, tmp_path / "confirmatory-s42")


# --- which runs --------------------------------------------------------------------------------

def refused(*folders):
    with pytest.raises(UsageError) as error:
        analysed(*folders)
    return str(error.value)


def test_a_damaged_artifact_is_named(copy):
    path = copy / "cvd-S.low-C.absent-H.low-s42" / "round_1_games.json"
    good = path.read_text()
    path.write_text(good[:-20])
    assert "round_1_games.json: not JSON" in refused(copy)
    path.write_text(good.replace('"PREEMPT"', '"COORDINATE"', 1))
    assert "round_1_games.json" in refused(copy) and "has hashed" in refused(copy)
    path.write_text(good.replace('"first_encounter":true', '"first_encounter":1', 1))
    assert "first_encounter" in refused(copy)
    path.unlink()
    assert "round_1_games.json" in refused(copy)


def test_an_unfinished_run_is_analysed_and_said_and_leaves_with_3(cli, copy):
    edit(copy / "cvd-S.low-C.absent-H.low-s42",
         lambda manifest: manifest.update(state="incomplete"))
    assert cli("analyze.py", copy).returncode == 3
    out = json.loads((copy / "acausal-analysis.json").read_text())
    assert "1 of 10 runs unfinished" in out["verdict"]["why"]
    assert "unfinished" in (copy / "acausal-summary.md").read_text()


def test_an_empty_cell_leaves_the_other_level_of_h(copy):
    shutil.rmtree(copy / "cvd-S.low-C.absent-H.low-s42")
    out = analysed(copy)
    assert out["as_specified"]["design"]["units"] == 4
    assert out["established"]["by_H"]["low"]["HP-LA"]["value"] is None
    assert out["as_specified"]["secondary"]["H"]["value"] is None
    assert any("cvd-S.low-C.absent-H.low-s42" in line for line in out["limits"])


def test_ablation_alone_has_no_primary_data(tmp_path):
    out = analysed(plan(tmp_path, name="ablated", tells="ablated", agents=2))
    assert any("No main runs" in line for line in out["limits"])
    assert "pass" not in established(out).values()
    markdown(reports.document(json.loads(json.dumps(out))))


def test_baselines_stay_out_of_the_primary_data(tmp_path):
    out = analysed(plan(tmp_path, "sim-coin", agents=2, baselines=["AlwaysC"]))
    assert out["design"]["decisions"] == 8 * 2  # of 2 agents with each other, 8 cells


# --- the script and its files ------------------------------------------------------------------

FILES = ["acausal-analysis.json", "acausal-summary.md", "report.html", "exports/decisions.csv",
         "exports/games.csv", "exports/policies.csv"]


def test_the_script_writes_beside_the_runs_the_same_bytes_each_time(cli, shell, copy, tmp_path):
    said = cli("analyze.py", copy)
    assert said.returncode == 0, said.stderr
    assert "SIMULATED" in said.stdout and len(said.stdout.splitlines()) <= 15
    first = {name: (copy / name).read_bytes() for name in FILES}
    again = shell("analyze.py", copy, "--out", tmp_path / "again", "--json",
                  env={"PYTHONHASHSEED": "7"})
    assert json.loads(again.stdout)["simulated"] is True
    assert all((tmp_path / "again" / name).read_bytes() == first[name] for name in FILES)
    assert all(str(tmp_path).encode() not in data for data in first.values())
    for name in ("acausal-analysis.json", "acausal-summary.md", "report.html"):
        assert b"SIMULATED" in first[name]
    assert cli("analyze.py", "--verify", copy).returncode == 0


def test_what_an_agent_wrote_is_text_in_the_report(cli, copy):
    run = copy / "cvd-S.low-C.absent-H.low-s42"
    poison(run, "strategies_r1.json", '"policy":"', "</pre><script>alert(1)</script>")
    poison(run, "round_1_games.json", '"text":"', "<img src=x onerror=alert(2)>")
    assert cli("analyze.py", copy).returncode == 0
    page = (copy / "report.html").read_text()
    assert r"\u003cscript>alert(1)" in page and r"\u003cimg src=x" in page
    assert "<script>alert(1)" not in page and "<img" not in page
    assert not re.search(r"""(?:src|href)=["']?http""", page)


def poison(run, name, before, words):
    """Foreign words in one artifact, its hash in the manifest with them."""
    path = run / name
    path.write_text(path.read_text().replace(before, before + words, 1))
    edit(run, lambda m: m["files"].update({name: sha256(path.read_bytes())}))


def test_a_page_that_would_grow_too_large_says_what_it_leaves_out(monkeypatch):
    """The committed example: ten runs of six agents and eight rounds; 60 policies of round 1."""
    out = json.loads((EXAMPLE / "acausal-analysis.json").read_text())
    study = read_study(find_runs([str(EXAMPLE)]))
    for most, rows in ((480, 480), (479, 60), (59, 59)):
        monkeypatch.setattr(reports, "MOST", most)
        trials = reports.document(out, study).trials
        assert len(trials.rows) == rows and ("too many here" in trials.note) is (rows < 480)

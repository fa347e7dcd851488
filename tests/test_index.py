"""results/index.html: every study with its state, whatever its folder holds."""

import json
import re
import shutil
from html import unescape
from urllib.parse import unquote

import pytest
from conftest import ROOT, edit
from study_rows import plan

EXAMPLES = ROOT / "results/examples"


@pytest.fixture
def results(tmp_path):
    """A folder with a copy of the committed pilot in it."""
    shutil.copytree(EXAMPLES / "pilot-smollm2", tmp_path / "results/pilot/real")
    return tmp_path / "results"


@pytest.fixture
def listed(cli, tmp_path):
    """listed() → the rows of the index of `results`, as their cells' words; and stdout."""

    def read():
        done = cli("analyze.py", "--index", "results")
        assert done.returncode == 0, done.stderr
        body = (tmp_path / "results/index.html").read_text().partition("<tbody>")[2]
        words = []
        for row in re.findall(r"<tr>(.*?)</tr>", body, re.S):
            cells = re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S)
            words.append([unescape(re.sub("<[^>]*>", "", cell)) for cell in cells])
        return words, done.stdout

    return read


def test_a_row_has_model_date_state_and_headline_and_real_runs_come_first(
    listed, results
):
    for name in ("urrp-smollm2", "calibration", "lever"):
        shutil.copytree(EXAMPLES / name, results / name)
    rows, _ = listed()
    names = ["pilot / real", "urrp-smollm2", "calibration", "lever"]
    assert [row[0] for row in rows] == names
    assert [row[3] for row in rows] == ["complete"] * 2 + ["complete SIMULATED"] * 2
    pilot, urrp, calibration, lever = rows
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", pilot[2]) and calibration[2] == "–"
    assert pilot[4].startswith("Not shown: symmetry and cue change cooperation")
    assert urrp[1] == "smollm2-135m" and lever[1].endswith(", sim-coin")
    assert re.match(r"\d+,\d{3} SIMULATED studies", calibration[4])


def stopped(manifest):
    ended = manifest["unproven"] | {"ended_by": "the limit of $3"}
    manifest.update(state="incomplete", unproven=ended)


@pytest.mark.parametrize(
    ("file", "change", "state", "why"),
    [
        ("manifest.json", "{", "damaged", "manifest.json: not JSON"),
        ("manifest.json", "[]", "damaged", "must be an object"),
        ("manifest.json", lambda m: m.pop("files"), "damaged", "files: is missing"),
        ("manifest.json", lambda m: m.update(more=1), "damaged", "unknown key 'more'"),
        ("pilot-analysis.json", "{}", "damaged", "KeyError: 'verdict'"),
        ("manifest.json", stopped, "incomplete", "the limit of $3: the command"),
    ],
)
def test_a_run_that_is_not_whole_is_listed_with_the_reason(
    results, listed, file, change, state, why
):
    run = results / "pilot/real"
    if isinstance(change, str):
        (run / file).write_text(change)
    else:
        edit(run, change)
    [row], stdout = listed()
    assert row[0] == "pilot / real" and row[3] == state and why in row[4]
    assert stdout == f"results/index.html: 1 {state}\n"


def test_a_study_is_one_row_with_its_runs_and_every_link_works_from_disk(
    results, listed, cli
):
    (results / "pilot/real").rename(results / "pilot/100% #1 'run'?")
    folder = plan(results, agents=3)
    (_, before), _ = listed()
    assert before[0] == folder.name and before[4].startswith("not analysed yet")
    assert cli("analyze.py", folder).returncode == 0
    (_, study), stdout = listed()
    assert study[1] == "sim-correlation" and study[3] == "complete SIMULATED"
    assert stdout.endswith(": 2 complete\n") and study[4] != before[4]
    page = (results / "index.html").read_text()
    links = re.findall(r'<a [^>]*href="([^#"][^"]*)"', page)
    assert len(links) == 2 and not any(":" in link for link in links)
    assert all((results / unquote(link)).is_file() for link in links)
    next(folder.glob("*/manifest.json")).write_text("{")
    (_, study), _ = listed()
    assert study[3] == "damaged SIMULATED" and "manifest.json: not JSON" in study[4]


def test_an_empty_folder_tells_what_to_run(listed, tmp_path):
    (tmp_path / "results").mkdir()
    _, stdout = listed()
    todo = "no run yet: make pilot, make tournament, make urrp"
    assert stdout == f"results/index.html: {todo}\n"
    assert todo in (tmp_path / "results/index.html").read_text()


def test_the_index_changes_no_run_and_is_the_same_bytes_each_time(results, cli):
    def held():
        return {path: path.read_bytes() for path in results.rglob("*.*")}

    before = held()
    done = cli("analyze.py", "--index", results, "--json")
    assert json.loads(done.stdout)["states"] == {"complete": 1}
    first = held()
    assert first == before | {results / "index.html": first[results / "index.html"]}
    cli("analyze.py", "--index", results)
    assert held() == first

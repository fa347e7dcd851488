"""results/index.html: every run with its state, whatever its folder holds."""

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
        page = (tmp_path / "results/index.html").read_text()
        rows = re.findall(r"<tr>(.*?)</tr>", page.partition("<tbody>")[2], re.S)
        cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S) for row in rows]
        words = [
            [unescape(re.sub("<[^>]*>", "", cell)) for cell in row] for row in cells
        ]
        return words, done

    return read


@pytest.mark.parametrize(
    ("name", "model", "date", "state", "found"),
    [
        (
            "pilot-smollm2",
            "smollm2-135m",
            r"20\d\d-\d\d-\d\d",
            "complete",
            "Not shown: symmetry and cue",
        ),
        (
            "urrp-smollm2",
            "smollm2-135m",
            r"20\d\d-\d\d-\d\d",
            "complete",
            "smollm2-135m is not evaluabl",
        ),
        ("calibration", "–", "–", "complete SIMULATED", "3,560 SIMULATED studies"),
    ],
)
def test_a_run_has_its_model_date_state_and_headline(
    listed, tmp_path, name, model, date, state, found
):
    shutil.copytree(EXAMPLES / name, tmp_path / "results" / name)
    [row], _ = listed()
    assert (row[0], row[1], row[3]) == (name, model, state)
    assert re.fullmatch(date, row[2]) and row[4].startswith(found)


@pytest.mark.parametrize(
    ("damage", "state", "why"),
    [
        (
            lambda run: (run / "manifest.json").write_text("{"),
            "damaged",
            "manifest.json: not JSON",
        ),
        (
            lambda run: (run / "manifest.json").write_text("[]"),
            "damaged",
            "must be an object",
        ),
        (
            lambda run: edit(run, lambda m: m.pop("files")),
            "damaged",
            "files: is missing",
        ),
        (
            lambda run: edit(run, lambda m: m.update(more=1)),
            "damaged",
            "unknown key 'more'",
        ),
        (
            lambda run: (run / "pilot-analysis.json").write_text("{}"),
            "damaged",
            "KeyError: 'verdict'",
        ),
        (
            lambda run: edit(
                run,
                lambda m: m.update(
                    state="incomplete",
                    unproven=m["unproven"] | {"ended_by": "the limit of $3"},
                ),
            ),
            "incomplete",
            "the limit of $3: the command",
        ),
    ],
)
def test_a_run_that_is_not_whole_is_listed_with_the_reason(
    results, listed, damage, state, why
):
    damage(results / "pilot/real")
    [row], done = listed()
    assert row[0] == "pilot / real" and row[3] == state and why in row[4]
    assert done.stdout == f"results/index.html: 1 {state}\n"


def test_an_analysis_is_a_row_above_its_runs_and_every_link_works_from_disk(
    results, listed, cli
):
    (results / "pilot/real").rename(results / "pilot/100% #1 'run'?")
    folder = plan(results, agents=3)
    rows, _ = listed()
    assert len(rows) == 10 + 1
    assert cli("analyze.py", folder).returncode == 0
    (study, *runs, _), done = listed()
    assert study[0] == folder.name and study[1:4] == [
        "–",
        "–",
        "complete SIMULATED",
    ]
    assert len(runs) == 10 and done.stdout.endswith(": 12 complete\n")
    page = (results / "index.html").read_text()
    links = re.findall(r'<a [^>]*href="([^#"][^"]*)"', page)
    assert len(links) == 1 + 10 + 1 and not any(":" in link for link in links)
    assert all((results / unquote(link)).is_file() for link in links)


def test_an_empty_folder_tells_what_to_run(listed, tmp_path):
    (tmp_path / "results").mkdir()
    _, done = listed()
    assert done.stdout == (
        "results/index.html: no run yet: make pilot, make tournament, make urrp\n"
    )
    assert "make pilot" in (tmp_path / "results/index.html").read_text()


def test_the_index_is_the_same_bytes_each_time_and_reads_only(results, cli):
    before = {path: path.read_bytes() for path in results.rglob("*") if path.is_file()}
    assert cli("analyze.py", "--index", results).returncode == 0
    first = (results / "index.html").read_bytes()
    done = cli("analyze.py", "--index", results, "--json")
    assert json.loads(done.stdout)["states"] == {"complete": 1}
    assert (results / "index.html").read_bytes() == first
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize(
    "flags", [("results", "results/pilot"), ("results", "--out", "o")]
)
def test_a_list_lies_in_the_one_folder_that_it_lists(results, cli, flags):
    done = cli("analyze.py", "--index", *flags)
    assert done.returncode == 2 and "--index: give one folder" in done.stderr

"""results/index.html: every run with its state, whatever its folder holds."""

import json
import re
import shutil
from urllib.parse import unquote

import pytest
from conftest import ROOT, edit
from study_rows import plan

import analyze
from show.html import page
from show.listing import entries, index, states

EXAMPLES = ROOT / "results/examples"


@pytest.fixture
def results(tmp_path):
    """A folder with a copy of the committed pilot in it."""
    shutil.copytree(EXAMPLES / "pilot-smollm2", tmp_path / "results/pilot/real")
    return tmp_path / "results"


def listed(*paths):
    return entries(paths, analyze.HEADLINES)


def page_of(runs, where):
    return page(index(runs, where, "0.1.0"))


@pytest.mark.parametrize(
    ("path", "entry", "note"),
    [
        (
            "results/examples/pilot-smollm2",
            ("pilot", "complete", False),
            "Not shown: symmetry and cue",
        ),
        (
            "results/examples/urrp-smollm2",
            ("urrp", "complete", False),
            "smollm2-135m is not evaluabl",
        ),
        ("results/examples/confirmatory", ("study", "complete", True), ""),
        ("results/examples/calibration", ("calibration", "complete", True), ""),
        (
            "pd-agents/data/examples",
            ("iterated PD", "incomplete", False),
            "16 of 18 matches ended without a valid answer",
        ),
    ],
)
def test_a_run_has_its_instrument_its_state_and_a_headline(path, entry, note):
    row = listed(ROOT / path)[0]
    assert (row.instrument, row.state, row.simulated) == entry
    assert row.note.startswith(note) and len(row.note) > 20


def manifest(**change):
    return lambda run: edit(run, lambda m: m.update(change))


@pytest.mark.parametrize(
    ("damage", "state", "why"),
    [
        (
            lambda run: (run / "manifest.json").write_text("{"),
            "damaged",
            "manifest.json: Expecting",
        ),
        (
            lambda run: (run / "manifest.json").write_text("[]"),
            "damaged",
            "not an object",
        ),
        (
            lambda run: edit(run, lambda m: m.pop("files")),
            "damaged",
            "KeyError: 'files'",
        ),
        (manifest(identity=None), "damaged", "AttributeError"),
        (manifest(files=3), "damaged", "TypeError"),
        (
            lambda run: (run / "manifest.json").unlink(),
            "damaged",
            "a journal without its manif",
        ),
        (
            lambda run: (run / "journal.jsonl.gz").unlink(),
            "damaged",
            "its journal is gone",
        ),
        (
            lambda run: (run / "trials.csv").unlink(),
            "damaged",
            "trials.csv is gone; the command",
        ),
        (
            lambda run: [
                (run / name).unlink() for name in ("report.html", "trials.csv")
            ],
            "damaged",
            "report.html and 1 more is gone",
        ),
        (
            lambda run: (run / "pilot-analysis.json").write_text("{}"),
            "damaged",
            "KeyError: 'verdict'",
        ),
        (
            manifest(state="running"),
            "incomplete",
            "running, or interrupted: the command that began it resumes it",
        ),
        (
            manifest(state="incomplete", unproven={"ended_by": "the limit of $3"}),
            "incomplete",
            "the limit of $3: the command",
        ),
    ],
)
def test_a_run_that_is_not_whole_is_listed_with_the_reason(results, damage, state, why):
    damage(results / "pilot/real")
    [entry] = listed(results)
    assert entry.state == state and why in entry.note
    assert "pilot / real" in page_of([entry], results)


def test_a_plan_is_a_row_above_its_runs_and_every_link_works_from_disk(results):
    folder = plan(results, agents=3)
    above, *runs = listed(folder)
    assert (above.instrument, above.state, above.note) == (
        "study",
        "complete",
        f"not analysed yet: analyze.py {folder.name}",
    )
    assert {(run.instrument, run.state, run.simulated) for run in runs} == {
        ("tournament", "complete", True)
    }
    assert len(runs) == 10 and states([above, *runs]) == {"complete": 10}
    (results / "pilot/real").rename(results / "pilot/100% #1 'run'?")
    links = re.findall(
        r'<a [^>]*href="([^#"][^"]*)"', page_of(listed(results), results)
    )
    assert len(links) == 1 + 10
    assert all(
        (results / unquote(link)).is_file() and ":" not in link for link in links
    )
    shutil.rmtree(folder / runs[0].path.name)
    above = listed(folder)[0]
    assert above.state == "incomplete" and above.note.startswith("1 run not begun")
    for text in ("null", '{"runs": [true]}'):
        (folder / "plan.json").write_text(text)
        assert listed(folder)[0].state == "damaged"


def test_an_empty_folder_tells_what_to_run(cli, tmp_path):
    (tmp_path / "results").mkdir()
    done = cli("analyze.py", "--index", "results")
    assert done.returncode == 0 and done.stdout == "results/index.html: no run yet\n"
    assert "make pilot" in (tmp_path / "results/index.html").read_text()


def test_the_index_is_the_same_bytes_each_time_and_reads_only(results, cli):
    before = {path: path.read_bytes() for path in results.rglob("*") if path.is_file()}
    assert cli("analyze.py", "--index", results).returncode == 0
    first = (results / "index.html").read_bytes()
    done = cli("analyze.py", "--index", results, "--json")
    assert json.loads(done.stdout)["states"] == {"complete": 1}
    assert (results / "index.html").read_bytes() == first
    assert {path: path.read_bytes() for path in before} == before

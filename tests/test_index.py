"""results/index.html: every run with its state, whatever its folder holds."""

import gzip
import json
import shutil
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from conftest import ROOT, edit

import analyze
from show.html import page
from show.listing import entries, states
from show.listing import index as document

PILOT = ROOT / "results/examples/pilot-smollm2"


@pytest.fixture
def results(tmp_path):
    """A folder with a copy of the committed pilot in it."""
    shutil.copytree(PILOT, tmp_path / "results/pilot/real")
    return tmp_path / "results"


def index(found, where):
    return page(document(found, where, "0.1.0"))


def only(results):
    [entry] = entries([results], analyze.HEADLINES)
    return entry


class Links(HTMLParser):
    def __init__(self, html):
        super().__init__()
        self.found = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.found += [value for name, value in attrs if name == "href" and tag == "a"]


def test_a_complete_run_with_what_was_found(results):
    entry = only(results)
    assert (entry.instrument, entry.state, entry.simulated) == ("pilot", "complete", False)
    assert entry.note.startswith("Not shown: symmetry and cue")
    assert entry.note in index([entry], results)


@pytest.mark.parametrize(("damage", "said"), [
    (lambda run: (run / "manifest.json").write_text("{"), "manifest.json: Expecting"),
    (lambda run: (run / "manifest.json").write_text("[]"), "not an object"),
    (lambda run: (run / "manifest.json").write_bytes(b"\xff\xfe"), "manifest.json: "),
    (lambda run: edit(run, lambda m: m.pop("files")), "KeyError: 'files'"),
    (lambda run: edit(run, lambda m: m.update(identity=None)), "AttributeError"),
    (lambda run: edit(run, lambda m: m.update(files=3)), "TypeError"),
    (lambda run: (run / "manifest.json").unlink(), "a journal without its manifest.json"),
    (lambda run: (run / "journal.jsonl.gz").unlink(), "its journal is gone"),
    (lambda run: (run / "trials.csv").unlink(), "trials.csv is gone; the command"),
    (lambda run: (run / "pilot-analysis.json").write_text("{}"), "KeyError: 'verdict'"),
])
def test_a_damaged_run_is_listed_with_the_reason(results, damage, said):
    damage(results / "pilot/real")
    entry = only(results)
    assert entry.state == "damaged" and said in entry.note
    assert "pilot / real" in index([entry], results)


@pytest.mark.parametrize(("change", "said"), [
    ({"state": "running"}, "running, or interrupted: the command that began it resumes it"),
    ({"state": "incomplete", "unproven": {"ended_by": "the limit of $3"}},
     "the limit of $3: the command"),
])
def test_an_unfinished_run_says_how_to_go_on(results, change, said):
    edit(results / "pilot/real", lambda m: m.update(change))
    entry = only(results)
    assert entry.state == "incomplete" and said in entry.note


@pytest.fixture(scope="module")
def plan_made(tmp_path_factory):
    from study_rows import plan
    return plan(tmp_path_factory.mktemp("plan"), agents=3)


@pytest.fixture
def plan_folder(plan_made, tmp_path):
    return shutil.copytree(plan_made, tmp_path / "acausal/confirmatory-s42")


def test_a_plan_is_a_row_above_its_runs(plan_folder):
    study, *runs = entries([plan_folder.parent], analyze.HEADLINES)
    assert (study.instrument, study.state) == ("study", "complete")
    assert study.note == f"not analysed yet: analyze.py {plan_folder.name}"
    assert {(run.instrument, run.state, run.simulated) for run in runs} == {
        ("tournament", "complete", True)}
    assert len(runs) == 10 and states([study, *runs]) == {"complete": 10}


def test_a_run_of_the_plan_that_is_not_begun(plan_folder):
    shutil.rmtree(min(plan_folder.glob("*/manifest.json")).parent)
    study = entries([plan_folder.parent], analyze.HEADLINES)[0]
    assert study.state == "incomplete" and study.note.startswith("1 run not begun")


def test_a_plan_file_that_is_none(plan_folder):
    (plan_folder / "plan.json").write_text("null")
    assert entries([plan_folder.parent], analyze.HEADLINES)[0].state == "damaged"


@pytest.mark.parametrize(("pack", "line", "told"), [
    (Path.write_bytes, b'{"provider": "up"}\n', ("2 trials", False)),
    (lambda path, made: path.with_suffix(".jsonl.gz").write_bytes(gzip.compress(made)),
     b'{"provider": "simulated"}\n', ("2 trials", True))])
def test_trials_in_a_file_by_itself(tmp_path, pack, line, told):
    pack(tmp_path / "my.jsonl", 2 * line)
    [file] = entries(list(tmp_path.iterdir()), {})
    assert (file.note, file.simulated) == told and file.state == "complete"


def test_the_verdict_of_a_collection_is_its_headline():
    [run] = entries([ROOT / "results/examples/urrp-smollm2"], analyze.HEADLINES)
    assert run.note.startswith("smollm2-135m is not evaluable: NEGATIVE_CONTROL")


def test_a_run_of_the_neighbour_project():
    [run] = entries([ROOT / "pd-agents/data/examples"], {})
    assert (run.instrument, run.state) == ("iterated PD", "incomplete")
    assert run.note == "16 of 18 matches ended without a valid answer"


def test_every_link_leads_to_a_file_and_works_from_disk(results, plan_folder):
    strange = results / "pilot/100% #1 'run'?"
    (results / "pilot/real").rename(strange)
    found = entries([results, plan_folder.parent], analyze.HEADLINES)
    links = [link for link in Links(index(found, results)).found if not link.startswith("#")]
    assert len(links) == 1 + 10
    assert all((results / unquote(link)).is_file() for link in links)
    assert not [link for link in links if ":" in link or link.startswith("/")]


def test_names_from_a_manifest_stay_text(results):
    evil = "<script>alert(1)</script>\x1b[31m"
    edit(results / "pilot/real", lambda m: (
        m.update(artifact=evil, state="incomplete", unproven={"ended_by": evil})))
    html = index(entries([results], {}), results)
    assert "<script>" not in html and "&lt;script&gt;alert" in html and "\x1b" not in html


def test_an_empty_folder_says_what_to_run(cli, tmp_path):
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


@pytest.mark.parametrize("flags", [("--index", "nowhere"), ("--index", "file.jsonl")])
def test_a_wrong_path_is_one_line(cli, tmp_path, flags):
    (tmp_path / "file.jsonl").write_text("{}\n")
    done = cli("analyze.py", *flags)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert flags[1] in done.stderr


def test_an_analysis_apart_from_its_runs_is_stamped_too():
    study = entries([ROOT / "results" / "examples" / "confirmatory"], {})[0]
    assert study.simulated and study.instrument == "study"

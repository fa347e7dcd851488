"""results/index.html: every run with its state, whatever its folder holds."""

import json
import shutil
from html.parser import HTMLParser
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


def page_of(found, where):
    return page(index(found, where, "0.1.0"))


class Links(HTMLParser):
    def __init__(self, html):
        super().__init__()
        self.targets = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.targets += [value for name, value in attrs if name == "href" and tag == "a"]


@pytest.mark.parametrize(("path", "instrument", "state", "simulated", "note"), [
    ("results/examples/pilot-smollm2", "pilot", "complete", False, "Not shown: symmetry and cue"),
    ("results/examples/urrp-smollm2", "urrp", "complete", False, "smollm2-135m is not evaluable"),
    ("results/examples/confirmatory", "study", "complete", True, ""),
    ("results/examples/calibration", "calibration", "complete", True, ""),
    ("pd-agents/data/examples", "iterated PD", "incomplete", False,
     "16 of 18 matches ended without a valid answer")])
def test_a_run_has_its_instrument_its_state_and_what_was_found(path, instrument, state, simulated,
                                                               note):
    entry = listed(ROOT / path)[0]
    assert (entry.instrument, entry.state, entry.simulated) == (instrument, state, simulated)
    assert entry.note.startswith(note) and len(entry.note) > 20


@pytest.mark.parametrize(("damage", "why"), [
    (lambda run: (run / "manifest.json").write_text("{"), "manifest.json: Expecting"),
    (lambda run: (run / "manifest.json").write_text("[]"), "not an object"),
    (lambda run: (run / "manifest.json").write_bytes(b"\xff\xfe"), "manifest.json: "),
    (lambda run: edit(run, lambda m: m.pop("files")), "KeyError: 'files'"),
    (lambda run: edit(run, lambda m: m.update(identity=None)), "AttributeError"),
    (lambda run: edit(run, lambda m: m.update(files=3)), "TypeError"),
    (lambda run: (run / "manifest.json").unlink(), "a journal without its manifest.json"),
    (lambda run: (run / "journal.jsonl.gz").unlink(), "its journal is gone"),
    (lambda run: (run / "trials.csv").unlink(), "trials.csv is gone; the command"),
    (lambda run: (run / "pilot-analysis.json").write_text("{}"), "KeyError: 'verdict'")])
def test_a_damaged_run_is_listed_with_the_reason(results, damage, why):
    damage(results / "pilot/real")
    [entry] = listed(results)
    assert entry.state == "damaged" and why in entry.note
    assert "pilot / real" in page_of([entry], results)


@pytest.mark.parametrize(("change", "note"), [
    ({"state": "running"}, "running, or interrupted: the command that began it resumes it"),
    ({"state": "incomplete", "unproven": {"ended_by": "the limit of $3"}},
     "the limit of $3: the command")])
def test_an_unfinished_run_tells_how_to_go_on(results, change, note):
    edit(results / "pilot/real", lambda m: m.update(change))
    [entry] = listed(results)
    assert entry.state == "incomplete" and note in entry.note


@pytest.fixture(scope="module")
def plan_made(tmp_path_factory):
    return plan(tmp_path_factory.mktemp("plan"), agents=3)


@pytest.fixture
def plan_folder(plan_made, tmp_path):
    return shutil.copytree(plan_made, tmp_path / "acausal/confirmatory-s42")


def test_a_plan_is_a_row_above_its_runs(plan_folder):
    study, *runs = listed(plan_folder.parent)
    assert (study.instrument, study.state) == ("study", "complete")
    assert study.note == f"not analysed yet: analyze.py {plan_folder.name}"
    assert {(run.instrument, run.state, run.simulated) for run in runs} == {
        ("tournament", "complete", True)}
    assert len(runs) == 10 and states([study, *runs]) == {"complete": 10}
    shutil.rmtree(plan_folder / runs[0].path.name)
    study = listed(plan_folder.parent)[0]
    assert study.state == "incomplete" and study.note.startswith("1 run not begun")
    (plan_folder / "plan.json").write_text("null")
    assert listed(plan_folder.parent)[0].state == "damaged"


def test_every_link_leads_to_a_file_and_works_from_disk(results, plan_folder):
    (results / "pilot/real").rename(results / "pilot/100% #1 'run'?")
    html = page_of(listed(results, plan_folder.parent), results)
    links = [link for link in Links(html).targets if not link.startswith("#")]
    assert len(links) == 1 + 10 and all((results / unquote(link)).is_file() for link in links)
    assert not [link for link in links if ":" in link or link.startswith("/")]


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


@pytest.mark.parametrize("path", ["nowhere", "file.jsonl"])
def test_a_wrong_path_ends_with_a_line_that_names_it(cli, tmp_path, path):
    (tmp_path / "file.jsonl").write_text("{}\n")
    done = cli("analyze.py", "--index", path)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and path in done.stderr

"""analyze.py on pilots: derive again, from the journal alone; and the committed real run."""

import json
import shutil
from functools import partial

import pytest
from conftest import ROOT, ended, run_in

from common.artifacts import read_bytes

EXAMPLE = ROOT / "results" / "examples" / "pilot-smollm2"


run = partial(ended, ROOT)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    out = tmp_path_factory.mktemp("made")
    assert run("run_pilot.py", "--provider", "simulated", "--runs", 3, "--out", out).returncode == 0
    return run_in(out)


@pytest.fixture
def copy(made, tmp_path):
    return shutil.copytree(made, tmp_path / "copy")


def test_an_unfinished_pilot_is_analysed_and_said_to_be_unfinished(copy):
    manifest = json.loads((copy / "manifest.json").read_text())
    (copy / "manifest.json").write_text(json.dumps(manifest | {"state": "incomplete"}))
    said = run("analyze.py", copy)
    assert said.returncode == 3 and "1 of 1 runs are unfinished" in said.stderr


def test_out_leaves_the_run_as_it_is(made, copy, tmp_path):
    before = {path.name: path.read_bytes() for path in copy.iterdir()}
    assert run("analyze.py", copy, "--out", tmp_path / "again").returncode == 0
    assert {path.name: path.read_bytes() for path in copy.iterdir()} == before
    assert (tmp_path / "again" / "copy" / "report.html").read_bytes() == before["report.html"]


def test_a_folder_without_a_run_is_one_clear_line(tmp_path):
    said = run("analyze.py", tmp_path)
    assert said.returncode == 2 and said.stderr.count("\n") == 1 and "manifest.json" in said.stderr


def test_the_committed_real_run_is_real_and_as_it_was():
    """The figures the README quotes; the served model is named by the server itself."""
    rows = [json.loads(line) for line in read_bytes(EXAMPLE / "trials.jsonl.gz").splitlines()]
    assert len(rows) == 160 and {row["served_model"] for row in rows} == {"smollm2-135m"}
    assert {(row["status"], row["cost_usd"]) for row in rows} == {("ok", None)}
    first = [row["cooperates"] == (row["order"] == "cooperative-first") for row in rows]
    assert sum(first) == 113   # of 160 take the option that is shown first


def test_mixed_kinds_of_runs_are_refused(copy):
    manifest = json.loads((copy / "manifest.json").read_text())
    other = copy.parent / "other"
    other.mkdir()
    (other / "manifest.json").write_text(json.dumps(manifest | {"artifact": "something else"}))
    said = run("analyze.py", copy, other)
    assert said.returncode == 2 and said.stderr.count("\n") == 1


def test_figures_are_of_one_pilot_and_a_seed_has_at_most_nine_digits(cli, tmp_path):
    for seed in ("1", "2"):
        cli("run_pilot.py", "--models", "sim-coin", "--runs", "1", "--out", "p", "--seed", seed)
    done = cli("analyze.py", "p", "--figures", "f")
    assert done.returncode == 2 and "2 pilots have figures of the same names" in done.stderr
    for seed, words in (("999999999", "pilots have no policies"), ("1000000000", "--seed")):
        done = cli("analyze.py", "p", "--export-ratings", "s.csv", "--seed", seed)
        assert done.returncode == 2 and words in done.stderr

"""analyze.py on pilots: derive again, from the journal alone; and the committed real run."""

import json
import shutil

import pytest
from conftest import ROOT, edit, ended, run_in

from common.artifacts import read_bytes


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    out = tmp_path_factory.mktemp("made")
    assert ended(out, "run_pilot.py", "--models", "sim-coin", "--runs", 2,
                 "--out", "o").returncode == 0
    return run_in(out / "o")


@pytest.fixture
def copy(made, tmp_path):
    return shutil.copytree(made, tmp_path / "copy")


def test_an_unfinished_pilot_is_analysed_and_said_to_be_unfinished(cli, copy):
    edit(copy, lambda manifest: manifest.update(state="incomplete"))
    done = cli("analyze.py", copy)
    assert done.returncode == 3 and "1 of 1 runs are unfinished" in done.stderr


def test_out_leaves_the_run_as_it_is(cli, copy, tmp_path):
    before = {path.name: path.read_bytes() for path in copy.iterdir()}
    assert cli("analyze.py", copy, "--out", "again").returncode == 0
    assert {path.name: path.read_bytes() for path in copy.iterdir()} == before
    assert (tmp_path / "again/copy/report.html").read_bytes() == before["report.html"]


def test_the_committed_real_run_is_real_and_as_it_was():
    """The figures the README quotes; the served model is named by the server itself."""
    rows = list(map(json.loads, read_bytes(
        ROOT / "results/examples/pilot-smollm2/trials.jsonl.gz").splitlines()))
    assert len(rows) == 160 and {row["served_model"] for row in rows} == {"smollm2-135m"}
    assert {(row["status"], row["cost_usd"]) for row in rows} == {("ok", None)}
    first = [row["cooperates"] == (row["order"] == "cooperative-first") for row in rows]
    assert sum(first) == 113   # of 160 take the option that is shown first


def test_what_can_not_be_analysed_together_is_refused_in_one_line(cli, copy, tmp_path):
    other = shutil.copytree(copy, tmp_path / "other")
    (tmp_path / "empty").mkdir()
    for flags, words in (((copy, other, "--figures", "f"), "2 pilots have figures"),
                         (("empty",), "manifest.json"),
                         ((copy, "--export-ratings", "s.csv"), "pilots have no policies")):
        done = cli("analyze.py", *flags)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1) and words in done.stderr
    edit(other, lambda manifest: manifest.update(artifact="something else"))
    assert "analyse them apart" in cli("analyze.py", copy, other).stderr


@pytest.mark.parametrize(("seed", "refused"), [("999999999", False), ("1000000000", True)])
def test_a_seed_has_at_most_nine_digits(cli, copy, seed, refused):
    done = cli("analyze.py", copy, "--export-ratings", "s.csv", "--seed", seed)
    assert done.returncode == 2 and ("--seed" in done.stderr) is refused

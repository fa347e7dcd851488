"""`analyze.py --verify`: passes on what follows from its journal, names what does not."""

import json
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT, ended

from common.artifacts import gzip_bytes, read_bytes
from common.verify import first_difference

RUN = "o/cvd-S.high-C.present-H.high-s42"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with one run of each instrument."""
    folder = tmp_path_factory.mktemp("made")
    for flags in (["run_tournament.py", "--agents", "3", "--rounds", "2", "--out", "o",
                   "--run-id", RUN[2:]],
                  ["run_pilot.py", "--runs", "2", "--models", "coin", "--out", "p",
                   "--run-id", "pilot-s42"]):
        assert ended(folder, *flags).returncode == 0
    return folder


@pytest.fixture
def copy(made, tmp_path):
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


def verify(cli, *runs):
    return cli("analyze.py", "--verify", *runs)


def edited(path, change):
    """Rewrite a file, packed as this project packs where it is packed."""
    data = change(read_bytes(path))
    path.write_bytes(gzip_bytes(data) if path.suffix == ".gz" else data)


def test_runs_of_both_instruments_follow_from_their_journals(cli, copy):
    done = verify(cli, ".")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 2 and all(line.startswith("verified ") for line in lines)
    assert all("SIMULATED" in line for line in lines)


def test_runs_verify_after_the_project_s_prompts_have_changed(made, tmp_path):
    changed = tmp_path / "project"
    for name in ("cirrus", "common", "show", "stats", "urrp", "prompts", "results"):
        shutil.copytree(ROOT / name, changed / name)
    shutil.copy(ROOT / "analyze.py", changed)
    for path in (changed / "prompts").rglob("round_*.md"):
        path.write_text("all new", "utf-8")
    for path in (changed / "prompts").rglob("frame.json"):
        path.write_text("{}", "utf-8")
    done = subprocess.run([sys.executable, changed / "analyze.py", "--verify", made,
                           changed / "results"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("old", "new"), [
    (b"round_1.md", b"round_99.md"), (b"\\n", b" "), (b'{', b'[')])
def test_a_kept_prompt_that_is_not_the_run_s_is_named(cli, copy, old, new):
    edited(copy / RUN / "prompts.json", lambda data: data.replace(old, new, 1))
    assert "FAILED" in (said := verify(cli, "o").stdout) and "prompts.json: " in said


def test_nothing_is_written_and_nothing_asked(cli, copy):
    before = {path: path.stat().st_mtime_ns for path in copy.rglob("*")}
    verify(cli, "o", "p")
    assert {path: path.stat().st_mtime_ns for path in copy.rglob("*")} == before


@pytest.mark.parametrize(("name", "old", "new", "said"), [
    ("strategies_r2.json", b'"policy":"', b'"policy":" ', "line"),
    ("round_1_games.json", b'"parse_status":"ok"', b'"parse_status":"no"', "expected 'ok"),
    ("round_2_games.json", b'"raw_payoffs"', b'"raw_payoff5"', "first difference"),
    ("acausal_manifest.json", b'"simulated": true', b'"simulated": false', "expected 'true"),
])
def test_an_edited_artifact_is_named_with_its_first_difference(cli, copy, name, old, new, said):
    edited(copy / RUN / name, lambda data: data.replace(old, new, 1))
    done = verify(cli, "o")
    assert done.returncode == 2
    line = done.stdout.splitlines()[0]
    assert line.startswith("FAILED") and f"{name}: first difference in line" in line
    assert said in line


def test_an_edited_transcript_is_named(cli, copy):
    path = next((copy / RUN / "transcripts/r1").iterdir())
    edited(path, lambda data: data.replace(b"Decision", b"decision", 1))
    assert f"transcripts/r1/{path.name}: first difference in line" in verify(cli, "o").stdout


@pytest.mark.parametrize("name", ["round_1_games.json", "acausal_manifest.json"])
def test_a_missing_artifact_is_named(cli, copy, name):
    (copy / RUN / name).unlink()
    done = verify(cli, "o")
    assert done.returncode == 2 and f"{name}: can't be read" in done.stdout


def test_an_artifact_too_many_is_named(cli, copy):
    shutil.copy(copy / RUN / "round_1_games.json", copy / RUN / "round_3_games.json")
    assert "round_3_games.json: does not follow from the journal" in verify(cli, "o").stdout


def test_json_says_the_same(cli, copy):
    edited(copy / RUN / "strategies_r1.json",
           lambda data: data.replace(b'"policy":"', b'"policy":" ', 1))
    done = cli("analyze.py", "--verify", "--json", "o", "p")
    verdicts = json.loads(done.stdout)["runs"]
    assert [verdict["ok"] for verdict in verdicts] == [False, True]
    assert "strategies_r1.json" in verdicts[0]["problems"][0]


@pytest.mark.parametrize("path", ["nowhere", "empty"])
def test_a_folder_without_runs_is_wrong_usage(cli, tmp_path, path):
    (tmp_path / "empty").mkdir()
    done = verify(cli, path)
    assert done.returncode == 2 and "no run here" in done.stderr and done.stdout == ""


@pytest.mark.parametrize(("expected", "found", "where"), [
    (b"abc\ndef\n", b"abc\ndxf\n", "line 2, column 2: expected 'ef', found 'xf'"),
    (b"abc", b"abcd", "line 1, column 4: expected the end of the file, found 'd'"),
    (b"abc\n", b"", "line 1, column 1: expected 'abc', found the end of the file")])
def test_first_difference(expected, found, where):
    assert first_difference(expected, found) == f"first difference in {where}"

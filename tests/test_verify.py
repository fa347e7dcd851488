"""`analyze.py --verify` on what the scripts write, as a user meets it: whole, cut, mixed, moved.

What is changed inside a run's folder: reliability/test_tampering.py.
"""

import gzip
import json
import lzma
import shutil
import tarfile

import pytest
from conftest import ROOT, edit, ended, packed, run_in

EXAMPLES = ROOT / "results" / "examples"
PLAN = "run_tournament.py --agents 2 --rounds 1 --models sim-coin --out results/plans"
PILOT = "run_pilot.py --models sim-coin --runs 1 --out results/pilots"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A plan of 16 runs, two of four, and two one-shot studies."""
    out = tmp_path_factory.mktemp("made")
    (out / "other.json").write_text(json.dumps({"tells": "ablated"}))
    for command in (
        f"{PLAN} --plan exploratory --seeds 7",
        f"{PLAN} --plan 2x2 --analyze",
        f"{PLAN} --plan 2x2 --seeds 7 --config other.json",
        f"{PILOT} --run-id one",
        f"{PILOT} --run-id two --seed 43",
    ):
        done = ended(out, *command.split())
        assert done.returncode == 0, done.stderr
    return out


PLANS = [("exploratory-s7*", 16), ("2x2-s42*", 4), ("2x2-s7*", 4)]


@pytest.fixture
def here(made, tmp_path):
    """The folder `results` of a copy."""
    shutil.copytree(made, tmp_path / "here")
    return tmp_path / "here/results"


def verified(folder, *flags):
    """(exit code, stdout, stderr), of the folder as one names it who stands beside it."""
    done = ended(folder.parent, "analyze.py", "--verify", *flags, folder.name)
    return done.returncode, done.stdout, done.stderr


# --- which runs belong to a study --------------------------------------------------------------


@pytest.mark.parametrize(("pattern", "size"), PLANS)
def test_runs_that_were_taken_away_with_their_names_are_named(here, pattern, size):
    [folder] = here.glob(f"plans/{pattern}")
    runs = sorted(path.parent for path in folder.glob("*/manifest.json"))
    gone, left = runs[: size // 4], runs[size // 4 :]
    for run in gone:
        shutil.rmtree(run)
    names = [run.name for run in left]
    edit(folder, lambda plan: plan.update(runs=names), "plan.json")
    assert ended(here, "analyze.py", folder).returncode == 0
    code, said, _ = verified(folder)
    assert len(runs) == size and code == 2, said
    assert f"{len(gone)} of {size} runs" in said
    assert all(run.name in said for run in gone)
    out = json.loads((folder / "acausal-analysis.json").read_text())
    assert f"{len(gone)} of {size} runs of {folder.name}" in out["limits"][0]


def test_runs_of_a_plan_without_their_plan_are_not_called_whole(here):
    [folder] = here.glob("plans/exploratory-s7*")
    shutil.rmtree(min(path for path in folder.iterdir() if path.is_dir()))
    (folder / "plan.json").unlink()
    code, said, _ = verified(folder)
    assert code == 2 and "plan.json: gone" in said


KILLER = """
import os, signal

def killer(request, rng):
    if "S.low" in request.id and request.stage == "decision":
        os.kill(os.getpid(), signal.SIGKILL)
    return "Decision: none"

RESPONDENTS = {"killer": killer}
"""


def test_a_plan_with_a_run_that_was_killed_is_unfinished_and_not_damaged(
    shell, tmp_path
):
    (tmp_path / "mine.py").write_text(KILLER)
    size = ("--plan", "2x2", "--agents", 2, "--rounds", 1, "--out", "o")
    done = shell("run_tournament.py", *size, "--models", "mine.py:killer")
    assert done.returncode == -9
    code, said, _ = verified(tmp_path / "o")
    assert code == 3 and "FAILED" not in said, said


# --- analyses that lie elsewhere ---------------------------------------------------------------


@pytest.mark.parametrize(
    "runs",
    [
        ["pilots/one", "pilots/two"],
        ["pilots/one"],
        ["plans/exploratory-s7*", "plans/2x2-s42*"],
        ["plans/exploratory-s7*/cvd-S.high-C.present-H.low-s7"],
    ],
)
def test_what_out_wrote_is_verified_by_the_runs_that_it_names(here, runs):
    paths = [min(here.glob(pattern)) for pattern in runs]
    done = ended(here, "analyze.py", *paths, "--out", "both")
    assert done.returncode == 0, done.stderr
    code, said, errors = verified(here)
    assert code == 0 and "both" in said, said + errors
    page = max((here / "both").rglob("report.html"))
    page.write_text(page.read_text().replace("SIMULATED", "MEASURED"))
    code, said, _ = verified(here)
    assert code == 2 and "report.html: first difference" in said


def test_out_beside_the_runs_is_the_run_s_own_folder_and_no_other_run_s(here):
    done = ended(here, "analyze.py", "pilots/one", "--out", "pilots")
    code, _, _ = verified(here / "pilots")
    assert (done.returncode, code) == (0, 0)
    (here / "other").mkdir()
    shutil.copytree(here / "pilots/two", here / "other/one")
    done = ended(here, "analyze.py", "pilots/one", "--out", "other")
    assert done.returncode == 2 and "other/one: a run's own folder" in done.stderr


@pytest.mark.parametrize(
    ("runs", "file"),
    [
        (["pilots/one", "pilots/two"], "trials.csv"),
        (["plans/2x2-s42*/"], "round_1_games.json"),
    ],
)
def test_an_analysis_falls_with_a_run_that_it_names(here, runs, file):
    paths = [min(here.glob(pattern)) for pattern in runs]
    ended(here, "analyze.py", *paths, "--out", "both")
    named = min(here.glob(f"{runs[0]}/**/{file}"))
    text = named.read_text()
    named.write_text(text + "\n")
    code, said, _ = verified(here)
    assert code == 2 and f"{file}: first difference" in said
    named.write_text(text)
    assert verified(here)[0] == 0
    shutil.rmtree(named.parent)
    code, said, _ = verified(here)
    assert code == 2 and f"{named.parent.name}, which is not here" in said


def test_an_analysis_of_the_same_answers_has_the_same_bytes_at_another_time(
    here, tmp_path
):
    [first] = here.glob("plans/2x2-s42*")
    command = f"{PLAN} --plan 2x2 --analyze"
    assert ended(tmp_path, *command.split()).returncode == 0
    [second] = tmp_path.glob("results/plans/2x2-s42*")
    heads, roots = set(), set()
    for folder in (first, second):
        text = (min(folder.glob("cvd*")) / "manifest.json").read_text()
        heads.add(json.loads(text)["journal"]["head_sha256"])
        roots.add(json.loads(text)["merkle_root"])
    assert (len(heads), len(roots)) == (2, 1)
    for name in ("acausal-analysis.json", "acausal-summary.md", "report.html"):
        assert (first / name).read_bytes() == (second / name).read_bytes()


# --- what belongs to nothing -------------------------------------------------------------------


@pytest.mark.parametrize("place", ["pilots", "plans/2x2-s42*", "plans/2x2-s42*/cvd*"])
def test_a_stray_file_is_a_line_and_its_advice_destroys_nothing(here, place):
    ended(here, "analyze.py", "--index", place.partition("/")[0])
    (min(here.glob(place)) / "notes.txt").write_text("a thought")
    code, said, errors = verified(here)
    faults = [line for line in said.splitlines() if line.startswith("FAILED")]
    [line] = [line for line in (said + errors).splitlines() if "notes.txt" in line]
    assert (code, faults) == (2, [line]) and "move it away" in line


def test_what_a_file_browser_leaves_is_a_note(here):
    (here / "pilots/one/.DS_Store").write_bytes(b"\0\0\0\1Bud1")
    code, said, errors = verified(here)
    [line] = [line for line in errors.splitlines() if "DS_Store" in line]
    assert code == 0 and line.startswith("note: ") and "DS_Store" not in said


# --- what is printed ---------------------------------------------------------------------------


def test_every_folder_is_a_line_and_a_last_one_counts_them(here):
    every = len(list(here.rglob("manifest.json"))) + 3  # and the three plans
    code, said, _ = verified(here)
    *lines, last = said.splitlines()
    assert code == 0 and len(lines) == every
    assert all(line.startswith("verified ") for line in lines)
    assert last == f"{every} folders: {every} verified ({every} SIMULATED), 0 failed"
    edit(here / "pilots/one", lambda manifest: manifest.update(files={}))
    min(here.glob("plans/2x2-s42*/report.html")).write_text("<p>100%")
    code, said, errors = verified(here)
    assert code == 2 and said.endswith(", 2 failed\n") and "2 of" in errors


def test_an_unfinished_run_may_have_a_packed_journal(cli, double, tmp_path):
    """So it is where a design has grown a cell since the run was complete."""
    double.script(faults=[{"fault": "402", "skip": 4}])
    where = ("--base-url", double.url, "--models", "double/a", "--out", "o")
    assert cli("run_pilot.py", *where, "--runs", 1).returncode == 5
    plain = run_in(tmp_path / "o") / "journal.jsonl"
    plain.with_suffix(".jsonl.gz").write_bytes(packed(plain.read_bytes()))
    plain.unlink()
    done = cli("analyze.py", "--verify", "o")
    assert done.returncode == 3 and "move it away" not in done.stdout + done.stderr


def test_an_empty_folder_and_a_torn_journal_are_named(cli, double, tmp_path):
    double.script(faults=[{"fault": "402", "skip": 4}])
    where = ("--base-url", double.url, "--models", "double/a", "--out", "o")
    assert cli("run_pilot.py", *where, "--runs", 1).returncode == 5
    run = run_in(tmp_path / "o")
    assert cli("analyze.py", "--verify", "o").returncode == 3  # unfinished, no fault
    (run / "more").mkdir()
    done = cli("analyze.py", "--verify", "o")
    assert done.returncode == 2 and "more: an empty folder" in done.stdout
    (run / "more").rmdir()
    with (run / "journal.jsonl").open("ab") as journal:
        journal.write(b'{"prev":')
    done = cli("analyze.py", "--verify", "o")
    assert done.returncode == 2 and "its last line is not whole" in done.stdout


def pack(folder, run, more=None):
    """A folder with a packed run, and one more member."""
    folder.mkdir()
    with tarfile.open(folder / "study.tar.xz", "w:xz") as archive:
        archive.add(run, run.name)
        if more:
            archive.addfile(more)


def test_a_packed_study_is_verified_as_if_it_were_unpacked(tmp_path):
    shutil.copytree(EXAMPLES / "history-off", tmp_path / "run")
    pack(tmp_path / "whole", tmp_path / "run")
    (tmp_path / "whole/report.html").write_text("its page, of another day")
    code, said, _ = verified(tmp_path / "whole")
    assert code == 0 and "SIMULATED packed study (unproven: report.html)" in said
    games = tmp_path / "run/round_2_games.json"
    games.write_text(games.read_text("utf-8").replace("PREEMPT", "COORDINATE", 1))
    pack(tmp_path / "changed", tmp_path / "run")
    code, said, _ = verified(tmp_path / "changed")
    assert code == 2 and "study.tar.xz: run: round_2_games.json: " in said


TWICE = "history-off/round_1_games.json"


@pytest.mark.parametrize(
    ("name", "words"),
    [("link", "no plain file"), ("../outside", "no plain file"), (TWICE, "twice")],
)
def test_a_packed_study_holds_plain_files_below_it_each_once(tmp_path, name, words):
    more = tarfile.TarInfo(name)
    if name == "link":
        more.type, more.linkname = tarfile.SYMTYPE, "/etc/hostname"
    pack(tmp_path / "packed", EXAMPLES / "history-off", more)
    code, said, _ = verified(tmp_path / "packed")
    assert code == 2 and f"study.tar.xz: {name}: {words}" in said


def hidden(tar):
    return lzma.compress(lzma.decompress(tar) + b"more")


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda tar: tar[:-1000], "its end is missing"),
        (lambda tar: tar + b"more", "more follows its end"),
        (lambda tar: tar + tar, "more follows its end"),
        (hidden, "more follows the end of the archive"),
        (lambda tar: b"no archive", "can't be unpacked"),
    ],
)
def test_a_damaged_archive_is_a_line(tmp_path, damage, words):
    pack(tmp_path / "packed", EXAMPLES / "history-off")
    archive = tmp_path / "packed/study.tar.xz"
    archive.write_bytes(damage(archive.read_bytes()))
    code, said, _ = verified(tmp_path / "packed")
    assert code == 2 and words in said and said.count("\n") == 1


def test_a_manifest_of_version_0_1_verifies(cli, tmp_path):
    assert cli("run_pilot.py", "--runs", 1, "--out", "o").returncode == 0

    def as_then(manifest):
        del manifest["adapted"], manifest["set_aside"]

    edit(run_in(tmp_path / "o"), as_then)
    assert cli("analyze.py", "--verify", "o").returncode == 0


# --- runs of an earlier version ------------------------------------------------------------------

OLDER = "asked with the texts of an earlier version"


@pytest.fixture
def older(tmp_path):
    old = ROOT / "tests/data/older-lever-smollm2"
    return shutil.copytree(old, tmp_path / "older")


def test_a_run_with_older_texts_is_verified_as_it_stands_and_not_judged(cli, older):
    done = cli("analyze.py", "--verify", older)
    assert done.returncode == 0, done.stderr
    assert "verified" in done.stdout and OLDER in " ".join(done.stderr.split())
    judged = cli("analyze.py", older)
    assert (judged.returncode, judged.stderr.count("\n")) == (2, 1)
    assert OLDER in judged.stderr


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        (lambda run: (run / "report.html").write_text("x"), "report.html: not the"),
        (lambda run: (run / "trials.csv").unlink(), "trials.csv: gone"),
        (lambda run: (run / "more.txt").write_text("x"), "more.txt: of no run"),
        (lambda run: forged(run / "journal.jsonl.gz"), "journal"),
    ],
)
def test_what_was_changed_in_an_older_run_is_named(cli, older, damage, named):
    damage(older)
    done = cli("analyze.py", "--verify", older)
    assert done.returncode == 2 and named in done.stdout + done.stderr


def forged(journal):
    """Another word in an answer of a journal, packed as ours are."""
    text = gzip.decompress(journal.read_bytes())
    assert b"COORDINATE" in text
    forged = text.replace(b"Decision: COORDINATE", b"Decision: PREEMPT", 1)
    journal.write_bytes(packed(forged))

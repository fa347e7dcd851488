"""Bad input: one clear line that says what and where, the right exit code, nothing half-written."""

import json
import resource
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT, clean_environment, run_in

PILOT = "run_pilot.py"
SMALL = ("--models", "coin", "--runs", "12", "--out", "o")
HALF = 100_000  # bytes: more than the prompts of a run, less than its journal


def one_line(run, code, *words):
    """The run ended with `code` and one line on stderr that holds `words`."""
    complaints = [line for line in run.stderr.splitlines() if not line.startswith("progress ")]
    assert (run.returncode, len(complaints)) == (code, 1), run.stderr
    assert complaints[0].startswith("error: ") and "Traceback" not in run.stderr
    for word in words:
        assert word in complaints[0], complaints[0]


def tree(folder):
    return {path.relative_to(folder): path.read_bytes() if path.is_file() else None
            for path in folder.rglob("*")}


# --- configuration -----------------------------------------------------------------------------

@pytest.mark.parametrize("text, words", [
    ('{"rums": 3}', ["my.json: unknown key 'rums'; did you mean 'runs'?"]),
    ('{"cost": {"limit": 3}}', ["cost: unknown key 'limit'; did you mean 'limit_usd'?"]),
    ('{"zzzzz": 3}', ["'zzzzz'", "known are"]),
    ('{"runs": "ten"}', ['runs: must be a whole number from 1 to 10000, not "ten"']),
    ('{"runs": true}', ["runs: must be a whole number"]),
    ('{"runs": 2.5}', ["runs: must be a whole number", "2.5"]),
    ('{"runs": 0}', ["runs: must be a whole number from 1 to 10000, not 0"]),
    ('{"models": []}', ["models: must be a list with at least one entry"]),
    ('{"models": "a"}', ["models: must be a list"]),
    ('{"models": ["a", "a"]}', ['models: names "a" twice']),
    ('{"models": [""]}', ['models[0]: must be a name, not ""']),
    ('{"temperature": 2.1}', ["temperature: must be a number from 0 to 2, not 2.1"]),
    ('{"temperature": NaN}', ["NaN"]),
    ('{"compliance": "medium"}', ['compliance: must be one of low, high, omit, not "medium"']),
    ('{"cost": 3}', ["cost: must be an object, not 3"]),
    ('{"concurrency": {"decision": 0}}', ["concurrency.decision: must be a whole number from 1"]),
    ('{"prices": {"m": {"prompt": 1}}}', ["prices.m.completion: is missing"]),
    ('{"prices": {"m": {"prompt": 1, "completion": -1}}}',
     ["prices.m.completion: must be a number from 0 to 1e+09, not -1"]),
    ('{"routing": {"order": Infinity}}', ["Infinity"]),
    ('{"routing": []}', ["routing: must be an object"]),
    ('{"routing": {"onyl": ["openai"]}}', ["routing: unknown key 'onyl'; did you mean 'only'?"]),
    ('{"routing": {"only": "openai"}}', ["routing.only: must be a list"]),
    ('{"routing": {"allow_fallbacks": "no"}}', ["allow_fallbacks: must be true or false"]),
    ('{"routing": {"quantizations": ["bf61"]}}', ["quantizations[0]", "did you mean 'bf16'?"]),
    ('{"routing": {"sort": "cheap"}}', ["routing.sort: must be one of price, throughput"]),
    ('{"routing": {"sort": {}}}', ["routing.sort.by: is missing"]),
    ('{"routing": {"max_price": {"promt": 1}}}', ["routing.max_price: unknown key 'promt'"]),
    ('{"routing": {"max_price": {"prompt": "x"}}}', ["max_price.prompt: must be a number"]),
    ('{"routing": {"preferred_max_latency": "quick"}}', ["must be an object, or a number"]),
    ('{"pin": ""}', ["pin: must be auto or an upstream's name"]),
    ('{"reasoning_effort": "huge"}', ["reasoning_effort: must be one of none, minimal, low"]),
    ('{"seed": -1}', ["seed: must be a whole number from 0"]),
    ('{"runs": 3, "runs": 4}', ["the key 'runs' stands twice"]),
    ('[]', ["must be an object, not []"]),
    ('null', ["must be an object, not null"]),
    ('{"routing": {"options": ' + '{"a":' * 60 + '1' + '}' * 62, ["nested at most 50 deep"]),
    ('{"runs": 3', ["not valid JSON", "line 1"]),
    ('', ["not valid JSON"]),
])
def test_a_configuration_that_is_wrong_is_refused_with_file_field_and_value(
        cli, tmp_path, text, words):
    (tmp_path / "my.json").write_text(text)
    one_line(cli(PILOT, "--config", "my.json", "--out", "o"), 2, "my.json: ", *words)
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize("flags, words", [
    (["--runs", "0"], ["command line: runs: must be a whole number from 1"]),
    (["--models", ""], ["--models", "at least one name"]),
    (["--models", "coin,coin"], ["--models", "each once"]),
    (["--models", "coim"], ["'coim'", "did you mean 'coin'?"]),
    (["--seed", "-1"], ["seed: must be a whole number from 0"]),
    (["--temperature", "nan"], ["temperature: must be a number"]),
    (["--limit-usd", "inf"], ["cost.limit_usd: must be a number"]),
    (["--limit-usd", "-1"], ["cost.limit_usd: must be a number"]),
    (["--concurrency", "0"], ["--concurrency"]), (["--concurrency", "²"], ["--concurrency"]),
    (["--concurrency", "talk=3"], ["--concurrency", "decision=N"]),
    (["--compliance", "medium"], ["compliance: must be one of low, high, omit"]),
    (["--tells", "loud"], ["tells: must be one of standard, ablated"]),
    (["--config", "missing.json"], ["missing.json", "give another file"]),
    (["--base-url", "host:80"], ["--base-url", "http"]),
    (["--provider", "simulated", "--base-url", "http://x/v1"], ["--base-url"]),
    *[(["--run-id", name], ["--run-id", repr(name)]) for name in
      ("a/b", "..", "a..b", "", "/etc", "a\\b", ".hidden", "a\n", "x" * 101)],
    (("--bulletins", 10), ("--bulletins", "mechanism")),
    (("--design", "mechanism", "--bulletins", 0), ("--bulletins", "0", "1 to 20")),
    (("--design", "mechanism", "--bulletins", 21), ("--bulletins", "21", "1 to 20")),
])
def test_a_flag_that_is_wrong_is_refused_and_nothing_is_written(cli, tmp_path, flags, words):
    one_line(cli(PILOT, "--out", "o", *flags), 2, *words)
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_checks_the_name_of_the_run_too(cli):
    one_line(cli(PILOT, "--dry-run", "--run-id", "a/b"), 2, "--run-id", "'a/b'")


@pytest.mark.parametrize("flags", [["--rums", "3"], ["--runs", "ten"], ["--run", "3"], ["more"]])
def test_an_unknown_flag_is_wrong_usage(cli, tmp_path, flags):
    run = cli(PILOT, *flags)
    assert run.returncode == 2 and "error: " in run.stderr and list(tmp_path.iterdir()) == []


def test_a_key_with_a_line_break_is_refused_and_not_shown(cli, tmp_path):
    run = cli(PILOT, "--out", "o", key="sk-first\nsk-second")
    one_line(run, 2, "OPENROUTER_API_KEY")
    assert "sk-" not in run.stdout + run.stderr and not (tmp_path / "o").exists()


# --- folders -----------------------------------------------------------------------------------

@pytest.mark.parametrize("out", ["/proc/o", "/dev/null/o", "file/o"])
def test_a_folder_that_cannot_be_made_is_named(cli, tmp_path, out):
    (tmp_path / "file").write_text("here")
    one_line(cli(PILOT, "--models", "coin", "--out", out), 2, out, "--out")


def test_a_run_of_another_configuration_is_refused_with_what_differs(cli, tmp_path):
    assert cli(PILOT, *SMALL, "--run-id", "mine").returncode == 0
    before = tree(tmp_path)
    again = cli(PILOT, *SMALL, "--run-id", "mine", "--runs", 3, "--temperature", 0.9)
    one_line(again, 2, "o/mine", "runs: 12 → 3", "temperature: 0.7 → 0.9", "--run-id")
    assert tree(tmp_path) == before


def test_a_manifest_that_is_none_is_refused(cli, tmp_path):
    cli(PILOT, *SMALL)
    (run_in(tmp_path / "o") / "manifest.json").write_text("{")
    before = tree(tmp_path)
    one_line(cli(PILOT, *SMALL), 2, "manifest.json: not the manifest of a run")
    assert tree(tmp_path) == before


def test_a_journal_without_its_manifest_is_refused(cli, tmp_path):
    cli(PILOT, *SMALL)
    (run_in(tmp_path / "o") / "manifest.json").unlink()
    before = tree(tmp_path)
    one_line(cli(PILOT, *SMALL), 2, "a journal without its manifest.json")
    assert tree(tmp_path) == before


# --- the journal -------------------------------------------------------------------------------

@pytest.fixture
def half(cli, tmp_path):
    """The journal of a run that a full disk ended half-way."""
    run = limited(tmp_path, HALF)
    assert run.returncode == 3
    return run_in(tmp_path / "o") / "journal.jsonl"


def limited(folder, most_bytes):
    """The pilot where no file may grow beyond `most_bytes`."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
    return subprocess.run([sys.executable, ROOT / PILOT, *SMALL], cwd=folder, text=True,
                          capture_output=True, timeout=60, env=clean_environment(),
                          preexec_fn=limit)


def test_a_damaged_line_in_the_middle_is_named_and_left_alone(cli, tmp_path, half):
    lines = half.read_bytes().splitlines(keepends=True)
    lines[2] = lines[2].replace(b'"ok"', b'"oh"')
    half.write_bytes(b"".join(lines))
    before = tree(tmp_path)
    one_line(cli(PILOT, *SMALL), 2, "journal.jsonl line 4: does not follow from line 3",
             "restore it from a copy")
    assert tree(tmp_path) == before


def test_a_line_that_is_no_json_is_named(cli, half):
    lines = half.read_bytes().splitlines(keepends=True)
    half.write_bytes(b"".join([lines[0], b"garbage\n", *lines[2:]]))
    one_line(cli(PILOT, *SMALL), 2, "journal.jsonl line 2: not a journal line")


def test_a_full_disk_under_the_journal_keeps_whole_lines_and_resumes(cli, tmp_path):
    full = limited(tmp_path, HALF)
    one_line(full, 3, "journal.jsonl: File too large", "free space there",
             "the same command")
    journal = run_in(tmp_path / "o") / "journal.jsonl"
    assert journal.stat().st_size <= HALF
    assert all(json.loads(line) for line in journal.read_bytes().splitlines())
    assert cli(PILOT, *SMALL).returncode == 0
    assert cli(PILOT, *SMALL[:-1], "whole").returncode == 0
    for name in ("trials.jsonl.gz", "pilot-analysis.json", "report.html"):
        assert (run_in(tmp_path / "o") / name).read_bytes() == (
            run_in(tmp_path / "whole") / name).read_bytes()


def test_a_full_disk_under_the_derived_files_leaves_none_half_written(cli, tmp_path):
    cli(PILOT, *SMALL)
    largest = (run_in(tmp_path / "o") / "report.html").stat().st_size
    for path in (run_in(tmp_path / "o")).iterdir():
        path.unlink()
    full = limited(tmp_path, largest - 100)
    one_line(full, 3, "File too large", "free space there")
    assert not list(tmp_path.rglob("*.tmp")) and not list(tmp_path.rglob("report.html"))
    assert cli(PILOT, *SMALL).returncode == 0


def test_a_disk_that_is_full_from_the_start_leaves_nothing(tmp_path):
    one_line(limited(tmp_path, 10), 3, "File too large")
    assert list(tmp_path.iterdir()) == []


# --- prompts -----------------------------------------------------------------------------------

@pytest.fixture
def copy(tmp_path):
    """A copy of the project's own files, to be broken."""
    for name in ("cirrus", "common", "show", "stats", "config", "prompts"):
        shutil.copytree(ROOT / name, tmp_path / "copy" / name)
    shutil.copy(ROOT / PILOT, tmp_path / "copy")
    return tmp_path / "copy"


@pytest.mark.parametrize("wrong, words", [
    (lambda text: text + "\n{no_such_field}\n", ["no_such_field"]),
    (lambda text: text + "\n{\n", []),
    (lambda text: text.replace("{", "").replace("}", ""), []),
    (lambda text: "", [])])
def test_a_broken_placeholder_in_a_bulletin_is_named_before_anything_is_asked(
        copy, tmp_path, wrong, words):
    bulletin = copy / "prompts/cirrus24/round_3.md"
    bulletin.write_text(wrong(bulletin.read_text()))
    run = subprocess.run([sys.executable, copy / PILOT, *SMALL], cwd=tmp_path, text=True,
                         capture_output=True, timeout=60, env=clean_environment())
    one_line(run, 2, "round_3.md", *words)
    assert not (tmp_path / "o").exists()


def test_a_bulletin_changed_under_a_run_is_refused_by_its_name(copy, tmp_path):
    def pilot(*more):
        return subprocess.run([sys.executable, copy / PILOT, *SMALL, *more], cwd=tmp_path,
                              text=True, capture_output=True, timeout=60,
                              env=clean_environment())
    assert pilot().returncode == 0
    bulletin = copy / "prompts/cirrus24/round_3.md"
    bulletin.write_text(bulletin.read_text().replace(" the ", " that ", 1))
    one_line(pilot(), 2, "round_3.md", "another configuration")

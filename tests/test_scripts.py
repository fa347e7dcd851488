"""Scripts as their users meet them: help, a wrong flag, a dry run, what is left in a folder."""

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
from importlib import import_module

import psutil
import pytest
from conftest import ROOT, clean_environment, edit, run_in, scripts
from tournaments import started, wait_for

SCRIPTS = scripts()


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_help_gives_commands_that_parse_and_a_wrong_flag_ends_with_2(cli, script):
    shown, refused = cli(script, "--json", "--help"), cli(script, "--no-such-flag", "x")
    assert (shown.returncode, refused.returncode, shown.stderr) == (0, 2, "")
    assert "--no-such-flag" in refused.stderr and "Traceback" not in refused.stderr
    text = shown.stdout
    assert text.startswith(f"usage: {script}")
    assert max(map(len, text.splitlines())) <= 80
    line = rf"^  (?:python3|uv run) {script} ?(.*?)(?:   .*|\| .*)?$"
    commands = re.findall(line, text, re.M)
    assert len(commands) >= 2
    module = import_module(script.removesuffix(".py"))
    for command in commands:
        module.arguments(command.split())


@pytest.mark.parametrize(("version", "code"), [((3, 10, 9), 2), ((3, 11, 0), 0)])
def test_an_older_python_is_refused_in_a_line(version, code):
    line = f"import sys; sys.version_info = {version}; import common"
    command = [sys.executable, "-B", "-c", line]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (code, code > 0)


DRY = [
    ("run_pilot.py",),
    ("run_pilot.py", "--design", "mechanism", "--runs", "1"),
    ("urrp_run.py",),
    ("run_tournament.py",),
    ("run_tournament.py", "--plan", "confirmatory"),
]


def test_a_dry_run_says_how_long_calls_take(cli):
    """Eight cells of twenty bulletins, twice; sixteen at once, each of two seconds."""
    flags = ("--design", "mechanism", "--models", "sim-coin", "--runs", 2)
    more = ("--concurrency", 16, "--dry-run", "--json")
    facts = json.loads(cli("run_pilot.py", *flags, *more).stdout)
    assert facts["minutes"] == pytest.approx(8 * 20 * 2 * 2 / 16 / 60)


@pytest.mark.parametrize("key", ["", "sk-or-v1-0123456789"])
@pytest.mark.parametrize("command", DRY, ids=" ".join)
def test_a_dry_run_fits_a_terminal(cli, command, key):
    done = cli(*command, "--dry-run", key=key)
    assert done.returncode == 0 and max(map(len, done.stdout.splitlines())) <= 80


def test_a_file_gives_parts_of_the_configuration_and_the_rest_stays(cli, tmp_path):
    # Every number is the last that may be.
    mine = {
        "prices": {"m": {"prompt": 1, "completion": 1e9 - 1}},
        "temperature": 2,
        "concurrency": {"decision": 512},
    }
    (tmp_path / "my.json").write_text(json.dumps(mine))
    address = "http://10.1.2.3:9/v1"
    flags = ("--config", "my.json", "--base-url", address, "--dry-run", "--models")
    known = cli("run_pilot.py", *flags, "m,openai/gpt-5-nano").stdout.splitlines()
    assert "no price known" not in known[0] and known[0].endswith(
        "limit $3 (too low to reserve the first calls)"
    )
    assert "no price known for x: assumed" in cli("run_pilot.py", *flags, "m,x").stdout


def test_an_unfinished_pilot_is_analysed_elsewhere_with_exit_code_3(cli, tmp_path):
    cli("run_pilot.py", "--models", "sim-coin", "--runs", 2, "--out", "o")
    run = run_in(tmp_path / "o")
    edit(run, lambda manifest: manifest.update(state="incomplete"))
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    done = cli("analyze.py", run, "--out", "again")
    assert done.returncode == 3 and "1 of 1 runs are unfinished" in done.stderr
    assert f"\nopen again/{run.name}/report.html" in done.stdout
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before
    page = tmp_path / "again" / run.name / "report.html"
    assert page.read_bytes() == before["report.html"]


def test_two_calibrations_never_write_the_same_folder_together(cli, tmp_path):
    (tmp_path / "counts").mkdir()
    handle = os.open(tmp_path / "counts", os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    flags = ("--reps", 1, "--populations", "coin-50", "--out", "counts")
    done = cli("calibrate.py", *flags)
    os.close(handle)
    assert done.returncode == 2 and "another process" in done.stderr


# --- streams and signals -----------------------------------------------------------------------


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("run_pilot.py --runs 1", 0),
        ("run_tournament.py --agents 2 --rounds 1", 0),
        ("urrp_run.py --help", 0),
        ("analyze.py nowhere", 2),
    ],
)
def test_a_closed_stream_changes_no_exit_code_and_makes_no_traceback(
    tmp_path, command, code, closed
):
    done = subprocess.run(
        f"{sys.executable} {ROOT}/{command} {closed}",
        shell=True,
        cwd=tmp_path,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == code
    assert "Traceback" not in done.stdout + done.stderr


def ended_by(process, name):
    """(exit code, output) of a process that got a signal."""
    process.send_signal(name)
    try:
        output, _ = process.communicate(timeout=20)
    finally:
        process.kill()
    assert "Traceback" not in output, output
    return process.returncode, output


SIGNALS = pytest.mark.parametrize("name", [signal.SIGTERM, signal.SIGHUP])


@SIGNALS
def test_an_analysis_is_interrupted_by_a_signal(tmp_path, cli, name):
    flags = ("--plan", "2x2", "--agents", 6, "--rounds", 6, "--out", "o")
    assert cli("run_tournament.py", *flags).returncode == 0
    process = started(tmp_path, "--verify", "o", script="analyze.py")
    process.stdout.readline()  # of the first of its four runs
    code, _ = ended_by(process, name)
    assert code == 130


def busy_workers(pid):
    """How many of its processes have worked for a second: a start takes less."""
    workers = psutil.Process(pid).children()
    return sum(worker.cpu_times().user > 1 for worker in workers)


@SIGNALS
def test_a_calibration_by_two_processes_is_interrupted_by_a_signal(tmp_path, name):
    flags = ("--reps", 400, "--jobs", 2, "--out", "counts")
    process = started(tmp_path, *flags, script="calibrate.py", start_new_session=True)
    wait_for(lambda: busy_workers(process.pid) == 2, 60)
    code, output = ended_by(process, name)
    assert code == 130 and "interrupted" in output
    with pytest.raises(ProcessLookupError):  # nobody of them is left
        wait_for(lambda: os.killpg(process.pid, 0), 10)

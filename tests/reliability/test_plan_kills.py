"""run_tournament.py killed in the middle of a plan: nothing is lost, and nothing is paid for twice.

(These campaigns are long: they stand in a file of their own, that no worker is left with them.)
"""

import os
import signal
from pathlib import Path

import pytest
from tournaments import LIVE, SCRIPT, SMALL, answered, derived, started, wait_for


def children(pid):
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [int(child) for child in text.split()
            if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]


PLAN = ("--plan", "exploratory", "--agents", 4, "--rounds", 2)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    process = started(folder, *PLAN, "--out", "o")
    assert process.communicate(timeout=120) and process.returncode == 0
    return derived(folder / "o")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds worker processes in /proc")
@pytest.mark.parametrize("victim", ["parent", "child"])
def test_a_plan_survives_sigkill_of_parent_and_child_with_nothing_repeated(
        shell, tmp_path, undisturbed, victim):
    process = started(tmp_path, *PLAN, "--jobs", 2, "--out", "o")
    wait_for(lambda: len(list((tmp_path / "o").rglob("acausal_manifest.json"))) >= 5)
    os.kill(process.pid if victim == "parent" else children(process.pid)[0], signal.SIGKILL)
    process.communicate(timeout=120)
    if victim == "parent":
        assert process.returncode == -signal.SIGKILL
        assert len(list((tmp_path / "o").rglob("acausal_manifest.json"))) < 48
    again = shell(SCRIPT, *PLAN, "--jobs", 2, "--out", "o", timeout=120)
    assert again.returncode == 0, again.stderr
    counts = answered(tmp_path / "o")
    assert set(counts.values()) == {1}
    assert len(counts) == 48 * 2 * (4 + 36)
    assert derived(tmp_path / "o") == undisturbed


@pytest.mark.parametrize(("plan", "runs"), [((), 1), (("--plan", "ablation"), 16)])
def test_a_killed_live_command_pays_for_nothing_twice(live, double, tmp_path, plan, runs):
    double.script(latency_s=0.05)
    process = started(tmp_path, "--base-url", double.url, *LIVE, *SMALL, *plan, "--out", "o")
    wait_for(lambda: len(double.ledger()["requests"]) > 20)
    process.kill()
    process.communicate(timeout=30)
    double.script(latency_s=0.0)
    before = answered(tmp_path / "o")
    assert live(double, *SMALL, *plan, "--out", "o").returncode == 0
    counts = answered(tmp_path / "o")
    assert set(counts.values()) == {1} and len(counts) == runs * 2 * (3 + 18)
    assert len(double.ledger()["requests"]) == len(counts) - len(before)

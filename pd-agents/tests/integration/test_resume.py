"""Whatever happens in between, a run comes out as if nothing had."""

import json
import signal
import subprocess
import sys

import pytest

from conftest import pair
from hostile import wait_for
from pdbench.core.types import ProviderError
from pdbench.runners import registry
from support import manifest_changed, rounds_of, unfinished

CONDITIONS = [
    pair("coin-gtft", {"strategy": "coin", "invalid_rate": 0.1, "max_retries": 9}, "GTFT"),
    pair("copycat-wsls", {"persona": "wsls"}, "WSLS", overrides={"noise": 0.1}),
    pair("gtft-gtft", "GTFT", "GTFT", overrides={"noise": 0.2}),
    pair("geometric", "GTFT", "ALLD",
         overrides={"horizon": {"type": "geometric", "stop_prob": 0.01}}),
]  # fmt: skip


def grown(path, size):
    return path.exists() and path.stat().st_size >= size


def same_files(run_dir):
    rounds = [json.dumps(r) for r in rounds_of(run_dir)]
    return rounds, (run_dir / "aggregates.parquet").read_bytes()


def test_any_number_of_jobs_gives_the_same_rounds_in_the_same_order(
    experiment, pdbench, project
):
    seen = []
    for jobs in (1, 3, 8):
        path = experiment(
            CONDITIONS,
            run={"run_id": "j", "replicates": 3, "output_dir": f"out/{jobs}"},
            horizon={"type": "fixed", "n": 40},
        )
        assert pdbench("run", path, "--jobs", jobs)[0] == 0
        seen.append(same_files(project / f"out/{jobs}"))
    assert seen[0] == seen[1] == seen[2]


def test_more_replicates_leave_the_earlier_ones_as_they_are(
    experiment, pdbench, project
):
    path = experiment(CONDITIONS, horizon={"type": "fixed", "n": 10})
    run_dir = project / "data/runs/test"
    pdbench("run", path)
    first = rounds_of(run_dir, drop=())
    err = pdbench("run", path, "--replicates", 3)[2]
    assert err.startswith(
        "note: data/runs/test has 1 of each condition's replicates; 2 more of"
        " each are added (8 matches), the earlier ones stay as they are\n"
    )
    again = rounds_of(run_dir, drop=())
    assert [r for r in again if r["replicate"] == 0] == first
    assert {r["replicate"] for r in again} == {0, 1, 2}
    whole = (run_dir / "rounds.jsonl").read_bytes()
    out, err = pdbench("run", path, "--replicates", 2)[1:]
    assert "nothing to do" in out
    assert (
        "has 3 of each condition's replicates; 2 were asked for, but none is removed"
        in err
    )
    assert (
        "but none is removed" in pdbench("run", path, "--replicates", 2, "--dry-run")[1]
    )
    assert (run_dir / "rounds.jsonl").read_bytes() == whole


@pytest.mark.parametrize("cut", [1, 200, 5_000, 30_000, 60_000, 10**9])
def test_a_file_cut_off_anywhere_is_completed(experiment, pdbench, project, cut):
    path = experiment(
        CONDITIONS, run={"replicates": 2}, horizon={"type": "fixed", "n": 12}
    )
    run_dir = project / "data/runs/test"
    pdbench("run", path)
    expected = same_files(run_dir)
    rounds = run_dir / "rounds.jsonl"
    rounds.write_bytes(rounds.read_bytes()[:-cut])
    manifest_changed(run_dir, unfinished("running"))
    (run_dir / "aggregates.parquet").unlink()
    assert pdbench("run", path)[0] == 0
    assert same_files(run_dir) == expected


def test_sigkill_at_three_moments_loses_nothing(experiment, pdbench, project):
    path = experiment(
        CONDITIONS,
        run={"replicates": 4, "output_dir": "out/{run_id}"},
        horizon={"type": "fixed", "n": 600},
    )
    command = [sys.executable, "-m", "pdbench.cli", "run", str(path), "--jobs", "2"]
    rounds = project / "out/test/rounds.jsonl"
    killed = 0
    for size in (1, 900_000, 2_500_000):
        process = subprocess.Popen(
            command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        wait_for(
            lambda p=process, size=size: p.poll() is not None or grown(rounds, size)
        )
        process.send_signal(signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
    assert killed == 3
    assert not (project / "out/test/aggregates.parquet").exists()
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    manifest = json.loads((project / "out/test/run_manifest.json").read_text())
    assert (manifest["status"], manifest["unproven"]["sessions"]) == ("complete", 4)
    other = experiment(
        CONDITIONS,
        run={"replicates": 4, "output_dir": "whole/{run_id}"},
        horizon={"type": "fixed", "n": 600},
    )
    assert pdbench("run", other)[0] == 0
    assert same_files(project / "out/test") == same_files(project / "whole/test")


@pytest.mark.parametrize("jobs", ["1", "3"])
def test_an_interruption_is_told_and_resumed(experiment, pdbench, project, jobs):
    path = experiment(CONDITIONS, horizon={"type": "fixed", "n": 6000})
    command = [sys.executable, "-m", "pdbench.cli", "run", str(path), "--jobs", jobs]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    rounds = project / "data/runs/test/rounds.jsonl"
    wait_for(lambda: grown(rounds, 500_000))
    process.send_signal(signal.SIGINT)
    err = process.communicate()[1]
    assert process.returncode == 130
    assert err.splitlines()[-1] == (
        "error: interrupted; whole rounds are kept, the same command resumes"
    )
    assert json.loads((project / "data/runs/test/run_manifest.json").read_text())[
        "status"
    ] == ("interrupted")
    assert rounds.read_bytes().endswith(b"\n")


class Failing:
    """A paid model: counts its calls, and is down after some of them."""

    def __init__(self, up_for):
        self.calls, self.up_for = 0, up_for

    def complete(self, *, prompt, **_):
        if self.calls >= self.up_for:
            raise ProviderError("provider openai (provider.model 'm'): down")
        self.calls += 1
        return "hm" if self.calls == 7 else "CD"[len(prompt) % 2]


@pytest.fixture
def paid(experiment, monkeypatch):
    def use(provider):
        monkeypatch.setitem(registry.CLIENTS, "openai", lambda _: provider)
        registry.client.cache_clear()

    real = {"provider": {"name": "openai", "model": "m"}}
    path = experiment(
        [pair("paid", real, "GTFT", overrides={"noise": 0.2})],
        horizon={"type": "fixed", "n": 30},
    )
    yield path, use
    registry.client.cache_clear()


def test_no_answer_is_paid_for_twice(paid, pdbench, project):
    path, use = paid
    use(whole := Failing(up_for=999))
    pdbench("run", path)
    expected = same_files(project / "data/runs/test")
    assert whole.calls == 31  # one of 30 was asked again
    (project / "data/runs/test").rename(project / "first")

    use(provider := Failing(up_for=11))
    code, _, err = pdbench("run", path)
    assert (code, err.splitlines()[-1]) == (
        3,
        "error: condition 'paid' replicate 0: provider openai (provider.model 'm'): down",
    )
    assert len(rounds_of(project / "data/runs/test")) == 10
    provider.up_for = 999
    assert pdbench("run", path)[0] == 0
    assert provider.calls == 31
    assert same_files(project / "data/runs/test") == expected


def test_a_record_that_does_not_fit_the_configuration_is_refused(
    experiment, pdbench, project
):
    path = experiment(horizon={"type": "fixed", "n": 5})
    pdbench("run", path)
    rounds = project / "data/runs/test/rounds.jsonl"
    lines = rounds.read_text().splitlines(keepends=True)
    lines[1] = lines[1].replace('"agent_a_action":"D"', '"agent_a_action":"C"')
    rounds.write_text("".join(lines[:3]))
    code, _, err = pdbench("run", path)
    assert code == 3
    assert "round 2 holds CD, but the configuration plays DD" in err.splitlines()[-1]


def test_a_run_of_another_configuration_is_refused_and_left_alone(
    experiment, pdbench, project
):
    pdbench("run", experiment())
    run_dir = project / "data/runs/test"
    before = {f: f.read_bytes() for f in run_dir.iterdir()}
    code, _, err = pdbench(
        "run", experiment(run={"seed": 8}, horizon={"type": "fixed", "n": 6})
    )
    assert code == 2
    assert err == (
        "error: data/runs/test: holds a run of another configuration (run.seed: 7 -> 8;"
        " conditions.tft-alld.horizon.n: 5 -> 6); choose another run.run_id or delete the"
        " folder\n"
    )
    assert {f: f.read_bytes() for f in run_dir.iterdir()} == before


def test_a_folder_with_something_else_is_refused(experiment, pdbench, project):
    (project / "data/runs/test").mkdir(parents=True)
    (project / "data/runs/test/thesis.tex").write_text("years of work")
    code, _, err = pdbench("run", experiment())
    assert code == 2
    assert "holds files but no run_manifest.json" in err
    assert [f.name for f in (project / "data/runs/test").iterdir()] == ["thesis.tex"]


def test_a_second_process_in_the_same_folder_is_refused(experiment, pdbench, project):
    import fcntl

    path = experiment()
    folder = project / "data/runs/test"
    folder.mkdir(parents=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        code, _, err = pdbench("run", path)
    assert code == 3
    assert "another process is running here" in err
    assert pdbench("run", path)[0] == 0


def test_a_dry_run_lists_matches_and_calls_and_writes_nothing(
    experiment, pdbench, project
):
    path = experiment(
        CONDITIONS[:1] + CONDITIONS[3:],
        run={"replicates": 2},
        horizon={"type": "fixed", "n": 10},
    )
    code, out, _ = pdbench("run", path, "--dry-run")
    assert code == 0
    assert not (project / "data").exists()
    listed = {(r[0], r[1]): int(r[-3]) for r in map(str.split, out.splitlines()[1:-1])}
    assert "to 200 model calls; up to 200 of them in SIMULATED conditions" in out
    pdbench("run", path)
    rows = rounds_of(project / "data/runs/test")
    lengths = {}
    for r in rows:
        key = (r["condition"], str(r["replicate"]))
        lengths[key] = lengths.get(key, 0) + 1
    assert listed == lengths


def spaced(line):
    return json.dumps(json.loads(line))


def without(line):
    return json.dumps(
        {k: v for k, v in json.loads(line).items() if k != "agent_a_payoff"}
    )


@pytest.mark.parametrize(("change", "code", "word"), [
    (spaced, 3, "line 2 is damaged: it says what the run gives, but is not written"),
    (without, 3, "line 2 is damaged: no agent_a_payoff"),
    (lambda line: "[" * 100_000, 3, "line 2 is damaged: not JSON"),
    (lambda line: line.replace('"replicate":0', '"replicate":7'), 3, "round_index 1 does not"),
])  # fmt: skip
def test_a_changed_line_is_named_on_resumption_too(
    experiment, pdbench, project, change, code, word
):
    path = experiment()
    pdbench("run", path)
    run_dir = project / "data/runs/test"
    lines = (run_dir / "rounds.jsonl").read_text().splitlines()
    lines[1] = change(lines[1])
    (run_dir / "rounds.jsonl").write_text("\n".join(lines) + "\n")
    (run_dir / "aggregates.parquet").unlink()
    got, _, err = pdbench("run", path)
    assert got == code
    assert word in err.splitlines()[-1]
    assert "Traceback" not in err

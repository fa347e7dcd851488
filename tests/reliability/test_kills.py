"""SIGKILL at 200 random moments over pilot, URRP and a plan in two processes: nothing is lost.

A run is killed, started again by the same command, killed again, until it gets to its end. The
moments are uniform over the time that an undisturbed run takes, and each phase of a run has to be
met, as the disk tells. Of a plan any of its processes is hit. The budget is tight: where it stops
a run, a higher limit resumes it.

    RELIABILITY_KILLS=2000 RELIABILITY_SEED=7 .venv/bin/python -m pytest tests/reliability
"""

import hashlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import ROOT, clean_environment
from double import Double

from common.artifacts import read_bytes

SEED = os.environ.get("RELIABILITY_SEED", "2026")
KILLS = int(os.environ.get("RELIABILITY_KILLS", "200"))
AGAIN = f"RELIABILITY_SEED={SEED} RELIABILITY_KILLS={KILLS} gives the same moments"
FINAL = ("ok", "empty", "truncated", "blocked")
PHASES = ("starting", "pre-flight", "asking", "deriving", "writing")
MOST_KILLS = 12      # of one run; then it is let go to its end, so that a slow machine gets there
PATIENCE_S = 60
LATENCY_S = 0.02
# Outcomes of every kind, by the question alone, so that they are the same after any kill.
OUTCOMES = [{"fault": "null-content", "digest": "0"}, {"fault": "content-filter", "digest": "1"},
            {"fault": "length-empty", "digest": "2"}, {"fault": "no-cost", "digest": "3"}]
FAILURES = [{"fault": "500", "every": 31}, {"fault": "reset-billed", "every": 43, "times": 1}]


class Kind(NamedTuple):
    """A command to kill. `share` of the kills; `calls` at once; `faults` that pass; phases that
    are too short to be waited for are `brief`."""

    share: float
    command: tuple[str, ...]
    calls: int
    live: bool = True
    faults: tuple[dict, ...] = ()
    brief: tuple[str, ...] = ()

    @property
    def phases(self):
        return set(PHASES).difference(self.brief)


PLAN = ("run_tournament.py", "--plan", "plan.json", "--agents", "3", "--rounds", "2", "--jobs", "2")
KINDS = {
    "pilot": Kind(0.3, ("run_pilot.py", "--models", "double/a,double/b", "--runs", "6",
                        "--concurrency", "8"), 8, faults=tuple(FAILURES)),
    "urrp": Kind(0.25, ("urrp_run.py", "--models", "double/a", "--pilot", "--trials", "2",
                        "--concurrency", "6"), 6, brief=("deriving", "writing")),
    "plan": Kind(0.3, (*PLAN, "--models", "double/a", "--config", "live.json",
                       "--concurrency", "strategy=2,decision=8"), 10),
    "simulated plan": Kind(0.15, PLAN, 0, live=False, brief=("pre-flight",)),
}
FILES = {
    "plan.json": {"name": "four", "runs": [
        {"toggles": {"S": "high"}}, {"toggles": {"S": "low"}}, {"toggles": {"C": "absent"}},
        {"domain": "hospital"}]},
    "live.json": {"models": {"strategy": {"name": "double/c"}, "decision": {"name": "double/a"}}},
}


# --- what lies on disk -------------------------------------------------------------------------

class Line(NamedTuple):
    """Of a journal line: request id, hash of the question as the double takes it, outcome."""

    id: str
    question: str
    outcome: str | None


def lines_of(path):
    """The whole lines of a journal, each checked against the one before; only the last may be
    torn. Read here by other means than the project's."""
    *whole, _torn = read_bytes(path).split(b"\n")
    before, out = None, []
    for line in whole:
        entry = json.loads(line)
        assert before in (None, entry["prev"]), f"{path}: a line does not follow"
        before, sent = hashlib.sha256(line).hexdigest(), entry["request"]
        asked = json.dumps([sent["model"], sent.get("messages"), sent.get("seed")], sort_keys=True)
        out.append(Line(entry["id"], hashlib.sha256(asked.encode()).hexdigest()[:16],
                        entry["outcome"]))
    return out


class Run(NamedTuple):
    """What the folder of one run holds."""

    sessions: int
    state: str
    lines: list[Line]
    files: dict[str, tuple]  # {name: what changes when it is written}

    @property
    def answered(self):
        return {line.id for line in self.lines if line.outcome in FINAL}


NOTHING = Run(0, "", [], {})


def look(out):
    """{folder: Run} of everything below `out`."""
    runs = {}
    for manifest in sorted(out.rglob("manifest.json")):
        folder, said = manifest.parent, json.loads(manifest.read_bytes())
        journals = sorted(folder.glob("journal.jsonl*"))
        files = {path.relative_to(folder).as_posix(): (path.stat().st_ino, path.stat().st_mtime_ns)
                 for path in folder.rglob("*") if path.is_file()}
        runs[folder.relative_to(out).as_posix()] = Run(
            len(said["unproven"]["sessions"]), said["state"],
            lines_of(journals[0]) if journals else [], files)
    return runs


def phase(before, now, calls):
    """What a run was at when it was killed, from its folder `before` this start and `now`."""
    if now.sessions == before.sessions:
        return "starting"
    if now.state != "running":
        return "leaving"
    if len(now.answered) < calls:
        return "asking" if len(now.lines) > len(before.lines) else "pre-flight"
    kept = ("manifest.json", "prompts.json", "journal.jsonl", "inflight.jsonl")
    new = {name for name, mark in now.files.items() if before.files.get(name) != mark}
    return "writing" if new.difference(kept) else "deriving"


def derived(out):
    """{name: content} of what has to be the same whatever happened on the way; the time of day of
    a URRP trial aside."""
    when = re.compile(rb'"timestamp":"[^"]*",')
    return {path.relative_to(out).as_posix(): when.sub(b"", read_bytes(path))
            for path in sorted(out.rglob("*")) if path.is_file()
            and path.name not in ("manifest.json", "journal.jsonl.gz", "said")}


# --- processes ---------------------------------------------------------------------------------

def session_of(leader):
    """{pid: command line} of the processes that `leader`, and whoever it started, are."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, session = stat.read_text().rpartition(")")[2].split()[:4]
            if int(session) == leader and state not in "ZX":
                found[int(stat.parent.name)] = (stat.parent / "cmdline").read_bytes()
        except (OSError, ValueError):
            continue
    return found


def wait_for_end(leader):
    """Whoever the killed process had started ends by itself."""
    ends = time.monotonic() + 20
    while left := session_of(leader):
        assert time.monotonic() < ends, f"left behind: {left}"
        time.sleep(0.005)


# --- one campaign ------------------------------------------------------------------------------

class Campaign:
    """One command killed over and over: `tally` counts the kills by phase."""

    def __init__(self, name, kind, folder, double):
        self.kind, self.folder, self.double = kind, folder, double
        self.rng = random.Random(f"{SEED}/{name}")
        self.kills, self.tally, self.victims = 0, Counter(), Counter()
        self.out = self.play("whole")
        began = time.monotonic()
        self.limit = 5.0
        code = self.start().wait(PATIENCE_S)
        self.seconds = time.monotonic() - began
        assert code == 0, self.said()
        self.whole = derived(self.out)
        self.calls = {name: len(run.answered) for name, run in look(self.out).items()}
        self.cost = self.double.ledger()["billed_usd"]

    def play(self, name):
        """A new, empty place, and the double at the beginning of its ledger."""
        faults = [*OUTCOMES, *self.kind.faults]
        self.double.script(latency_s=LATENCY_S, jitter_s=LATENCY_S / 2, greedy=True, faults=faults)
        out = self.folder / name
        out.mkdir()
        for file, content in FILES.items():
            (self.folder / file).write_text(json.dumps(content))
        return out

    def start(self):
        script, *flags = self.kind.command
        if self.kind.live:
            flags += ["--base-url", self.double.url, "--limit-usd", str(self.limit)]
        if script == "urrp_run.py":
            flags += ["--output", str(self.out / "trials.jsonl")]
        with open(self.out / "said", "w") as said:
            return subprocess.Popen(
                [sys.executable, ROOT / script, *flags, "--out", self.out], cwd=self.folder,
                env=clean_environment(), stdout=said, stderr=subprocess.STDOUT,
                start_new_session=True)

    def said(self):
        return (self.out / "said").read_text()[-3000:]

    def to_the_end(self, turn):
        """Kill and start again until a start gets to its end; then everything is checked."""
        self.out, self.limit = self.play(str(turn)), 1.3 * self.cost
        self.known, self.starts, killed = [], [], self.kills
        while True:
            code = self.sit(left=MOST_KILLS - (self.kills - killed))
            if code == 0:
                break
            if code == 4:  # the kills were dear: what is lost in flight is charged
                assert self.double.ledger()["billed_usd"] <= self.limit
                self.limit *= 1.5
        self.check()

    def sit(self, left):
        """One start → its exit code, None where it was killed. At most `left` kills."""
        before, began = look(self.out), time.monotonic()
        self.starts.append((began, self.kills, sum(len(run.lines) for run in before.values())))
        process = self.start()
        killed = 0
        while killed < left:
            moment = time.monotonic() + self.rng.uniform(0, self.seconds)
            try:
                process.wait(moment - time.monotonic())
                break
            except subprocess.TimeoutExpired:
                killed += 1
                if self.strike(process, before):
                    return None
        code = process.wait(PATIENCE_S)
        if not killed:  # a whole run tells anew how long one takes: a machine's load comes and goes
            spent = time.monotonic() - began
            self.seconds = max(self.seconds, spent) if before else spent
        wait_for_end(process.pid)
        # A worker that dies leaves an incomplete run; everything else is complete.
        assert code in (0, 4) or (code == 3 and killed), self.said()
        return code

    def strike(self, process, before):
        """Kill one process of the run; True where it was the one that the user started."""
        workers = [pid for pid, line in session_of(process.pid).items() if b"spawn_main" in line]
        victim = self.rng.choice([process.pid, *workers])
        signal_to(victim, signal.SIGKILL)  # a worker may have ended by itself meanwhile
        others = [] if victim == process.pid else list(session_of(process.pid))
        for other in others:
            signal_to(other, signal.SIGSTOP)  # the disk as it was at the kill
        if victim == process.pid:
            process.wait(PATIENCE_S)
            wait_for_end(process.pid)
        self.note(before, "worker" if others else "parent")
        for other in others:
            signal_to(other, signal.SIGCONT)
        return not others

    def note(self, before, victim):
        now = look(self.out)
        self.kills += 1
        self.victims[victim] += 1
        met = {phase(before.get(name, NOTHING), now.get(name, NOTHING), calls)
               for name, calls in self.calls.items()}
        self.tally.update(met)
        self.known.append((time.monotonic(), {
            line.question for run in now.values() for line in run.lines if line.outcome in FINAL}))

    def check(self):
        """Everything that has to hold of a run that came to its end."""
        assert derived(self.out) == self.whole
        runs, ledger = look(self.out), self.double.ledger()
        lines = [line for run in runs.values() for line in run.lines]
        answers = Counter(line.id for line in lines if line.outcome in FINAL)
        assert {name: len(run.answered) for name, run in runs.items()} == self.calls
        assert set(answers.values()) == {1}
        if not self.kind.live:
            return
        asked = [(request["at"], request["question"]) for request in ledger["requests"]]
        assert {question for _, question in asked} == {line.question for line in lines}
        for moment, answered in self.known:
            late = [question for at, question in asked if at > moment]
            assert not answered.intersection(late), "asked again after its answer"
        ends = (time.monotonic(), self.kills, len(lines))
        # What a killed start had sent may reach a busy server after the next one has begun.
        for before, start, after in zip(self.starts[:1] + self.starts, self.starts,
                                        [*self.starts[1:], ends], strict=False):
            calls = sum(start[0] <= at < after[0] for at, _ in asked)
            lost = calls - (after[2] - start[2])
            assert 0 <= lost <= (after[1] - before[1]) * self.kind.calls
        charged = sum(json.loads(path.read_bytes())["cost"]["spent_usd"]
                      for path in self.out.rglob("manifest.json"))
        assert ledger["billed_usd"] <= charged + 1e-9 and charged <= self.limit + 1e-9


def signal_to(pid, number):
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def campaign(name, kind, folder):
    """Kills until the share is reached and each phase was met → the campaign."""
    wanted = max(1, round(KILLS * kind.share))
    with Double(ttl=3600 + 10 * KILLS) as double:
        try:
            run, turn = Campaign(name, kind, folder, double), 0
            while run.kills < wanted or (
                    run.kills < max(4 * wanted, 240) and kind.phases - set(run.tally)):
                turn += 1
                run.to_the_end(turn)
        except BaseException as error:
            error.add_note(f"{name}: {AGAIN}")
            raise
    return run


@pytest.fixture(scope="module")
def campaigns(tmp_path_factory):
    """{name: future of its campaign}, two at a time."""
    with ThreadPoolExecutor(2) as pool:
        yield {name: pool.submit(campaign, name, kind, tmp_path_factory.mktemp("kills"))
               for name, kind in KINDS.items()}


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes in /proc")
@pytest.mark.parametrize("name", KINDS)
def test_killed_at_random_moments_it_ends_as_if_nothing_had_happened(name, campaigns):
    done = campaigns[name].result()
    assert done.kills >= round(KILLS * KINDS[name].share)
    assert KINDS[name].phases <= set(done.tally), f"{done.tally}; {AGAIN}"
    assert "--jobs" not in KINDS[name].command or done.victims["worker"], AGAIN
    print(f"{name}: {done.kills} kills, {dict(done.tally)}, {dict(done.victims)}, "
          f"{done.seconds:.2f} s undisturbed")


def test_what_a_kill_left_beside_a_file_is_gone_after_the_next_start(shell, tmp_path):
    run = tmp_path / "results/urrp/the-run"
    (run / "deeper").mkdir(parents=True)
    with subprocess.Popen(["true"]) as ended:  # a live process's file is being written, no litter
        dead = ended.pid
    litter = [tmp_path / f".urrp_runs.jsonl.{dead}.tmp", run / f".manifest.json.{dead}.tmp",
              run / f"deeper/.a.txt.gz.{dead}.tmp"]
    foreign = [tmp_path / f".notes.{dead}.tmp", run / "deeper/notes.tmp"]
    for path in (*litter, *foreign):
        path.write_text("half a file")
    assert shell("urrp_run.py", "--pilot", "--trials", 1, "--models", "open", "--run-id",
               "the-run").returncode == 0
    assert not [path for path in litter if path.exists()]
    assert all(path.exists() for path in foreign)

"""Calibration goes through the real pipeline, is kept whole, and says what its records say."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import run_in
from study_rows import conducted

from cirrus.ask.pilot import PILOT
from cirrus.ask.populations import expected, scenes
from cirrus.calibrate import replicate as c
from cirrus.calibrate import replicate as runs
from cirrus.calibrate import table as table
from cirrus.judge.rows import decisions, read_study
from cirrus.judge.study import analyse
from cirrus.reports import calibration as reports
from common.artifacts import canonical_json, read_bytes, read_jsonl
from common.exits import UsageError
from common.rng import SeededRandom as Stream
from common.verify import find_runs
from show.document import terminal

ROOT = Path(__file__).resolve().parents[1]
COMMITTED = ROOT / "results" / "examples" / "calibration"
# What a server would add, and what nothing is computed from.
BESIDE = {"prompt_tokens": None, "output_tokens": None, "cost_usd": None, "power_after": None}


# --- the pipeline ------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """The three plans of four agents, conducted, journalled, written and read back."""
    out = tmp_path_factory.mktemp("plans")
    planned = c.tournament_runs("superrational", 4, [7])
    for name in c.ALL_PLANS:
        conducted(out, [run for run in planned if run.folder.startswith(name)], name)
    return read_study(find_runs([str(out)]))


def test_a_replication_has_the_decisions_of_the_real_runs(study):
    real = {row.id: row for run in study.runs for row in decisions(run)}
    held = c.collect("superrational", c.tournament_runs("superrational", 4, [7]))
    assert len(real) == 34 * 4 * 3 == len(held.rows)
    for row in held.rows:
        assert row._replace(**BESIDE) == real[row.id]._replace(**BESIDE)


def test_a_replication_says_what_the_real_analysis_says(study, monkeypatch):
    monkeypatch.setattr(c, "SeededRandom", lambda *path: type("", (), {
        "getrandbits": lambda self, n: 7})() if path[1] == "calibration" else Stream(*path))
    record = c.replicate("superrational", c.read_size("4x1"), 0, 1, fit=True)
    real = analyse(study)
    assert record["gates"] == {gate["gate"]: [gate["as_specified"]["verdict"],
                                              gate["established"]["verdict"]]
                               for gate in real["gates"]}
    assert record["p"] == pytest.approx(real["primary"]["design"]["p"], rel=1e-5)
    assert record["delta"][0] == pytest.approx(real["primary"]["delta"]["value"], rel=1e-5)
    assert record["met"] == real["primary"]["met"]
    assert record["tripped"] == {wire["tripwire"]: wire["tripped"] for wire in real["tripwires"]}
    model = real["primary"]["model"]["with_policy"]
    assert record["model"]["with_policy"]["primary"] == pytest.approx(
        model["primary"]["p"], rel=1e-5)


def test_a_pilot_has_the_trials_of_the_real_run(cli, tmp_path):
    assert cli("run_pilot.py", "--models", "compliance", "--runs", 3, "--seed", 5).returncode == 0
    real = [row for _, row in read_jsonl(run_in(tmp_path / "results/pilot") / "trials.jsonl.gz")]
    planted = c.pilot_rows("compliance", 3, 5, ["compliance"])
    kept = ("id", "S", "C", "bulletin", "variant", "label_scheme", "order", "decision", "status",
            "text")
    assert [[row[key] for key in kept] for row in planted] == [
        [row[key] for key in kept] for row in real]


@pytest.mark.parametrize("name", ["1", "0", "10x", "x4", "10x0", "1x4", "ten", "10x4x2", "-3", ""])
def test_what_is_no_size_is_refused(name):
    with pytest.raises(UsageError, match="--sizes"):
        c.read_size(name)


def test_the_same_replication_is_the_same_whatever_else_is_done():
    size = c.read_size("4x1")
    first = c.replicate("coin", size, 3, 42, fit=False)
    c.replicate("superrational", size, 0, 42, fit=False)
    assert c.replicate("coin", size, 3, 42, fit=False) == first
    assert c.replicate("coin", size, 4, 42, fit=False) != first


# --- populations -------------------------------------------------------------------------------

def logistic(x):
    return 1 / (1 + math.exp(-x))


def test_what_is_true_of_a_population_follows_from_its_rule():
    # −0.8 + 1.0 + 0.8 + 1.2 against −0.8, without a policy; with one, ±0.6 or 0 at equal odds.
    assert table.truth("superrational", tournament=False) == pytest.approx(
        logistic(2.2) - logistic(-0.8))
    assert table.truth("superrational", tournament=True) == pytest.approx(sum(
        logistic(2.2 + lean) - logistic(-0.8 + lean) for lean in (-0.6, 0, 0.6)) / 3)
    assert table.truth("compliance", tournament=True) == 0
    # Only where H is high: half of it.
    assert table.truth("compliance-cued", tournament=True) == pytest.approx(
        table.truth("superrational", tournament=True) / 2)
    assert expected("label-biased", scenes(PILOT[3])) == pytest.approx(
        (logistic(1.6) + logistic(0.8) + logistic(-0.8)) / 3)


def test_policies_lean_alike_in_every_decision_that_rests_on_them():
    def spread(population):
        """SD over agents of their share of cooperation in one run of 60 others."""
        run = next(run for run in c.tournament_runs(population, 60, [3], ("confirmatory",)))
        own = {}
        for row in c.collect(population, [run]).rows:
            if row.cooperates is not None:
                own.setdefault(row.agent, []).append(row.cooperates)
        rates = [sum(values) / len(values) for values in own.values()]
        mean = sum(rates) / len(rates)
        return math.sqrt(sum((rate - mean) ** 2 for rate in rates) / (len(rates) - 1))

    # A coin's rates over 59 decisions have SD sqrt(1/4/59) = 0.065; with a normal log-odds of SD 1
    # they have that and the SD of the logistic-normal, 0.208 (numerical integration).
    assert spread("coin") == pytest.approx(0.065, abs=0.02)
    assert spread("policies-1") == pytest.approx(math.hypot(0.208, 0.065), abs=0.05)


def test_an_incident_moves_the_cues_alike_for_everybody():
    def effects(population, seeds):
        out = []
        for seed in seeds:
            held = c.collect(population, c.tournament_runs(population, 20, [seed],
                                                           ("confirmatory",))[:8])
            sides = [[row.cooperates for row in held.rows if cell == (row.S, row.C)
                      and row.cooperates is not None] for cell in (("high", "present"),
                                                                   ("low", "absent"))]
            out.append(sum(sides[0]) / len(sides[0]) - sum(sides[1]) / len(sides[1]))
        return out

    # 760 decisions a side: a coin's effect has SD 0.026.
    assert max(map(abs, effects("coin", range(4)))) < 0.11
    assert max(map(abs, effects("bulletins-1", range(4)))) > 0.2


# --- what is kept ------------------------------------------------------------------------------

FLAGS = ("--populations", "coin,superrational", "--sizes", "4,4x1", "--reps", 3, "--fits", 1)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A whole small calibration, by hand of the command line."""
    home = tmp_path_factory.mktemp("calibration")
    run = calibrate(home, *FLAGS)
    assert run.returncode == 0, run.stderr
    return home / "results" / "calibration", run


def calibrate(home, *flags):
    return subprocess.run([sys.executable, ROOT / "calibrate.py", *map(str, flags)], cwd=home,
                          capture_output=True, text=True, timeout=120)


def contents(folder):
    return {path.name: read_bytes(path) for path in sorted(folder.iterdir())}


def test_the_command_writes_tables_and_pages(done):
    folder, run = done
    assert sorted(contents(folder)) == ["calibration.json", "calibration.md",
                                        "replications.jsonl.gz", "report.html"]
    out = json.loads((folder / "calibration.json").read_text("utf-8"))
    assert out["stamp"] == "SIMULATED" and out["replications"] == 12
    assert run.stdout.startswith("SIMULATED") and "\n12 replications: " in run.stdout
    for name in ("calibration.md", "report.html"):
        assert "SIMULATED" in (folder / name).read_text("utf-8")


@pytest.mark.parametrize("more", [("--jobs", 2), ("--populations", "superrational,coin")])
def test_the_same_bytes_on_processes_and_in_any_order(done, tmp_path, more):
    run = calibrate(tmp_path, *FLAGS, *more)
    assert run.returncode == 0, run.stderr
    assert contents(tmp_path / "results" / "calibration") == contents(done[0])


def test_it_resumes_after_a_torn_line_and_goes_on_with_more(done, tmp_path):
    folder = tmp_path / "results" / "calibration"
    folder.mkdir(parents=True)
    lines = read_bytes(done[0] / "replications.jsonl.gz").splitlines(keepends=True)
    (folder / "replications.jsonl").write_bytes(b"".join(lines[:6]) + lines[6][:40])
    run = calibrate(tmp_path, *FLAGS)
    assert run.returncode == 0 and contents(folder) == contents(done[0])
    assert "done=12 total=12" in run.stderr
    more = calibrate(tmp_path, *FLAGS[:4], "--reps", 4, "--fits", 1, "--json")
    assert json.loads(more.stdout)["replications"] == 16
    again = calibrate(tmp_path, *FLAGS[:4], "--reps", 4, "--fits", 1)
    assert again.returncode == 0 and "progress" not in again.stderr


def test_ctrl_c_in_a_terminal_is_one_line_and_resumes(done, tmp_path):
    """The signal reaches parent and workers, as a terminal sends it."""
    argv = [sys.executable, str(ROOT / "calibrate.py"), "--populations", "coin", "--sizes", "10x1",
            "--reps", "60", "--fits", "0", "--jobs", "2"]
    with subprocess.Popen(argv, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
                          text=True, start_new_session=True) as process:
        path = tmp_path / "results" / "calibration" / "replications.jsonl"
        while process.poll() is None and not (path.exists() and path.stat().st_size > 10_000):
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        said = process.stderr.read()
    assert process.returncode == 130, said
    errors = [line for line in said.splitlines() if not line.startswith("progress")]
    assert len(errors) == 1 and errors[0].startswith("error: interrupted")
    assert len(path.read_bytes().splitlines()) > 1


@pytest.mark.parametrize("flags, said", [
    (("--seed", 43), "another seed"), (("--reps", 0), "--reps"), (("--fits", 9), "--fits"),
    (("--jobs", 0), "--jobs"), (("--sizes", ""), "--sizes"), (("--populations", "coins"), "coins"),
])
def test_bad_input_is_one_line(done, flags, said):
    run = calibrate(done[0].parents[1], *FLAGS, *flags)
    assert run.returncode == 2 and run.stderr.count("\n") == 1 and said in run.stderr
    assert "Traceback" not in run.stderr


def test_replications_of_other_code_are_not_mixed(done, tmp_path):
    folder = tmp_path / "results" / "calibration"
    folder.mkdir(parents=True)
    head, *rest = [json.loads(line) for line in
                   read_bytes(done[0] / "replications.jsonl.gz").splitlines()]
    head["code_sha256"]["cirrus/judge/gates.py"] = "0" * 64
    (folder / "replications.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in [head, *rest[:-1]]))
    run = calibrate(tmp_path, *FLAGS)
    assert run.returncode == 2 and "cirrus/judge/gates.py has changed" in run.stderr
    (folder / "replications.jsonl").write_text("".join(
        json.dumps(row) + "\n" for row in [head, *rest]))
    assert calibrate(tmp_path, *FLAGS).returncode == 0  # nothing is missing: tables only


def test_a_damaged_file_is_named(tmp_path):
    folder = tmp_path / "results" / "calibration"
    folder.mkdir(parents=True)
    (folder / "replications.jsonl").write_text('{"seed": 42}\nnot json\n{"rep": 1}\n')
    run = calibrate(tmp_path, *FLAGS)
    assert run.returncode == 2 and "replications.jsonl line 2" in run.stderr


def test_a_dry_run_writes_nothing(tmp_path):
    run = calibrate(tmp_path, "--dry-run", "--reps", 1000)
    assert run.returncode == 0 and "51,000 replications" in run.stdout
    assert not any(tmp_path.iterdir())


def test_portions_hold_every_missing_replication_once():
    size = c.read_size("10x1")
    keys = runs.wanted(["coin", "reciprocal"], [size], 50)
    missing = [key for key in keys if key[2] % 3]
    works = runs.portions(keys, {key for key in keys if key not in missing}, 42, 10)
    held = [(work.population, work.size, rep) for work in works for rep in work.reps]
    assert sorted(held) == sorted(missing)
    for work in works:
        fits = {runs.fitted(work.population, size, rep, work.fits) for rep in work.reps}
        cost = sum(runs.seconds(work.population, size, fit) for fit in fits) * len(work.reps)
        assert len(fits) == 1 and (cost <= runs.PORTION_S or len(work.reps) == 1)


# --- tables ------------------------------------------------------------------------------------

HEADER = {"seed": 1, "prompts_sha256": "0" * 64, "code_sha256": {}}
WIRES = dict.fromkeys(("unreadable", "truncation", "position", "overlap", "attrition", "served"),
                      False)


def record(population, rep, size="10x1", p=0.5, value=0.0, verdict="undecided", met=False, **more):
    usual = {"population": population, "size": size, "rep": rep, "drawn": rep,
             "primary": [value, value - 0.1, value + 0.1], "p": p, "t_p": p, "by_seed_p": None,
             "delta": [value, value - 0.1, value + 0.1], "met": met,
             "model": {name: {"SxC": p, "primary": p, "estimate": value}
                       for name in ("as_specified", "with_policy")},
             "at_h": {"high": [value, p], "low": [value, p]}, "absent_at_low": False,
             "gates": {gate: ["pass", verdict] for gate in table.GATES}, "superrational": False,
             "tripped": dict(WIRES)}
    return usual | more


def verdicts(records):
    out = table.table(HEADER, records)
    return {claim["what"]: (claim["figure"]["k"], claim["figure"]["n"], claim["met"])
            for claim in out["expectations"]}


def test_a_level_that_is_kept_and_one_that_is_not():
    kept = [record("coin", rep, p=0.01 if rep < 5 else 0.5) for rep in range(100)]
    lost = [record("coin", rep, p=0.01 if rep < 15 else 0.5) for rep in range(100)]
    what = "the design-based test rejects at most 5%"
    assert verdicts(kept)[what] == (5, 100, True)
    assert verdicts(lost)[what] == (15, 100, False)
    met = [record("coin", rep, met=rep < 15) for rep in range(100)]
    assert verdicts(met)["the primary endpoint is met in at most 5%"] == (15, 100, False)


def test_coverage_that_is_right_and_that_is_short():
    what = "the 95% interval of the primary contrast covers it in 93% to 97%"
    for short, met in ((5, True), (20, False)):
        records = [record("coin", rep, value=0.2 if rep < short else 0.01) for rep in range(100)]
        assert verdicts(records)[what] == (100 - short, 100, met)


@pytest.mark.parametrize("population, gate", [
    ("label-biased", "labels"), ("reciprocal", "first_encounter"), ("overfit", "holdout"),
    ("domain-bound", "cross_domain"), ("tell-sensitive", "ablation"), ("coin", "effect_size"),
    ("compliance", "first_encounter")])
def test_a_gate_that_lets_its_confound_through_is_told(population, gate):
    what = f"gate “{table.GATES[gate][0]}” passes in at most 5%"
    stopped = [record(population, rep) for rep in range(40)]
    assert verdicts(stopped)[what] == (0, 40, True)
    through = [record(population, rep, gates={
        name: ["pass", "pass" if name == gate else "fail"] for name in table.GATES})
        for rep in range(40)]
    assert verdicts(through)[what] == (40, 40, False)


def test_a_tripwire_that_is_silent_is_told():
    silent = [record("copycat", rep) for rep in range(40)]
    rings = [record("copycat", rep, tripped=WIRES | {"overlap": True}) for rep in range(40)]
    what = "tripwire “overlap” trips in at least 90%"
    assert verdicts(silent)[what] == (0, 40, False)
    assert verdicts(rings)[what] == (40, 40, True)


def test_nothing_is_claimed_from_a_few_replications():
    assert {met for _, _, met in verdicts([record("coin", rep) for rep in range(5)]).values()} == {
        None}


def test_the_smallest_size_that_is_enough():
    def at(size, share):
        return [record("superrational", rep, size, verdict="pass" if rep < 40 * share else
                       "undecided") for rep in range(40)]
    out = table.table(HEADER, at("40x4", 0.9) + at("10x1", 0.5) + at("20x4", 0.85))
    assert out["minimum_sizes"]["labels"]["size"] == "20x4"
    assert out["minimum_sizes"]["labels"]["tried"] == ["10x1", "20x4", "40x4"]
    none = table.table(HEADER, at("10x1", 0.5))["minimum_sizes"]["labels"]
    assert none["size"] is None and none["passed"]["k"] == 20 and "often enough" in none["why"]


def test_what_is_not_evaluable_is_no_replication_of_a_gate():
    records = [record("superrational", rep, verdict="pass" if rep % 2 else "not evaluable")
               for rep in range(40)]
    gate = table.table(HEADER, records)["tournaments"][0]["gates"]["labels"]
    assert (gate["established"]["k"], gate["established"]["n"]) == (20, 20)


def test_every_table_is_shown_in_text_and_on_the_page():
    out = table.table(HEADER, [record("coin", rep, p=0.01) for rep in range(40)])
    made = reports.files(out)
    for shown in (made["report.html"].replace('<span class="pair">', "").replace("</span>", ""),
                  made["calibration.md"], terminal(reports.document(out))):
        assert "100.0% (91.2 to 100.0), 40" in shown and "NOT MET" in shown


# --- the committed example ---------------------------------------------------------------------

def test_the_committed_calibration_is_what_this_code_gives():
    lines = [json.loads(line) for line in
             read_bytes(COMMITTED / "replications.jsonl.gz").splitlines()]
    header, records = lines[0], lines[1:]
    held = json.loads((COMMITTED / "calibration.json").read_text("utf-8"))
    again = table.table(header, records)
    assert all(claim["met"] is not False for claim in held["expectations"])
    assert held == json.loads(canonical_json(again))
    wanted = [("superrational", "10x1", 300), ("coin", "10", 7), ("label-biased", "10x1", 11),
              ("bulletins-1", "10x1", 150), ("superrational", "10x1", 999), ("policies-1", "20", 5),
              ("overfit", "10x1", 3)]
    stored = {runs.key_of(entry): entry for entry in records}
    for population, size, rep in wanted:
        fit = stored[population, size, rep].get("model") is not None
        assert c.replicate(population, c.read_size(size), rep, header["seed"], fit) == stored[
            population, size, rep]

"""run_tournament.py as its users meet it: plans, resume, budgets, bad input; the same bytes."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from conftest import ROOT, clean_environment, pythons

from common.artifacts import read_bytes
from common.journal import entries

SCRIPT = "run_tournament.py"
SMALL = ("--agents", 3, "--rounds", 2)
LIVE = ("--models", "double/a", "--config", "live.json")
RUN = "cvd-S.high-C.present-H.high-s42"
# Specification, section 13, word for word.
SAMPLE = """{
  "agents": 10,
  "rounds": 10,
  "domain": "cvd",
  "toggles": {"S": "high", "C": "present", "H": "high"},
  "randomization": {
    "seeds": [42],
    "label_schemes": ["L1","L2","L3"],
    "option_order": "random",
    "history_mode": "standard"
  },
  "models": {
    "strategy": {"name": "google/gemini-2.5-flash", "max_out": 384},
    "decision": {"name": "openai/gpt-5-nano", "max_out": 8}
  },
  "cost": {"limit_usd": 10}
}"""


@pytest.fixture
def live(cli, tmp_path):
    """run_tournament.py against a double, which serves double/a to double/d."""
    (tmp_path / "live.json").write_text(json.dumps(
        {"models": {"strategy": {"name": "double/c"}, "decision": {"name": "double/a"}}}))

    def run(double, *flags, **more):
        return cli(SCRIPT, "--base-url", double.url, *LIVE, *flags, **more)
    return run


def derived(folder):
    """{name: content} of what must not differ between two ways of running."""
    return {path.relative_to(folder).as_posix(): read_bytes(path)
            for path in sorted(Path(folder).rglob("*"))
            if path.is_file() and not re.search(r"(^|/)(manifest\.json|journal\.jsonl.*|\.lock)$",
                                                path.relative_to(folder).as_posix())}


def answered(folder):
    """How often each id was answered, over all journals below `folder`."""
    return Counter(entry["id"] for path in sorted(Path(folder).rglob("journal.jsonl*"))
                   for entry, _, _ in entries(path) if entry["outcome"])


# --- one run -----------------------------------------------------------------------------------

def test_the_default_runs_without_a_key_and_says_simulated_everywhere(cli, tmp_path):
    run = cli(SCRIPT)
    assert run.returncode == 0, run.stderr
    first, result, hint = run.stdout.splitlines()
    assert first.startswith("SIMULATED") and result.endswith("SIMULATED")
    assert hint == f"now: python3 analyze.py results/acausal/{RUN}"
    folder = tmp_path / "results/acausal" / RUN
    names = {path.name for path in folder.iterdir()}
    assert names == {"acausal_manifest.json", "manifest.json", "journal.jsonl.gz", "transcripts",
                     *(f"strategies_r{n}.json" for n in range(1, 11)),
                     *(f"round_{n}_games.json" for n in range(1, 11))}
    assert json.loads((folder / "acausal_manifest.json").read_text())["simulated"] is True
    games = json.loads((folder / "round_3_games.json").read_text())
    assert games["simulated"] is True and len(games["games"]) == 135
    policies = json.loads((folder / "strategies_r3.json").read_text())
    for policy in policies:
        text = read_bytes(folder / policy["transcript_path_gz"]).decode()
        assert text.startswith("SIMULATED") and policy["policy"] in text
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    assert size < 30e6


def test_the_specification_s_sample_loads_unchanged_with_a_warning(cli, tmp_path):
    (tmp_path / "sample.json").write_text(SAMPLE)
    run = cli(SCRIPT, "--config", "sample.json", "--dry-run")
    assert run.returncode == 0
    assert "warning: models.decision.max_out: 8 tokens are too small" in run.stderr
    ours = json.loads((ROOT / "config/experiment.config.json").read_text())
    for key, value in json.loads(SAMPLE).items():
        own = ours[key]
        assert own == (own | value if isinstance(value, dict) else value), key


def test_a_second_start_finds_nothing_to_do(cli, tmp_path):
    assert cli(SCRIPT, *SMALL, "--out", "o").returncode == 0
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "o").rglob("*")}
    again = cli(SCRIPT, *SMALL, "--out", "o")
    assert again.returncode == 0 and "already complete; nothing to do" in again.stdout
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "o").rglob("*")} == before


def test_a_lost_artifact_is_derived_again_without_a_call(cli, tmp_path):
    assert cli(SCRIPT, *SMALL, "--out", "o").returncode == 0
    before = derived(tmp_path / "o")
    (tmp_path / "o" / RUN / "round_2_games.json").unlink()
    assert cli(SCRIPT, *SMALL, "--out", "o").returncode == 0
    assert derived(tmp_path / "o") == before
    assert set(answered(tmp_path / "o").values()) == {1}


def test_an_outage_leaves_partial_artifacts_that_verify_and_the_same_command_completes_them(
        live, cli, double, tmp_path):
    double.script(faults=[{"fault": "402", "skip": 20}])
    stopped = live(double, *SMALL, "--out", "o")
    assert stopped.returncode == 5 and "Insufficient credits" in stopped.stderr
    assert cli("analyze.py", "--verify", "o").returncode == 3
    double.script()
    assert live(double, *SMALL, "--out", "o").returncode == 0
    assert live(double, *SMALL, "--out", "whole").returncode == 0
    assert derived(tmp_path / "o") == derived(tmp_path / "whole")
    assert cli("analyze.py", "--verify", "o").returncode == 0


def test_a_kill_after_an_outage_is_a_partial_run_and_no_forgery(live, cli, double, tmp_path):
    double.script(faults=[{"fault": "402", "skip": 20}])
    assert live(double, *SMALL, "--out", "o").returncode == 5
    double.script(latency_s=0.05)
    process = started(tmp_path, "--base-url", double.url, *LIVE, *SMALL, "--out", "o")
    wait_for(lambda: len(double.ledger()["requests"]) > 10)
    process.kill()
    process.communicate(timeout=30)
    verdict = cli("analyze.py", "--verify", "o")
    assert verdict.returncode == 3 and "PARTIAL" in verdict.stdout, verdict.stdout


@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_ends_a_whole_plan(tmp_path, jobs):
    process = started(tmp_path, "--plan", "exploratory", "--jobs", jobs, "--out", "o",
                      start_new_session=True)
    wait_for(lambda: len(list((tmp_path / "o").rglob("acausal_manifest.json"))) >= 2)
    os.killpg(process.pid, signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in said, said
    assert len(list((tmp_path / "o").rglob("acausal_manifest.json"))) < 10


def test_ctrl_c_ends_cleanly_and_the_same_command_resumes(live, double, tmp_path):
    double.script(latency_s=0.1)
    process = started(tmp_path, "--base-url", double.url, *LIVE, *SMALL, "--out", "o")
    wait_for(lambda: len(double.ledger()["requests"]) > 20)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=30)
    assert process.returncode == 130 and "interrupted" in said and "Traceback" not in said
    assert live(double, *SMALL, "--out", "o").returncode == 0
    assert set(answered(tmp_path / "o").values()) == {1}
    assert len(double.ledger()["requests"]) == 2 * (3 + 18)


def test_another_configuration_under_the_same_name_is_refused(cli):
    assert cli(SCRIPT, *SMALL, "--out", "o").returncode == 0
    other = cli(SCRIPT, "--agents", 4, "--rounds", 2, "--out", "o")
    assert other.returncode == 2 and "config.agents: 3 → 4" in other.stderr


def test_a_dry_run_prints_the_cost_of_the_configured_models_and_writes_nothing(cli, tmp_path):
    run = cli(SCRIPT, "--dry-run")
    usd = float(re.search(r"with google/gemini-2.5-flash and openai/gpt-5-nano, as configured: "
                          r"\$([\d.]+) a run", run.stdout)[1])
    # 2,700 decisions of some 750 + 96 tokens and 100 policies of 650 + 384, at list prices,
    # before any reasoning: 0.10 + 0.10 + 0.02 + 0.10 dollars
    assert 0.3 < usd < 10
    assert list(tmp_path.iterdir()) == []


def test_json_is_one_object(cli):
    data = json.loads(cli(SCRIPT, *SMALL, "--json").stdout)
    assert (data["exit_code"], data["runs"][0]["run_id"]) == (0, RUN)
    assert data["runs"][0]["simulated"] is True


@pytest.mark.parametrize(("version", "python"), list(pythons()))
def test_every_supported_python_derives_the_same_bytes(cli, tmp_path, version, python):
    if not python:
        pytest.skip(f"no Python {version} on this machine")
    assert cli(SCRIPT, *SMALL, "--out", "here").returncode == 0
    assert cli(SCRIPT, *SMALL, "--out", "there", python=python).returncode == 0
    assert derived(tmp_path / "here" / RUN) == derived(tmp_path / "there" / RUN)


@pytest.mark.parametrize("limits", ["1", "strategy=6,decision=8"])
def test_artifacts_do_not_depend_on_how_many_calls_are_made_at_once(live, double, tmp_path, limits):
    double.script(latency_s=0.01, jitter_s=0.01)
    assert live(double, *SMALL, "--out", "a", "--concurrency", limits).returncode == 0
    assert live(double, *SMALL, "--out", "b", "--concurrency", "strategy=3,decision=5"
                ).returncode == 0
    assert derived(tmp_path / "a") == derived(tmp_path / "b")


# --- plans -------------------------------------------------------------------------------------

def listed(run):
    return json.loads(run.stdout)["runs"]


@pytest.mark.parametrize(("plan", "runs", "calls"), [
    # cvd: 10 rounds of 10 policies and 270 decisions; hospital: 6 bulletins, so 6 rounds
    ("confirmatory", 10, 8 * 2800 + 2 * 1680), ("exploratory", 48, 3 * 8 * (2800 + 1680)),
    ("holdout", 8, 8 * 2800), ("ablation", 8, 8 * 2800), ("history-off", 8, 8 * 2800)])
def test_the_plans_are_those_of_the_specification(cli, plan, runs, calls):
    data = json.loads(cli(SCRIPT, "--plan", plan, "--dry-run", "--json").stdout)
    assert (len(data["runs"]), data["calls"]) == (runs, calls)
    names = [run["run_id"] for run in data["runs"]]
    cells = Counter(re.sub(r"-s\d+$", "", name) for name in names)
    assert len({re.search(r"S\.\w+-C\.\w+-H\.\w+", cell)[0] for cell in cells}) == 8
    if plan == "confirmatory":
        assert {n for n in names if n.startswith("hospital")} == {
            "hospital-S.high-C.present-H.low-s42", "hospital-S.low-C.absent-H.low-s42"}
    if plan == "exploratory":
        assert set(cells.values()) == {3} and len(cells) == 16
    if plan == "holdout":
        assert not any(name.endswith("-s42") for name in names)


def test_a_plan_s_runs_stand_in_a_folder_a_seed(cli, tmp_path):
    run = cli(SCRIPT, "--plan", "history-off", "--seeds", "1,2", "--agents", 2, "--rounds", 1)
    assert run.returncode == 0, run.stderr
    out = tmp_path / "results/acausal"
    assert {path.name for path in out.iterdir()} == {"history-off-s1", "history-off-s2"}
    names = {path.parent.name for path in (out / "history-off-s2").glob("*/acausal_manifest.json")}
    assert len(names) == 8 and "cvd-S.low-C.absent-H.low-history-off-s2" in names
    plan = json.loads((out / "history-off-s2/plan.json").read_text())
    assert set(plan["runs"]) == names


def test_the_same_bytes_from_one_process_and_from_two(cli, tmp_path):
    flags = ("--plan", "ablation", "--agents", 3, "--rounds", 1)
    assert cli(SCRIPT, *flags, "--out", "one").returncode == 0
    assert cli(SCRIPT, *flags, "--out", "two", "--jobs", 2).returncode == 0
    assert derived(tmp_path / "one") == derived(tmp_path / "two")


def test_a_run_of_a_plan_is_the_run_alone(cli, tmp_path):
    assert cli(SCRIPT, "--plan", "confirmatory", *SMALL).returncode == 0
    assert cli(SCRIPT, *SMALL, "--out", "alone").returncode == 0
    assert derived(tmp_path / "alone" / RUN) == derived(
        tmp_path / "results/acausal/confirmatory-s42" / RUN)


def test_a_live_plan_interleaves_its_runs(live, double, tmp_path):
    double.script(latency_s=0.005)
    run = live(double, "--plan", "ablation", *SMALL)
    assert run.returncode == 0, run.stderr
    whose = {}
    for path in (tmp_path / "results/acausal/ablation-s42").glob("*/journal.jsonl.gz"):
        for entry, _, _ in entries(path):
            whose[entry["request"]["seed"]] = path.parent.name
    order = [whose[call["seed"]] for call in double.ledger()["requests"]]
    assert len(order) == 8 * 2 * (3 + 18)
    for name in set(order):     # one after the other, the first run's calls would lie at 0.06
        places = [at for at, own in enumerate(order) if own == name]
        assert 0.42 < sum(places) / len(places) / len(order) < 0.58


def test_a_plan_file_is_run_as_written(cli, tmp_path):
    (tmp_path / "p.json").write_text(json.dumps({"name": "grid", "runs": [
        {"toggles": {"S": "low"}, "agents": 2, "rounds": 1},
        {"domain": "hospital", "toggles": {"H": "omit"}, "agents": 2, "rounds": 1, "seed": 7,
         "baselines": ["GrimTrigger"]}]}))
    run = cli(SCRIPT, "--plan", "p.json")
    assert run.returncode == 0, run.stderr
    assert {p.name for p in (tmp_path / "results/acausal/grid-s42").iterdir()} == {
        "plan.json", "cvd-S.low-C.present-H.high-s42", "hospital-S.high-C.present-H.omit-s7"}


def test_preregistration_comes_first_and_every_run_carries_its_hash(cli, tmp_path):
    flags = ("--plan", "ablation", "--agents", 2, "--rounds", 1)
    said = cli(SCRIPT, *flags, "--preregister")
    digest = re.search(r"8 runs, sha256 ([0-9a-f]{64})", said.stdout)[1]
    folder = tmp_path / "results/acausal/ablation-s42"
    assert [path.name for path in folder.iterdir()] == ["prereg.json"]
    data = json.loads((folder / "prereg.json").read_text())
    assert {"common/parsing.py"} <= data["files"]["parser"].keys()
    assert {"primary", "exclusions", "stopping_rule", "plan_sha256"} <= data.keys()
    assert cli(SCRIPT, *flags).returncode == 0
    carried = {json.loads(path.read_text())["prereg_sha256"]
               for path in folder.glob("*/acausal_manifest.json")}
    assert carried == {digest}
    late = cli(SCRIPT, *flags, "--preregister")
    assert late.returncode == 0 and digest in late.stdout     # the same one again


def test_a_preregistration_after_the_first_call_is_refused(cli):
    flags = ("--plan", "ablation", "--agents", 2, "--rounds", 1)
    assert cli(SCRIPT, *flags).returncode == 0
    late = cli(SCRIPT, *flags, "--preregister")
    assert late.returncode == 2 and "has begun already" in late.stderr


# --- kills -------------------------------------------------------------------------------------

def started(tmp_path, *flags, **more):
    return subprocess.Popen(
        [sys.executable, str(ROOT / SCRIPT), *map(str, flags)], cwd=tmp_path, text=True,
        env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)


def wait_for(condition, seconds=30):
    ends = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends, "it never came to that"
        time.sleep(0.01)


def children(pid):
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [int(child) for child in text.split()
            if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]


PLAN = ("--plan", "exploratory", "--agents", 4, "--rounds", 2)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds worker processes in /proc")
@pytest.mark.parametrize("victim", ["parent", "child"])
def test_a_plan_survives_sigkill_of_parent_and_child_with_nothing_repeated(cli, tmp_path, victim):
    process = started(tmp_path, *PLAN, "--jobs", 2, "--out", "o")
    wait_for(lambda: len(list((tmp_path / "o").rglob("acausal_manifest.json"))) >= 5)
    os.kill(process.pid if victim == "parent" else children(process.pid)[0], signal.SIGKILL)
    process.communicate(timeout=120)
    if victim == "parent":
        assert process.returncode == -signal.SIGKILL
        assert len(list((tmp_path / "o").rglob("acausal_manifest.json"))) < 48
    again = cli(SCRIPT, *PLAN, "--jobs", 2, "--out", "o", timeout=120)
    assert again.returncode == 0, again.stderr
    counts = answered(tmp_path / "o")
    assert set(counts.values()) == {1}
    assert len(counts) == 48 * 2 * (4 + 36)
    assert cli(SCRIPT, *PLAN, "--out", "whole", timeout=120).returncode == 0
    assert derived(tmp_path / "o") == derived(tmp_path / "whole")


@pytest.mark.parametrize(("plan", "runs"), [((), 1), (("--plan", "ablation"), 8)])
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


# --- money -------------------------------------------------------------------------------------

def test_a_plan_s_budget_holds_over_all_its_runs(live, double, tmp_path):
    double.script(latency_s=0.002, greedy=True)
    first = live(double, "--plan", "ablation", *SMALL, "--limit-usd", 0.5)
    assert first.returncode == 4 and "--limit-usd" in first.stderr
    billed = double.ledger()["billed_usd"]
    assert billed <= 0.5
    again = live(double, "--plan", "ablation", *SMALL, "--limit-usd", 5)
    assert again.returncode == 0, again.stderr
    counts = answered(tmp_path / "results")
    assert set(counts.values()) == {1} and len(counts) == 8 * 2 * (3 + 18)
    spent = sum(json.loads(path.read_text())["cost"]["spent_usd"]
                for path in (tmp_path / "results").rglob("*/manifest.json"))
    assert spent == pytest.approx(double.ledger()["billed_usd"])


@pytest.mark.parametrize(("flags", "total", "each"), [
    ((), 10, 10), (("--limit-usd", 2), 2, 2), (("--limit-usd", 50), 50, 50),
    (("--seeds", "1,2,3"), 30, 10), (("--seeds", "1,2,3", "--limit-usd", 5), 5, 10),
    (("--plan", "ablation"), 80, 10), (("--plan", "ablation", "--limit-usd", 100), 100, 10)])
def test_the_flag_limits_the_command_and_the_configuration_each_run(cli, flags, total, each):
    said = cli(SCRIPT, "--dry-run", "--provider", "openrouter", *SMALL, *flags).stdout
    assert f"limit ${total}\n" in said
    assert {line.rpartition("of $")[2] for line in said.splitlines()[1:]} == {str(each)}


def test_each_run_of_a_plan_keeps_to_its_own_limit(live, double, tmp_path):
    double.script(latency_s=0.002, greedy=True)
    config = json.loads((tmp_path / "live.json").read_text()) | {"cost": {"limit_usd": 0.06}}
    (tmp_path / "live.json").write_text(json.dumps(config))
    run = live(double, "--plan", "ablation", *SMALL, "--limit-usd", 100)
    assert run.returncode == 4 and "limit $0.06" in run.stderr
    for path in (tmp_path / "results").rglob("*/manifest.json"):
        assert json.loads(path.read_text())["cost"]["spent_usd"] <= 0.06


def test_the_projection_after_a_tenth_of_the_calls_is_near_the_final_cost(live, double, tmp_path):
    from common.limits import Budget, Means
    from common.wire import Model
    assert live(double, "--agents", 6, "--rounds", 4, "--out", "o").returncode == 0
    path = next((tmp_path / "o").rglob("journal.jsonl.gz"))
    lines = [entry for entry, _, _ in entries(path)]
    total, stages = len(lines), Counter(entry["stage"] for entry in lines)
    final = sum(entry["cost_usd"] for entry in lines)
    budget, seen = Budget(10, Model()), Counter()
    for entry in lines[:total // 10]:
        key = entry["stage"], "m"
        budget.seen.setdefault(key, Means()).add(entry["cost_usd"], entry["cost_usd"])
        budget.spent += entry["cost_usd"]
        seen[entry["stage"]] += 1
    from common.limits import Plan
    budget.plans = {(stage, "m"): Plan(n - seen[stage], 0.0) for stage, n in stages.items()}
    assert budget.projection() == pytest.approx(final, rel=0.2)


# --- bad input ---------------------------------------------------------------------------------

@pytest.mark.parametrize(("flags", "said"), [
    (["--toggle", "X=high"], "unknown key 'toggles.X'"),
    (["--toggle", "S=middle"], "toggles.S must be one of high, low"),
    (["--toggle", "S"], "is not FACTOR=LEVEL"),
    (["--toggle", "S=high", "--toggle", "S=low"], "sets a factor twice"),
    (["--agents", "1"], "agents must be at least 2"),
    (["--rounds", "11"], "domain 'cvd' has 10 bulletins; give --rounds 10"),
    (["--domain", "hospital", "--rounds", "7"], "domain 'hospital' has 6 bulletins"),
    (["--domain", "space"], "domain must be one of cvd, hospital"),
    (["--plan", "confirmatry"], "did you mean 'confirmatory'?"),
    (["--plan", "nowhere.json"], "No such file"),
    (["--plan", "twice.json"], "is named twice"),
    (["--plan", "odd.json"], "runs[0]: unknown key 'agent'; did you mean 'agents'?"),
    (["--plan", "empty.json"], "needs runs"),
    (["--plan", "confirmatory", "--toggle", "S=low"], "--plan sets toggles"),
    (["--models", "superrationl"], "did you mean 'superrational'?"),
    (["--seeds", "1,1"], "names one seed twice"),
    (["--seeds", "one"], "must be whole numbers"),
    (["--seed", "1", "--seeds", "2"], "give one of them"),
    (["--jobs", "0"], "--jobs: must be at least 1"),
    (["--run-id", "a/b"], "can't be a folder's name"),
    (["--plan", "ablation", "--run-id", "x"], "names one run"),
    (["--preregister"], "give the --plan"),
    (["--config", "bad.json"], "unknown key 'agnets'; did you mean 'agents'?"),
    (["--config", "label.json"], "randomization.label_schemes"),
])
def test_bad_input_is_one_clear_line_and_exit_code_2(cli, tmp_path, flags, said):
    run = {"toggles": {"S": "low"}, "agents": 2, "rounds": 1}
    for name, data in {"twice": {"runs": [run, dict(run)]}, "odd": {"runs": [{"agent": 3}]},
                       "empty": {"name": "x"}, "bad": {"agnets": 3},
                       "label": {"randomization": {"label_schemes": ["L1", "L9"]}}}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(data))
    before = sorted(path.name for path in tmp_path.iterdir())
    done = cli(SCRIPT, *flags)
    lines = [line for line in done.stderr.splitlines() if not line.startswith("warning:")]
    assert done.returncode == 2 and len(lines) == 1 and done.stdout == ""
    assert lines[0].startswith("error: ") and said in lines[0]
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_help_loads_neither_prompts_nor_statistics():
    code = ("import sys, run_tournament\n"
            "try: run_tournament.main(['--help'])\nexcept SystemExit: pass\n"
            "sys.exit(bool({'requests', 'stats', 'cirrus.scenario'} & set(sys.modules)))")
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False,
                          stdout=subprocess.DEVNULL).returncode == 0

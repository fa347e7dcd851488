"""run_tournament.py as its users meet it: a run, a plan, its money; the same bytes each time."""

import gzip
import json
import os
import re
import shutil
import signal
from itertools import product
from statistics import fmean

import pytest
from conftest import ROOT, run_in
from tournaments import SCRIPT, SMALL, answered, derived, started, wait_for

RUN = "cvd-S.high-C.present-H.high-s42"
# Specification, section 13.
SAMPLE = {
    "agents": 10,
    "rounds": 10,
    "domain": "cvd",
    "toggles": {"S": "high", "C": "present", "H": "high"},
    "randomization": {
        "seeds": [42],
        "label_schemes": ["L1", "L2", "L3"],
        "option_order": "random",
        "history_mode": "standard",
    },
    "models": {
        "strategy": {"name": "google/gemini-2.5-flash", "max_out": 384},
        "decision": {"name": "openai/gpt-5-nano", "max_out": 8},
    },
    "cost": {"limit_usd": 10},
}


# --- a run -------------------------------------------------------------------------------------


def test_the_default_runs_without_a_key_and_says_simulated(cli, tmp_path):
    run = cli(SCRIPT)
    assert run.returncode == 0, run.stderr
    first, result, hint = run.stdout.splitlines()
    assert first.startswith("SIMULATED") and result.endswith("SIMULATED")
    assert hint == f"now: python3 analyze.py results/acausal/{RUN}"
    folder = tmp_path / "results/acausal" / RUN
    assert len(list(folder.glob("round_*_games.json"))) == 10


def test_the_specification_s_sample_loads_unchanged_with_a_warning(cli, tmp_path):
    (tmp_path / "sample.json").write_text(json.dumps(SAMPLE))
    run = cli(SCRIPT, "--config", "sample.json", "--dry-run")
    assert run.returncode == 0 and (
        "warning: models.decision.max_out: 8 tokens are too small" in run.stderr
    )
    ours = json.loads((ROOT / "config/experiment.config.json").read_text())
    for key, value in json.loads(json.dumps(SAMPLE).replace(": 8}", ": 96}")).items():
        assert ours[key] == (ours[key] | value if isinstance(value, dict) else value), (
            key
        )


def test_an_outage_leaves_partial_artifacts_that_verify_and_the_same_command_completes_them(
    live, cli, double, tmp_path
):
    double.script(faults=[{"fault": "402", "skip": 20}])
    stopped = live(double, *SMALL, "--out", "o")
    assert stopped.returncode == 5 and "Insufficient credits" in stopped.stderr
    assert cli("analyze.py", "--verify", "o").returncode == 3
    double.script()
    assert live(double, *SMALL, "--out", "o").returncode == 0
    assert live(double, *SMALL, "--out", "whole").returncode == 0
    assert derived(tmp_path / "o") == derived(tmp_path / "whole")
    assert cli("analyze.py", "--verify", "o").returncode == 0


# --- plans -------------------------------------------------------------------------------------

LEVELS_ASKED = product(("high", "low"), ("present", "absent"), ("high", "low"))


CELLS = [f"S.{s}-C.{c}-H.{h}" for s, c, h in LEVELS_ASKED]
EXTREMES = ["S.high-C.present-H.low", "S.low-C.absent-H.low"]


def names(domain, cells, seeds=(42,), marks=("",)):
    every = product(cells, marks, seeds)
    return {f"{domain}-{cell}{mark}-s{seed}" for cell, mark, seed in every}


MAIN = names("cvd", CELLS) | names("hospital", EXTREMES)
OTHER_WORDS = names("cvd", CELLS, marks=("-reworded", "-ablated"))
OFF = names("cvd", CELLS, marks=["-history-off"])
# under a seed that no other run has
HELD_OUT = names("cvd", CELLS, [1042], ["-holdout"])


THRICE = [42, 43, 44]


SMALLEST = {name for name in MAIN if "cvd" in name and "H.low" in name}
EXPLORED = names("cvd", CELLS, THRICE) | names("hospital", CELLS, THRICE)
EVERYTHING = MAIN | OTHER_WORDS | HELD_OUT | OFF
# 10 rounds of 10 policies and 270 decisions; 8 held-out bulletins, so 8 rounds
PLANS = [
    ("2x2", SMALLEST, 4 * 2800),
    ("confirmatory", MAIN, 10 * 2800),
    ("ablation", OTHER_WORDS, 16 * 2800),
    ("exploratory", EXPLORED, 48 * 2800),
    ("holdout", HELD_OUT, 8 * 2240),
    ("history-off", OFF, 8 * 2800),
    ("study", EVERYTHING, 34 * 2800 + 8 * 2240),
]


@pytest.mark.parametrize("plan, runs, calls", PLANS)
def test_the_plans_are_those_of_the_specification(cli, plan, runs, calls):
    data = json.loads(cli(SCRIPT, "--plan", plan, "--dry-run", "--json").stdout)
    assert (data["calls"], len(data["runs"])) == (calls, len(runs))
    assert {run["run_id"] for run in data["runs"]} == runs


def bulletins(folder):
    """[(seed, round, bulletin)] of all runs below a folder."""
    found = []
    for path in folder.rglob("round_*_games.json"):
        data = json.loads(path.read_bytes())
        found.append((data["seed"], data["round"], data["bulletin"]))
    return found


def test_seeds_of_a_plan_have_different_bulletins_in_every_round(cli, tmp_path):
    """Twenty rounds on twenty bulletins, begun elsewhere by each seed; held-out ones are others."""
    flags = ("--agents", 2, "--seeds", "3,4,5", "--rounds", 20, "--out", "o")
    assert cli(SCRIPT, *flags).returncode == 0
    by_round, by_seed = {}, {}
    for seed, number, bulletin in bulletins(tmp_path / "o"):
        by_round.setdefault(number, set()).add((seed, bulletin))
        by_seed.setdefault(seed, set()).add(bulletin)
    for dealt in by_round.values():
        assert len(dealt) == len({bulletin for _, bulletin in dealt}) == 3
    main = by_seed[3]
    assert len(main) == 20 and by_seed == {3: main, 4: main, 5: main}
    flags = ("--plan", "holdout", "--agents", 2, "--out", "h")
    assert cli(SCRIPT, *flags).returncode == 0
    held_out = {bulletin for _, _, bulletin in bulletins(tmp_path / "h")}
    assert len(held_out) == 8 and held_out.isdisjoint(main)


def test_a_plan_s_runs_are_in_a_folder_per_seed_the_same_from_a_process_and_from_two(
    cli, tmp_path
):
    flags = ("--plan", "history-off", "--seeds", "1,2", "--agents", 3, "--rounds", 1)
    for jobs in (1, 2):
        done = cli(SCRIPT, *flags, "--out", f"jobs-{jobs}", "--jobs", jobs)
        assert done.returncode == 0 and "336 calls, $0" in done.stdout
    assert derived(tmp_path / "jobs-1") == derived(tmp_path / "jobs-2")
    for seed in (1, 2):
        [folder] = (tmp_path / "jobs-1").glob(f"history-off-s{seed}*")
        planned = json.loads((folder / "plan.json").read_text("utf-8"))["runs"]
        made = folder.glob("*/acausal_manifest.json")
        assert {path.parent.name for path in made} == {*planned}
        assert {*planned} == names("cvd", CELLS, [seed], ["-history-off"])


@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_ends_a_whole_plan(tmp_path, jobs):
    def manifests():
        return len(list((tmp_path / "o").rglob("acausal_manifest.json")))

    size = ("--plan", "exploratory", "--agents", 6, "--rounds", 6)
    where = ("--jobs", jobs, "--out", "o")
    process = started(tmp_path, *size, *where, start_new_session=True)
    wait_for(lambda: manifests() >= 2)
    os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in output, output
    assert manifests() < 10


def test_a_live_plan_interleaves_its_runs(live, double, tmp_path):
    double.script(latency_s=0.005)
    assert live(double, "--plan", "ablation", *SMALL).returncode == 0
    run_of = {}
    for path in run_in(tmp_path / "results/acausal").glob("*/journal.jsonl.gz"):
        for line in gzip.decompress(path.read_bytes()).splitlines():
            entry = json.loads(line)
            if "request" in entry and entry["stage"] != "warmup":
                run_of[entry["request"]["seed"]] = path.parent.name
    asked = [call["seed"] for call in double.ledger()["requests"]]
    order = [run_of[seed] for seed in asked if seed in run_of]
    assert len(order) == 16 * 2 * (3 + 18)
    places = {}
    for at, name in enumerate(order):
        places.setdefault(name, []).append(at / len(order))
    for middle in map(fmean, places.values()):
        assert 0.42 < middle < 0.58  # run after run, the first would lie at 0.06


NAMED = [
    (("--models", "double/a,double/b"), "ab", "ab"),
    (("--models", "double/a", "--strategy-models", "double/b,double/d"), "bd", "a"),
]


@pytest.mark.parametrize("flags, strategists, deciders", NAMED)
def test_only_the_models_that_are_named_are_asked(
    cli, double, flags, strategists, deciders
):
    command = (SCRIPT, "--base-url", double.url, "--agents", 4, "--rounds", 1)
    assert cli(*command, *flags).returncode == 0
    asked = {384: set(), 96: set()}
    for call in double.ledger()["requests"]:
        asked[call["sent"]["max_completion_tokens"]].add(call["model"][-1])
    assert asked == {384: {*strategists}, 96: {*deciders}}


OF_ONE = {
    "models": {
        "strategy": {"name": "double/a"},
        "decision": {"name": "double/b", "reasoning_effort": "high"},
    }
}
EFFORTS = [((), {None, "high"}), (("low",), {"low"}), (("default",), {None})]


@pytest.mark.parametrize("level, expected", EFFORTS)
def test_an_effort_of_the_file_gives_way_to_the_flag_also_where_it_is_the_default(
    cli, double, tmp_path, level, expected
):
    (tmp_path / "my.json").write_text(json.dumps(OF_ONE))
    reasons = {"supported_parameters": ["reasoning", "temperature", "seed"]}
    double.script(models={"double/a": reasons, "double/b": reasons})
    flags = ("--base-url", double.url, "--agents", 2, "--rounds", 1)
    flags += ("--config", "my.json")
    if level:
        flags += ("--effort", *level)
    assert cli(SCRIPT, *flags).returncode == 0
    sent = [call["sent"].get("reasoning", {}) for call in double.ledger()["requests"]]
    assert {reasoning.get("effort") for reasoning in sent} == expected


def test_preregistration_comes_first_and_every_run_carries_it(cli, tmp_path):
    flags = ("--plan", "ablation", "--agents", 2, "--rounds", 1)
    registered = cli(SCRIPT, *flags, "--preregister")
    digest = re.search(r"16 runs, sha256 ([0-9a-f]{64})", registered.stdout)[1]
    folder = run_in(tmp_path / "results/acausal")
    assert {path.name for path in folder.iterdir()} == {"plan.json", "prereg.json"}
    done = cli("analyze.py", "--verify", folder)
    assert done.returncode == 3 and "16 of 16 runs were not begun" in done.stderr
    assert cli(SCRIPT, *flags).returncode == 0
    for path in folder.glob("*/acausal_manifest.json"):
        assert json.loads(path.read_text("utf-8"))["prereg_sha256"] == digest
    assert digest in cli(SCRIPT, *flags, "--preregister").stdout  # the same again
    last = max(path for path in folder.iterdir() if path.is_dir())
    shutil.move(last, tmp_path / "away")
    done = cli("analyze.py", "--verify", folder)
    assert done.returncode == 3 and f"PARTIAL  {folder}" in done.stdout
    assert last.name in done.stdout + done.stderr


# --- money -------------------------------------------------------------------------------------


def test_a_dry_run_prints_the_cost_and_writes_nothing(cli, tmp_path):
    words = cli(SCRIPT, "--dry-run", "--provider", "openrouter").stdout
    usd = float(re.search(r"projected cost \$([\d.]+),", words)[1])
    # 2,700 decisions of some 750 + 96 tokens and 100 policies of 650 + 384, at list prices,
    # before any reasoning: 0.10 + 0.10 + 0.02 + 0.10 dollars
    assert 0.3 < usd < 10
    flags = ("--provider", "openrouter", "--models", "d/d,c/c,b/b,a/a")
    run = cli(SCRIPT, "--dry-run", *flags)
    unpriced = ["a/a", "b/b", "c/c", "d/d"]
    assert re.findall("[a-d]/[a-d]", run.stdout) == unpriced
    assert list(tmp_path.iterdir()) == []


# by hand: 45 pairs of ten agents, each asked for both sides of three games; 4 agents and 2
# baselines are 15 pairs, 6 of two that are asked, 8 of one, 1 of none
BASELINES = {"baselines": ["AlwaysC", "TitForTat"], "games_per_pair": 1, "rounds": 2}
COUNTED = [
    ({}, "10 agents × 10 rounds × 45 pairs × 3 games: 100 policies, 2,700 decisions;"),
    (
        BASELINES | {"agents": 4},
        "4 agents and 2 baselines × 2 rounds × 15 pairs × 1 game: 8 policies, 40 decisions;",
    ),
]


@pytest.mark.parametrize("config, expected", COUNTED)
def test_a_dry_run_counts_what_will_be_asked(cli, tmp_path, config, expected):
    (tmp_path / "my.json").write_text(json.dumps(config))
    done = cli(SCRIPT, "--dry-run", "--config", "my.json")
    assert expected in " ".join(done.stdout.split())


def test_a_dry_run_counts_the_calls_that_a_server_then_gets(live, double):
    double.script()
    flags = ("--plan", "2x2", *SMALL)
    facts = json.loads(live(double, *flags, "--dry-run", "--json").stdout)
    assert facts["by_stage"] == {"strategy": 4 * 2 * 3, "decision": 4 * 2 * 18}
    assert live(double, *flags).returncode == 0
    asked = len(double.ledger()["requests"])
    assert asked == facts["calls"] + facts["warmups"]


def test_a_plan_whose_server_dies_is_unfinished_until_the_same_command_asks_the_rest(
    live, double, tmp_path
):
    """Policies are another model's, which is still well: the plan needs both."""
    flags = ("--plan", "2x2", *SMALL, "--strategy-models", "double/b")
    double.script(faults=[{"fault": "500", "skip": 60}])
    dead = live(double, *flags, "--preregister")
    assert dead.returncode == 0
    dead = live(double, *flags, "--analyze")
    assert dead.returncode == 3 and "the same command" in dead.stderr
    states = {}
    for path in (tmp_path / "results").rglob("*/manifest.json"):
        states[path.parent.name] = json.loads(path.read_text("utf-8"))["state"]
    assert len(states) == 4 and "incomplete" in states.values()
    double.script()
    assert live(double, *flags, "--analyze").returncode == 0
    counts = answered(tmp_path / "results")
    assert set(counts.values()) == {1} and len(counts) == 4 * 2 * (3 + 18)


def test_a_tournament_with_a_misspelt_model_asks_nothing(live, double):
    done = live(double, *SMALL, "--strategy-models", "double/e")
    assert done.returncode == 2
    assert "before the first call: double/e: not in the server's list" in done.stderr
    assert double.ledger()["requests"] == []


def test_a_plan_s_budget_holds_over_all_its_runs(live, double, tmp_path):
    double.script(latency_s=0.002, greedy=True)
    first = live(double, "--plan", "ablation", *SMALL, "--limit-usd", 0.5)
    assert first.returncode == 4 and "--limit-usd" in first.stderr
    assert double.ledger()["billed_usd"] <= 0.5
    # It fills the room that it is given, and so gets four times as much after the warm-up.
    again = live(double, "--plan", "ablation", *SMALL, "--limit-usd", 9)
    assert again.returncode == 0, again.stderr
    counts = answered(tmp_path / "results")
    assert set(counts.values()) == {1} and len(counts) == 16 * 2 * (3 + 18)
    spent = 0
    for path in (tmp_path / "results").rglob("*/manifest.json"):
        spent += json.loads(path.read_text("utf-8"))["cost"]["spent_usd"]
    assert spent == pytest.approx(double.ledger()["billed_usd"])


LIMITS = [
    (("--limit-usd", 2), 2),
    (("--seeds", "1,2,3"), 30),
    (("--plan", "ablation", "--limit-usd", 5), 5),
]


@pytest.mark.parametrize("flags, total", LIMITS)
def test_the_flag_limits_the_command_and_the_configuration_each_run(cli, flags, total):
    flags = ("--dry-run", "--provider", "openrouter", *SMALL, *flags)
    first, *_ = cli(SCRIPT, *flags).stdout.replace("\n    ", " ").splitlines()
    assert first.endswith(f"limit ${total}")

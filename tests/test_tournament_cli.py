"""run_tournament.py as its users meet it: a run, a plan, its money; the same bytes each time."""

import json
import os
import re
import shutil
import signal
from collections import Counter
from itertools import product

import pytest
from conftest import ROOT, run_in
from domains import DOMAINS
from tournaments import (
    MODELS,
    SCRIPT,
    SMALL,
    answered,
    derived,
    settings,
    started,
    wait_for,
)

from cirrus.ask.design import design
from common.journal import entries
from run_tournament import runs_of_plan

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
    first, result, _, hint = run.stdout.splitlines()
    assert first.startswith("SIMULATED") and result.endswith("SIMULATED")
    assert hint == f"now: python3 analyze.py results/acausal/{RUN}"
    assert (
        len(list((tmp_path / "results/acausal" / RUN).glob("round_*_games.json"))) == 10
    )


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

CELLS = [
    f"S.{s}-C.{c}-H.{h}"
    for s, c, h in product(("high", "low"), ("present", "absent"), ("high", "low"))
]
EXTREMES = ["S.high-C.present-H.low", "S.low-C.absent-H.low"]


def names(domain, cells, seeds=(42,), marks=("",)):
    return {
        f"{domain}-{cell}{mark}-s{seed}"
        for cell, mark, seed in product(cells, marks, seeds)
    }


MAIN = names("cvd", CELLS) | names("hospital", EXTREMES)
OTHER_WORDS = names("cvd", CELLS, marks=("-reworded", "-ablated"))
OFF = names("cvd", CELLS, marks=["-history-off"])
HELD_OUT = names(
    "cvd", CELLS, [1042], ["-holdout"]
)  # under a seed that no other run has


@pytest.mark.parametrize(
    ("plan", "runs", "calls"),
    [
        # 10 rounds of 10 policies and 270 decisions; 8 held-out bulletins, so 8 rounds
        ("2x2", {name for name in MAIN if "cvd" in name and "H.low" in name}, 4 * 2800),
        ("confirmatory", MAIN, 10 * 2800),
        ("ablation", OTHER_WORDS, 16 * 2800),
        (
            "exploratory",
            names("cvd", CELLS, [42, 43, 44]) | names("hospital", CELLS, [42, 43, 44]),
            48 * 2800,
        ),
        ("holdout", HELD_OUT, 8 * 2240),
        ("history-off", OFF, 8 * 2800),
        ("study", MAIN | OTHER_WORDS | HELD_OUT | OFF, 34 * 2800 + 8 * 2240),
    ],
)
def test_the_plans_are_those_of_the_specification(cli, plan, runs, calls):
    data = json.loads(cli(SCRIPT, "--plan", plan, "--dry-run", "--json").stdout)
    assert (data["calls"], len(data["runs"])) == (calls, len(runs))
    assert {run["run_id"] for run in data["runs"]} == runs


def bulletins_of(seeds, rounds, plan="confirmatory"):
    """{seed: the bulletins of its rounds} of a plan over these seeds."""
    runs = runs_of_plan(
        plan, settings() | {"agents": 2, "rounds": rounds}, MODELS, list(seeds), DOMAINS
    )
    return {
        run.config["seed"]: [
            round_.bulletin.id for round_ in design(DOMAINS["cvd"], run.config).rounds
        ]
        for run in runs
        if run.config["domain"] == "cvd"
    }


@pytest.mark.parametrize("seeds", [range(40, 60), [3, 3 + 20, 4, 24, 44]])
@pytest.mark.parametrize("rounds", [1, 10, 20])
def test_seeds_of_a_plan_have_different_bulletins_in_every_round(seeds, rounds):
    dealt = bulletins_of(seeds, rounds).values()
    assert all(len(set(bulletins)) == rounds for bulletins in dealt)
    assert all(len(set(column)) == len(dealt) for column in zip(*dealt, strict=True))


def test_a_seed_has_the_same_bulletins_alone_and_among_its_neighbours_and_21_seeds_share_some():
    assert bulletins_of([42], 10)[42] == bulletins_of([41, 42, 43], 10)[42]
    first = [bulletins[0] for bulletins in bulletins_of(range(21), 1).values()]
    assert sorted(Counter(first).values()) == [1] * 19 + [2]
    held = {b for dealt in bulletins_of([1], 8, "holdout").values() for b in dealt}
    assert len(held) == 8 and not held & set(first)


def test_a_plan_s_runs_are_in_a_folder_per_seed_the_same_from_a_process_and_from_two(
    cli, tmp_path
):
    flags = ("--plan", "history-off", "--seeds", "1,2", "--agents", 3, "--rounds", 1)
    for jobs in (1, 2):
        done = cli(SCRIPT, *flags, "--out", f"jobs-{jobs}", "--jobs", jobs)
        assert done.returncode == 0 and "336 calls, $0" in done.stdout
    assert derived(tmp_path / "jobs-1") == derived(tmp_path / "jobs-2")
    for folder, seed in zip(
        sorted((tmp_path / "jobs-1").iterdir()), (1, 2), strict=True
    ):
        assert folder.name.startswith(f"history-off-s{seed}")
        assert (
            {path.parent.name for path in folder.glob("*/acausal_manifest.json")}
            == {*json.loads((folder / "plan.json").read_text())["runs"]}
            == names("cvd", CELLS, [seed], ["-history-off"])
        )


@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_ends_a_whole_plan(tmp_path, jobs):
    process = started(
        tmp_path,
        "--plan",
        "exploratory",
        "--agents",
        6,
        "--rounds",
        6,
        "--jobs",
        jobs,
        "--out",
        "o",
        start_new_session=True,
    )
    wait_for(lambda: len(list((tmp_path / "o").rglob("acausal_manifest.json"))) >= 2)
    os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in output, output
    assert len(list((tmp_path / "o").rglob("acausal_manifest.json"))) < 10


def test_a_live_plan_interleaves_its_runs(live, double, tmp_path):
    double.script(latency_s=0.005)
    assert live(double, "--plan", "ablation", *SMALL).returncode == 0
    run_of = {}
    for path in run_in(tmp_path / "results/acausal").glob("*/journal.jsonl.gz"):
        for entry, _, _ in entries(path):
            if "request" in entry and entry["stage"] != "warmup":
                run_of[entry["request"]["seed"]] = path.parent.name
    asked = [call["seed"] for call in double.ledger()["requests"]]
    order = [run_of[seed] for seed in asked if seed in run_of]
    assert len(order) == 16 * 2 * (3 + 18)
    assert len(asked) - len(order) == 16 * 2 * 2  # runs, stages, two calls to warm up
    for name in set(order):  # run after run, the first run's calls would lie at 0.06
        places = [at for at, run in enumerate(order) if run == name]
        assert 0.42 < sum(places) / len(places) / len(order) < 0.58


@pytest.mark.parametrize(
    ("flags", "strategists", "deciders"),
    [
        (("--models", "double/a,double/b"), "ab", "ab"),
        (("--models", "double/a", "--strategy-models", "double/b,double/d"), "bd", "a"),
    ],
)
def test_only_the_models_that_are_named_are_asked(
    cli, double, flags, strategists, deciders
):
    command = (SCRIPT, "--base-url", double.url, "--agents", 4, "--rounds", 1)
    assert cli(*command, *flags).returncode == 0
    asked = {"384": set(), "96": set()}
    for call in double.ledger()["requests"]:
        asked[str(call["sent"]["max_completion_tokens"])].add(call["model"])
    assert asked == {
        "384": {f"double/{letter}" for letter in strategists},
        "96": {f"double/{letter}" for letter in deciders},
    }


OF_ONE = {
    "models": {
        "strategy": {"name": "double/a"},
        "decision": {"name": "double/b", "reasoning_effort": "high"},
    }
}


@pytest.mark.parametrize(
    ("config", "flags", "expected"),
    [
        (OF_ONE, (), {None, "high"}),
        (OF_ONE, ("--effort", "low"), {"low"}),
        (OF_ONE, ("--effort", "default"), {None}),
        ({"effort": "high"}, (), {"high"}),
        ({"effort": "high"}, ("--effort", "default"), {None}),
    ],
)
def test_an_effort_of_the_file_gives_way_to_the_flag_also_where_it_is_the_default(
    cli, double, tmp_path, config, flags, expected
):
    (tmp_path / "my.json").write_text(json.dumps(config))
    reasons = {"supported_parameters": ["reasoning", "temperature", "seed"]}
    double.script(models={f"double/{letter}": reasons for letter in "ab"})
    if config is not OF_ONE:
        flags = (*flags, "--models", "double/a")
    command = (SCRIPT, "--base-url", double.url, "--agents", 2, "--rounds", 1)
    assert cli(*command, "--config", "my.json", *flags).returncode == 0
    sent = [call["sent"] for call in double.ledger()["requests"]]
    assert {body.get("reasoning", {}).get("effort") for body in sent} == expected


def test_preregistration_comes_first_and_runs_that_were_not_begun_are_named(
    cli, tmp_path
):
    flags = ("--plan", "ablation", "--agents", 2, "--rounds", 1)

    def verified():
        done = cli("analyze.py", "--verify", folder)
        return done.returncode, done.stdout + done.stderr

    registered = cli(SCRIPT, *flags, "--preregister")
    digest = re.search(r"16 runs, sha256 ([0-9a-f]{64})", registered.stdout)[1]
    folder = run_in(tmp_path / "results/acausal")
    assert {path.name for path in folder.iterdir()} == {"plan.json", "prereg.json"}
    code, words = verified()
    assert code == 3 and "16 of 16 runs were not begun" in words
    assert cli(SCRIPT, *flags).returncode == 0
    assert {
        json.loads(path.read_text())["prereg_sha256"]
        for path in folder.glob("*/acausal_manifest.json")
    } == {digest}
    late = cli(SCRIPT, *flags, "--preregister")
    assert late.returncode == 0 and digest in late.stdout  # the same again
    last = max(path for path in folder.iterdir() if path.is_dir())
    shutil.move(last, tmp_path / "away")
    code, words = verified()
    assert code == 3 and "1 of 16 runs were not begun" in words and last.name in words
    assert f"PARTIAL  {folder}" in words and "FAILED" not in words
    shutil.move(tmp_path / "away", last)
    assert cli("analyze.py", folder).returncode == verified()[0] == 0
    shutil.rmtree(last)  # the analysis knows it
    code, words = verified()
    assert code == 2 and f"{last.name}, which is not here" in words


# --- money -------------------------------------------------------------------------------------


def test_a_dry_run_prints_the_cost_of_the_configured_models_and_writes_nothing(
    cli, tmp_path
):
    run = cli(SCRIPT, "--dry-run")
    usd = float(
        re.search(
            r"with google/gemini-2.5-flash and openai/gpt-5-nano, as configured: "
            r"\$([\d.]+) a run",
            " ".join(run.stdout.split()),
        )[1]
    )
    # 2,700 decisions of some 750 + 96 tokens and 100 policies of 650 + 384, at list prices,
    # before any reasoning: 0.10 + 0.10 + 0.02 + 0.10 dollars
    assert 0.3 < usd < 10
    run = cli(
        SCRIPT, "--dry-run", "--provider", "openrouter", "--models", "d/d,c/c,b/b,a/a"
    )
    assert re.findall("[a-d]/[a-d]", run.stdout) == [
        "a/a",
        "b/b",
        "c/c",
        "d/d",
    ]  # no prices
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("config", "flags", "expected"),
    [
        # by hand: 45 pairs of ten agents, each asked for both sides of three games
        (
            {},
            (),
            "10 agents × 10 rounds × 45 pairs × 3 games: 100 policies, 2,700 decisions;",
        ),
        # 4 agents and 2 baselines are 15 pairs: 6 of two that are asked, 8 of one, 1 of none
        (
            {"baselines": ["AlwaysC", "TitForTat"], "games_per_pair": 1},
            ("--agents", 4, "--rounds", 2),
            "4 agents and 2 baselines × 2 rounds × 15 pairs × 1 game: 8 policies, "
            "40 decisions;",
        ),
        (
            {},
            ("--agents", 2, "--rounds", 1, "--plan", "2x2"),
            "in all 4 runs: 8 policies, 24 decisions",
        ),
        (
            {},
            ("--agents", 2, "--rounds", 1, "--plan", "2x2", "--models", "m/a")
            + ("--provider", "openrouter"),
            "in all 4 runs: 8 policies, 24 decisions, 16 calls to warm up",
        ),
    ],
)
def test_a_dry_run_counts_what_will_be_asked(cli, tmp_path, config, flags, expected):
    (tmp_path / "my.json").write_text(json.dumps(config))
    done = cli(SCRIPT, "--dry-run", "--config", "my.json", *flags)
    words = " ".join(done.stdout.split())
    assert done.returncode == 0 and expected in words, words
    assert "bulletins of cvd: 20 main ones, 8 held out" in words


def test_a_dry_run_counts_the_calls_that_a_server_then_gets(live, double):
    double.script()
    flags = ("--plan", "2x2", *SMALL)
    facts = json.loads(live(double, *flags, "--dry-run", "--json").stdout)
    assert facts["by_stage"] == {"strategy": 4 * 2 * 3, "decision": 4 * 2 * 18}
    assert live(double, *flags).returncode == 0
    asked = len(double.ledger()["requests"])
    assert asked == facts["calls"] + facts["warmups"]


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
    spent = sum(
        json.loads(path.read_text())["cost"]["spent_usd"]
        for path in (tmp_path / "results").rglob("*/manifest.json")
    )
    assert spent == pytest.approx(double.ledger()["billed_usd"])


@pytest.mark.parametrize(
    ("flags", "total"),
    [
        ((), 10),
        (("--limit-usd", 2), 2),
        (("--seeds", "1,2,3"), 30),
        (("--seeds", "1,2,3", "--limit-usd", 5), 5),
        (("--plan", "ablation"), 160),
    ],
)
def test_the_flag_limits_the_command_and_the_configuration_each_run(cli, flags, total):
    flags = ("--dry-run", "--provider", "openrouter", *SMALL, *flags)
    first, *_ = cli(SCRIPT, *flags).stdout.replace("\n    ", " ").splitlines()
    assert first.endswith(f"limit ${total}")

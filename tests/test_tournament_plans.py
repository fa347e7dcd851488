"""run_tournament.py on plans: which runs, in which order, with what money."""

import json
import re
import shutil
from collections import Counter

import pytest
from conftest import run_in
from domains import DOMAINS
from tournaments import MODELS, SCRIPT, SMALL, answered, derived, settings

from cirrus.ask.design import design
from common.journal import entries
from run_tournament import runs_of_plan

# --- plans -------------------------------------------------------------------------------------

@pytest.mark.parametrize(("plan", "runs", "calls"), [
    # 10 rounds of 10 policies and 270 decisions; 8 held-out bulletins, so 8 rounds
    ("confirmatory", 10, 10 * 2800), ("exploratory", 48, 48 * 2800), ("holdout", 8, 8 * 2240),
    ("ablation", 16, 16 * 2800), ("history-off", 8, 8 * 2800), ("study", 34, 26 * 2800 + 8 * 2240)])
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
    if plan == "study":   # held-out runs under seeds that no other run has, and in one folder
        assert all(name.endswith("-s1042") == ("holdout" in name) for name in names)


def bulletins_of(seeds, rounds, variants="main"):
    """{seed: the bulletins of its rounds} of a plan over these seeds."""
    runs = runs_of_plan("holdout" if variants == "holdout" else "confirmatory", settings() | {
        "agents": 2, "rounds": rounds}, MODELS, list(seeds), DOMAINS)
    return {run.config["seed"]: [round_.bulletin.id for round_ in design(
        DOMAINS["cvd"], run.config).rounds] for run in runs if run.config["domain"] == "cvd"}


@pytest.mark.parametrize("seeds", [range(40, 60), [3, 3 + 20, 4, 24, 44]])
@pytest.mark.parametrize("rounds", [1, 10, 20])
def test_seeds_of_a_plan_stand_on_different_bulletins_in_every_round(seeds, rounds):
    dealt = bulletins_of(seeds, rounds)
    assert all(len(set(bulletins)) == rounds for bulletins in dealt.values())
    for number in range(rounds):
        assert len({bulletins[number] for bulletins in dealt.values()}) == len(dealt)


def test_a_seed_has_the_same_bulletins_alone_and_among_its_neighbours_and_21_seeds_share_one():
    assert bulletins_of([42], 10)[42] == bulletins_of([41, 42, 43], 10)[42]
    first = [bulletins[0] for bulletins in bulletins_of(range(21), 1).values()]
    assert sorted(Counter(first).values()) == [1] * 19 + [2]
    held = {b for dealt in bulletins_of([1], 8, "holdout").values() for b in dealt}
    assert len(held) == 8 and not held & set(first)


def test_a_plan_s_runs_stand_in_a_folder_a_seed(cli, tmp_path):
    run = cli(SCRIPT, "--plan", "history-off", "--seeds", "1,2", "--agents", 2, "--rounds", 1)
    assert run.returncode == 0, run.stderr
    first, second = sorted((tmp_path / "results/acausal").iterdir())
    assert [path.name[:14] for path in (first, second)] == ["history-off-s1", "history-off-s2"]
    names = {path.parent.name for path in second.glob("*/acausal_manifest.json")}
    assert len(names) == 8 and "cvd-S.low-C.absent-H.low-history-off-s2" in names
    plan = json.loads((second / "plan.json").read_text())
    assert set(plan["runs"]) == names


def test_the_same_bytes_from_one_process_and_from_two(cli, tmp_path):
    flags = ("--plan", "ablation", "--agents", 3, "--rounds", 1)
    assert cli(SCRIPT, *flags, "--out", "one").returncode == 0
    assert cli(SCRIPT, *flags, "--out", "two", "--jobs", 2).returncode == 0
    assert derived(tmp_path / "one") == derived(tmp_path / "two")


def test_a_live_plan_interleaves_its_runs(live, double, tmp_path):
    double.script(latency_s=0.005)
    run = live(double, "--plan", "ablation", *SMALL)
    assert run.returncode == 0, run.stderr
    whose = {}
    for path in run_in(tmp_path / "results/acausal").glob("*/journal.jsonl.gz"):
        for entry, _, _ in entries(path):
            whose[entry["request"]["seed"]] = path.parent.name
    order = [whose[call["seed"]] for call in double.ledger()["requests"]]
    assert len(order) == 16 * 2 * (3 + 18)
    for name in set(order):     # one after the other, the first run's calls would lie at 0.06
        places = [at for at, own in enumerate(order) if own == name]
        assert 0.42 < sum(places) / len(places) / len(order) < 0.58


def test_a_plan_file_is_run_as_written(cli, tmp_path):
    def planned(*runs):
        (tmp_path / "p.json").write_text(json.dumps({"name": "grid", "runs": runs}))
        return cli(SCRIPT, "--plan", "p.json")
    run = planned({"toggles": {"S": "low"}, "agents": 2, "rounds": 1}, {
        "domain": "hospital", "toggles": {"H": "omit", "effort": "low"}, "agents": 2, "rounds": 1,
        "seed": 7, "baselines": ["GrimTrigger"]})
    assert run.returncode == 0, run.stderr
    assert {p.name for p in run_in(tmp_path / "results/acausal").iterdir()} == {
        "plan.json", "cvd-S.low-C.present-H.high-s42",
        "hospital-S.high-C.present-H.omit-effort-low-s7"}
    assert "give --rounds 20 or fewer" in planned({"rounds": 21}).stderr
    assert "is named twice" in planned({"rounds": 1}, {"rounds": 2}).stderr


def test_preregistration_comes_first_and_every_run_carries_its_hash(cli, tmp_path):
    flags = ("--plan", "ablation", "--agents", 2, "--rounds", 1)
    said = cli(SCRIPT, *flags, "--preregister")
    digest = re.search(r"16 runs, sha256 ([0-9a-f]{64})", said.stdout)[1]
    folder = run_in(tmp_path / "results/acausal")
    assert {path.name for path in folder.iterdir()} == {"plan.json", "prereg.json"}
    begun = cli("analyze.py", "--verify", folder)
    assert begun.returncode == 3 and "16 of 16 runs were not begun" in begun.stderr
    assert cli(SCRIPT, *flags).returncode == 0
    carried = {json.loads(path.read_text())["prereg_sha256"]
               for path in folder.glob("*/acausal_manifest.json")}
    assert carried == {digest}
    late = cli(SCRIPT, *flags, "--preregister")
    assert late.returncode == 0 and digest in late.stdout     # the same one again


def test_a_plan_that_ended_before_all_runs_began_is_incomplete_and_names_them(cli, tmp_path):
    flags = ("--plan", "ablation", "--agents", 2, "--rounds", 1)
    cli(SCRIPT, *flags)
    folder = run_in(tmp_path / "results/acausal")
    last = sorted(path for path in folder.iterdir() if path.is_dir())[-1]
    shutil.move(last, tmp_path / "away")
    done = cli("analyze.py", "--verify", folder)
    assert done.returncode == 3 and "1 of 16 runs were not begun" in done.stderr
    assert last.name in done.stderr
    assert f"PARTIAL  {folder}" in done.stdout and "FAILED" not in done.stdout
    shutil.move(tmp_path / "away", last)
    assert cli("analyze.py", folder).returncode == cli("analyze.py", "--verify", folder
                                                       ).returncode == 0
    shutil.rmtree(last)  # the analysis knows it
    done = cli("analyze.py", "--verify", folder)
    assert done.returncode == 2 and f"{last.name}, which is not here" in done.stdout


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
    assert set(counts.values()) == {1} and len(counts) == 16 * 2 * (3 + 18)
    spent = sum(json.loads(path.read_text())["cost"]["spent_usd"]
                for path in (tmp_path / "results").rglob("*/manifest.json"))
    assert spent == pytest.approx(double.ledger()["billed_usd"])


@pytest.mark.parametrize(("flags", "total", "each"), [
    ((), 10, 10), (("--limit-usd", 2), 2, 2), (("--limit-usd", 50), 50, 50),
    (("--seeds", "1,2,3"), 30, 10), (("--seeds", "1,2,3", "--limit-usd", 5), 5, 10),
    (("--plan", "ablation"), 160, 10), (("--plan", "ablation", "--limit-usd", 100), 100, 10)])
def test_the_flag_limits_the_command_and_the_configuration_each_run(cli, flags, total, each):
    said = cli(SCRIPT, "--dry-run", "--provider", "openrouter", *SMALL, *flags).stdout.replace(
        "\n    ", " ")
    assert f"limit ${total}\n" in said
    assert {line.rpartition("of $")[2] for line in said.splitlines()[1:]} == {str(each)}

import copy
import json
import re
import shutil
from functools import reduce
from random import Random

import pandas as pd
import pytest

from conftest import pair
from pdbench.config.load import snapshot_sha256
from pdbench.core.types import RunError
from pdbench.runners.run_experiment import aggregate
from support import CONFIGS, manifest_changed, unfinished


@pytest.fixture
def run_dir(experiment, pdbench, project):
    model = {"strategy": "coin", "invalid_rate": 0.2, "max_retries": 8}
    path = experiment(
        [pair("a", model, "TFT"), pair("b", "GTFT", "ALLD")],
        run={"replicates": 3}, horizon={"type": "geometric", "stop_prob": 0.05},
    )  # fmt: skip
    assert pdbench("run", path)[0] == 0
    return project / "data/runs/test"


def test_twice_gives_the_same_bytes(run_dir, pdbench):
    file = run_dir / "aggregates.parquet"
    first = file.read_bytes()
    for _ in range(2):
        file.unlink()
        assert pdbench("aggregate", run_dir)[0] == 0
        assert file.read_bytes() == first


def test_it_agrees_with_pandas(run_dir):
    rounds = pd.read_json(run_dir / "rounds.jsonl", lines=True)
    table = pd.read_parquet(run_dir / "aggregates.parquet")
    table = table[table["level"] == "replicate"].set_index(["condition", "replicate"])
    for key, group in rounds.groupby(["condition", "replicate"]):
        row = table.loc[key]
        a, b = (group[f"agent_{x}_action"] == "C" for x in "ab")
        assert row["rounds"] == len(group)
        assert row["cooperation_rate"] == pytest.approx((a.mean() + b.mean()) / 2)
        assert row["total_payoff_agent_b"] == group["agent_b_payoff"].sum()
        after = ~b.shift(1, fill_value=True)
        expected = (a & after).sum() / after.sum() if after.any() else float("nan")
        assert row["forgiveness_rate_agent_a"] == pytest.approx(expected, nan_ok=True)


def test_only_the_configured_metrics_become_columns(experiment, pdbench, project):
    pdbench("run", experiment(metrics={"names": ["forgiveness_rate"]}))
    columns = set(
        pd.read_parquet(project / "data/runs/test/aggregates.parquet").columns
    )
    assert {"forgiveness_rate_agent_a", "forgiveness_rate_agent_b", "rounds"} <= columns
    assert (
        not {"cooperation_rate", "time_to_collapse", "cooperation_rate_over_time"}
        & columns
    )


def edit(run_dir, number, change):
    path = run_dir / "rounds.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    lines[number - 1] = change(lines[number - 1])
    path.write_text("".join(lines))


def to(field, value):
    """Set one field of a line, whatever it held."""

    def change(line):
        return (
            json.dumps(json.loads(line) | {field: value}, separators=(",", ":")) + "\n"
        )

    return change


DAMAGE = {
    "half a line": (lambda x: x[:40] + "\n", "line 5 is damaged: not JSON (column "),
    "an empty line": (lambda x: "\n" + x, "line 5 is damaged: not JSON"),
    "not an object": (lambda x: "[]\n", "line 5 is damaged: not a JSON object"),
    "nested deeply": (lambda x: "[" * 100_000 + "\n", "line 5 is damaged: not JSON"),
    "a key is gone": (lambda x: x.replace('"status"', '"state"'), "line 5 is damaged: no status"),
    "a key twice": (lambda x: x.replace('{"run_id"', '{"final":true,"run_id"'), "stands twice"),
    "a key too many": (lambda x: x.replace('{"run_id"', '{"note":1,"run_id"'),
                       "unknown field 'note'"),
    "a key in the time": (lambda x: re.sub('(?<="timestamp_utc":")[^"]*',
                                           't","agent_b_payoff":9,"x":"', x), "stands twice"),
    "no time": (to("timestamp_utc", "yesterday"), 'timestamp_utc is "yesterday"'),
    "another run's": (to("run_id", "x"), 'run_id is "x"'),
    "another condition's": (to("condition", "zz"), 'condition "zz" is not in run_manifest.json'),
    "a replicate too many": (to("replicate", 3), "replicate 3, but the run has 3 (from 0)"),
    "a replicate in words": (to("replicate", "0"), 'replicate is "0"'),
    "a wrong type": (to("round_index", "four"), 'round_index is "four"'),
    "a line is gone": (lambda x: "", "line 5 is damaged: round_index is 5"),
    "a line stands twice": (lambda x: x + x, "line 6 is damaged: round_index is 4"),
    "another action": (to("agent_b_action", "X"), 'agent_b_action is "X", but its agent, played'),
    "the policy's other action": (lambda x: to("agent_b_action", "DC"[
        json.loads(x)["agent_b_action"] == "D"])(x), "agent_b_action is"),
    "a payoff": (to("agent_a_payoff", 4), "agent_a_payoff is 4, but actions and matrix give"),
    "a sum": (to("agent_a_cum_payoff", 99999),
              "agent_a_cum_payoff is 99999, but the payoffs so far sum to"),
    "a flip": (to("agent_a_flipped", True), "agent_a_flipped is true, but the noise of this seed"),
    "an early end": (to("final", True), "final is true, but the horizon gives false"),
    "a number for a truth": (to("final", 0), "final is 0"),
    "a status": (to("status", "invalid"), 'status is "invalid"'),
    "a simulation denied": (to("simulated", False), "simulated is false"),
    "another opponent": (to("agent_b", "GRIM"), 'agent_b is "GRIM"'),
    "an answer": (to("raw_responses", {"agent_a": ["x"], "agent_b": None}), "raw_responses is"),
    "attempts": (to("attempts", {"agent_a": []}), "attempts is"),
    "a prompt": (lambda x: x.replace("You play", "You can play", 1), "prompts is"),
    "no UTF-8": (lambda x: x.replace("You play", "You \udcff play", 1), "not UTF-8"),
}  # fmt: skip


@pytest.mark.parametrize("case", DAMAGE)
def test_a_line_that_disagrees_is_named_and_nothing_is_written(run_dir, pdbench, case):
    change, message = DAMAGE[case]
    path = run_dir / "rounds.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    lines[4] = change(lines[4])
    path.write_text("".join(lines), errors="surrogateescape")
    (run_dir / "aggregates.parquet").unlink()
    for command in ("aggregate", "report"):
        code, _, err = pdbench(command, run_dir)
        assert code == 3
        assert err.count("\n") == 1
        assert err.startswith(f"error: {run_dir}/rounds.jsonl: line ")
        assert message in err
    names = {f.name for f in run_dir.iterdir()}
    assert names == {"rounds.jsonl", "run_manifest.json", ".lock"}


def test_no_field_of_any_line_can_say_something_else(run_dir):
    """But the time: a policy's match and a mock's are played again from the seed alone."""
    path = run_dir / "rounds.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    first_of_b = next(i for i, x in enumerate(lines) if '"condition":"b"' in x)
    for at in (1, len(lines) - 1, first_of_b):
        for field, value in json.loads(lines[at]).items():
            for other in (None, "C", "D", not value if value in (0, 1) else 0):
                if other == value and type(other) is type(value):
                    continue
                path.write_text(
                    "".join(
                        [*lines[:at], to(field, other)(lines[at]), *lines[at + 1 :]]
                    )
                )
                with pytest.raises(
                    RunError, match=f"line {at + 1} is damaged|not in run_man"
                ):
                    aggregate(run_dir)


MANIFESTS = {
    "payoffs": (lambda m: m["config"]["conditions"]["a"]["game"]["payoffs"].update(CC=[4, 4]),
                "config_sha256 is"),
    "seed": (lambda m: m.update(seed=8), "seed is 8, but its config gives 7"),
    "rounds": (lambda m: m.update(rounds=1), "rounds is 1, but the rounds give"),
    "model calls": (lambda m: m.update(model_calls=1), "model_calls is 1, but the rounds give"),
    "stamp": (lambda m: m.update(stamp=None), 'stamp is null, but the rounds give "SIMULATED"'),
    "simulated conditions": (lambda m: m.update(simulated_conditions=[]), "simulated_conditions"),
    "status": (lambda m: m.update(status="incomplete"), 'status is "incomplete"'),
    "matches": (lambda m: m.update(matches={"total": 1, "incomplete": 0}), "matches is"),
    "more replicates": (lambda m: m.update(replicates=4), "replicate 3 has no end"),
    "fewer replicates": (lambda m: m.update(replicates=2), "replicate 2, but the run has 2"),
    "collapse": (lambda m: m.update(collapse={"k": 1, "threshold": 0.2}), "collapse is"),
    "no configuration": (lambda m: m.pop("config"), "damaged: no config"),
    "a text": (lambda m: m.update(config="x"), "damaged"),
}  # fmt: skip


@pytest.mark.parametrize("case", MANIFESTS)
def test_a_manifest_that_disagrees_with_its_rounds_is_named(run_dir, pdbench, case):
    change, message = MANIFESTS[case]
    manifest_changed(run_dir, change)
    for command in ("aggregate", "report"):
        code, _, err = pdbench(command, run_dir)
        assert (code, err.count("\n")) == (3, 1)
        assert message in err


def leaves(value, path=()):
    """Every place in a tree of JSON."""
    yield path
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value if isinstance(value, list) else ())
    )
    for key, part in inner:
        yield from leaves(part, (*path, key))


INSTEAD = (None, True, -1, 1e308, 10**30, "x", [], {}, "\ud800")


def test_a_manifest_changed_anywhere_is_one_line(run_dir, pdbench):
    path = run_dir / "run_manifest.json"
    manifest = json.loads(path.read_text())
    draw = Random(1)
    for place in draw.sample([x for x in leaves(manifest) if x], 120):
        changed = copy.deepcopy(manifest)
        *way, last = place
        node = reduce(lambda tree, key: tree[key], way, changed)
        node[last] = draw.choice([x for x in INSTEAD if x != node[last]])
        manifest_changed(
            run_dir,
            lambda manifest, changed=changed: (
                manifest.clear(),
                manifest.update(changed),
            ),
        )
        code, _, err = pdbench("aggregate", run_dir)
        assert (code, err.count("\n")) == ((3, 1) if err else (0, 0)), place
        assert err or place[0] == "unproven", place


def test_other_payoffs_with_their_hash_disagree_with_the_first_line(run_dir, pdbench):
    def change(manifest):
        manifest["config"]["conditions"]["a"]["game"]["payoffs"]["CC"] = [4.0, 4.0]
        manifest["config_sha256"] = snapshot_sha256(manifest["config"])

    manifest_changed(run_dir, change)
    code, _, err = pdbench("aggregate", run_dir)
    assert (code, "line 1 is damaged" in err) == (3, True)


@pytest.fixture
def real(tmp_path):
    """A copy of the committed run of a real model: its answers can't be played again, only read."""
    return shutil.copytree(
        CONFIGS.parent / "data/examples/local-smollm2", tmp_path / "real"
    )


def test_a_real_models_answers_are_read_again(real, pdbench):
    assert pdbench("aggregate", real)[0] == 0
    lines = (real / "rounds.jsonl").read_text().splitlines()
    number = next(
        i
        for i, x in enumerate(lines, 1)
        if json.loads(x)["raw_responses"]["agent_a"][-1].strip() == "C"
    )
    edit(
        real,
        number,
        lambda x: x.replace('"agent_a_action":"C"', '"agent_a_action":"D"'),
    )
    code, _, err = pdbench("aggregate", real)
    assert code == 3
    assert (
        f'line {number} is damaged: agent_a_action is "D", but its agent, played again'
        in err
    )


@pytest.mark.parametrize("change", [
    lambda r: r["raw_responses"].update(agent_a=["D"] * len(r["raw_responses"]["agent_a"])),
    lambda r: r["attempts"]["agent_a"].pop(), lambda r: r.update(attempts=None),
    lambda r: r["attempts"]["agent_a"].append({"action": "C", "problem": None}),
    lambda r: r["raw_responses"].update(agent_a=[3]), lambda r: r.update(raw_responses=[]),
    lambda r: r.update(attempts={"agent_a": [None]}), lambda r: r.pop("prompts"),
    lambda r: r["prompts"]["round"].update(agent_a="Choose C."),
])  # fmt: skip
def test_a_real_models_record_has_to_fit_its_answers(real, pdbench, change):
    path = real / "rounds.jsonl"
    records = [json.loads(x) for x in path.read_text().splitlines()]
    change(records[-1])
    path.write_text(
        "".join(
            json.dumps(r, ensure_ascii=False, separators=(",", ":")) + "\n"
            for r in records
        )
    )
    code, _, err = pdbench("aggregate", real)
    assert (code, err.count("\n")) == (3, 1)
    assert f"line {len(records)} is damaged" in err


def torn(run_dir):
    path = run_dir / "rounds.jsonl"
    path.write_bytes(path.read_bytes()[:-30])


def test_a_torn_last_line_is_a_run_that_is_still_being_written(run_dir, pdbench):
    torn(run_dir)
    manifest_changed(run_dir, unfinished("running"))
    (run_dir / "aggregates.parquet").unlink()
    assert pdbench("aggregate", run_dir)[0] == 0
    table = pd.read_parquet(run_dir / "aggregates.parquet")
    assert table[table["level"] == "replicate"]["status"].tolist()[-1] == "partial"


def test_a_run_that_is_said_to_be_over_has_to_be_whole(run_dir, pdbench):
    path = run_dir / "rounds.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    code, _, err = pdbench("aggregate", run_dir)
    assert code == 3
    assert "condition 'b' replicate 2 has no end, but the run is said to be over" in err


def test_means_are_over_complete_matches_with_their_number_beside_them(
    experiment, pdbench, project
):
    rare = {
        "strategy": "coin",
        "p_cooperate": 0.5,
        "invalid_rate": 0.3,
        "max_retries": 0,
    }
    pdbench(
        "run",
        experiment(
            [pair("x", rare, "TFT")],
            run={"replicates": 12},
            horizon={"type": "fixed", "n": 3},
        ),
    )
    table = pd.read_parquet(project / "data/runs/test/aggregates.parquet")
    single, mean = table[table["level"] == "replicate"], table.iloc[-1]
    whole = single[single["status"] == "complete"]
    assert 0 < len(whole) < 12
    assert (mean["complete"], mean["replicates"]) == (len(whole), 12)
    assert mean["rounds"] == 3
    assert mean["mean_payoff_agent_a"] == pytest.approx(
        whole["mean_payoff_agent_a"].mean()
    )
    assert mean["cooperation_rate_agent_a"] == pytest.approx(
        whole["cooperation_rate_agent_a"].mean()
    )
    assert mean["invalid_answers_agent_a"] == pytest.approx(
        single["invalid_answers_agent_a"].mean()
    )  # what failed is in them


@pytest.mark.parametrize("command", ["aggregate", "report", "ui"])
def test_a_folder_that_is_no_run(pdbench, project, command):
    code, _, err = pdbench(command, project / "configs")
    assert code == 3
    assert "run_manifest.json: not found; RUN_DIR should be a folder" in err


def test_a_damaged_manifest(run_dir, pdbench):
    (run_dir / "run_manifest.json").write_text(json.dumps({"run_id": "x"}))
    code, _, err = pdbench("aggregate", run_dir)
    assert (code, "run_manifest.json: damaged: no config" in err) == (3, True)

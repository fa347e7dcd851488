import json

import pandas as pd
import pytest

from conftest import pair


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
    columns = set(pd.read_parquet(project / "data/runs/test/aggregates.parquet").columns)
    assert {"forgiveness_rate_agent_a", "forgiveness_rate_agent_b", "rounds"} <= columns
    assert not {"cooperation_rate", "time_to_collapse", "cooperation_rate_over_time"} & columns


def edit(run_dir, number, change):
    path = run_dir / "rounds.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    lines[number - 1] = change(lines[number - 1])
    path.write_text("".join(lines))


DAMAGE = {
    "half a line": (lambda x: x[:40] + "\n", "line 5 is damaged: not JSON"),
    "an empty line": (lambda x: "\n" + x, "line 5 is damaged: not JSON"),
    "not an object": (lambda x: "[]\n", "line 5 is damaged: not a JSON object"),
    "a key is gone": (lambda x: x.replace('"status"', '"state"'), "line 5 is damaged: no status"),
    "a wrong type": (lambda x: x.replace('"round_index":4', '"round_index":"four"'),
                     "line 5 is damaged: round_index is 'four'"),
    "a line is gone": (lambda x: "", "round_index 5 where 4 is expected"),
    "a line stands twice": (lambda x: x + x, "round_index 4 where 5 is expected"),
    "another action": (lambda x: x.replace('_action":"C"', '_action":"X"')
                       .replace('_action":"D"', '_action":"X"'), "neither C nor D"),
    "another condition": (lambda x: x.replace('"condition":"a"', '"condition":"zz"'),
                          "condition 'zz'"),
}  # fmt: skip


@pytest.mark.parametrize("case", DAMAGE)
def test_damage_is_told_in_one_line_and_nothing_is_written(run_dir, pdbench, case):
    change, message = DAMAGE[case]
    edit(run_dir, 5, change)
    (run_dir / "aggregates.parquet").unlink()
    for command in ("aggregate", "report"):
        code, _, err = pdbench(command, run_dir)
        assert code == 3
        assert err.count("\n") == 1
        assert "rounds.jsonl" in err
        assert message in err
    names = {f.name for f in run_dir.iterdir()}
    assert names == {"rounds.jsonl", "run_manifest.json", ".lock"}


def test_a_torn_last_line_is_a_run_that_is_still_being_written(run_dir, pdbench):
    path = run_dir / "rounds.jsonl"
    path.write_bytes(path.read_bytes()[:-30])
    assert pdbench("aggregate", run_dir)[0] == 0
    table = pd.read_parquet(run_dir / "aggregates.parquet")
    assert table[table["level"] == "replicate"]["status"].tolist()[-1] == "partial"


def test_half_a_surrogate_pair_in_an_answer_is_no_damage(run_dir, pdbench):
    file = run_dir / "aggregates.parquet"
    expected = file.read_bytes()
    edit(run_dir, 5, lambda x: x.replace('"raw_responses":{"agent_a":["',
                                         '"raw_responses":{"agent_a":["\\ud800'))
    assert pdbench("aggregate", run_dir)[0] == 0
    assert file.read_bytes() == expected


@pytest.mark.parametrize("command", ["aggregate", "report", "ui"])
def test_a_folder_that_is_no_run(pdbench, project, command):
    code, _, err = pdbench(command, project / "configs")
    assert code == 3
    assert "run_manifest.json: not found; RUN_DIR should be a folder" in err


def test_a_damaged_manifest(run_dir, pdbench):
    (run_dir / "run_manifest.json").write_text(json.dumps({"run_id": "x"}))
    code, _, err = pdbench("aggregate", run_dir)
    assert (code, "run_manifest.json: damaged: KeyError: 'config'" in err) == (3, True)

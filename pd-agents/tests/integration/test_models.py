"""Models behind an OpenAI-compatible server: what is asked, what it costs, and refusals."""

import json
from pathlib import Path

import pandas as pd
import pytest

from conftest import pair, rounds_of

RUN_DIR = Path("data/runs/test")
REFUSAL = "I'm sorry, I can't take part in this game."


def test_what_is_asked_and_what_is_logged(experiment, pdbench, double, model):
    double.answers = ["c", "D", " C\n"]
    path = experiment(pair("x", model, "TFT"))
    assert pdbench("run", path)[0] == 0
    first = double.requests[0]
    assert first["model"] == "m"
    assert (first["temperature"], first["max_tokens"]) == (0, 8)
    assert first["authorization"] == "Bearer sk-double-1234567890"
    assert [m["role"] for m in first["messages"]] == ["system", "user"]
    records = rounds_of(RUN_DIR)
    assert [r["agent_a_action"] for r in records] == ["C", "D", "C"]
    assert [r["raw_responses"]["agent_a"] for r in records] == [["c"], ["D"], [" C\n"]]
    for record, request in zip(records, double.requests, strict=True):
        system, user = (m["content"] for m in request["messages"])
        assert record["prompts"]["system"]["agent_a"] == system
        assert record["prompts"]["round"]["agent_a"] == user
        assert record["simulated"] is False


def test_a_reasoning_model_without_temperature_and_limit(
    experiment, pdbench, double, model
):
    double.answers = [{"content": "<think>Hm: C or D?</think>\nD"}]
    settings = model | {"temperature": None, "max_tokens": None}
    assert pdbench("run", experiment(pair("x", settings, "TFT")))[0] == 0
    assert not {"temperature", "max_tokens", "max_completion_tokens"} & set(
        double.requests[0]
    )
    assert rounds_of(RUN_DIR)[0]["agent_a_action"] == "D"


@pytest.mark.parametrize("refusal", [
    REFUSAL, {"content": None, "refusal": REFUSAL}, (400, f"content_policy_violation: {REFUSAL}"),
])  # fmt: skip
def test_a_refusal_ends_the_match_incomplete(
    experiment, pdbench, double, model, refusal
):
    double.answers = ["C", refusal]
    path = experiment(pair("x", model, "TFT"), pair("y", "TFT", "ALLD"))
    code, _, err = pdbench("run", path)
    assert code == 3
    assert "incomplete" in err
    assert len(double.requests) == 1 + 3
    record = rounds_of(RUN_DIR)[1]
    assert record["status"] == "invalid"
    assert record["agent_a_action"] is None
    assert all(REFUSAL in raw for raw in record["raw_responses"]["agent_a"])
    table = pd.read_parquet(RUN_DIR / "aggregates.parquet")
    assert table["status"].tolist() == ["incomplete", "complete"] * 2
    asked = len(double.requests)
    pdbench("run", path)  # nothing is asked again
    assert len(double.requests) == asked


def test_an_invalid_answer_is_corrected_in_the_same_context(
    experiment, pdbench, double, model
):
    double.answers = ["maybe", "C"]
    pdbench("run", experiment(pair("x", model, "TFT")))
    first, second = (r["messages"][1]["content"] for r in double.requests[:2])
    assert second.startswith(first)
    assert "could not be read" in second
    record = rounds_of(RUN_DIR)[0]
    assert [a["action"] for a in record["attempts"]["agent_a"]] == [None, "C"]
    assert record["raw_responses"]["agent_a"] == ["maybe", "C"]


def test_a_resumed_match_pays_for_no_answer_twice(experiment, pdbench, double, model):
    double.answers = ["D", "C", (503, "loading")]
    path = experiment(pair("x", model, "TFT", overrides={"noise": 0.3}))
    code, _, err = pdbench("run", path)
    assert code == 3
    for word in ("condition 'x'", "openai/m", "503", "resumes"):
        assert word in err
    before = rounds_of(RUN_DIR)
    double.answers, asked = ["C"], len(double.requests)
    assert pdbench("run", path)[0] == 0
    assert len(double.requests) == asked + 1
    assert rounds_of(RUN_DIR)[:2] == before


PRICE = {"usd_per_million_tokens": [10, 50]}  # 100 and 10 tokens a call: 0.0015 dollars


def billed(double) -> float:
    usage = double.usage
    each = usage["prompt_tokens"] * 10e-6 + usage["completion_tokens"] * 50e-6
    return len(double.requests) * max(each, usage.get("cost", 0))


@pytest.mark.parametrize("usage", [
    {"prompt_tokens": 100, "completion_tokens": 10},
    {"prompt_tokens": 1000, "completion_tokens": 100},              # ten times the tokens
    {"prompt_tokens": 100, "completion_tokens": 10, "cost": 0.015},  # ten times the price
])  # fmt: skip
def test_the_limit_holds_and_the_run_goes_on_with_a_higher_one(
    experiment, pdbench, double, model, usage
):
    double.usage = usage
    settings = model | {"provider": model["provider"] | PRICE}
    sections = {"run": {"replicates": 10, "limit_usd": 0.05}}
    horizon = {"type": "fixed", "n": 5}
    conditions = [pair("x", settings, "TFT"), pair("y", settings, settings)]
    code, _, err = pdbench("run", experiment(*conditions, horizon=horizon, **sections))
    assert code == 3
    assert "run.limit_usd" in err
    assert 0 < billed(double) <= 0.05
    manifest = json.loads((RUN_DIR / "run_manifest.json").read_text())
    assert manifest["spent_usd"] == pytest.approx(billed(double))
    assert manifest["status"] == "interrupted"
    asked = len(double.requests)
    pdbench("run", experiment(*conditions, horizon=horizon, **sections))
    assert len(double.requests) <= asked + 2  # the dearest match is not known any more
    assert billed(double) <= 0.05 + 2 * 0.015
    sections["run"]["limit_usd"] = 100
    assert pdbench("run", experiment(*conditions, horizon=horizon, **sections))[0] == 0
    manifest = json.loads((RUN_DIR / "run_manifest.json").read_text())
    assert manifest["spent_usd"] == pytest.approx(billed(double))


def test_a_limit_needs_a_price(experiment, pdbench, double, model):
    path = experiment(pair("x", model, "TFT"), run={"limit_usd": 1})
    code, _, err = pdbench("run", path)
    assert code == 2
    assert "usd_per_million_tokens" in err
    assert double.requests == []


def test_no_key_reaches_a_file_or_a_line(experiment, pdbench, double, model):
    key = "sk-double-1234567890"
    double.answers = ["C", f"your key is {key}", "D", (401, f"bad key {key}")]
    code, out, err = pdbench("run", experiment(pair("x", model, "TFT")))
    assert code == 3
    assert key not in out + err
    for file in RUN_DIR.iterdir():
        assert key.encode() not in file.read_bytes()


def test_a_missing_key_is_said_before_anything_is_written(
    experiment, pdbench, double, model, monkeypatch
):
    monkeypatch.delenv("DOUBLE_KEY")
    path = experiment(pair("x", model, "TFT"))
    code, _, err = pdbench("validate", path)
    assert code == 0
    assert "DOUBLE_KEY" in err
    assert pdbench("run", path)[0] == 2
    assert not Path("data").exists()

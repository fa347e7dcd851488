import json

import pytest

from pdbench.agents.base import Attempt, Turn
from pdbench.config.load import LoadedAgent
from pdbench.config.schema import LLMSpec
from pdbench.core.types import RunError
from pdbench.storage.rounds import RoundsWriter, cut_torn_end, read_rounds, sort_rounds
from pdbench.storage.schema import REQUIRED, line_encoder, sha256
from support import condition, policy

NO_TURNS = (None, None)
TIME = "2026-01-02T03:04:05.678Z"


def line(t, replicate=0, final=False, **more):
    encode = line_encoder("r", condition("TFT", "ALLD", n=9), replicate, True, True)
    values = {
        "points": (0, 5),
        "totals": (0.5, 5.0),
        "flipped": (False, True),
        "turns": NO_TURNS,
    }
    return TIME.join(encode(t, final, "C", "D", **(values | more)))


def test_a_line_is_one_json_object_with_the_required_fields():
    record = json.loads(line(3, final=True))
    assert set(REQUIRED) <= set(record)
    assert record.pop("timestamp_utc").endswith("Z")
    assert record == {
        "run_id": "r", "condition": "pair", "replicate": 0, "round_index": 3,
        "agent_a": "TFT", "agent_b": "ALLD", "agent_a_action": "C", "agent_b_action": "D",
        "agent_a_payoff": 0, "agent_b_payoff": 5, "agent_a_cum_payoff": 0.5,
        "agent_b_cum_payoff": 5.0, "agent_a_flipped": False, "agent_b_flipped": True,
        "status": "ok", "final": True, "simulated": False, "horizon_type": "fixed",
        "fixed_n": 9, "stop_prob": None,
    }  # fmt: skip


TURN = Turn("rules \"quoted\"", (
    Attempt("ask\n1", "häh \ud800 </script>", None, "not exactly C or D"),
    Attempt("ask\n2", "C", "C", None),
))  # fmt: skip


def model_line(prompts, raw):
    spec = LLMSpec(
        type="llm",
        provider={"name": "mock", "model": "m"},
        prompting={"system_prompt": "s", "round_prompt": "r"},
    )
    pair = condition(LoadedAgent(spec, 'm "x" \\', None), policy("TFT"), n=2)
    text = line_encoder("r", pair, 0, prompts, raw)(
        0, False, "C", "D", (0, 5), (0.0, 5.0), (False, False), (TURN, None)
    )
    return json.loads(TIME.join(text).encode("utf-8"))


def test_a_models_round_holds_prompts_answers_and_every_attempt():
    record = model_line(True, True)
    assert record["simulated"] is True
    assert record["agent_a"] == 'm "x" \\'
    assert record["prompts"] == {
        "system": {"agent_a": 'rules "quoted"'},
        "round": {"agent_a": "ask\n1"},
    }
    assert record["raw_responses"] == {
        "agent_a": ["häh \ud800 </script>", "C"],
        "agent_b": None,
    }
    assert record["attempts"] == {"agent_a": [
        {"action": None, "problem": "not exactly C or D"},
        {"action": "C", "problem": None, "prompt": "ask\n2"},
    ]}  # fmt: skip


def test_hashes_instead_of_texts():
    record = model_line(False, False)
    assert "prompts" not in record
    assert "raw_responses" not in record
    # sha256sum of 'ask\n1' without a final newline
    assert record["prompt_hashes"]["round"]["agent_a"] == sha256("ask\n1")
    assert (
        sha256("abc")
        == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    )
    assert record["attempts"]["agent_a"][1]["prompt_sha256"] == sha256("ask\n2")


def test_an_invalid_round_has_no_points():
    record = json.loads(line(0, final=True, points=(None, None)))
    assert (record["status"], record["agent_a_payoff"]) == ("invalid", None)


@pytest.mark.parametrize(("content", "kept"), [
    ("", ""), ("a\nb\n", "a\nb\n"), ("a\nb", "a\n"), ("ab", ""), ("a\n" + "x" * 200_000, "a\n"),
])  # fmt: skip
def test_a_torn_end_is_cut_off(tmp_path, content, kept):
    path = tmp_path / "rounds.jsonl"
    path.write_text(content)
    assert cut_torn_end(path) == len(content) - len(kept)
    assert path.read_text() == kept


def test_reading_leaves_a_torn_end_out(tmp_path):
    path = tmp_path / "rounds.jsonl"
    path.write_text(line(0) + line(1)[:50])
    assert [r["round_index"] for r in read_rounds(path)] == [0]


@pytest.mark.parametrize("bad", ['{"a": 1', "[1]", "\x00", "NaN{"])
def test_a_damaged_line_is_named(tmp_path, bad):
    path = tmp_path / "rounds.jsonl"
    path.write_text(line(0) + bad + "\n" + line(1))
    with pytest.raises(RunError, match=r"rounds\.jsonl: line 2 is damaged: not"):
        list(read_rounds(path))


def test_writing_appends(tmp_path):
    path = tmp_path / "rounds.jsonl"
    for text in ("a\n", "b\n"):
        writer = RoundsWriter(path)
        writer.write(text)
        writer.close()
    assert path.read_text() == "a\nb\n"


def test_sorting_puts_matches_in_schedule_order(tmp_path):
    path = tmp_path / "rounds.jsonl"
    lines = {(r, t): line(t, r) for r in (0, 1) for t in (0, 1, 2)}
    path.write_text(
        "".join(lines[k] for k in [(1, 0), (0, 0), (1, 1), (0, 1), (0, 2), (1, 2)])
    )
    sort_rounds(path, {("pair", 0): 0, ("pair", 1): 1})
    assert path.read_text() == "".join(lines[k] for k in sorted(lines))


def test_a_sorted_file_is_left_alone(tmp_path):
    path = tmp_path / "rounds.jsonl"
    path.write_text(line(0) + line(1))
    before = path.stat().st_ino
    sort_rounds(path, {("pair", 0): 0})
    assert path.stat().st_ino == before

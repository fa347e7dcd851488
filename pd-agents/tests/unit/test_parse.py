import pytest

from pdbench.core.parse import parse_json, parse_token


@pytest.mark.parametrize(("text", "action"), [
    ("C", "C"), ("D", "D"), ("c", "C"), (" d\n", "D"), ("\tC\r\n", "C"),
])  # fmt: skip
def test_tokens(text, action):
    assert parse_token(text).action == action


@pytest.mark.parametrize("text", [
    "", "  ", "C.", "'C'", "CD", "C D", "C\nD", "Cooperate", "cooperate", "I choose C", "**C**",
    "Answer: D", "С", "Ⅽ", "Ｃ", "E", "no",
])  # fmt: skip
def test_anything_else_is_invalid(text):
    parsed = parse_token(text)
    assert parsed.action is None
    assert parsed.problem


@pytest.mark.parametrize(("text", "action"), [
    ('{"action": "C"}', "C"), (' {"action":"D"}\n', "D"),
])  # fmt: skip
def test_strict_json(text, action):
    assert parse_json(text).action == action


@pytest.mark.parametrize("text", [
    "", "C", '"C"', '["C"]', "{}", '{"action": "c"}', '{"action": "C", "why": "x"}',
    '{"Action": "C"}', '{"action": "C"} ok', '```json\n{"action": "C"}\n```', '{"action": null}',
    '{"action": ["C"]}', '{"action": "C", "action": "D"}', "{'action': 'C'}", "[" * 100_000,
])  # fmt: skip
def test_other_json_is_invalid(text):
    parsed = parse_json(text)
    assert parsed.action is None
    assert parsed.problem

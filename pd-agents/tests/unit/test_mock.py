import json

from pdbench.config.schema import Mock
from pdbench.providers.mock import UNREADABLE, MockProvider


def ask(n, seed=1, calls=0, prompt="Round 1.", answer_format="token", **mock):
    provider = MockProvider(Mock(**mock), answer_format, seed, calls)
    request = {"system": "", "prompt": prompt, "temperature": 0.0, "max_tokens": 8}
    return [provider.complete(**request) for _ in range(n)]


def test_constant_answers():
    assert ask(3, strategy="C") == ["C"] * 3
    assert ask(2, strategy="D", answer_format="json") == ['{"action": "D"}'] * 2


def test_a_script_starts_again():
    assert ask(5, strategy="script", script=["C", "hm", "D"]) == [
        "C",
        "hm",
        "D",
        "C",
        "hm",
    ]


def test_copycat_reads_the_last_move_in_the_prompt():
    assert ask(1, strategy="copycat", prompt="No rounds have been played yet.") == ["C"]
    history = (
        "the other player played C and got 3.\nthe other player played D and got 5."
    )
    assert ask(1, strategy="copycat", prompt=history) == ["D"]


def test_the_same_seed_gives_the_same_answers_and_another_seed_others():
    assert ask(50, strategy="coin") == ask(50, strategy="coin")
    assert ask(50, strategy="coin") != ask(50, strategy="coin", seed=2)


def test_a_resumed_match_goes_on_where_it_was():
    assert ask(20, strategy="coin")[12:] == ask(8, calls=12, strategy="coin")


def test_rates():
    coins = ask(4000, strategy="coin", p_cooperate=0.25)
    assert abs(coins.count("C") / 4000 - 0.25) < 4 * (0.25 * 0.75 / 4000) ** 0.5
    odd = ask(4000, strategy="C", invalid_rate=0.1, answer_format="json")
    bad = [x for x in odd if x in UNREADABLE]
    assert abs(len(bad) / 4000 - 0.1) < 4 * (0.09 / 4000) ** 0.5
    assert all(json.loads(x) == {"action": "C"} for x in odd if x not in UNREADABLE)

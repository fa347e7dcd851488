import pytest

from pdbench.agents.base import InvalidAnswer
from pdbench.agents.llm import LLMAgent
from pdbench.agents.prompting import Prompts
from pdbench.config.schema import Game, Horizon, LLMSpec, Payoffs
from pdbench.core.payoff import DEFAULT_MATRIX
from pdbench.core.transcript import Transcript
from support import CONFIGS


class Scripted:
    """A provider that gives its lines in order and keeps what it was asked."""

    def __init__(self, *lines):
        self.lines, self.asked = list(lines), []

    def complete(self, **request):
        self.asked.append(request)
        return self.lines.pop(0)


def agent(provider, output=None, recorded=()):
    spec = LLMSpec(
        type="llm",
        provider={"name": "mock", "model": "m"},
        decoding={"temperature": 0.5, "max_tokens": 3},
        prompting={"system_prompt": "s", "round_prompt": "r"},
        output=output or {},
    )
    folder = CONFIGS / "prompts"
    prompts = Prompts(
        (folder / "pd_system.md").read_text(), (folder / "pd_round.md").read_text(), ""
    )
    game = Game(payoffs=Payoffs(**DEFAULT_MATRIX))
    horizon = Horizon(type="fixed", n=3)
    return LLMAgent(spec, prompts, provider, game, horizon, "agent_a", recorded)


def first_round():
    return Transcript().views()[0]


def test_a_valid_answer_takes_one_call():
    provider = Scripted(" d\n")
    player = agent(provider)
    assert player.act(first_round()) == "D"
    assert len(provider.asked) == 1
    assert provider.asked[0]["temperature"] == 0.5
    assert provider.asked[0]["max_tokens"] == 3
    assert provider.asked[0]["prompt"].startswith("Round 1.")


def test_an_invalid_answer_is_asked_again_with_a_correction_and_the_same_round():
    provider = Scripted("I cooperate", "C")
    player = agent(provider)
    assert player.act(first_round()) == "C"
    first, second = (x["prompt"] for x in provider.asked)
    assert second.startswith(first)
    assert second[len(first) :] == (
        "\n\nYour answer number 1 could not be read (not exactly C or D)."
        " Answer with exactly one letter, C or D, and nothing else."
    )
    assert provider.asked[0]["system"] == provider.asked[1]["system"]


def test_every_attempt_is_kept():
    player = agent(Scripted("maybe", "", "C"))
    player.act(first_round())
    assert [(x.raw, x.action, x.problem) for x in player.turn.attempts] == [
        ("maybe", None, "not exactly C or D"),
        ("", None, "empty"),
        ("C", "C", None),
    ]


def test_after_the_last_attempt_no_action_is_made_up():
    provider = Scripted("x", "y", "z", "C")
    player = agent(provider)
    with pytest.raises(InvalidAnswer):
        player.act(first_round())
    assert len(provider.asked) == 3
    assert player.turn.action is None


def test_max_retries_zero_asks_once():
    provider = Scripted("x", "C")
    with pytest.raises(InvalidAnswer):
        agent(provider, {"max_retries": 0}).act(first_round())
    assert len(provider.asked) == 1


def test_json_answers():
    provider = Scripted("C", '{"action": "D"}')
    player = agent(provider, {"format": "json"})
    assert player.act(first_round()) == "D"
    assert '{"action": "C"}' in provider.asked[0]["prompt"]


def test_what_is_on_record_is_not_asked_again():
    provider = Scripted("C")
    player = agent(provider, recorded=["D", "D"])
    assert [player.act(first_round()) for _ in range(3)] == ["D", "D", "C"]
    assert len(provider.asked) == 1

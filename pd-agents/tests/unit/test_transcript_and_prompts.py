import pytest

from pdbench.agents.llm import LLMAgent
from pdbench.agents.prompting import Prompts, check_template, tidy
from pdbench.config.schema import Game, Horizon, LLMSpec, Payoffs
from pdbench.core.transcript import Transcript, history_text, totals_text, window
from pdbench.core.types import ConfigError
from support import CONFIGS


def transcript(a: str, b: str) -> Transcript:
    table = {"CC": (3, 3), "CD": (0, 5), "DC": (5, 0), "DD": (1, 1)}
    t = Transcript()
    for x, y in zip(a, b, strict=True):
        t.a_actions.append(x)
        t.b_actions.append(y)
        t.a_payoffs.append(table[x + y][0])
        t.b_payoffs.append(table[x + y][1])
        t.a_totals.append(sum(t.a_payoffs))
        t.b_totals.append(sum(t.b_payoffs))
    return t


def test_the_window_is_the_last_rounds_with_their_numbers():
    view, _ = transcript("CDCD", "DDCC").views()
    assert window(view, 2) == [(3, "C", "C", 3, 3), (4, "D", "C", 5, 0)]


def test_the_other_seat_sees_the_same_rounds_mirrored():
    _, view = transcript("CDCD", "DDCC").views()
    assert window(view, 1) == [(4, "C", "D", 0, 5)]


@pytest.mark.parametrize(("size", "numbers"), [(0, []), (1, [4]), (4, [1, 2, 3, 4]),
                                               (9, [1, 2, 3, 4])])  # fmt: skip
def test_window_sizes(size, numbers):
    view, _ = transcript("CDCD", "DDCC").views()
    assert [row[0] for row in window(view, size)] == numbers


def test_nothing_older_than_the_window_is_told():
    view, _ = transcript("DCCC", "CCCC").views()
    assert "Round 1" not in history_text(view, 3)
    assert "5" not in history_text(view, 3)


def test_the_first_round_has_no_history():
    view, _ = Transcript().views()
    assert history_text(view, 5) == "No rounds have been played yet."
    assert totals_text(view) == "Points so far: you 0, the other player 0."


def test_totals_cover_the_whole_match():
    a, b = transcript("CDCDD", "DDCCC").views()  # A: 0 1 3 5 5, B: 5 1 3 0 0
    assert totals_text(a) == "Points so far: you 14, the other player 9."
    assert totals_text(b) == "Points so far: you 9, the other player 14."


def spec(**prompting) -> LLMSpec:
    return LLMSpec(
        type="llm",
        provider={"name": "mock", "model": "m"},
        prompting={"system_prompt": "s", "round_prompt": "r"} | prompting,
    )


def agent(
    horizon=None, noise=0.0, seat="agent_a", persona="", matrix=None, **prompting
):
    folder = CONFIGS / "prompts"
    prompts = Prompts(
        (folder / "pd_system.md").read_text(),
        (folder / "pd_round.md").read_text(),
        persona,
    )
    matrix = matrix or {"CC": (3, 3), "CD": (0, 5), "DC": (5, 0), "DD": (1, 1)}
    game = Game(payoffs=Payoffs(**matrix), noise=noise)
    horizon = horizon or Horizon(type="fixed", n=9)
    return LLMAgent(spec(**prompting), prompts, None, game, horizon, seat)


def test_the_shipped_round_prompt():
    view, _ = transcript("CD", "DD").views()
    assert agent(history_window=1).render(view) == (
        "Round 3.\n"
        "\n"
        "Round 2: you played D and got 1; the other player played D and got 1.\n"
        "\n"
        "Points so far: you 1, the other player 6.\n"
        "\n"
        "Which do you choose in this round? Answer with exactly one letter, C or D, and nothing"
        " else."
    )


def test_totals_can_be_left_out():
    view, _ = transcript("CD", "DD").views()
    assert "Points so far" not in agent(include_totals=False).render(view)


def test_the_system_prompt_has_rules_persona_and_instruction():
    text = agent(persona="Be {nice}.")._system
    assert (
        "- You play C, the other player plays D: you get 0, the other player gets 5."
        in text
    )
    assert "Be {nice}." in text
    assert "exactly one letter, C or D" in text
    assert "You don't know how many rounds" in text


def test_seat_b_reads_its_own_points():
    matrix = {"CC": (3, 30), "CD": (0, 50), "DC": (5, 2), "DD": (1, 10)}
    text = agent(seat="agent_b", matrix=matrix)._system
    assert (
        "You play C, the other player plays D: you get 2, the other player gets 5."
        in text
    )


def test_horizon_and_noise_are_told_where_configured():
    assert "exactly 9 rounds" in agent(reveal_horizon=True)._system
    geometric = Horizon(type="geometric", stop_prob=0.1)
    assert "ends with probability 0.1" in agent(geometric, reveal_horizon=True)._system
    assert "With probability 0.05, an action is flipped" in agent(noise=0.05)._system
    assert "flipped" not in agent()._system


@pytest.mark.parametrize(("text", "message"), [
    ("{nobody}", "unknown placeholder {nobody}"),
    ("{history.__class__}", "unknown placeholder"),
    ("{}", "unknown placeholder {}"),
    ("{history!r}", "take no format"),
    ("{history:>9}", "take no format"),
    ('{"action": "C"}', "unknown placeholder"),
    ("{history", "malformed placeholder"),
])  # fmt: skip
def test_bad_placeholders(text, message):
    with pytest.raises(ConfigError, match=r"^p\.md: ") as error:
        check_template(text, {"history"}, "p.md")
    assert message in str(error.value)


def test_doubled_braces_are_text():
    assert check_template('{{"action": "C"}} {history}', {"history"}, "p.md") == {
        "history"
    }


def test_tidy_removes_what_empty_placeholders_leave():
    assert tidy("\na \n\n\n\nb\n\n") == "a\n\nb"

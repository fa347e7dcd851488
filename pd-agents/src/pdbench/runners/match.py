"""One match: two agents, one horizon, one transcript."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field

from pdbench.agents.base import Agent, InvalidAnswer
from pdbench.config.load import Condition
from pdbench.core import horizon
from pdbench.core.rng import derive_seed, stream
from pdbench.core.transcript import Transcript
from pdbench.core.types import SEATS, PdbenchError, RunError
from pdbench.runners.registry import build_agent
from pdbench.storage.schema import Emit, Turns, line_encoder

FLIP = {"C": "D", "D": "C"}


@dataclass(frozen=True)
class Match:
    """A condition's replicate in a run. `seed` is the run's."""

    run_id: str
    condition: Condition
    replicate: int
    seed: int
    store_prompts: bool
    store_raw_responses: bool

    @property
    def key(self) -> tuple[str, int]:
        """(condition, replicate): the match's name within the run."""
        return self.condition.name, self.replicate

    @property
    def match_seed(self) -> int:
        """The seed from which all streams of this match are derived by name."""
        return derive_seed(self.seed, *self.key)

    def length(self) -> int:
        """Rounds it will have, unless a model gives no valid answer."""
        return horizon.length(self.condition.horizon, stream(self.match_seed, "horizon"))


@dataclass
class Recorded:
    """What rounds.jsonl already holds of one match."""

    a_actions: list[str] = field(default_factory=list)
    b_actions: list[str] = field(default_factory=list)
    chosen: dict[str, list[str]] = field(default_factory=lambda: {s: [] for s in SEATS})
    calls: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SEATS, 0))
    finished: bool = False
    invalid: dict | None = None

    def add(self, record: dict) -> None:
        """Take in the match's next line; ValueError where it is not the next one."""
        t = record["round_index"]
        if self.finished or t != len(self.a_actions):
            raise ValueError(f"round_index {t} does not follow round {len(self.a_actions) - 1}")
        self.finished = record["final"]
        for seat, turn in record.get("attempts", {}).items():
            self.calls[seat] += len(turn)
        if record["status"] == "invalid":
            self.invalid = record
            return
        for seat, actions in zip(SEATS, (self.a_actions, self.b_actions), strict=True):
            action = record[f"{seat}_action"]
            actions.append(action)
            if seat in record.get("attempts", {}):
                flipped = record[f"{seat}_flipped"]
                self.chosen[seat].append(FLIP[action] if flipped else action)

    def grow(self, line: str, final: bool, a: str, b: str, points: tuple, turns: Turns) -> None:
        """Take in a line that was just written, without reading it again."""
        self.finished = final
        for seat, turn in zip(SEATS, turns, strict=True):
            self.calls[seat] += len(turn.attempts) if turn else 0
        if points[0] is None:
            self.invalid = json.loads(line)
        else:
            self.a_actions.append(a)
            self.b_actions.append(b)


def play(match: Match, agents: tuple[Agent, Agent], emit: Emit | None = None) -> Transcript:
    """Play to the horizon, or to the first round without a valid answer.

    `emit` gets each round's (t, final, a, b, points, totals, flipped, turns). Noise draws come
    from a stream of their own, A's first, so that they don't depend on what the agents do.
    """
    condition, seed = match.condition, match.match_seed
    matrix = condition.game.payoffs.matrix()
    noise, noise_draw = condition.game.noise, stream(seed, "noise").random
    agent_a, agent_b = agents
    act_a, act_b = agent_a.act, agent_b.act
    transcript = Transcript()
    view_a, view_b = transcript.views()
    add = _adder(transcript)
    total_a = total_b = 0.0
    flipped = (False, False)
    for t, final in horizon.rounds(condition.horizon, stream(seed, "horizon")):
        a = b = None
        try:
            a = act_a(view_a)
            b = act_b(view_b)
        except InvalidAnswer:
            if emit:
                turns = (agent_a.turn, agent_b.turn if a else None)
                emit(t, True, a, b, (None, None), (total_a, total_b), (False, False), turns)
            return transcript
        if noise:
            flipped = (noise_draw() < noise, noise_draw() < noise)
            a, b = FLIP[a] if flipped[0] else a, FLIP[b] if flipped[1] else b
        points = matrix[a + b]
        total_a += points[0]
        total_b += points[1]
        add(a, b, points, total_a, total_b)
        if emit:
            turns = (agent_a.turn, agent_b.turn)
            emit(t, final, a, b, points, (total_a, total_b), flipped, turns)
    return transcript


def _adder(x: Transcript) -> Callable[[str, str, tuple[float, float], float, float], None]:
    a_action, b_action = x.a_actions.append, x.b_actions.append
    a_payoff, b_payoff = x.a_payoffs.append, x.b_payoffs.append
    a_total, b_total = x.a_totals.append, x.b_totals.append

    def add(a, b, points, total_a, total_b):
        a_action(a)
        b_action(b)
        a_payoff(points[0])
        b_payoff(points[1])
        a_total(total_a)
        b_total(total_b)

    return add


def build_agents(match: Match, recorded: Recorded) -> tuple[Agent, Agent]:
    """Both agents, seeded from the match's streams."""
    a, b = (
        build_agent(match.condition, seat, match.match_seed, recorded.chosen[seat],
                    recorded.calls[seat])
        for seat in SEATS
    )
    return a, b


def play_recorded(match: Match, recorded: Recorded, write: Callable[[str], None]) -> None:
    """Play a match and `write` the lines that rounds.jsonl does not hold yet.

    An interrupted match is played again from its start: policies decide anew, models repeat what
    they are on record with, and every round must come out as recorded.
    """
    encode = line_encoder(match.run_id, match.condition, match.replicate, match.store_prompts,
                          match.store_raw_responses)
    known = len(recorded.a_actions)

    def emit(t, final, a, b, points, totals, flipped, turns):
        if t >= known:
            line = encode(t, final, a, b, points, totals, flipped, turns)
            recorded.grow(line, final, a, b, points, turns)
            write(line)
        elif (a, b) != (recorded.a_actions[t], recorded.b_actions[t]):
            raise RunError(f"rounds.jsonl: condition {match.key[0]!r} replicate {match.replicate}"
                           f" round {t} holds {recorded.a_actions[t]}{recorded.b_actions[t]}, but"
                           f" the configuration plays {a}{b}; delete the run folder")

    try:
        play(match, build_agents(match, recorded), emit)
    except PdbenchError as error:
        name, replicate = match.key
        raise type(error)(f"condition {name!r} replicate {replicate}: {error}") from None

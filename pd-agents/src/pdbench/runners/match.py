"""One match: two agents, one horizon, one transcript."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from pdbench.agents.base import Agent, InvalidAnswer
from pdbench.config.load import Condition
from pdbench.core import horizon
from pdbench.core.rng import derive_seed, stream
from pdbench.core.transcript import Transcript
from pdbench.core.types import SEATS, PdbenchError, RunError
from pdbench.runners.registry import build_agent
from pdbench.storage.schema import Round, Turns, line_encoder, now_utc

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

    def encoder(self) -> Callable[..., tuple[str, str]]:
        """A function from one of its rounds to the line's text before and after the time."""
        return line_encoder(
            self.run_id,
            self.condition,
            self.replicate,
            self.store_prompts,
            self.store_raw_responses,
        )

    def length(self) -> int:
        """Rounds it will have, unless a model gives no valid answer."""
        return horizon.length(
            self.condition.horizon, stream(self.match_seed, "horizon")
        )


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
            raise ValueError(
                f"round_index {t} does not follow round {len(self.a_actions) - 1}"
            )
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

    def grow(
        self, line: str, final: bool, a: str, b: str, points: tuple, turns: Turns
    ) -> None:
        """Take in a line that was just written, without reading it again."""
        self.finished = final
        for seat, turn in zip(SEATS, turns, strict=True):
            self.calls[seat] += len(turn.attempts) if turn else 0
        if points[0] is None:
            self.invalid = json.loads(line)
        else:
            self.a_actions.append(a)
            self.b_actions.append(b)


def play(
    match: Match, agents: tuple[Agent, Agent], transcript: Transcript | None = None
) -> Iterator[Round]:
    """Each round to the horizon, or to the first one without a valid answer.

    `transcript`, where one is given, grows with the rounds. Noise draws come from a stream of
    their own, A's first, so that they don't depend on what the agents do.
    """
    condition, seed = match.condition, match.match_seed
    matrix = condition.game.payoffs.matrix()
    noise, noise_draw = condition.game.noise, stream(seed, "noise").random
    agent_a, agent_b = agents
    act_a, act_b = agent_a.act, agent_b.act
    transcript = Transcript() if transcript is None else transcript
    view_a, view_b = transcript.views()
    add = transcript.adder()
    total_a = total_b = 0.0
    flipped = (False, False)
    for t, final in horizon.rounds(condition.horizon, stream(seed, "horizon")):
        a = b = None
        try:
            a = act_a(view_a)
            b = act_b(view_b)
        except InvalidAnswer:
            turns = (agent_a.turn, agent_b.turn if a else None)
            yield t, True, a, b, (None, None), (total_a, total_b), (False, False), turns
            return
        if noise:
            flipped = (noise_draw() < noise, noise_draw() < noise)
            a, b = FLIP[a] if flipped[0] else a, FLIP[b] if flipped[1] else b
        points = matrix[a + b]
        total_a += points[0]
        total_b += points[1]
        add(a, b, points, total_a, total_b)
        yield (
            t,
            final,
            a,
            b,
            points,
            (total_a, total_b),
            flipped,
            (agent_a.turn, agent_b.turn),
        )


def build_agents(match: Match, recorded: Recorded) -> tuple[Agent, Agent]:
    """Both agents, seeded from the match's streams."""
    a, b = (
        build_agent(
            match.condition,
            seat,
            match.match_seed,
            recorded.chosen[seat],
            recorded.calls[seat],
        )
        for seat in SEATS
    )
    return a, b


def play_recorded(
    match: Match, recorded: Recorded, write: Callable[[str], None]
) -> None:
    """Play a match and `write` the lines that rounds.jsonl does not hold yet.

    An interrupted match is played again from its start: policies decide anew, models repeat what
    they are on record with, and every round must come out as recorded.
    """
    encode = match.encoder()
    known = len(recorded.a_actions)
    try:
        for played in play(match, build_agents(match, recorded)):
            t, final, a, b, points, _, _, turns = played
            if t >= known:
                before, after = encode(*played)
                line = f"{before}{now_utc()}{after}"
                recorded.grow(line, final, a, b, points, turns)
                write(line)
            elif (a, b) != (recorded.a_actions[t], recorded.b_actions[t]):
                raise RunError(
                    f"rounds.jsonl: round {t + 1} holds {recorded.a_actions[t]}"
                    f"{recorded.b_actions[t]}, but the configuration plays {a}{b};"
                    " delete the run folder"
                )
    except PdbenchError as error:
        name, replicate = match.key
        raise type(error)(
            f"condition {name!r} replicate {replicate}: {error}"
        ) from None

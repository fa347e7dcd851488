"""One match: two agents, one horizon, one transcript."""

from collections.abc import Iterator
from dataclasses import dataclass

from pdbench.agents.base import Agent, InvalidAnswer, Turn
from pdbench.config.load import Condition
from pdbench.config.schema import LLMSpec, RunSettings
from pdbench.core import horizon
from pdbench.core.rng import derive_seed, stream
from pdbench.core.transcript import Transcript
from pdbench.core.types import SEATS, Action, C, D, PdbenchError, RunError, Seat
from pdbench.runners.budget import Budget
from pdbench.runners.registry import build_agent, own_trouble
from pdbench.storage.rounds import Key, MatchRounds
from pdbench.storage.schema import Move, Round


@dataclass(frozen=True)
class Match:
    """A condition's replicate in a run."""

    run: RunSettings
    condition: Condition
    replicate: int

    @property
    def key(self) -> Key:
        """The match's name within the run."""
        return self.condition.name, self.replicate

    @property
    def seed(self) -> int:
        """The seed from which all streams of this match are derived by name."""
        return derive_seed(self.run.seed, *self.key)

    def length(self) -> int:
        """Rounds it will have, unless a model gives no valid answer."""
        return horizon.length(self.condition.horizon, stream(self.seed, "horizon"))

    def model_calls(self) -> tuple[int, int]:
        """Fewest and most calls to a model (the mock included) that it can take."""
        fewest = most = 0
        for agent in self.condition.agents.values():
            if isinstance(agent.spec, LLMSpec):
                fewest += 1
                most += 1 + agent.spec.output.max_retries
        rounds = self.length()
        return fewest * rounds, most * rounds


class Table:
    """A match being played: who sits there, what was played, and what was recorded before."""

    def __init__(self, match: Match, recorded: MatchRounds, budget: Budget) -> None:
        self.match, self.recorded = match, recorded
        self.transcript = Transcript()
        self.noise = stream(match.seed, "noise")
        self.agents: dict[Seat, Agent] = {}
        for seat in SEATS:
            self.agents[seat] = build_agent(
                match.condition, seat, match.seed, budget.charge
            )

    def play(self, t: int, final: bool) -> Round:
        """One round; it is the last one too where an agent gave no valid answer."""
        chosen: dict[Seat, Action | None] = dict.fromkeys(SEATS)
        turns: dict[Seat, Turn | None] = dict.fromkeys(SEATS)
        for seat, agent in self.agents.items():
            try:
                chosen[seat] = self._choose(seat, t)
            except InvalidAnswer:
                final = True
            turns[seat] = getattr(agent, "turn", None)
            if chosen[seat] is None:
                break
        if None in chosen.values():
            return Round(t, final, self._unpaid(chosen, turns))
        return Round(t, final, self._paid(chosen, turns))

    def _choose(self, seat: Seat, t: int) -> Action:
        """The agent's action; a model repeats what it is on record with, and is not asked."""
        loaded = self.match.condition.agents[seat]
        if t < self.recorded.rounds and _is_real(loaded.spec):
            return self.recorded.seats[seat].chosen(t)
        observation = self.transcript.seen_by(seat)
        try:
            return self.agents[seat].act(observation)
        except (InvalidAnswer, PdbenchError):
            raise
        except Exception as error:
            if isinstance(loaded.spec, LLMSpec) or loaded.code is None:
                raise
            raise RunError(own_trouble(loaded.spec.policy, error)) from None

    def _unpaid(self, chosen: dict, turns: dict) -> dict[Seat, Move]:
        """What is left of a round without two valid answers."""
        moves = {}
        for seat, side in self.transcript.sides.items():
            moves[seat] = Move(chosen[seat], False, None, side.total, turns[seat])
        return moves

    def _paid(self, chosen: dict, turns: dict) -> dict[Seat, Move]:
        """Flip by noise, pay, and write into the transcript."""
        game = self.match.condition.game
        flipped = {seat: self._flips(game.noise) for seat in SEATS}
        actions = {}
        for seat in SEATS:
            actions[seat] = other(chosen[seat]) if flipped[seat] else chosen[seat]
        pair = "".join(actions.values())
        self.transcript.add(pair, game.payoffs.matrix()[pair])
        moves = {}
        for seat, side in self.transcript.sides.items():
            payoff = side.payoffs[-1]
            moves[seat] = Move(
                actions[seat], flipped[seat], payoff, side.total, turns[seat]
            )
        return moves

    def _flips(self, noise: float) -> bool:
        """Is the next action flipped? Without noise nothing is drawn."""
        return noise > 0 and self.noise.random() < noise


def _is_real(spec: object) -> bool:
    return isinstance(spec, LLMSpec) and not spec.mocked


def other(action: Action) -> Action:
    """The action that this one is not."""
    return D if action == C else C


def play(match: Match, recorded: MatchRounds, budget: Budget) -> Iterator[Round]:
    """The rounds that rounds.jsonl does not hold yet, to the horizon or the first invalid one.

    An interrupted match is played again from its start: policies and the mock decide anew, models
    repeat what they are on record with, and every round must come out as recorded.
    """
    table = Table(match, recorded, budget)
    for t, final in horizon.rounds(
        match.condition.horizon, stream(match.seed, "horizon")
    ):
        if t < recorded.rounds:
            _check_recorded(table.play(t, final), recorded)
            continue
        budget.open(budget.round)
        played = table.play(t, final)
        budget.close(budget.round, played.cost_usd)
        yield played
        if not played.valid:
            return


def _check_recorded(played: Round, recorded: MatchRounds) -> None:
    for seat, move in played.moves.items():
        action = recorded.seats[seat].actions[played.t]
        if move.action != action:
            raise RunError(
                f"rounds.jsonl line {recorded.lines[played.t]}: {seat} played {action},"
                f" but the configuration plays {move.action}; restore the file from a"
                " copy, or delete the run folder"
            )

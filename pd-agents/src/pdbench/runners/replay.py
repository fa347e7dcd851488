"""Reading rounds.jsonl by playing it again: what a line says has to follow from its run.

Policies, noise, horizon and the mock play anew from the seed; a real model repeats the answers
that it is on record with, and they are read again. Every line is then written once more and
compared with the one that is there, times apart: payoffs, sums, prompts and all. The first line
that disagrees is named, with its field.
"""

import json
import re
from collections import deque
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from pdbench.agents.base import Attempt
from pdbench.agents.llm import LLMAgent
from pdbench.config.load import Condition, conditions_of
from pdbench.config.schema import LLMSpec
from pdbench.core.parse import PARSERS
from pdbench.core.transcript import Transcript
from pdbench.core.types import SEATS, PdbenchError, RunError
from pdbench.runners.match import Match, play
from pdbench.runners.registry import build_agent
from pdbench.storage.manifest import FINISHED, MANIFEST, check_outcome
from pdbench.storage.rounds import (
    AGGREGATES,
    ROUNDS,
    check_regular,
    damaged,
    parse_line,
)
from pdbench.storage.schema import MatchRounds

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
NO_TURNS = (None, None)
ANY_TIME = "2000-01-01T00:00:00.000Z"
ESCAPED = re.compile("[\udc80-\udcff]")
REASONS = {
    "agent_a_action": "its agent, played again, gives",
    "agent_b_action": "its agent, played again, gives",
    "agent_a_flipped": "the noise of this seed gives",
    "agent_b_flipped": "the noise of this seed gives",
    "agent_a_payoff": "actions and matrix give",
    "agent_b_payoff": "actions and matrix give",
    "agent_a_cum_payoff": "the payoffs so far sum to",
    "agent_b_cum_payoff": "the payoffs so far sum to",
    "final": "the horizon gives",
    "prompts": "configuration and transcript give",
    "prompt_hashes": "configuration and transcript give",
    "attempts": "the answers, read again, give",
}


class Disagreement(PdbenchError):
    """What a line says does not follow from its run."""


class RecordedModel(LLMAgent):
    """A real model at the table again: it repeats its answers, and they are read again."""

    def __init__(self, condition: Condition, seat: str) -> None:
        loaded = getattr(condition, seat)
        super().__init__(
            loaded.spec, loaded.prompts, None, condition.game, condition.horizon, seat
        )
        self._seat, self._answers = seat, deque()

    def hear(self, record: dict) -> None:
        """Take in what it answered in the round that comes next."""
        attempts = (record.get("attempts") or {}).get(self._seat) or []
        raw = (record.get("raw_responses") or {}).get(self._seat) or [None] * len(
            attempts
        )
        self._answers = deque(zip(attempts, raw, strict=True))

    def _ask(self, prompt: str) -> Attempt:
        if not self._answers:
            raise Disagreement(
                f"attempts of {self._seat} end before a valid answer or the last retry"
            )
        attempt, raw = self._answers.popleft()
        if raw is None:
            return Attempt(prompt, "", attempt["action"], attempt["problem"])
        return Attempt(prompt, raw, *PARSERS[self._spec.output.format](raw))


class _Replay:
    """One match, line by line."""

    def __init__(self, match: Match, path: Path) -> None:
        self._match, self._path = match, path
        self._agents = tuple(self._agent(seat) for seat in SEATS)
        self._models = [x for x in self._agents if isinstance(x, RecordedModel)]
        self._transcript = Transcript()
        self._rounds = play(match, self._agents, self._transcript)
        self._encode = match.encoder()
        self._calls, self._invalid = [0, 0], [0, 0]
        self._status, self._problem = "partial", None

    def _agent(self, seat):
        spec = getattr(self._match.condition, seat).spec
        if isinstance(spec, LLMSpec) and spec.provider.name != "mock":
            return RecordedModel(self._match.condition, seat)
        return build_agent(self._match.condition, seat, self._match.match_seed)

    def take(self, line: str, number: int) -> None:
        """The match's next line; RunError where it is not what the run gives."""
        if self._status != "partial":
            raise damaged(
                self._path,
                number,
                f"condition {self._match.key[0]!r} replicate"
                f" {self._match.replicate} was over in the round before",
            )
        try:
            if self._models:
                record = _strict(line, self._path, number)
                for model in self._models:
                    model.hear(record)
            played = next(self._rounds)
        except Disagreement as error:
            raise damaged(self._path, number, str(error)) from None
        except (AttributeError, KeyError, TypeError, ValueError):
            raise damaged(
                self._path,
                number,
                "attempts or raw_responses are not as a round has them",
            ) from None
        before, after = self._encode(*played)
        if not (
            line.startswith(before)
            and line.endswith(after)
            and TIME.fullmatch(line, len(before), len(line) - len(after))
        ):
            _compare(line, f"{before}{ANY_TIME}{after}", self._path, number)
        t, final, _, _, points, _, _, turns = played
        if turns != NO_TURNS:
            self._count_answers(turns)
        if final:
            self._status = "complete" if points[0] is not None else "incomplete"
            self._problem = (t, turns)

    def _count_answers(self, turns) -> None:
        for i, turn in enumerate(turns):
            if turn:
                self._calls[i] += len(turn.attempts)
                self._invalid[i] += sum(x.action is None for x in turn.attempts)

    def result(self) -> MatchRounds:
        """The match as far as it was read."""
        x = self._transcript
        ended = self._told(*self._problem) if self._status == "incomplete" else None
        return MatchRounds(
            *self._match.key,
            "".join(x.a_actions),
            "".join(x.b_actions),
            x.a_totals[-1] if x.a_totals else 0.0,
            x.b_totals[-1] if x.b_totals else 0.0,
            self._status,
            tuple(self._calls),
            tuple(self._invalid),
            ended,
        )

    def _told(self, t: int, turns) -> dict:
        """Where and how a match ended without a valid answer, for the manifest."""
        at = 1 if turns[1] else 0
        last = turns[at].attempts[-1]
        return {
            "condition": self._match.key[0],
            "replicate": self._match.replicate,
            "round_index": t,
            "seat": SEATS[at],
            "agent": self._match.condition.agents[at].label,
            "attempts": len(turns[at].attempts),
            "problem": last.problem,
        }


def _strict(line: str, path: Path, number: int) -> dict:
    """The line's object, if it is UTF-8 and no key stands twice in it."""
    if not line.isascii() and ESCAPED.search(line):
        raise damaged(path, number, "not UTF-8")

    def once(pairs: list[tuple[str, object]]) -> dict:
        if len(dict(pairs)) != len(pairs):
            raise damaged(path, number, "a key stands twice")
        return dict(pairs)

    return parse_line(line, path, number, once)


def _compare(line: str, expected_line: str, path: Path, number: int) -> None:
    """RunError that names the first field that disagrees, or says that only the form does."""
    record, expected = _strict(line, path, number), json.loads(expected_line)
    for name, value in expected.items():
        if name not in record:
            raise damaged(path, number, f"no {name}")
        if name == "timestamp_utc":
            if not TIME.fullmatch(str(record[name])):
                raise damaged(
                    path, number, f"timestamp_utc is {_short(record[name])}, no time"
                )
        elif record[name] != value or isinstance(record[name], bool) != isinstance(
            value, bool
        ):
            raise damaged(
                path,
                number,
                f"{name} is {_short(record[name])}, but"
                f" {REASONS.get(name, 'what belongs here is')} {_short(value)}",
            )
    if more := sorted(record.keys() - expected.keys()):
        raise damaged(path, number, f"unknown field {more[0]!r}")
    raise damaged(
        path,
        number,
        "it says what the run gives, but is not written as pdbench writes"
        " it (order, spaces, numbers or escapes)",
    )


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= 60 else text[:57] + "..."


class _Plan(NamedTuple):
    """What a manifest says was to be played."""

    run_id: str
    seed: int
    replicates: int
    conditions: dict[str, Condition]
    store: tuple[bool, bool]

    def match(self, condition: str, replicate: int) -> Match:
        return Match(
            self.run_id, self.conditions[condition], replicate, self.seed, *self.store
        )


def _plan(run_dir: Path, manifest: dict) -> _Plan:
    config = manifest["config"]
    try:
        run = config["run"]
        conditions = {c.name: c for c in conditions_of(config)}
        return _Plan(
            run["run_id"],
            run["seed"],
            int(manifest["replicates"]),
            conditions,
            (run["store_prompts"], run["store_raw_responses"]),
        )
    except (ValidationError, AttributeError, KeyError, TypeError, ValueError):
        raise RunError(
            f"{run_dir / MANIFEST}: config can't be read as a configuration; restore"
            " the file from a copy"
        ) from None


def read_matches(run_dir: Path, manifest: dict) -> list[MatchRounds]:
    """Every match of a run in schedule order, played again; RunError names what disagrees.

    A run that is still being written is read as far as it has come. One that is said to be over
    has to be whole, and its manifest has to say what its rounds do.
    """
    plan, path = _plan(run_dir, manifest), run_dir / ROUNDS
    check_regular(path)
    over = manifest["status"] in FINISHED
    replays: dict[tuple[str, int], _Replay] = {}
    by_head: dict[str, _Replay] = {}  # what stands before round_index names the match
    head = ""
    try:
        # What is no UTF-8 comes through as half a surrogate pair, which `_compare` refuses.
        with path.open(
            encoding="utf-8", errors="surrogateescape", newline="\n"
        ) as file:
            for number, line in enumerate(file, 1):
                if not line.endswith("\n"):
                    if over:
                        raise damaged(
                            path, number, "it has no end, but the run is over"
                        )
                    break  # torn, or being written
                if not (head and line.startswith(head)):
                    head = "".join(line.partition(',"round_index":')[:2])
                    if head not in by_head:
                        key = _key(line, path, number, plan)
                        if key not in replays:
                            replays[key] = _Replay(plan.match(*key), path)
                        by_head[head] = replays[key]
                    take = by_head[head].take
                take(line, number)
    except OSError as error:
        raise RunError(f"{path}: can't be read: {error.strerror}") from None
    order = list(plan.conditions)
    keys = sorted(replays, key=lambda key: (order.index(key[0]), key[1]))
    matches = [replays[key].result() for key in keys]
    if over:
        _check_whole(path, plan, matches)
        check_outcome(run_dir, manifest, matches)
    elif (run_dir / AGGREGATES).exists():
        _check_not_cut(run_dir, matches)
    return matches


def _key(line: str, path: Path, number: int, plan: _Plan) -> tuple[str, int]:
    record = _strict(line, path, number)
    for name, kind in (("condition", str), ("replicate", int)):
        if name not in record:
            raise damaged(path, number, f"no {name}")
        if type(record[name]) is not kind:
            raise damaged(path, number, f"{name} is {_short(record[name])}")
    if record["condition"] not in plan.conditions:
        raise damaged(
            path,
            number,
            f"condition {_short(record['condition'])} is not in {MANIFEST}",
        )
    if not 0 <= record["replicate"] < plan.replicates:
        raise damaged(
            path,
            number,
            f"replicate {record['replicate']}, but the run has"
            f" {plan.replicates} (from 0)",
        )
    return record["condition"], record["replicate"]


def _check_not_cut(run_dir: Path, matches: list[MatchRounds]) -> None:
    """RunError where an unfinished run has fewer rounds than its aggregates were made of: they are
    removed before more is played, so its rounds were cut and its status set back."""
    from pdbench.storage.aggregate import rounds_aggregated

    there, then = sum(len(m.a_actions) for m in matches), rounds_aggregated(run_dir)
    if then > there:
        raise RunError(
            f"{run_dir / ROUNDS}: holds {there} rounds, but {AGGREGATES} was made of"
            f" {then}; restore the run from a copy"
        )


def _check_whole(path: Path, plan: _Plan, matches: list[MatchRounds]) -> None:
    over = {(m.condition, m.replicate): m for m in matches if m.status != "partial"}
    for key in ((name, r) for name in plan.conditions for r in range(plan.replicates)):
        if key not in over:
            raise RunError(
                f"{path}: condition {key[0]!r} replicate {key[1]} has no end, but the"
                " run is said to be over; the same `pdbench run` plays what is missing"
            )

"""Derives every file of a tournament run from its design and the replies in its
journal.

    files, manifest = derive(study, domain, answers, facts)    # {file name: content}

The same replies give the same bytes, on any Python and at any concurrency: nothing here
depends on the clock, on the order in which replies came, or on where the files go. What
each field holds is said in `_policy`, `_game`, `_answer`, `_round_files` and
`_manifest`.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from cirrus.ask import design as game
from cirrus.ask.design import (
    STAGES,
    Agent,
    Round,
    Standing,
    Tournament,
    design,
    writers,
)
from cirrus.ask.encounters import (
    Encounter,
    Played,
    Side,
    acts,
    encounter_id,
    policy_id,
    policy_request,
    policy_status,
    replay,
)
from cirrus.ask.prompts import Domain
from cirrus.markers.patterns import marked
from common import VERSION
from common.artifacts import canonical_json, gzip_bytes, json_file, sha256
from common.session import tallied
from common.wire import UNANSWERED, Reply, Request

STAMP = "SIMULATED: respondents of this project answered, no model was asked."
TOKENS_OF = ("prompt", "output", "reasoning")


class RoundRows(NamedTuple):
    """A round as it was played, and the rows of its two files."""

    round: Round
    played: Played
    policies: list[dict[str, Any]]
    games: list[dict[str, Any]]


def derive(
    study: Mapping[str, Any],
    domain: Domain,
    answers: Callable[[Request], Reply],
    facts: Mapping[str, Any],
) -> tuple[dict[str, bytes], dict[str, Any]]:
    """Return ({file name: content}, content of acausal_manifest.json) of a run.

    `study` is the run's identity; `facts` has code_sha256 and charged_usd.
    """
    t = design(domain, study["config"])
    simulated = study["provider"] == "simulated"
    standings = {agent.id: Standing() for agent in t.agents}
    files: dict[str, bytes] = {}
    rounds: list[RoundRows] = []
    for round_ in t.rounds:
        played = replay(t, round_, answers)
        games, standings = games_of(t, round_, played, standings)
        policies = []
        for agent in writers(t):
            row = _policy(t, round_, agent, played.policies[agent.id])
            policies.append(row | {"simulated": simulated})
        rows = RoundRows(round_, played, policies, games)
        rounds.append(rows)
        files |= _round_files(t, rows, simulated)
        files |= _transcripts(t, round_, played, simulated)
    manifest = _manifest(t, study, facts, rounds)
    for name, standing in standings.items():
        manifest["standings"].append({"id": name} | standing._asdict())
    files["acausal_manifest.json"] = json_file(manifest)
    return files, manifest


# --- rows --------------------------------------------------------------------------------------


def _policy(t: Tournament, round_: Round, agent: Agent, reply: Reply) -> dict[str, Any]:
    """Return an agent's policy as a row of strategies_r{N}.json."""
    row = {
        "round": round_.number,
        "anon_id": round_.anon[agent.id],  # SHA-256 of the round's salt and `agent`
        "agent": agent.id,  # the same in every round and run
        "domain": t.domain.name,
        "model_strategy": agent.strategy.name,
        "policy": reply.text,
        "policy_id": policy_id(t, round_, agent),  # the request's id; games name it
        "policy_status": policy_status(reply),
        "markers": marked(reply.text),
        "bulletin": round_.bulletin.id,
        "variant": round_.variants[agent.id].id,
        "transcript_path_gz": _transcript_name(round_, agent),  # in the run's folder
    }
    if reply.reasoning:
        row["reasoning_markers"] = marked(reply.reasoning)
    return row | _account(reply) | reply.beside


def _account(reply: Reply) -> dict[str, Any]:
    """Return which model and upstream answered, as the server says, and how many tokens
    and dollars it took; None where that is unknown."""
    tokens = reply.account["tokens"] | {"truncated": reply.outcome == "truncated"}
    return reply.account | {"tokens": tokens}


def games_of(
    t: Tournament, round_: Round, played: Played, standings: dict[str, Standing]
) -> tuple[list[dict[str, Any]], dict[str, Standing]]:
    """Return the round's games, wave by wave, and the agents' standings after the
    round.

    A wave is one encounter of every pair. Games that have not begun are left out.
    """
    rows: list[dict] = []
    for wave in range(t.config["games_per_pair"]):
        begun = [pair[wave] for pair in played.encounters if len(pair) > wave]
        earned: dict[str, list[float]] = {}
        for e in begun:
            payoffs = game.payoffs(e.a.act, e.b.act)
            if payoffs:
                for side, payoff in zip((e.a, e.b), payoffs, strict=True):
                    earned.setdefault(side.agent.id, []).append(payoff)
        standings = game.after_wave(standings, earned)
        rows += [_game(t, round_, e, standings) for e in begun]
    return rows, standings


def _game(
    t: Tournament, round_: Round, e: Encounter, standings: Mapping[str, Standing]
) -> dict[str, Any]:
    """Return an encounter as a row of round_{N}_games.json."""
    words = acts(t.domain) | {None: None}
    a, b = e.a.agent, e.b.agent
    names = [round_.anon[a.id], round_.anon[b.id]]

    def by_name(*values: Any) -> dict[str, Any]:
        return dict(zip(names, values, strict=True))

    payoffs = game.payoffs(e.a.act, e.b.act)
    return {
        # Its two requests have this id with /a or /b added, in the order of `pair`.
        "id": encounter_id(t, round_, e.pair, e.number),
        "pair": names,
        "encounter": e.number,
        "first_encounter": e.number == 1,
        # Where a baseline takes part, no primary analysis uses the game.
        "baseline": a.baseline is not None or b.baseline is not None,
        "labels": dict(zip(("left", "right"), e.options, strict=True)),
        "label_scheme": e.scheme,
        "order": e.order,
        "decision": by_name(words[e.a.act], words[e.b.act]),
        "raw_payoffs": payoffs and by_name(*payoffs),
        # Each side's power after the wave of this encounter.
        "power_after": by_name(standings[a.id].power, standings[b.id].power),
        "parse_status": game.worse(e.a.status, e.b.status),
        "answers": by_name(_answer(t, round_, e.a), _answer(t, round_, e.b)),
    }


# Fields that are None where a baseline answered, since no model was asked.
OF_A_MODEL = ("text", "policy_id", "variant", "model", "served_model", "provider")


def _answer(t: Tournament, round_: Round, side: Side) -> dict[str, Any]:
    """Return one side's answer as an entry of a game's `answers`; that of a baseline
    has neither text nor cost."""
    agent, reply = side.agent, side.reply
    read = {"status": side.status, "read_from": side.read_from}
    if reply is None:
        tokens = dict.fromkeys(TOKENS_OF, 0) | {"truncated": False}
        nothing = dict.fromkeys(OF_A_MODEL)
        return read | nothing | {"tokens": tokens, "cost_usd": 0}
    read["text"] = reply.text
    read["policy_id"] = policy_id(t, round_, agent)  # the policy that it was shown
    read["variant"] = round_.variants[agent.id].id
    read["model"] = agent.decision.name
    return read | _account(reply) | reply.beside


# --- files -------------------------------------------------------------------------------------


def _round_files(
    t: Tournament, rows: RoundRows, simulated: bool
) -> Iterator[tuple[str, bytes]]:
    """Yield (name, content) of a round's two files; each policy and each game is on
    its own line."""
    round_ = rows.round
    policies = f"{_line_by_line(rows.policies)}\n"
    yield f"strategies_r{round_.number}.json", policies.encode()
    head = {
        "round": round_.number,
        "domain": t.domain.name,
        "toggles": t.condition._asdict(),
        "bulletin": round_.bulletin.id,
        "setting": round_.setting.id,  # its office, days and hours are in all notices
        "wording": round_.wording + 1,  # number of the sentence taken from every list
        "simulated": simulated,
        "agents": {round_.anon[agent.id]: _agent(agent) for agent in t.agents},
    }
    for key in ("history_mode", "tells", "variants", "seed"):
        head[key] = t.config[key]
    # The file is canonical JSON, except that each game has its own line.
    empty = canonical_json(head | {"games": []})
    games = f'"games":{_line_by_line(rows.games)}'
    text = empty.replace('"games":[]', games, 1) + "\n"
    yield f"round_{round_.number}_games.json", text.encode()


def _line_by_line(rows: Sequence[Mapping]) -> str:
    """Return a JSON array with each row on its own line."""
    lines = ",\n".join(map(canonical_json, rows))
    return f"[\n{lines}\n]" if lines else "[]"


def _agent(agent: Agent) -> dict[str, Any]:
    """Return an agent's entry: its id, and its baseline rule or its two models."""
    return {
        "id": agent.id,
        "baseline": agent.baseline,
        "model_strategy": agent.strategy and agent.strategy.name,
        "model_decision": agent.decision and agent.decision.name,
    }


def _transcript_name(round_: Round, agent: Agent) -> str:
    return f"transcripts/r{round_.number}/{round_.anon[agent.id]}.txt.gz"


def _transcripts(
    t: Tournament, round_: Round, played: Played, simulated: bool
) -> Iterator[tuple[str, bytes]]:
    """Yield (name, content) of each agent's transcript: its policy, then its
    decisions, with prompts."""
    texts = {}
    for agent in writers(t):
        opening = _opening(t, round_, agent, played.policies[agent.id])
        texts[agent.id] = [f"{STAMP}\n{opening}" if simulated else opening]
    for pair in played.encounters:
        for e in pair:
            for side, turn in _turns(t, round_, e):
                texts[side.agent.id].append(turn)
    for agent in writers(t):
        text = "\n".join(texts[agent.id])
        yield _transcript_name(round_, agent), gzip_bytes(text.encode(), level=6)


def _turns(t: Tournament, round_: Round, e: Encounter) -> Iterator[tuple[Side, str]]:
    """Yield (side, text) for each model in an encounter: what it was shown and what
    it answered."""
    name, options = encounter_id(t, round_, e.pair, e.number), " | ".join(e.options)
    for end, side, peer in (("a", e.a, e.b), ("b", e.b, e.a)):
        if side.reply is None:
            continue
        model, other = side.agent.decision.name, round_.anon[peer.agent.id]
        head = f"=== decision ({name}/{end}; {model}; {side.status}) with {other}\n"
        yield side, f"{head}--- options as shown: {options}\n{_replied(side.reply)}"


def _opening(t: Tournament, round_: Round, agent: Agent, reply: Reply) -> str:
    """Return the start of a transcript: the policy's prompt and reply."""
    request = policy_request(t, round_, agent)
    told = f"{request.id}; {agent.strategy.name}; {policy_status(reply)}"
    who = f"{agent.id} as {round_.anon[agent.id]}"
    head = f"{t.name}, round {round_.number}, {who}\n\n=== policy ({told})\n"
    asked = f"--- system\n{request.system}\n--- user\n{request.user}\n"
    return f"{head}{asked}{_replied(reply)}"


def _replied(reply: Reply) -> str:
    thoughts = f"--- reasoning\n{reply.reasoning}\n" if reply.reasoning else ""
    return f"{thoughts}--- reply\n{reply.text}\n"


# --- the manifest: what was run, and how it ended ------------------------------------------------


def _manifest(
    t: Tournament, study: Mapping, facts: Mapping, rounds: Sequence[RoundRows]
) -> dict[str, Any]:
    """Return the content of acausal_manifest.json, with `standings` still empty."""
    calls: list[dict[str, Any]] = []
    for rows in rounds:
        calls += _calls(t, rows.played)
    answered = [call for call in calls if call["outcome"] not in UNANSWERED]
    listed, statuses = list(map(_summary, rounds)), _statuses(rounds)
    scheduled = sum(row["games"] for row in listed)
    every_call = len(answered) == len(calls)
    outcomes = {stage: {} for stage in STAGES} | tallied(calls, "stage", "outcome")
    return {
        "artifact": "acausal_manifest",
        "schema": 1,
        "version": VERSION,
        "run": t.name,  # named after its design; request ids begin with it
        "simulated": study["provider"] == "simulated",
        "complete": every_call and statuses["game"].total() == scheduled,
        "config": study["config"],
        "config_sha256": _hash(study["config"]),
        "prompts": study["prompts"],
        "prompts_sha256": _hash(study["prompts"]),
        "code_sha256": facts["code_sha256"],
        "prereg_sha256": study.get("prereg_sha256"),
        "provider": study["provider"],
        "payoffs": game.MATRIX,
        "eta": game.ETA,  # step of the power update
        "salts": {str(round_.number): round_.salt for round_ in t.rounds},
        "agents": [_agent(agent) for agent in t.agents],
        "rounds": listed,
        "outcomes": outcomes,
        "statuses": statuses,
        "served": tallied(answered, "model", "served"),
        "upstreams": tallied(answered, "model", "upstream"),
        "standings": [],
    } | _spent(answered, facts["charged_usd"])


def _hash(value: Any) -> str:
    return sha256(canonical_json(value))


def _spent(answered: Sequence[Mapping[str, Any]], charged: float) -> dict[str, Any]:
    """Return tokens and dollars by stage, summed over the answers for which they are
    known."""
    tokens = {stage: dict.fromkeys(TOKENS_OF, 0) for stage in STAGES}
    dollars: dict[str, list[float]] = {stage: [] for stage in STAGES}
    for call in answered:
        account = call["reply"].account
        for what, n in account["tokens"].items():
            tokens[call["stage"]][what] += n or 0
        if account["cost_usd"] is not None:
            dollars[call["stage"]].append(account["cost_usd"])
    every = list(chain.from_iterable(dollars.values()))
    cost = {
        "usd": math.fsum(every),
        "unknown": len(answered) - len(every),  # answers whose cost is unknown
        "charged_usd": charged,  # what the budget was charged, failures included
        "by_stage": {stage: math.fsum(known) for stage, known in dollars.items()},
    }
    return {"tokens": tokens, "cost": cost}


def _calls(t: Tournament, played: Played) -> Iterator[dict[str, Any]]:
    """Yield every call of a round with its stage, model and outcome."""
    for agent in writers(t):
        yield _call("strategy", agent.strategy.name, played.policies[agent.id])
    for pair in played.encounters:
        for e in pair:
            for side in (e.a, e.b):
                if side.reply is not None:
                    yield _call("decision", side.agent.decision.name, side.reply)


def _call(stage: str, model: str, reply: Reply) -> dict[str, Any]:
    """Return one call of a round as the manifest counts it."""
    return {
        "stage": stage,
        "model": model,
        "outcome": reply.outcome,
        "served": reply.served_model,
        "upstream": reply.provider,
        "reply": reply,
    }


def _summary(rows: RoundRows) -> dict[str, Any]:
    """Return a round's entry in the manifest."""
    round_ = rows.round
    return {
        "round": round_.number,
        "bulletin": round_.bulletin.id,
        "setting": round_.setting.id,
        "variants": {agent: variant.id for agent, variant in round_.variants.items()},
        "games": sum(len(pair.labels) for pair in round_.pairs),  # that were scheduled
        "played": sum(row["raw_payoffs"] is not None for row in rows.games),
    }


def _statuses(rounds: Sequence[RoundRows]) -> dict[str, Counter]:
    """Count how policies, decisions and games ended: {kind: {status: count}}."""
    policies: Counter[str] = Counter()
    decisions: Counter[str] = Counter()
    games: Counter[str] = Counter()
    for rows in rounds:
        policies.update(row["policy_status"] for row in rows.policies)
        for row in rows.games:
            games[row["parse_status"]] += 1
            for answer in row["answers"].values():
                if answer["model"]:
                    decisions[answer["status"]] += 1
    return {"policy": policies, "decision": decisions, "game": games}

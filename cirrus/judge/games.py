"""Derives every file of a tournament run from its design and the replies in its
journal.

    files, manifest = derive(study, domain, answers, facts)    # {file name: content}

The same replies give the same bytes, on any Python and at any concurrency: nothing here
depends on the clock, on the order in which replies came, or on where the files go. A
table of shapes at the end describes every file; files are checked against it when they
are written and when they are read.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cirrus.ask import design as game
from cirrus.ask.bulletins import LEVELS, TELLS
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
from cirrus.markers.patterns import FAMILIES, marked
from common import VERSION, shape
from common.artifacts import canonical_json, gzip_bytes, json_file, sha256
from common.parsing import READ_FROM
from common.session import tallied
from common.shape import (
    FLAG,
    NAME,
    NUMBER,
    OBJECT,
    TEXT,
    enum,
    is_number,
    list_of,
    map_of,
    maybe,
    number,
    plain,
    record,
    sometimes,
    whole,
)
from common.wire import UNANSWERED, Reply, Request

STAMP = "SIMULATED: respondents of this project answered, no model was asked."
TOKENS_OF = ("prompt", "output", "reasoning")


class Rows(NamedTuple):
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
    """Return ({file name: content}, acausal_manifest.json) of a run.

    `study` is the run's identity; `facts` has code_sha256 and charged_usd.
    """
    t = design(domain, study["config"])
    simulated = study["provider"] == "simulated"
    standings = {agent.id: Standing() for agent in t.agents}
    files: dict[str, bytes] = {}
    rounds: list[Rows] = []
    for round_ in t.rounds:
        played = replay(t, round_, answers)
        games, standings = games_of(t, round_, played, standings)
        policies = []
        for agent in writers(t):
            row = _policy(t, round_, agent, played.policies[agent.id])
            policies.append(row | {"simulated": simulated})
        rows = Rows(round_, played, policies, games)
        rounds.append(rows)
        files |= _round_files(t, rows, simulated)
        files |= _transcripts(t, round_, played, simulated)
    manifest = _manifest(t, study, facts, rounds)
    for name, standing in standings.items():
        manifest["standings"].append({"id": name} | standing._asdict())
    shape.check(MANIFEST, manifest, "acausal_manifest.json")
    files["acausal_manifest.json"] = json_file(manifest)
    return files, manifest


# --- rows --------------------------------------------------------------------------------------


def _policy(t: Tournament, round_: Round, agent: Agent, reply: Reply) -> dict[str, Any]:
    """Return an agent's policy as a row of strategies_r{N}.json."""
    row = {
        "round": round_.number,
        "anon_id": round_.anon[agent.id],
        "agent": agent.id,
        "domain": t.domain.name,
        "model_strategy": agent.strategy.name,
        "policy": reply.text,
        "policy_id": policy_id(t, round_, agent),
        "policy_status": policy_status(reply),
        "markers": marked(reply.text),
        "bulletin": round_.bulletin.id,
        "variant": round_.variants[agent.id].id,
        "transcript_path_gz": _transcript_name(round_, agent),
    }
    if reply.reasoning:
        row["reasoning_markers"] = marked(reply.reasoning)
    return row | _account(reply) | reply.beside


def _account(reply: Reply) -> dict[str, Any]:
    """Return which model answered, and how many tokens and dollars it took."""
    tokens = reply.account["tokens"] | {"truncated": reply.outcome == "truncated"}
    return reply.account | {"tokens": tokens}


def games_of(
    t: Tournament, round_: Round, played: Played, standings: dict[str, Standing]
) -> tuple[list[dict[str, Any]], dict[str, Standing]]:
    """Return the round's games, wave by wave, and the agents' standings after it.

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
        "id": encounter_id(t, round_, e.pair, e.number),
        "pair": names,
        "encounter": e.number,
        "first_encounter": e.number == 1,
        "baseline": a.baseline is not None or b.baseline is not None,
        "labels": dict(zip(("left", "right"), e.options, strict=True)),
        "label_scheme": e.scheme,
        "order": e.order,
        "decision": by_name(words[e.a.act], words[e.b.act]),
        "raw_payoffs": payoffs and by_name(*payoffs),
        "power_after": by_name(standings[a.id].power, standings[b.id].power),
        "parse_status": game.worse(e.a.status, e.b.status),
        "answers": by_name(_answer(t, round_, e.a), _answer(t, round_, e.b)),
    }


# Fields that are None where a baseline answered, since no model was asked.
OF_A_MODEL = ("text", "policy_id", "variant", "model", "served_model", "provider")


def _answer(t: Tournament, round_: Round, side: Side) -> dict[str, Any]:
    """Return one side's answer as a game's row has it; a baseline has neither text
    nor cost."""
    agent, reply = side.agent, side.reply
    read = {"status": side.status, "read_from": side.read_from}
    if reply is None:
        tokens = dict.fromkeys(TOKENS_OF, 0) | {"truncated": False}
        nothing = dict.fromkeys(OF_A_MODEL)
        return read | nothing | {"tokens": tokens, "cost_usd": 0}
    read["text"] = reply.text
    read["policy_id"] = policy_id(t, round_, agent)
    read["variant"] = round_.variants[agent.id].id
    read["model"] = agent.decision.name
    return read | _account(reply) | reply.beside


# --- files -------------------------------------------------------------------------------------


def _round_files(
    t: Tournament, rows: Rows, simulated: bool
) -> Iterator[tuple[str, bytes]]:
    """Yield (name, content) of a round's two files; each policy and each game is on
    its own line."""
    round_ = rows.round
    name = f"strategies_r{round_.number}.json"
    policies = shape.check(STRATEGIES, rows.policies, name)
    yield name, f"{_line_by_line(policies)}\n".encode()
    head = {
        "round": round_.number,
        "domain": t.domain.name,
        "toggles": t.condition._asdict(),
        "bulletin": round_.bulletin.id,
        "setting": round_.setting.id,
        "wording": round_.wording + 1,
        "simulated": simulated,
        "agents": {round_.anon[agent.id]: _agent(agent) for agent in t.agents},
    }
    for key in ("history_mode", "tells", "variants", "seed"):
        head[key] = t.config[key]
    name = f"round_{round_.number}_games.json"
    shape.check(GAMES, head | {"games": rows.games}, name)
    before, after = canonical_json(head | {"games": []}).split('"games":[]')
    yield name, f'{before}"games":{_line_by_line(rows.games)}{after}\n'.encode()


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
    t: Tournament, study: Mapping, facts: Mapping, rounds: Sequence[Rows]
) -> dict[str, Any]:
    """Return acausal_manifest.json with an empty list of standings."""
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
        "run": t.name,
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
        "eta": game.ETA,
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
    every: list[float] = []
    for known in dollars.values():
        every += known
    unknown = len(answered) - len(every)
    cost: dict[str, Any] = {
        "usd": math.fsum(every),
        "unknown": unknown,
        "charged_usd": charged,
    }
    cost["by_stage"] = {stage: math.fsum(known) for stage, known in dollars.items()}
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


def _summary(rows: Rows) -> dict[str, Any]:
    """Return a round's entry in the manifest."""
    round_ = rows.round
    return {
        "round": round_.number,
        "bulletin": round_.bulletin.id,
        "setting": round_.setting.id,
        "variants": {agent: variant.id for agent, variant in round_.variants.items()},
        "games": sum(len(pair.labels) for pair in round_.pairs),
        "played": sum(row["raw_payoffs"] is not None for row in rows.games),
    }


def _statuses(rounds: Sequence[Rows]) -> dict[str, Counter]:
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


# --- the shape of every file ---------------------------------------------------------------------

ORDINAL, COUNT = whole(1), whole(0)
USD = plain("dollars", lambda v: is_number(v) and v >= 0)
POWER = number(game.POWER_MIN, game.POWER_MAX)
HASH = plain("a SHA-256", lambda v: bool(re.fullmatch("[0-9a-f]{64}", str(v))))
STATUS = enum(*game.STATUSES)
# A policy of 3 to 5 lines is "ok"; shorter and longer ones are kept too.
POLICY_STATUS = enum(
    "ok",
    "short",
    "long",
    "refused",
    "truncated",
    "empty",
    "blocked",
    "provider_error",
    "not_run",
)
# {factor: its level}, which is the cell of a run.
TOGGLES = record(**{factor: enum(*levels) for factor, levels in LEVELS.items()})
# `output` includes the tokens spent on reasoning; null where the server does not say.
TOKENS = record(
    prompt=maybe(COUNT),
    output=maybe(COUNT),
    reasoning=maybe(COUNT),
    truncated=FLAG,
)
# {family: whether the policy holds one of its patterns}.
MARKERS = record(**dict.fromkeys(FAMILIES, FLAG))
ACCOUNT = {
    "served_model": maybe(NAME),  # the model that the server says has answered
    "provider": maybe(NAME),  # the upstream that answered
    "tokens": TOKENS,
    "cost_usd": maybe(USD),  # null where unknown, 0 for a baseline
    "reasoning": sometimes(TEXT),  # the model's thoughts, where the server shows them
}

STRATEGIES = list_of(
    record(
        round=ORDINAL,
        anon_id=HASH,  # SHA-256 of the round's salt and `agent`
        agent=NAME,  # the same in every round and run
        domain=NAME,
        model_strategy=NAME,
        policy=TEXT,
        policy_id=NAME,  # id of the request; games name it
        policy_status=POLICY_STATUS,
        markers=MARKERS,
        **ACCOUNT,
        reasoning_markers=sometimes(MARKERS),
        bulletin=NAME,
        variant=NAME,
        transcript_path_gz=TEXT,  # relative to the run's folder
        simulated=FLAG,
    )
)

# Where a baseline answered, the fields that describe a model's reply are null.
ANSWER = record(
    status=STATUS,
    read_from=enum(*READ_FROM),  # where in the answer it was read; "" where nothing was
    text=maybe(TEXT),
    policy_id=maybe(NAME),  # the policy that this side was shown
    variant=maybe(NAME),
    model=maybe(NAME),
    **ACCOUNT,
)
GAME = record(
    id=NAME,  # its two requests end in /a and /b, in the order of `pair`
    pair=list_of(HASH, 2),
    encounter=ORDINAL,  # 1 for the pair's first encounter of the round
    first_encounter=FLAG,
    baseline=FLAG,  # whether a baseline takes part; then no primary analysis uses it
    labels=record(left=NAME, right=NAME),  # as both sides were shown them
    label_scheme=enum("L1", "L2", "L3"),
    order=enum("cooperative-first", "other-first"),
    decision=map_of(maybe(NAME), "anon_id"),  # the act's canonical word
    raw_payoffs=maybe(map_of(NUMBER, "anon_id")),
    power_after=map_of(POWER, "anon_id"),  # after the wave of this encounter
    parse_status=STATUS,  # the worse of its two answers' statuses
    answers=map_of(ANSWER, "anon_id"),
)
AGENT = record(
    id=NAME,
    baseline=maybe(enum(*game.BASELINES)),  # its rule
    model_strategy=maybe(NAME),
    model_decision=maybe(NAME),
)
GAMES = record(
    round=ORDINAL,
    domain=NAME,
    toggles=TOGGLES,
    bulletin=NAME,
    setting=NAME,  # the variant whose office, days and hours all notices have
    wording=ORDINAL,  # which sentence of every list stood in the prompts
    history_mode=enum("standard", "off"),
    tells=enum(*TELLS),
    variants=enum("main", "holdout"),
    seed=COUNT,
    simulated=FLAG,
    agents=map_of(AGENT, "anon_id"),
    games=list_of(GAME),  # wave by wave in schedule order
)

COUNTS = map_of(COUNT, "name")
ROUND = record(
    round=ORDINAL,
    bulletin=NAME,
    setting=NAME,
    variants=map_of(NAME, "agent"),
    games=COUNT,  # games in the schedule
    played=COUNT,  # games that have payoffs
)
COST = record(
    usd=USD,  # sum of the known costs
    unknown=COUNT,  # number of answers whose cost is unknown
    charged_usd=USD,  # charged to the budget, failed attempts included
    by_stage=map_of(USD, "stage"),
)
STANDING = record(
    id=NAME,
    power=POWER,
    score=NUMBER,  # sum of ln(1 + power·payoff)
    games=COUNT,
)
MANIFEST = record(
    artifact=enum("acausal_manifest"),
    schema=enum(1),
    version=NAME,
    run=NAME,  # name of the run by its design, with which request ids begin
    simulated=FLAG,
    complete=FLAG,  # whether every call was answered and every game played
    config=OBJECT,
    config_sha256=HASH,
    prompts=map_of(HASH, "file"),
    prompts_sha256=HASH,
    code_sha256=HASH,
    prereg_sha256=maybe(HASH),
    provider=NAME,  # simulated, or the server's address
    payoffs=record(**dict.fromkeys("TRPS", NUMBER)),
    eta=NUMBER,  # step of the power update
    salts=map_of(TEXT, "round"),
    agents=list_of(AGENT),
    rounds=list_of(ROUND),
    outcomes=map_of(COUNTS, "stage"),
    statuses=map_of(COUNTS, "policy, decision, game"),
    served=map_of(COUNTS, "model"),
    upstreams=map_of(COUNTS, "model"),
    tokens=map_of(record(**dict.fromkeys(TOKENS_OF, COUNT)), "stage"),
    cost=COST,
    standings=list_of(STANDING),  # at the end of the run
)

# {the part of a file's name before "_": its shape}.
KINDS = {"strategies": STRATEGIES, "round": GAMES, "acausal": MANIFEST}


def load(path: Path) -> Any:
    """Read an artifact and check its shape."""
    kind = KINDS[path.name.partition("_")[0]]
    return shape.read(path, kind, "derive it again, or restore it from a copy")

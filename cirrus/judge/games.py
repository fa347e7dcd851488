"""Every derived file of a tournament run, from its design and the replies of its journal.

    files, manifest = derive(study, domain, answers, facts)    # {file name: content}

Same replies, same bytes, on any Python and at any concurrency: nothing here looks at the clock,
at the order in which replies came, or at where the files go.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from cirrus.ask import game
from cirrus.ask.design import STAGES, Agent, Round, Tournament, design
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
from cirrus.ask.game import Standing
from cirrus.ask.prompts import Domain
from cirrus.judge import schema
from cirrus.markers.patterns import marked
from common import VERSION
from common.artifacts import canonical_json, gzip_bytes, json_file, sha256
from common.wire import UNANSWERED, Reply, Request

SIMULATED = "SIMULATED: respondents of this project answered, no model was asked."


def derive(study: Mapping[str, Any], domain: Domain, answers: Callable[[Request], Reply],
           facts: Mapping[str, Any]) -> tuple[dict[str, bytes], dict[str, Any]]:
    """({file name: content}, acausal_manifest.json) of a run. `study`: the run's identity; `facts`:
    code_sha256 and charged_usd."""
    t = design(domain, study["config"])
    simulated = study["provider"] == "simulated"
    tally, files = Tally(), {}
    standings = {agent.id: Standing() for agent in t.agents}

    def reply_of(request: Request) -> Reply:
        reply = answers(request)
        tally.add(request, reply)
        return reply

    for round_ in t.rounds:
        played = replay(t, round_, reply_of)
        games, standings = games_of(t, round_, played, standings)
        policies = [_policy(t, round_, agent, played.policies[agent.id], simulated)
                    for agent in t.agents if agent.baseline is None]
        tally.round(round_, policies, games)
        files |= _round_files(t, round_, policies, games, simulated)
        files |= _transcripts(t, round_, played, simulated)
    manifest = _manifest(t, study, tally, standings, facts, simulated)
    files["acausal_manifest.json"] = json_file(schema.check("acausal_manifest.json", manifest))
    return files, manifest


# --- counting ----------------------------------------------------------------------------------

class Tally:
    """What the manifest counts."""

    def __init__(self) -> None:
        self.outcomes: dict[str, Counter] = {stage: Counter() for stage in STAGES}
        self.served: dict[str, Counter] = {}
        self.upstreams: dict[str, Counter] = {}
        self.tokens = {stage: Counter(prompt=0, output=0, reasoning=0) for stage in STAGES}
        self.costs: dict[str, list[float]] = {stage: [] for stage in STAGES}
        self.unknown = 0
        self.statuses: dict[str, Counter] = {
            "policy": Counter(), "decision": Counter(), "game": Counter()}
        self.rounds: list[dict] = []

    def add(self, request: Request, reply: Reply) -> None:
        self.outcomes[request.stage][reply.outcome] += 1
        if reply.outcome in UNANSWERED:
            return
        self.served.setdefault(request.model, Counter())[str(reply.served_model)] += 1
        self.upstreams.setdefault(request.model, Counter())[str(reply.provider)] += 1
        self.tokens[request.stage].update(
            prompt=reply.prompt_tokens or 0, output=reply.completion_tokens or 0,
            reasoning=reply.reasoning_tokens or 0)
        if reply.cost_usd is None:
            self.unknown += 1
        else:
            self.costs[request.stage].append(reply.cost_usd)

    def round(self, round_: Round, policies: list[dict], games: list[dict]) -> None:
        self.statuses["policy"].update(policy["policy_status"] for policy in policies)
        self.statuses["game"].update(game["parse_status"] for game in games)
        self.statuses["decision"].update(
            answer["status"] for game in games for answer in game["answers"].values()
            if answer["model"] is not None)
        self.rounds.append({
            "round": round_.number, "bulletin": round_.bulletin.id, "variant": round_.variant.id,
            "games": sum(len(pair.labels) for pair in round_.pairs),
            "played": sum(game["raw_payoffs"] is not None for game in games)})


# --- rows --------------------------------------------------------------------------------------

def _tokens(reply: Reply | None) -> dict[str, Any]:
    if reply is None:
        return {"prompt": 0, "output": 0, "reasoning": 0, "truncated": False}
    return {"prompt": reply.prompt_tokens, "output": reply.completion_tokens,
            "reasoning": reply.reasoning_tokens, "truncated": reply.outcome == "truncated"}


def _transcript_name(round_: Round, agent: Agent) -> str:
    return f"transcripts/r{round_.number}/{round_.anon[agent.id]}.txt.gz"


def _policy(t: Tournament, round_: Round, agent: Agent, reply: Reply,
            simulated: bool) -> dict[str, Any]:
    return {
        "round": round_.number, "anon_id": round_.anon[agent.id], "agent": agent.id,
        "domain": t.domain.name, "model_strategy": agent.strategy.name,
        "served_model": reply.served_model, "provider": reply.provider, "policy": reply.text,
        "policy_id": policy_id(t, round_, agent), "policy_status": policy_status(reply),
        "markers": marked(reply.text), "tokens": _tokens(reply), "cost_usd": reply.cost_usd,
        **reply.beside,
        **({"reasoning_markers": marked(reply.reasoning)} if reply.reasoning else {}),
        "bulletin": round_.bulletin.id, "variant": round_.variant.id, "simulated": simulated,
        "transcript_path_gz": _transcript_name(round_, agent)}


def games_of(t: Tournament, round_: Round, played: Played, standings: dict[str, Standing]):
    """The round's games, wave by wave, and the standings after it. Games not begun are left out."""
    rows: list[dict] = []
    for wave in range(1, t.config["games_per_pair"] + 1):
        met = [encounters[wave - 1] for encounters in played.encounters
               if len(encounters) >= wave]
        earned: dict[str, list[float]] = {}
        for e in met:
            for side, payoff in zip((e.a, e.b), game.payoffs(e.a.act, e.b.act) or (), strict=False):
                earned.setdefault(side.agent.id, []).append(payoff)
        standings = game.after_wave(standings, earned)
        rows += [_game(t, round_, e, standings) for e in met]
    return rows, standings


def _game(t: Tournament, round_: Round, e: Encounter,
          standings: Mapping[str, Standing]) -> dict[str, Any]:
    word = acts(t.domain) | {None: None}
    names = [round_.anon[side.agent.id] for side in (e.a, e.b)]
    earned = game.payoffs(e.a.act, e.b.act)
    return {
        "id": encounter_id(t, round_, e.pair, e.number), "pair": names, "encounter": e.number,
        "first_encounter": e.number == 1,
        "baseline": any(side.agent.baseline is not None for side in (e.a, e.b)),
        "labels": {"left": e.options[0], "right": e.options[1]},
        "label_scheme": e.scheme, "order": e.order,
        "decision": dict(zip(names, (word[e.a.act], word[e.b.act]), strict=True)),
        "raw_payoffs": dict(zip(names, earned, strict=True)) if earned else None,
        "power_after": dict(zip(names, (standings[side.agent.id].power for side in (e.a, e.b)),
                                strict=True)),
        "parse_status": game.worse(e.a.status, e.b.status),
        "answers": {name: _answer(t, round_, side)
                    for name, side in zip(names, (e.a, e.b), strict=True)}}


def _answer(t: Tournament, round_: Round, side: Side) -> dict[str, Any]:
    agent, reply = side.agent, side.reply
    common = {"status": side.status, "tokens": _tokens(reply)}
    if reply is None:
        return common | {"text": None, "policy_id": None, "model": None, "served_model": None,
                         "provider": None, "cost_usd": 0}
    return common | {
        "text": reply.text, "policy_id": policy_id(t, round_, agent),
        "model": agent.decision.name, "served_model": reply.served_model,
        "provider": reply.provider, "cost_usd": reply.cost_usd, **reply.beside}


# --- files -------------------------------------------------------------------------------------

def _agent(agent: Agent) -> dict[str, Any]:
    return {"id": agent.id, "baseline": agent.baseline,
            "model_strategy": agent.strategy and agent.strategy.name,
            "model_decision": agent.decision and agent.decision.name}


def _round_files(t: Tournament, round_: Round, policies: list[dict], games: list[dict],
                 simulated: bool) -> Iterator[tuple[str, bytes]]:
    name = f"strategies_r{round_.number}.json"
    yield name, one_a_line([], schema.check(name, policies))
    head = {
        "round": round_.number, "domain": t.domain.name, "toggles": t.condition._asdict(),
        "bulletin": round_.bulletin.id, "variant": round_.variant.id, "simulated": simulated,
        **{key: t.config[key] for key in ("history_mode", "tells", "variants", "seed")},
        "agents": {round_.anon[agent.id]: _agent(agent) for agent in t.agents}}
    name = f"round_{round_.number}_games.json"
    schema.check(name, head | {"games": games})
    yield name, one_a_line(head, games, "games")


def one_a_line(head: Any, rows: Iterable[Any], key: str = "") -> bytes:
    """JSON with one row a line: `head` with `rows` under `key`, or the bare list of rows.

    >>> print(one_a_line({"a": 1}, [{"b": 2}, {"b": 3}], "rows").decode(), end="")
    {"a":1,"rows":[
    {"b":2},
    {"b":3}
    ]}
    """
    lines = ",\n".join(map(canonical_json, rows))
    listed = f"[\n{lines}\n]" if lines else "[]"
    if not key:
        return (listed + "\n").encode()
    parts = [f"{canonical_json(name)}:{listed if name == key else canonical_json(head[name])}"
             for name in sorted([*head, key])]
    return ("{" + ",".join(parts) + "}\n").encode()


def _transcripts(t: Tournament, round_: Round, played: Played,
                 simulated: bool) -> Iterator[tuple[str, bytes]]:
    said: dict[str, list[str]] = {agent.id: [] for agent in t.agents}
    for e in (e for encounters in played.encounters for e in encounters):
        for own, peer in ((e.a, e.b), (e.b, e.a)):
            if own.reply is not None:
                said[own.agent.id].append(_exchange(t, round_, e, own, peer))
    for agent in t.agents:
        if agent.baseline is None:
            head = _opening(t, round_, agent, played.policies[agent.id], simulated)
            text = "\n".join([head, *said[agent.id]])
            yield _transcript_name(round_, agent), gzip_bytes(text.encode(), level=6)


def _opening(t: Tournament, round_: Round, agent: Agent, reply: Reply, simulated: bool) -> str:
    asked = policy_request(t, round_, agent)
    stamp = f"{SIMULATED}\n" if simulated else ""
    return (f"{stamp}{t.name}, round {round_.number}, {agent.id} as {round_.anon[agent.id]}\n"
            f"\n=== policy ({asked.id}; {agent.strategy.name}; {policy_status(reply)})\n"
            f"--- system\n{asked.system}\n--- user\n{asked.user}\n{_replied(reply)}")


def _exchange(t: Tournament, round_: Round, e: Encounter, own: Side, peer: Side) -> str:
    side = "a" if own is e.a else "b"
    return (f"=== decision ({encounter_id(t, round_, e.pair, e.number)}/{side}; "
            f"{own.agent.decision.name}; {own.status}) with {round_.anon[peer.agent.id]}\n"
            f"--- options as shown: {' | '.join(e.options)}\n{_replied(own.reply)}")


def _replied(reply: Reply) -> str:
    thoughts = f"--- reasoning\n{reply.reasoning}\n" if reply.reasoning else ""
    return f"{thoughts}--- reply\n{reply.text}\n"


def _manifest(t: Tournament, study: Mapping, tally: Tally, standings: Mapping[str, Standing],
              facts: Mapping, simulated: bool) -> dict[str, Any]:
    unanswered = sum(tally.outcomes[stage][outcome] for stage in STAGES for outcome in UNANSWERED)
    begun = sum(tally.statuses["game"].values())
    games = sum(round_["games"] for round_ in tally.rounds)
    return {
        "artifact": "acausal_manifest", "schema": 1, "version": VERSION, "run": t.name,
        "simulated": simulated, "complete": unanswered == 0 and begun == games,
        "config": study["config"], "config_sha256": sha256(canonical_json(study["config"])),
        "prompts": study["prompts"], "prompts_sha256": sha256(canonical_json(study["prompts"])),
        "code_sha256": facts["code_sha256"], "prereg_sha256": study.get("prereg_sha256"),
        "provider": study["provider"], "payoffs": game.MATRIX._asdict(), "eta": game.ETA,
        "salts": {str(round_.number): round_.salt for round_ in t.rounds},
        "agents": [_agent(agent) for agent in t.agents], "rounds": tally.rounds,
        "outcomes": tally.outcomes, "statuses": tally.statuses, "served": tally.served,
        "upstreams": tally.upstreams, "tokens": tally.tokens,
        "cost": {"usd": math.fsum(usd for stage in STAGES for usd in tally.costs[stage]),
                 "by_stage": {stage: math.fsum(tally.costs[stage]) for stage in STAGES},
                 "unknown": tally.unknown, "charged_usd": facts["charged_usd"]},
        "standings": [{"id": name, "power": s.power, "score": s.score, "games": s.games}
                      for name, s in standings.items()]}

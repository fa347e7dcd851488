"""Every derived file of a tournament run, from its design and the replies of its journal.

    files, manifest = derive(study, domain, answers, facts)    # {file name: content}

Same replies, same bytes, on any Python and at any concurrency: nothing here looks at the clock,
at the order in which replies came, or at where the files go. The shape of every file is one table,
checked on writing and on reading; each field there has its meaning beside it.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cirrus.ask import design as game
from cirrus.ask.bulletins import LEVELS, MEANING, TELLS
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


class Rows(NamedTuple):
    """A round as it went, and what its two files say of it."""

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
    """({file name: content}, acausal_manifest.json) of a run. `study`: the run's identity; `facts`:
    code_sha256 and charged_usd."""
    t = design(domain, study["config"])
    simulated = study["provider"] == "simulated"
    standings = {agent.id: Standing() for agent in t.agents}
    files, rounds = {}, []
    for round_ in t.rounds:
        played = replay(t, round_, answers)
        games, standings = games_of(t, round_, played, standings)
        policies = [
            _policy(t, round_, agent, played.policies[agent.id], simulated)
            for agent in writers(t)
        ]
        rounds.append(Rows(round_, played, policies, games))
        files |= _round_files(t, rounds[-1], simulated)
        files |= _transcripts(t, round_, played, simulated)
    manifest = _manifest(t, study, facts, rounds, standings)
    files["acausal_manifest.json"] = json_file(
        shape.check(MANIFEST, manifest, "acausal_manifest.json")
    )
    return files, manifest


# --- rows --------------------------------------------------------------------------------------


def _policy(
    t: Tournament, round_: Round, agent: Agent, reply: Reply, simulated: bool
) -> dict[str, Any]:
    return {
        "round": round_.number,
        "anon_id": round_.anon[agent.id],
        "agent": agent.id,
        "domain": t.domain.name,
        "model_strategy": agent.strategy.name,
        "policy": reply.text,
        "policy_id": policy_id(t, round_, agent),
        "policy_status": policy_status(reply),
        "markers": marked(reply.text),
        **_account(reply),
        **reply.beside,
        **({"reasoning_markers": marked(reply.reasoning)} if reply.reasoning else {}),
        "bulletin": round_.bulletin.id,
        "variant": round_.variants[agent.id].id,
        "simulated": simulated,
        "transcript_path_gz": _transcript_name(round_, agent),
    }


def _account(reply: Reply) -> dict[str, Any]:
    """Who answered, and what it took."""
    tokens = reply.account["tokens"] | {"truncated": reply.outcome == "truncated"}
    return reply.account | {"tokens": tokens}


def games_of(
    t: Tournament, round_: Round, played: Played, standings: dict[str, Standing]
):
    """The round's games, wave by wave, and the standings after it. Games not begun are left out."""
    rows: list[dict] = []
    for wave in range(t.config["games_per_pair"]):
        begun = [
            encounters[wave]
            for encounters in played.encounters
            if len(encounters) > wave
        ]
        earned: dict[str, list[float]] = {}
        for e in begun:
            for side, payoff in zip(
                (e.a, e.b), game.payoffs(e.a.act, e.b.act) or (), strict=False
            ):
                earned.setdefault(side.agent.id, []).append(payoff)
        standings = game.after_wave(standings, earned)
        rows += [_game(t, round_, e, standings) for e in begun]
    return rows, standings


def _game(
    t: Tournament, round_: Round, e: Encounter, standings: Mapping[str, Standing]
) -> dict[str, Any]:
    words = acts(t.domain) | {None: None}
    agents = [e.a.agent, e.b.agent]
    names = [round_.anon[agent.id] for agent in agents]

    def by_name(a: Any, b: Any) -> dict[str, Any]:
        return dict(zip(names, (a, b), strict=True))

    earned = game.payoffs(e.a.act, e.b.act)
    return {
        "id": encounter_id(t, round_, e.pair, e.number),
        "pair": names,
        "encounter": e.number,
        "first_encounter": e.number == 1,
        "baseline": any(agent.baseline is not None for agent in agents),
        "labels": {"left": e.options[0], "right": e.options[1]},
        "label_scheme": e.scheme,
        "order": e.order,
        "decision": by_name(words[e.a.act], words[e.b.act]),
        "raw_payoffs": by_name(*earned) if earned else None,
        "power_after": by_name(*(standings[agent.id].power for agent in agents)),
        "parse_status": game.worse(e.a.status, e.b.status),
        "answers": by_name(_answer(t, round_, e.a), _answer(t, round_, e.b)),
    }


# What a baseline's answer has not.
OF_A_MODEL = ("text", "policy_id", "variant", "model", "served_model", "provider")


def _answer(t: Tournament, round_: Round, side: Side) -> dict[str, Any]:
    agent, reply = side.agent, side.reply
    if reply is None:
        nothing = {"prompt": 0, "output": 0, "reasoning": 0, "truncated": False}
        return {
            "status": side.status,
            "read_from": side.read_from,
            "tokens": nothing,
            "cost_usd": 0,
            **dict.fromkeys(OF_A_MODEL),
        }
    return {
        "status": side.status,
        "read_from": side.read_from,
        "text": reply.text,
        "policy_id": policy_id(t, round_, agent),
        "variant": round_.variants[agent.id].id,
        "model": agent.decision.name,
        **_account(reply),
        **reply.beside,
    }


# --- files -------------------------------------------------------------------------------------


def _round_files(
    t: Tournament, rows: Rows, simulated: bool
) -> Iterator[tuple[str, bytes]]:
    """Both files of a round: a policy a line, and a game a line."""
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
        **{key: t.config[key] for key in ("history_mode", "tells", "variants", "seed")},
        "agents": {round_.anon[agent.id]: _agent(agent) for agent in t.agents},
    }
    name = f"round_{round_.number}_games.json"
    shape.check(GAMES, head | {"games": rows.games}, name)
    before, after = canonical_json(head | {"games": []}).split('"games":[]')
    yield name, f'{before}"games":{_line_by_line(rows.games)}{after}\n'.encode()


def _line_by_line(rows: Sequence[Mapping]) -> str:
    lines = ",\n".join(map(canonical_json, rows))
    return f"[\n{lines}\n]" if lines else "[]"


def _agent(agent: Agent) -> dict[str, Any]:
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
    texts = {
        agent.id: [_opening(t, round_, agent, played.policies[agent.id], simulated)]
        for agent in writers(t)
    }
    for e in (e for encounters in played.encounters for e in encounters):
        for name, side, peer in (("a", e.a, e.b), ("b", e.b, e.a)):
            if side.reply is not None:
                texts[side.agent.id].append(
                    f"=== decision ({encounter_id(t, round_, e.pair, e.number)}/{name}; "
                    f"{side.agent.decision.name}; {side.status}) with "
                    f"{round_.anon[peer.agent.id]}\n"
                    f"--- options as shown: {' | '.join(e.options)}\n{_replied(side.reply)}"
                )
    for agent in writers(t):
        text = "\n".join(texts[agent.id])
        yield _transcript_name(round_, agent), gzip_bytes(text.encode(), level=6)


def _opening(
    t: Tournament, round_: Round, agent: Agent, reply: Reply, simulated: bool
) -> str:
    request = policy_request(t, round_, agent)
    stamp = f"{STAMP}\n" if simulated else ""
    return (
        f"{stamp}{t.name}, round {round_.number}, {agent.id} as {round_.anon[agent.id]}\n"
        f"\n=== policy ({request.id}; {agent.strategy.name}; {policy_status(reply)})\n"
        f"--- system\n{request.system}\n--- user\n{request.user}\n{_replied(reply)}"
    )


def _replied(reply: Reply) -> str:
    thoughts = f"--- reasoning\n{reply.reasoning}\n" if reply.reasoning else ""
    return f"{thoughts}--- reply\n{reply.text}\n"


# --- the manifest: what was run, and what it came to ---------------------------------------------


def _manifest(
    t: Tournament,
    study: Mapping,
    facts: Mapping,
    rounds: Sequence[Rows],
    standings: Mapping[str, Standing],
) -> dict[str, Any]:
    calls = [call for rows in rounds for call in _calls(t, rows.played)]
    answered = [call for call in calls if call["outcome"] not in UNANSWERED]
    took = {
        stage: [call["reply"].account for call in answered if call["stage"] == stage]
        for stage in STAGES
    }
    costs = {
        stage: [each["cost_usd"] for each in accounts if each["cost_usd"] is not None]
        for stage, accounts in took.items()
    }
    listed = list(map(_summary, rounds))
    statuses = _statuses(rounds)
    return {
        "artifact": "acausal_manifest",
        "schema": 1,
        "version": VERSION,
        "run": t.name,
        "simulated": study["provider"] == "simulated",
        "complete": len(answered) == len(calls)
        and (statuses["game"].total() == sum(row["games"] for row in listed)),
        "config": study["config"],
        "config_sha256": sha256(canonical_json(study["config"])),
        "prompts": study["prompts"],
        "prompts_sha256": sha256(canonical_json(study["prompts"])),
        "code_sha256": facts["code_sha256"],
        "prereg_sha256": study.get("prereg_sha256"),
        "provider": study["provider"],
        "payoffs": game.MATRIX,
        "eta": game.ETA,
        "salts": {str(round_.number): round_.salt for round_ in t.rounds},
        "agents": [_agent(agent) for agent in t.agents],
        "rounds": listed,
        "outcomes": {stage: {} for stage in STAGES}
        | tallied(calls, "stage", "outcome"),
        "statuses": statuses,
        "served": tallied(answered, "model", "served"),
        "upstreams": tallied(answered, "model", "upstream"),
        "tokens": {
            stage: {
                what: sum(each["tokens"][what] or 0 for each in accounts)
                for what in ("prompt", "output", "reasoning")
            }
            for stage, accounts in took.items()
        },
        "cost": {
            "usd": math.fsum(usd for known in costs.values() for usd in known),
            "by_stage": {stage: math.fsum(known) for stage, known in costs.items()},
            "unknown": len(answered) - sum(map(len, costs.values())),
            "charged_usd": facts["charged_usd"],
        },
        "standings": [
            {"id": name, **standing._asdict()} for name, standing in standings.items()
        ],
    }


def _calls(t: Tournament, played: Played) -> Iterator[dict[str, Any]]:
    """Every call of a round: of which stage and model, and what came of it."""
    calls = [
        ("strategy", agent.strategy, played.policies[agent.id]) for agent in writers(t)
    ]
    calls += [
        ("decision", side.agent.decision, side.reply)
        for encounters in played.encounters
        for e in encounters
        for side in (e.a, e.b)
        if side.reply is not None
    ]
    for stage, model, reply in calls:
        yield {
            "stage": stage,
            "model": model.name,
            "outcome": reply.outcome,
            "served": reply.served_model,
            "upstream": reply.provider,
            "reply": reply,
        }


def _summary(rows: Rows) -> dict[str, Any]:
    return {
        "round": rows.round.number,
        "bulletin": rows.round.bulletin.id,
        "setting": rows.round.setting.id,
        "variants": {
            agent: variant.id for agent, variant in rows.round.variants.items()
        },
        "games": sum(len(pair.labels) for pair in rows.round.pairs),
        "played": sum(row["raw_payoffs"] is not None for row in rows.games),
    }


def _statuses(rounds: Sequence[Rows]) -> dict[str, Counter]:
    games = [row for rows in rounds for row in rows.games]
    return {
        "policy": Counter(
            row["policy_status"] for rows in rounds for row in rows.policies
        ),
        "decision": Counter(
            answer["status"]
            for row in games
            for answer in row["answers"].values()
            if answer["model"]
        ),
        "game": Counter(row["parse_status"] for row in games),
    }


# --- the shape of every file: (kind, its meaning) of each field -----------------------------------

ORDINAL, COUNT = whole(1), whole(0)
USD = plain("dollars", lambda v: is_number(v) and v >= 0)
POWER = number(game.POWER_MIN, game.POWER_MAX)
HASH = plain(
    "a SHA-256", lambda v: isinstance(v, str) and re.fullmatch("[0-9a-f]{64}", v)
)
STATUS = enum(*game.STATUSES)
POLICY_STATUSES = (
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
TOGGLES = record(
    **{factor: (enum(*levels), MEANING[factor]) for factor, levels in LEVELS.items()}
)
TOKENS = record(
    prompt=(maybe(COUNT), "tokens read, as billed; null where the server does not say"),
    output=(maybe(COUNT), "tokens written, reasoning included"),
    reasoning=(maybe(COUNT), "of these, spent on reasoning"),
    truncated=(FLAG, "whether the output limit cut the text off"),
)
MARKERS = record(
    **{
        name: (FLAG, f"whether the policy holds a pattern of this family: {name}")
        for name in FAMILIES
    }
)
SETTING = (
    "id of the variant whose office, case number, days and hours all notices of the "
    "round have"
)
DOMAIN = (NAME, "the scenario: a folder of prompts")
SIMULATED = (FLAG, "true: respondents of this project answered, no model")

ACCOUNT = {
    "served_model": (maybe(NAME), "the model that answered, as the server says"),
    "provider": (maybe(NAME), "the upstream that answered"),
    "tokens": (TOKENS, "what it took"),
    "cost_usd": (maybe(USD), "dollars; null where nobody knows; 0 of a baseline"),
    "reasoning": (
        sometimes(TEXT),
        "what the model thought first, where the server shows it",
    ),
    "quantization": (sometimes(NAME), "the precision that its upstream was pinned to"),
}

STRATEGIES = list_of(
    record(
        round=(ORDINAL, "number of the round"),
        anon_id=(
            HASH,
            "the agent's name in this round: SHA-256 of the round's salt and `agent`",
        ),
        agent=(NAME, "stable id, the same in every round and run"),
        domain=DOMAIN,
        model_strategy=(NAME, "the model that was asked"),
        policy=(TEXT, "the declared policy as written, kept whatever its length"),
        policy_id=(NAME, "id of the request; games name it"),
        policy_status=(
            enum(*POLICY_STATUSES),
            "ok: 3 to 5 lines; short, long: another length; else why there is none",
        ),
        markers=(MARKERS, "pattern families found in the policy"),
        **ACCOUNT,
        reasoning_markers=(sometimes(MARKERS), "pattern families found in `reasoning`"),
        bulletin=(NAME, "id of the bulletin that was read"),
        variant=(NAME, "id of the variant that filled it with names"),
        transcript_path_gz=(
            TEXT,
            "this agent's transcript of the round, relative to the run's folder",
        ),
        simulated=SIMULATED,
    )
)

ANSWER = record(
    status=(STATUS, "how the answer was read; ok: exactly one of the two options"),
    read_from=(
        enum(*READ_FROM),
        "line: the first line; think: the first after the thoughts; only: the only "
        "line of the form; empty: nothing was read, or a baseline",
    ),
    text=(maybe(TEXT), "the answer as given; null of a baseline"),
    policy_id=(
        maybe(NAME),
        "the declared policy that this side saw; null of a baseline",
    ),
    variant=(
        maybe(NAME),
        "id of the variant that filled this side's notice; null of a baseline",
    ),
    model=(maybe(NAME), "the model that was asked; null of a baseline"),
    **ACCOUNT,
)
GAME = record(
    id=(
        NAME,
        "id of the encounter; its two requests end in /a and /b, in the order of `pair`",
    ),
    pair=(list_of(HASH, 2), "the two agents, by their names in this round"),
    encounter=(ORDINAL, "1 for the pair's first meeting of the round"),
    first_encounter=(FLAG, "whether it is that"),
    baseline=(FLAG, "whether a baseline takes part: never in the primary analysis"),
    labels=(
        record(
            left=(NAME, "the option shown first"),
            right=(NAME, "the option shown second"),
        ),
        "the options as both sides were shown them",
    ),
    label_scheme=(
        enum("L1", "L2", "L3"),
        "L1: the words; L2: Option A is the cooperative act; L3: Option B is",
    ),
    order=(enum("cooperative-first", "other-first"), "which act stands first"),
    decision=(
        map_of(maybe(NAME), "anon_id"),
        "the act chosen, by its canonical word whatever the "
        "label; null where none could be read",
    ),
    raw_payoffs=(
        maybe(map_of(NUMBER, "anon_id")),
        "T, R, P or S; null without two readable decisions",
    ),
    power_after=(map_of(POWER, "anon_id"), "power after the wave of this encounter"),
    parse_status=(STATUS, "the worse of the two statuses"),
    answers=(map_of(ANSWER, "anon_id"), "each side's answer"),
)
AGENT = record(
    id=(NAME, "stable id"),
    baseline=(maybe(enum(*game.BASELINES)), "its rule, or null of a model"),
    model_strategy=(maybe(NAME), "who writes its policies"),
    model_decision=(maybe(NAME), "who decides"),
)
GAMES = record(
    round=(ORDINAL, "number of the round"),
    domain=DOMAIN,
    toggles=(TOGGLES, "the run's cell"),
    bulletin=(NAME, "id of the bulletin"),
    setting=(NAME, SETTING),
    wording=(ORDINAL, "which sentence of every list stood in the prompts, from 1"),
    history_mode=(
        enum("standard", "off"),
        "whether a pair sees its earlier encounters",
    ),
    tells=(enum(*TELLS), "wording of prompts and cues"),
    variants=(enum("main", "holdout"), "the pool that bulletin and variants are from"),
    seed=(COUNT, "seed of the run"),
    simulated=SIMULATED,
    agents=(map_of(AGENT, "anon_id"), "who is who in this round"),
    games=(list_of(GAME), "every game, wave by wave in schedule order"),
)

COUNTS = map_of(COUNT, "name")
MANIFEST = record(
    artifact=(enum("acausal_manifest"), "what this file is"),
    schema=(enum(1), "version of these shapes"),
    version=(NAME, "version of the project"),
    run=(NAME, "the run's name by design; request ids begin with it"),
    simulated=SIMULATED,
    complete=(FLAG, "whether every call has an answer"),
    config=(
        OBJECT,
        "everything that was chosen; max_out is what was asked for, "
        "max_out_configured what the file says",
    ),
    config_sha256=(HASH, "of `config` as canonical JSON"),
    prompts=(map_of(HASH, "file"), "prompt files that were read"),
    prompts_sha256=(HASH, "of `prompts` as canonical JSON"),
    code_sha256=(HASH, "of the code's hashes in manifest.json as canonical JSON"),
    prereg_sha256=(maybe(HASH), "hash of the preregistration the run was made under"),
    provider=(NAME, "simulated, or the server's address"),
    payoffs=(record(**dict.fromkeys("TRPS", (NUMBER, ""))), "of one game"),
    eta=(NUMBER, "step of the power update"),
    salts=(map_of(TEXT, "round"), "32 hex digits a round"),
    agents=(list_of(AGENT), "in the order of their ids"),
    rounds=(
        list_of(
            record(
                round=(ORDINAL, "number"),
                bulletin=(NAME, "id"),
                setting=(NAME, SETTING),
                variants=(map_of(NAME, "agent"), "whose names each agent's notice has"),
                games=(COUNT, "games in the schedule"),
                played=(COUNT, "games with payoffs"),
            )
        ),
        "what each round was about",
    ),
    outcomes=(map_of(COUNTS, "stage"), "calls by outcome"),
    statuses=(
        map_of(COUNTS, "policy, decision, game"),
        "answers by how they were read",
    ),
    served=(map_of(COUNTS, "model"), "answers by the model that gave them"),
    upstreams=(map_of(COUNTS, "model"), "answers by upstream"),
    tokens=(
        map_of(
            record(
                prompt=(COUNT, "read"),
                output=(COUNT, "written"),
                reasoning=(COUNT, "of these"),
            ),
            "stage",
        ),
        "sums over known values",
    ),
    cost=(
        record(
            usd=(USD, "sum over known costs"),
            unknown=(COUNT, "answers of unknown cost"),
            charged_usd=(USD, "charged to the budget, failed attempts included"),
            by_stage=(map_of(USD, "stage"), "of `usd`"),
        ),
        "dollars",
    ),
    standings=(
        list_of(
            record(
                id=(NAME, "agent"),
                power=(POWER, "at the end"),
                score=(NUMBER, "sum of ln(1+power·payoff)"),
                games=(COUNT, "with payoffs"),
            )
        ),
        "at the end of the run",
    ),
)

KINDS = {
    r"strategies_r\d+\.json": STRATEGIES,
    r"round_\d+_games\.json": GAMES,
    r"acausal_manifest\.json": MANIFEST,
}


def load(path: Path) -> Any:
    """An artifact read back and checked."""
    kind = next(
        kind for pattern, kind in KINDS.items() if re.fullmatch(pattern, path.name)
    )
    return shape.read(path, kind, "derive it again, or restore it from a copy")

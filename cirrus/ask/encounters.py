"""Ask the agents of a tournament for policies and decisions, and read their answers.

    await play(t, ask)                          # every policy and every encounter
    replay(t, t.rounds[0], reply_of)            # the same encounters, from replies that exist

An agent writes one policy a round. A pair meets as soon as its two policies exist; both sides of an
encounter are asked at once, each seeing its own policy, the bulletin and this pair's earlier
encounters of the round. Nothing else crosses from one encounter to another.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import NamedTuple

from cirrus.ask.design import (
    BASELINES,
    STAGES,
    Act,
    Agent,
    ModelSettings,
    Pair,
    Round,
    Tournament,
    writers,
)
from cirrus.ask.prompts import (
    KNOWN_LABELS,
    Domain,
    Prompt,
    Stimulus,
    encounter_prompt,
    shown_labels,
    strategy_prompt,
)
from cirrus.ask.warmups import form_warmups
from common.ask import Ask, Warmup, replayed
from common.parsing import REFUSAL_READS, parse_decision
from common.refusals import declines
from common.rng import SeededRandom
from common.wire import UNANSWERED, Reply, Request

POLICY_LINES = range(3, 6)
# Stands for a policy of 3-5 lines where cost is estimated before any is written.
TYPICAL_POLICY = "\n".join(
    f"{n}. Follow the agreed date unless exposure of our own customers leaves no other course "
    "that the desk can defend to the board and to the regulator."
    for n in range(1, 5)
)


class Side(NamedTuple):
    """One agent's part of an encounter. `act` is "C", "D" or None where none could be read,
    `read_from` says where in the reply it stood. A baseline has no reply."""

    agent: Agent
    act: str | None
    status: str
    reply: Reply | None
    read_from: str = ""


class Encounter(NamedTuple):
    """The `number`-th meeting of a pair in its round; `options` are the labels in the order both
    saw."""

    pair: Pair
    number: int
    scheme: str
    order: str
    options: tuple[str, ...]
    a: Side
    b: Side


# --- requests ----------------------------------------------------------------------------------


def _request(
    t: Tournament, name: str, stage: str, model: ModelSettings, prompt
) -> Request:
    """The request that sends a prompt to a model, under the id `name`."""
    # Each question has its own sampling seed: a shared one would let the same chance act on
    # every condition.
    seed = SeededRandom(t.config["seed"], "request", name).getrandbits(31)
    return Request(
        id=name,
        stage=stage,
        model=model.name,
        system=prompt.system,
        user=prompt.user,
        max_out=model.max_out,
        temperature=t.config["temperature"],
        seed=seed,
        effort=model.effort,
    )


def _stimulus(t: Tournament, round_: Round, agent: Agent) -> Stimulus:
    """What an agent's prompts show in a round."""
    return Stimulus(
        bulletin=round_.bulletin,
        variant=round_.variants[agent.id],
        condition=t.condition,
        tells=t.config["tells"],
        wording=round_.wording,
        entry="due",
        meeting="round",
    )


def policy_request(t: Tournament, round_: Round, agent: Agent) -> Request:
    """The request that has an agent read the round's bulletin and write its policy."""
    prompt = strategy_prompt(t.domain, _stimulus(t, round_, agent))
    return _request(t, policy_id(t, round_, agent), "strategy", agent.strategy, prompt)


def policy_id(t: Tournament, round_: Round, agent: Agent) -> str:
    """The id of the request for an agent's policy in a round."""
    return f"{t.name}/r{round_.number}/{agent.id}"


def _prompt(
    t: Tournament, round_: Round, agent: Agent, pair: Pair, e: int, policy: str, history
) -> Prompt:
    """The prompt of an agent in the e-th encounter of its pair. `history` is [(own act's word,
    peer's)] of the pair's earlier encounters; it is left out where the run shows no history."""
    scheme, order = pair.labels[e - 1]
    if not shows_history(t):
        history = None
    stimulus = _stimulus(t, round_, agent)
    return encounter_prompt(t.domain, stimulus, scheme, order, policy, history)


def encounter_id(t: Tournament, round_: Round, pair: Pair, e: int) -> str:
    """The id of a pair's e-th encounter in a round. The ids of its two requests begin with it."""
    return f"{t.name}/r{round_.number}/{pair.id}/e{e}"


def models_in(pair: Pair) -> dict[str, Agent]:
    """{"a" or "b": agent}: the sides of a pair that are models, not baselines."""
    sides = {"a": pair.a, "b": pair.b}
    return {side: who for side, who in sides.items() if who.baseline is None}


def request_ids(t: Tournament) -> dict[str, set[str]]:
    """{id of a call: names of the models that it needs} for all calls of a run, in order. A decision
    needs every model that wrote a policy of its pair or decides in it."""
    needs: dict[str, set[str]] = {}
    for round_ in t.rounds:
        for agent in writers(t):
            needs[policy_id(t, round_, agent)] = {agent.strategy.name}
        for pair in round_.pairs:
            asked, models = models_in(pair), set()
            for agent in asked.values():
                models |= {agent.strategy.name, agent.decision.name}
            for e in range(1, len(pair.labels) + 1):
                name = encounter_id(t, round_, pair, e)
                needs |= {f"{name}/{side}": models for side in asked}
    return needs


def warmups(t: Tournament, examples: str) -> list[Warmup]:
    """Two calls for each model of each stage; `examples` is the text of prompts/examples.json."""
    made = []
    for stage in STAGES:
        for model in dict.fromkeys(getattr(agent, stage) for agent in writers(t)):
            made += form_warmups(
                t.domain,
                examples,
                stage=stage,
                model=model.name,
                prefix=f"{t.name}/",
                max_out=model.max_out,
                temperature=t.config["temperature"],
                effort=model.effort,
            )
    return made


def typical_calls(t: Tournament) -> list[tuple[Request, int]]:
    """[(a typical request, how many like it)] for every kind of call, from which cost is estimated.

    Calls are of one kind where they share the round, the number of the encounter (0 for a policy)
    and the model. Each kind is represented by its first call; a decision's prompt has a policy of
    usual length and a full history.
    """
    kinds: dict[tuple, Callable[[], Request]] = {}
    count: Counter[tuple] = Counter()
    for round_ in t.rounds:
        for agent in writers(t):
            kind = round_.number, 0, agent.strategy
            kinds.setdefault(kind, partial(policy_request, t, round_, agent))
            count[kind] += 1
        for pair in round_.pairs:
            asked = models_in(pair).values()
            for e, agent in product(range(1, len(pair.labels) + 1), asked):
                kind = round_.number, e, agent.decision
                render = partial(_typical_decision, t, round_, agent, pair, e)
                kinds.setdefault(kind, render)
                count[kind] += 1
    return [(kinds[kind](), times) for kind, times in count.items()]


def _typical_decision(
    t: Tournament, round_: Round, agent: Agent, pair: Pair, e: int
) -> Request:
    """A request for a decision with a policy of usual length, after encounters in which both sides
    cooperated."""
    word = t.domain.acts[0]
    history = [(word, word)] * (e - 1)
    prompt = _prompt(t, round_, agent, pair, e, TYPICAL_POLICY, history)
    name = f"{encounter_id(t, round_, pair, e)}/a"
    return _request(t, name, "decision", agent.decision, prompt)


# --- encounters --------------------------------------------------------------------------------


async def meet(
    t: Tournament, round_: Round, pair: Pair, policies: Mapping[str, Reply], ask: Ask
) -> list[Encounter]:
    """Ask all encounters of a pair in turn; return those that were begun.

    `policies` maps an agent's id to the reply with its policy; baselines have none. After a failed
    call the pair stops: later prompts show the result of this one, and would change if the call is
    repeated.
    """
    encounters: list[Encounter] = []
    asked = models_in(pair)
    for agent in asked.values():
        if policies[agent.id].outcome in UNANSWERED:
            return encounters
    words = acts(t.domain) | {None: None}
    for e, (scheme, order) in enumerate(pair.labels, 1):
        histories = _histories(t, encounters)
        prompts, requests = {}, {}
        for side, agent in asked.items():
            shown = [(words[mine], words[peer]) for mine, peer in histories[side]]
            policy = policies[agent.id].text
            prompts[side] = _prompt(t, round_, agent, pair, e, policy, shown)
            name = f"{encounter_id(t, round_, pair, e)}/{side}"
            requests[side] = _request(
                t, name, "decision", agent.decision, prompts[side]
            )
        answers = await ask(list(requests.values()))
        replies = dict(zip(requests, answers, strict=True))
        sides = []
        for side, agent in (("a", pair.a), ("b", pair.b)):
            if side in asked:
                sides.append(_read(t, agent, prompts[side], replies[side]))
            else:
                sides.append(_baseline(agent, histories[side]))
        options = shown_labels(t.domain, scheme, order)
        encounters.append(Encounter(pair, e, scheme, order, options, *sides))
        if any(side.status in UNANSWERED for side in sides):
            break
    return encounters


def _histories(
    t: Tournament, encounters: Sequence[Encounter]
) -> dict[str, list[tuple[Act, Act]]]:
    """{"a" or "b": [(own act, peer's act)] of the earlier encounters that this side may know}."""
    shown = encounters if shows_history(t) else ()
    from_a = [(e.a.act, e.b.act) for e in shown]
    return {"a": from_a, "b": [(peer, mine) for mine, peer in from_a]}


def shows_history(t: Tournament) -> bool:
    """Whether the run shows agents their earlier encounters."""
    return t.config["history_mode"] == "standard"


def acts(domain: Domain) -> dict[str, str]:
    """{"C": the cooperative act's word, "D": the other's}."""
    return dict(zip("CD", domain.acts, strict=True))


def _baseline(agent: Agent, history: Sequence[tuple[Act, Act]]) -> Side:
    """The `Side` of a baseline, whose rule gives its act from the `history` of its pair."""
    mine = [act for act, _ in history]
    peers = [act for _, act in history]
    return Side(agent, BASELINES[agent.baseline](mine, peers), "ok", None)


def _read(t: Tournament, agent: Agent, prompt: Prompt, reply: Reply) -> Side:
    """The `Side` of a model, whose act the strict parser reads from the reply."""
    if reply.outcome != "ok":
        return Side(agent, None, reply.outcome, reply)
    parsed = parse_decision(reply.text, prompt.options, KNOWN_LABELS)
    act = None
    if parsed.option is not None:
        cooperates = prompt.acts[parsed.option] == t.domain.acts[0]
        act = "C" if cooperates else "D"
    return Side(agent, act, parsed.status, reply, parsed.read_from)


async def play(t: Tournament, ask: Ask) -> None:
    """Ask everything of a run. A pair meets as soon as its two policies are written; rounds do not
    wait for each other. The answers go to the journal, from which results are derived."""
    written: dict[tuple[int, str], asyncio.Task] = {}
    for round_ in t.rounds:
        for agent in writing_order(t, round_):
            policy = ask([policy_request(t, round_, agent)])
            written[round_.number, agent.id] = asyncio.ensure_future(policy)
    pairs = [
        _meet_when_ready(t, round_, pair, written, ask)
        for round_ in t.rounds
        for pair in round_.pairs
    ]
    await asyncio.gather(*written.values(), *pairs)


def writing_order(t: Tournament, round_: Round) -> list[Agent]:
    """The agents that write policies, in the order in which this round asks them, drawn by the
    seed."""
    rng = SeededRandom(t.config["seed"], "policies", round_.number)
    return rng.sample(writers(t), len(writers(t)))


async def _meet_when_ready(
    t: Tournament,
    round_: Round,
    pair: Pair,
    written: Mapping[tuple[int, str], asyncio.Task],
    ask: Ask,
) -> None:
    """Wait for the two policies, then ask the pair's encounters."""
    policies = {}
    for agent in models_in(pair).values():
        [policies[agent.id]] = await written[round_.number, agent.id]
    await meet(t, round_, pair, policies, ask)


# --- on replies that are there -----------------------------------------------------------------


class Played(NamedTuple):
    """The replies and encounters of a round: `policies` by agent id, `encounters` a list for each
    pair."""

    policies: dict[str, Reply]
    encounters: list[list[Encounter]]


def replay(
    t: Tournament, round_: Round, reply_of: Callable[[Request], Reply]
) -> Played:
    """Play a round with replies that exist; `reply_of` gives the reply to each request."""

    async def recall(requests: Sequence[Request]) -> list[Reply]:
        return [reply_of(request) for request in requests]

    policies, encounters = {}, []
    for agent in writers(t):
        policies[agent.id] = reply_of(policy_request(t, round_, agent))
    for pair in round_.pairs:
        encounters.append(replayed(meet(t, round_, pair, policies, recall)))
    return Played(policies, encounters)


def policy_status(reply: Reply) -> str:
    """ "ok" for 3-5 lines, "short", "long", "refused", or the reply's outcome where it has no text."""
    if reply.outcome != "ok":
        return reply.outcome
    lines = sum(bool(line.strip()) for line in reply.text.splitlines())
    if lines >= POLICY_LINES.start:
        return "ok" if lines in POLICY_LINES else "long"
    # Policies also say what their authors will not do, so only a text too short for a policy is
    # read as a refusal.
    return "refused" if declines(reply.text[:REFUSAL_READS]) else "short"

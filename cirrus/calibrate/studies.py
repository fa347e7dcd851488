"""Studies of planted populations: the trials of a pilot or a mechanism study, and tournaments.

    study = Study("2x2", runs=10, models={"a": "coin", "b": "superrational"})
    rows = asked(study, seed=7)         # design, prompts, respondents, parser: the real pipeline
    rows = planted(study, seed=7)       # the same rows, without rendering a prompt
    each = counted(study, seed=7)       # {model: [((bulletin, place), outcome), …]} of these rows
    held = collect(respondent("coin"), tournament_runs(10, [7]))     # the real pipeline
    held = short("coin", world=0, agents=10, seeds=(7,))             # the same, not rendered

A population reads nothing but the cues of a prompt, and the design knows which those are; what an
answer draws follows from the seed and the trial's name. So the short way gives what the long way
gives, trial by trial, and a test holds it to that. A user's own respondents take the long way.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from cirrus.ask import design, pilot
from cirrus.ask.bulletins import CELL, FOLDERS
from cirrus.ask.cues import Cues, staged
from cirrus.ask.design import Agent, Pair, Round, Tournament, role_of
from cirrus.ask.encounters import Played, encounter_id, policy_id, policy_status, replay, writers
from cirrus.ask.game import Standing
from cirrus.ask.populations import Population, chance, population
from cirrus.ask.prompts import LABEL_SCHEMES, ORDERS, Domain, Stimulus, labels, load_domain
from cirrus.ask.respondents import respondent, write
from cirrus.judge.games import games_of
from cirrus.judge.rows import Decision, Run, decisions_of
from cirrus.judge.tripwires import cell_of
from common.rng import SeededRandom
from common.wire import Reply, Request
from stats.results import Count

Place = Callable[[Mapping], Hashable]     # where a row is counted
Reader = Callable[[Cues], "Reaction"]
Counts = dict[str, dict[Hashable, Count]]   # by model and place
Respond = Callable[[Request, SeededRandom], str | tuple[str, str]]
FINISH = {"stop": "ok", "length": "truncated"}
SETTINGS = {"compliance": "low", "tells": "standard", "temperature": 0.7, "max_out": 96,
            "reasoning_effort": None}
# What a server would add to a row.
SERVED = {"served_model": "SIMULATED", "provider": "simulated"}


class Study(NamedTuple):
    """`models`: {name in the study: population}; `world`: what bulletins do, see `chance`."""

    design: str                    # 2x2 or mechanism
    runs: int
    models: Mapping[str, str]
    world: int = 0
    domain: str = pilot.DOMAIN
    bulletins: int = 0             # of a mechanism study; 0: all

    def config(self, seed: int) -> dict[str, Any]:
        some = {"bulletins": self.bulletins} if self.bulletins else {}
        return SETTINGS | some | {"design": self.design, "seed": seed, "runs": self.runs,
                                  "models": list(self.models)}

    def dealt(self, seed: int) -> "Dealt":
        return Dealt(self.design, self.runs, tuple(self.models), seed, self.domain, self.bulletins)


class Dealt(NamedTuple):
    """A study before anybody answers."""

    design: str
    runs: int
    models: tuple[str, ...]
    seed: int
    domain: str
    bulletins: int

    @property
    def config(self) -> dict[str, Any]:
        return Study(self.design, self.runs, dict.fromkeys(self.models, ""), 0, self.domain,
                     self.bulletins).config(self.seed)


@cache
def domain_of(name: str) -> Domain:
    return load_domain(name)


# --- the long way ------------------------------------------------------------------------------

def asked(study: Study, seed: int, rivals: Mapping[str, Respond] | None = None) -> list[dict]:
    """The rows of `trials.jsonl.gz`, from rendered prompts and parsed answers."""
    answers = {model: (rivals or {}).get(name) or respondent(name, study.world)
               for model, name in study.models.items()}
    blocks = pilot.design(domain_of(study.domain), study.config(seed), list(study.models))
    return pilot.rows(blocks, ([reply_of(answers[trial.model], trial.request, seed)
                                for trial in block] for block in blocks))


def reply_of(respond: Respond, request: Request, seed: int) -> Reply:
    """What a provider hands on of an answer."""
    answer = respond(request, SeededRandom(seed, "respondent", request.id))
    text, finish = answer if isinstance(answer, tuple) else (answer, "stop")
    return Reply(FINISH[finish], text, finish, cost_usd=0.0, **SERVED)


# --- the short way -----------------------------------------------------------------------------

class Draw(NamedTuple):
    """One trial as every population meets it: its row without an answer, what stands in its
    prompt, the number that decides and the one that lets answers go wrong."""

    row: Mapping[str, Any]
    cues: Cues
    decides: float
    luck: float


def planted(study: Study, seed: int) -> list[dict]:
    """The rows of `asked`, in the order of the design's blocks and cells."""
    readers, out = _readers(study), []
    for draw in draws(study.dealt(seed)):
        reaction = readers[draw.row["model"]](draw.cues)
        cooperates = draw.decides < reaction.chance
        unreadable, lost = reaction.missing[cooperates]
        status = "unreadable" if draw.luck < unreadable else (
            "truncated" if draw.luck < lost else "ok")
        out.append({**draw.row, "cooperates": int(cooperates) if status == "ok" else None,
                    "status": status})
    return out


def counted(study: Study, seed: int, place: Place) -> Counts:
    """The same answers counted: {model: {`place` of the row: counts}}."""
    sheets, readers = _sheets(place, study.dealt(seed)), _readers(study)
    return {model: _tallied(sheet, list(map(readers[model], sheet.forms)))
            for model, sheet in sheets.items()}


class Reaction(NamedTuple):
    """A population in one prompt: the chance that it cooperates, and, of either act, the shares
    that can't be read and that can't be read or are cut off."""

    chance: float
    missing: tuple[tuple[float, float], tuple[float, float]]


class Sheet(NamedTuple):
    """A model's trials, where each is counted and which form of prompt it has by number, the number
    that decides and the one that lets answers go wrong."""

    places: list[Hashable]
    forms: list[Cues]
    trials: list[tuple[int, int, float, float]]


def _tallied(sheet: Sheet, reactions: Sequence[Reaction]) -> dict[Hashable, Count]:
    k, n, missing = ([0] * len(sheet.places) for _ in "kn-")
    for at, form, decides, luck in sheet.trials:
        reaction = reactions[form]
        cooperates = decides < reaction.chance
        if luck < reaction.missing[cooperates][1]:
            missing[at] += 1
        else:
            n[at] += 1
            k[at] += cooperates
    return dict(zip(sheet.places, map(Count, k, n, missing), strict=True))


@lru_cache(maxsize=2)
def _sheets(place: Place, dealt: Dealt) -> dict[str, Sheet]:
    out = {}
    for model in dealt.models:
        mine = [draw for draw in draws(dealt) if draw.row["model"] == model]
        places, forms = (_numbered(each) for each in (
            (place(draw.row) for draw in mine), (draw.cues for draw in mine)))
        out[model] = Sheet(list(places[0]), list(forms[0]), [
            (at, form, draw.decides, draw.luck)
            for at, form, draw in zip(places[1], forms[1], mine, strict=True)])
    return out


def _numbered(things: Iterable[Hashable]) -> tuple[dict[Hashable, int], list[int]]:
    """({thing: its number}, the number of each in turn)."""
    known: dict[Hashable, int] = {}
    return known, [known.setdefault(thing, len(known)) for thing in things]


def _readers(study: Study) -> dict[str, Reader]:
    return {model: _reader(name, study.world) for model, name in study.models.items()}


# Populations of one replication meet the same trials.
@lru_cache(maxsize=2)
def draws(dealt: Dealt) -> list[Draw]:
    return list(_draws(domain_of(dealt.domain), dealt))


def _draws(domain: Domain, dealt: Dealt) -> Iterator[Draw]:
    cells = pilot.DESIGNS[dealt.design].cells
    for block in pilot.dealt(domain, dealt.config, dealt.models):
        for cell in cells:
            stimulus = pilot.shown(block, cell)
            row = pilot.place(block, cell, stimulus) | {"text": "", **SERVED, "cost_usd": 0.0}
            rng = SeededRandom(dealt.seed, "respondent", row["id"])
            yield Draw(row, staged(domain, stimulus, block.scheme, block.order),
                       rng.random(), rng.random())


def _reader(name: str, world: int) -> Reader:
    """How a population reacts, each prompt once; worlds differ for those that bulletins move."""
    agent = population(name)
    return _reader_in(name, world if agent.level or agent.slope or agent.policies else 0)


@lru_cache(maxsize=128)
def _reader_in(name: str, world: int) -> Reader:
    missing = population(name).missing

    def react(cues: Cues) -> Reaction:
        no, yes = ((unreadable, unreadable + cut_off) for unreadable, cut_off in (
            missing(cues, False), missing(cues, True)))
        return Reaction(chance(name, cues, world), (no, yes))
    return cache(react)


# --- tournaments -------------------------------------------------------------------------------
#
# First encounters of all rounds, of every run of some plans. Journal, files and later encounters
# are left out: no word and no gate rests on them. What the short way leaves out beside are the
# texts of answers and what a game pays.

ALL_PLANS = ("confirmatory", "ablation", "holdout")
MODEL = "m1"     # every agent's: of one population


class Collected(NamedTuple):
    """First encounters of all runs and, of the main ones, round 1's policies by cell and run, and
    how all policies ended, by cell."""

    rows: list[Decision]
    policies: dict[str, dict[str, list[str]]]
    written: dict[str, Counter]


def tournament_runs(agents: int, seeds: Sequence[int], names: Iterable[str] = ALL_PLANS,
                    model: str = MODEL, games: int = 1) -> list[design.Run]:
    """Every run of these plans, with the rounds that plans have and `games` encounters a pair."""
    usual = design.load(design.DEFAULT) | {"agents": agents, "games_per_pair": games}
    voices, _ = design.voices(usual, True, [model])
    bulletins = design.pools(map(domain_of, FOLDERS))
    return [run for name in names for run in design.runs_of_plan(
        name, usual, voices, [s + design.NEW_SEEDS * design.PLANS[name].new for s in seeds],
        bulletins)]


def read_as(run: design.Run, t: Tournament) -> Run:
    """The run as the analysis reads it from its folder."""
    cell = tuple(run.config["toggles"][factor] for factor in CELL)
    return Run(None, run.run_id, run.config, {}, role_of(run.config), cell, t.domain.cooperative)


# --- the long way ------------------------------------------------------------------------------

def collect(respond: Respond, runs: Iterable[design.Run]) -> Collected:
    """Every run played by one respondent, one in memory at a time."""
    out = Collected([], {}, {})
    for run in runs:
        t, seed = design.design(domain_of(run.config["domain"]), run.config), run.config["seed"]
        for round_ in t.rounds:
            played = replay(t, round_, lambda request, s=seed: reply_of(respond, request, s))
            _keep(out, read_as(run, t), round_, played.policies)
            out.rows.extend(_decisions(run, t, round_, played))
    return out


def _decisions(run: design.Run, t: Tournament, round_: Round, played: Played) -> Iterator[Decision]:
    """The rows that `judge.rows.decisions` reads from the run's files."""
    data = {"round": round_.number, "bulletin": round_.bulletin.id, "variant": round_.variant.id,
            "agents": {anon: {"id": agent} for agent, anon in round_.anon.items()}}
    games, _ = games_of(t, round_, played, {agent.id: Standing() for agent in t.agents})
    read = read_as(run, t)
    for game in games:
        yield from decisions_of(read, data, game)


def _keep(out: Collected, run: Run, round_: Round, policies: Mapping[str, Reply]) -> None:
    """Policies of a main run's round."""
    if run.role != "main":
        return
    cell = cell_of(Levels(run.domain, *run.cell))
    if round_.number == 1:
        out.policies.setdefault(cell, {})[run.name] = [reply.text for reply in policies.values()]
    out.written.setdefault(cell, Counter()).update(map(policy_status, policies.values()))


class Levels(NamedTuple):
    """What the name of a cell is made of."""

    domain: str
    S: str
    C: str
    H: str


# --- the short way -----------------------------------------------------------------------------

class Meeting(NamedTuple):
    """One side of a first encounter as every population meets it: its row without an answer, what
    stands in the prompt but for the policy, and the numbers that decide."""

    row: Decision
    cues: Cues
    decides: float
    luck: float


class Stage(NamedTuple):
    """A round of a run: who writes, and who meets whom."""

    run: Run
    round: Round
    tournament: Tournament
    meetings: list[Meeting]


def short(name: str, world: int, agents: int, seeds: tuple[int, ...],
          names: tuple[str, ...] = ALL_PLANS) -> Collected:
    """What `collect` gives, without rendering a prompt."""
    out, agent = Collected([], {}, {}), population(name)
    chances: dict[Cues, float] = {}
    for stage in stages(agents, seeds, names):
        policies = written(name, stage)
        _keep(out, stage.run, stage.round, policies)
        for meeting in stage.meetings:
            cues = meeting.cues
            if agent.led or agent.policies:
                cues = cues._replace(policy=policies[meeting.row.agent].text.strip())
            if cues not in chances:
                chances[cues] = chance(name, cues, world)
            out.rows.append(_answered(meeting, agent, cues, chances[cues]))
    return out


def written(name: str, stage: Stage) -> dict[str, Reply]:
    """The policies of a round, as the respondent of this name writes them."""
    seed = stage.run.config["seed"]
    return {agent.id: Reply("ok", write(name, stage.tournament.condition, SeededRandom(
        seed, "respondent", policy_id(stage.tournament, stage.round, agent))), "stop")
        for agent in writers(stage.tournament)}


def _answered(meeting: Meeting, agent: Population, cues: Cues, p: float) -> Decision:
    cooperates = meeting.decides < p
    unreadable, cut_off = agent.missing(cues, cooperates)
    row = meeting.row
    if meeting.luck < unreadable:
        return row._replace(status="unreadable")
    if meeting.luck < unreadable + cut_off:
        return row._replace(status="truncated", truncated=True)
    first = row.option_order == ORDERS[0]
    acts = domain_of(row.domain).acts
    return row._replace(status="ok", decision=acts[not cooperates].word,
                        cooperates=int(cooperates), first_taken=int(cooperates == first))


# Populations of one replication meet the same trials.
@lru_cache(maxsize=2)
def stages(agents: int, seeds: tuple[int, ...], names: tuple[str, ...]) -> list[Stage]:
    out = []
    for run in tournament_runs(agents, seeds, names):
        t = design.design(domain_of(run.config["domain"]), run.config)
        read = read_as(run, t)
        out += [Stage(read, round_, t, list(_meetings(t, read, round_))) for round_ in t.rounds]
    return out


def _meetings(t: Tournament, run: Run, round_: Round) -> Iterator[Meeting]:
    stimulus = Stimulus(round_.bulletin, round_.variant, t.condition, t.config["tells"])
    forms = {(scheme, order): staged(t.domain, stimulus, scheme, order)
             for scheme in LABEL_SCHEMES for order in ORDERS}
    for pair in round_.pairs:
        name = encounter_id(t, round_, pair, 1)
        for side, own, peer in (("a", pair.a, pair.b), ("b", pair.b, pair.a)):
            rng = SeededRandom(run.seed, "respondent", f"{name}/{side}")
            yield Meeting(_seat(t, run, round_, pair, (f"{name}/{side}", own, peer)),
                          forms[pair.labels[0]], rng.random(), rng.random())


def _seat(t: Tournament, run: Run, round_: Round, pair: Pair,
         seat: tuple[str, Agent, Agent]) -> Decision:
    """A decision that nobody has taken yet. `seat`: id of the request, agent, opponent."""
    (name, own, peer), (scheme, order) = seat, pair.labels[0]
    shown = labels(t.domain, scheme)[::1 if order == ORDERS[0] else -1]
    return Decision(
        name, run.name, run.role, run.seed, run.domain, *run.cell, round_.number, 1, False,
        own.id, peer.id, policy_id(t, round_, own), round_.bulletin.id, round_.variant.id, scheme,
        order, shown[0], None, None, None, "", False, None, 1.0, MODEL, *SERVED.values(), None,
        None, None, 0.0, "")

"""One-shot studies of planted populations: the trials of a pilot or of a mechanism study.

    study = Study("2x2", runs=10, models={"a": "coin", "b": "superrational"})
    rows = asked(study, seed=7)         # design, prompts, respondents, parser: the real pipeline
    rows = planted(study, seed=7)       # the same rows, without rendering a prompt
    each = counted(study, seed=7)       # {model: [((bulletin, place), outcome), …]} of these rows

A population reads nothing but the cues of a prompt, and the design knows which those are; what an
answer draws follows from the seed and the trial's name. So the short way gives what the long way
gives, trial by trial, and a test holds it to that. A user's own respondents take the long way.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from cirrus.ask import pilot, probes
from cirrus.ask.bulletins import PROMPTS
from cirrus.ask.cues import Cues, staged
from cirrus.ask.populations import chance, population
from cirrus.ask.prompts import Domain, load_domain
from cirrus.ask.respondents import respondent
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
SERVED = {"text": "", "served_model": "SIMULATED", "provider": "simulated", "cost_usd": 0.0}


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
    return Reply(FINISH[finish], text, finish, served_model=SERVED["served_model"],
                 provider=SERVED["provider"], cost_usd=0.0)


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
            stimulus = block.stimulus._replace(
                condition=block.stimulus.condition._replace(S=cell.S, C=cell.C),
                entry=(block.frame, cell.entry) if cell.entry else None)
            trial = f"{block.name}/{cell.name}"
            rng = SeededRandom(dealt.seed, "respondent", trial)
            yield Draw(_row(domain, block, cell, stimulus, trial),
                       staged(domain, stimulus, block.scheme, block.order),
                       rng.random(), rng.random())


def _row(domain: Domain, block: pilot.Block, cell: pilot.Cell, stimulus, trial: str) -> dict:
    mechanism = {"cell": cell.name, "cue": cell.C, "entry": cell.entry, "frame": block.frame,
                 "wording": stimulus.wording + 1} if block.frame else {}
    return {"id": trial, "model": block.model, "run": block.run,
            **stimulus.condition._asdict(), **mechanism, "domain": domain.name,
            "bulletin": stimulus.bulletin.id, "variant": stimulus.variant.id,
            "label_scheme": block.scheme, "order": block.order, **SERVED}


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


# --- probes ------------------------------------------------------------------------------------

PROBES = ("payoffs", "beliefs", "influence")   # what the highest word needs


def probed(study: Study, seed: int, model: str) -> list[dict]:
    """The rows of a model's probes, rendered, answered and read."""
    mind = population(study.models[model]).mind
    return [probes.row(probe, Reply("ok", probes.answer(mind, probe.request, SeededRandom(
        seed, "respondent", probe.id)), "stop")) for probe in _probes(study.dealt(seed))
        if probe.block.model == model]


@lru_cache(maxsize=2)
def _probes(dealt: Dealt) -> list[probes.Probe]:
    domain = domain_of(dealt.domain)
    return probes.deal(probes.texts(PROMPTS), domain, dealt.config | {"probes": list(PROBES)},
                       list(pilot.dealt(domain, dealt.config, dealt.models)))

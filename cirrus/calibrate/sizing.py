"""How large a study must be: the cheapest size that finds an effect in 80% of studies.

    out = sized(Question("pilot", effect=30, budget=5.0, models=("openai/gpt-4o-mini",)))

The effect is HP over every other cell, in points, with bulletins that differ; every model has it.
A study finds it where the analysis says the design's word. Prices are those of the configuration.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import stats
from cirrus.ask import pilot
from cirrus.ask.design import design as dealt
from cirrus.ask.encounters import replay
from cirrus.ask.respondents import respondent
from cirrus.calibrate.replicate import JUDGES, PLACES, judged_study
from cirrus.calibrate.studies import (
    ALL_PLANS,
    SETTINGS,
    Study,
    counted,
    domain_of,
    reply_of,
    short,
    tournament_runs,
)
from common import UsageError
from common.instrument import FREE, projected
from common.rng import SeededRandom
from common.runs import ROOT
from common.wire import Reply, Request, as_model
from show.figures import count, percent

ENOUGH = 0.8
BASE, SPREAD = 40, 0.8    # per cent elsewhere; SD of bulletins in log-odds, of their cells half
USUAL_MODELS = 4
PLAN = ("confirmatory",)


class Design(NamedTuple):
    """`kind` as the design has it; `word`: what a study must say, of a mechanism study of each
    model by itself; `size`: what one is in words; `sizes` in order of price: runs a cell, blocks a
    bulletin, or agents × seeds of the confirmatory plan."""

    kind: str
    word: str
    config: str
    size: str
    sizes: tuple[int | str, ...]


DESIGNS: dict[str, Design] = {
    "pilot": Design("2x2", "cue-responsive", "pilot.config.json", "{} runs a cell",
                    (6, 8, 10, 20, 30, 40, 60, 80, 120, 160)),
    "mechanism": Design("mechanism", "correlation-sensitive", "pilot.config.json",
                        "{} blocks a bulletin", (3, 6, 9, 12, 18, 24)),
    "tournament": Design("tournament", "cue-responsive", "experiment.config.json",
                         "{} agents × seeds over ten rounds",
                         ("3x1", "4x1", "6x1", "8x1", "10x1", "10x2", "10x4")),
}


class Question(NamedTuple):
    """`effect` in points, `budget` in dollars or None."""

    design: str
    effect: int
    budget: float | None = None
    models: tuple[str, ...] = ()
    reps: int = 100
    seed: int = 42


def sized(question: Question) -> dict[str, Any]:
    """{"enough": the first size tried that finds it often enough, or None, "tried": […], …}."""
    if not 1 <= question.effect <= 57:
        raise UsageError(f"--effect: {question.effect} points can't be planted; give 1 to 57")
    if question.budget is not None and question.budget <= 0:
        raise UsageError(f"--budget: {question.budget:g} buys nothing; give dollars above 0")
    tried = []
    for entry in _affordable(question):
        tried.append(entry)
        if entry["power"]["share"] >= ENOUGH:
            break
    found = tried[-1] if tried and tried[-1]["power"]["share"] >= ENOUGH else None
    return {"simulated": True, **question._asdict(), "models": list(question.models),
            "word": DESIGNS[question.design].word, "enough": found, "tried": tried}


def _affordable(question: Question) -> Iterator[dict[str, Any]]:
    """The sizes that the budget reaches, smallest first, each with price and power."""
    design = DESIGNS[question.design]
    for size in design.sizes:
        calls, usd = price(question, size)
        if question.budget is not None and usd > question.budget:
            return
        yield {"size": size, "calls": calls, "usd": usd, "power": power(question, size)}


def price(question: Question, size: int | str) -> tuple[int, float]:
    """(calls, dollars that they probably cost)."""
    design = DESIGNS[question.design]
    settings = json.loads((ROOT / "config" / design.config).read_text("utf-8"))
    prices = {name: as_model(entry) for name, entry in settings["prices"].items()}
    assumed = as_model(settings["assumed_price"]) if question.models else FREE
    if design.kind == "tournament":
        requests, times = _first_round(size, question, settings["games_per_pair"])
    else:
        requests, times = _requests(design, question, size), 1
    return len(requests) * times, projected(requests, prices, assumed) * times


def _requests(design: Design, question: Question, size: int) -> list[Request]:
    config = SETTINGS | {"design": design.kind, "seed": question.seed, "runs": size}
    return [trial.request for block in pilot.design(domain_of(pilot.DOMAIN), config, _asked(
        question)) for trial in block]


def _first_round(size: str, question: Question, games: int) -> tuple[list[Request], int]:
    """What is asked in the first round of a plan's first run, of each model in turn, and how many
    such rounds the plan has."""
    agents, seeds = map(int, size.split("x"))
    runs = tournament_runs(agents, range(question.seed, question.seed + seeds), PLAN,
                           games=games)
    first = dealt(domain_of(runs[0].config["domain"]), runs[0].config)
    asked: list[Request] = []

    def reply(request: Request) -> Reply:
        asked.append(request._replace(model=_asked(question)[len(asked) % len(_asked(question))]))
        return reply_of(respondent("coin"), request, question.seed)
    replay(first, first.rounds[0], reply)
    return asked, sum(run.config["rounds"] for run in runs)


def _asked(question: Question) -> tuple[str, ...]:
    return question.models or tuple(f"m{at}" for at in range(1, USUAL_MODELS + 1))


def power(question: Question, size: int | str) -> dict[str, Any]:
    """Share of replications in which the word is said, with its Wilson interval."""
    word = DESIGNS[question.design].word
    times = sum(record["word"] == word for record in _records(question, size))
    low, high, _ = stats.wilson_interval(times, question.reps)
    return {"k": times, "n": question.reps, "share": times / question.reps, "low": low,
            "high": high}


def _records(question: Question, size: int | str) -> Iterator[Mapping[str, Any]]:
    """What the analysis says of each replication."""
    kind, name = DESIGNS[question.design].kind, f"true-{question.effect}-at-{BASE}-sd{SPREAD}"
    for rep in range(question.reps):
        seed = SeededRandom(question.seed, "sizing", rep).getrandbits(40)
        if kind == "tournament":
            yield played_out(name, size, seed, PLAN)
            continue
        # A mechanism study speaks of single models: the power is that for one of them.
        many = 1 if kind == "mechanism" else len(_asked(question))
        study = Study(kind, size, {f"m{at}": name for at in range(many)}, seed)
        yield JUDGES[kind](counted(study, seed, PLACES[kind]), study)


def played_out(name: str, size: str, seed: int, plans: tuple[str, ...]) -> Mapping[str, Any]:
    """What is said of these plans, of so many agents under so many seeds."""
    agents, seeds = map(int, size.split("x"))
    return judged_study(name, short(name, seed, agents, tuple(range(seed, seed + seeds)), plans))


def enough(effects: Sequence[int], sizes: Sequence[str], reps: int, seed: int = 42,
           ) -> dict[str, dict[int, dict[str, Any]]]:
    """{gate: {effect: {"size": the first at which all three plans pass it in 80%, or None,
    "passed": {size: times}, "reps": …}}}: what `gates.ENOUGH` is taken from."""
    out: dict[str, dict[int, dict[str, Any]]] = {}
    for effect in effects:
        name = f"true-{effect}-at-{BASE}-sd{SPREAD}"
        for size in sizes:
            drawn = (SeededRandom(seed, "enough", rep).getrandbits(40) for rep in range(reps))
            boards = [played_out(name, size, one, ALL_PLANS)["gates"] for one in drawn]
            for gate in boards[0]:
                entry = out.setdefault(gate, {}).setdefault(
                    effect, {"size": None, "passed": {}, "reps": reps})
                entry["passed"][size] = times = sum(b[gate][1] == "pass" for b in boards)
                if entry["size"] is None and times >= ENOUGH * reps:
                    entry["size"] = size
    return out


def lines(out: Mapping[str, Any]) -> Iterator[str]:
    """The answer in a sentence, then what was tried."""
    design, found = DESIGNS[out["design"]], out["enough"]
    what = f"“{out['word']}” of a true effect of {out['effect']} points"
    many = len(out["models"]) or USUAL_MODELS
    yield ("SIMULATED" if found is None else
           f"SIMULATED: {design.size.format(found['size'])}, {count(many, 'model')}, find {what} "
           f"in {_power(found)} of studies: {found['calls']:,} calls, about ${found['usd']:.2f}")
    if found is None:
        within = "" if out["budget"] is None else f" within ${out['budget']:g}"
        yield f"no size tried{within} finds {what} in {percent(ENOUGH)} of studies"
    for entry in out["tried"]:
        yield (f"  {design.size.format(entry['size'])}: {_power(entry)}, "
               f"{entry['calls']:,} calls, ${entry['usd']:.2f}")
    yield (f"the effect is planted over {BASE}% elsewhere, bulletins differing by SD {SPREAD} in "
           f"log-odds; {count(out['reps'], 'replication')} a size")


def _power(entry: Mapping[str, Any]) -> str:
    power = entry["power"]
    return (f"{percent(power['share'])} ({percent(power['low'])} to {percent(power['high'])})")

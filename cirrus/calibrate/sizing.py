"""How large a study must be: the cheapest size that finds an effect in 80% of studies.

    out = sized(Question("pilot", effect=30, budget=5.0, models=("openai/gpt-4o-mini",)))

The effect is HP over every other cell, in points, with bulletins that differ; every model has it.
A study finds it where the analysis says the design's word. Prices are those of the configuration.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import stats
from cirrus.ask import pilot
from cirrus.calibrate.oneshot import SETTINGS, Study, counted, domain_of
from cirrus.calibrate.replicate import JUDGES, PLACES
from common import config as c
from common.exits import UsageError
from common.rng import SeededRandom
from common.runs import ROOT
from common.session import projected
from common.wire import Model
from show.figures import count, percent

ENOUGH = 0.8
BASE, SPREAD = 40, 0.8    # per cent elsewhere; SD of bulletins in log-odds, of their cells half
USUAL_MODELS = 4


class Design(NamedTuple):
    """`kind` as the design has it; `word`: what a study must say, of a mechanism study of each
    model by itself; `sizes`, runs a cell or blocks a bulletin, in order of price."""

    kind: str
    word: str
    unit: str
    per: str
    config: str
    sizes: tuple[int, ...]


DESIGNS: dict[str, Design] = {
    "pilot": Design("2x2", "cue-responsive", "run", "a cell", "pilot.config.json",
                    (6, 8, 10, 20, 30, 40, 60, 80, 120, 160)),
    "mechanism": Design("mechanism", "correlation-sensitive", "block", "a bulletin",
                        "pilot.config.json", (3, 6, 9, 12, 18, 24)),
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


def price(question: Question, size: int) -> tuple[int, float]:
    """(calls, dollars that they probably cost)."""
    design = DESIGNS[question.design]
    settings = json.loads((ROOT / "config" / design.config).read_text("utf-8"))
    models = question.models or tuple(f"m{at}" for at in range(1, USUAL_MODELS + 1))
    config = SETTINGS | {"design": design.kind, "seed": question.seed, "runs": size}
    requests = [trial.request for block in pilot.design(domain_of(pilot.DOMAIN), config, models)
                for trial in block]
    prices = {name: c.as_model(entry) for name, entry in settings["prices"].items()}
    free = Model(prompt=0.0, completion=0.0, price_from="simulated")
    assumed = c.as_model(settings["assumed_price"]) if question.models else free
    return len(requests), projected(requests, prices, assumed)


def power(question: Question, size: int) -> dict[str, Any]:
    """Share of replications in which the word is said, with its Wilson interval."""
    design = DESIGNS[question.design]
    # A mechanism study speaks of single models: the power is that for one of them.
    many = 1 if question.design == "mechanism" else len(question.models) or USUAL_MODELS
    name = f"true-{question.effect}-at-{BASE}-sd{SPREAD}"
    times = 0
    for rep in range(question.reps):
        seed = SeededRandom(question.seed, "sizing", rep).getrandbits(40)
        study = Study(design.kind, size, {f"m{at}": name for at in range(many)}, seed)
        record = JUDGES[design.kind](counted(study, seed, PLACES[design.kind]), study)
        times += record["word"] == design.word
    low, high, _ = stats.wilson_interval(times, question.reps)
    return {"k": times, "n": question.reps, "share": times / question.reps, "low": low,
            "high": high}


def lines(out: Mapping[str, Any]) -> Iterator[str]:
    """The answer in a sentence, then what was tried."""
    design, found = DESIGNS[out["design"]], out["enough"]
    what = f"“{out['word']}” of a true effect of {out['effect']} points"
    many = len(out["models"]) or USUAL_MODELS
    yield ("SIMULATED" if found is None else
           f"SIMULATED: {count(found['size'], design.unit)} {design.per} and model find {what} in "
           f"{_power(found)} of studies: {found['calls']:,} calls, about ${found['usd']:.2f}")
    if found is None:
        within = "" if out["budget"] is None else f" within ${out['budget']:g}"
        yield f"no size tried{within} finds {what} in {percent(ENOUGH)} of studies"
    for entry in out["tried"]:
        yield (f"  {count(entry['size'], design.unit)} × {count(many, 'model')}: {_power(entry)}, "
               f"{entry['calls']:,} calls, ${entry['usd']:.2f}")
    yield (f"the effect is planted over {BASE}% elsewhere, bulletins differing by SD {SPREAD} in "
           f"log-odds; {count(out['reps'], 'replication')} a size")


def _power(entry: Mapping[str, Any]) -> str:
    power = entry["power"]
    return (f"{percent(power['share'])} ({percent(power['low'])} to {percent(power['high'])})")

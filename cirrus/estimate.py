"""What a run will probably cost, from the tokens of its rendered prompts and the price table."""

from collections.abc import Mapping
from typing import Any

from cirrus.ask.design import STAGES, Run, design, voices
from cirrus.ask.encounters import typical_calls
from cirrus.ask.prompts import Domain
from common import config as c
from common import wire
from common.wire import Model


def calls_of(config: Mapping[str, Any]) -> int:
    """How many calls a run makes: policies, and one for each model in each encounter."""
    models, baselines = config["agents"], len(config["baselines"])
    seats = models * (models - 1) + models * baselines
    return config["rounds"] * (models + config["games_per_pair"] * seats)


def estimate(run: Run, domain: Domain, settings: Mapping[str, Any], simulated: bool,
             models: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Calls, tokens read (four bytes each) and dollars of a run, by stage.

    `models`: those of the configuration instead of the run's own.
    """
    config = run.config
    if models is not None:
        config = config | {"models": voices(settings, False, None)[0]}
    t = design(domain, config)
    prices = {name: c.as_model(entry) for name, entry in settings["prices"].items()}
    assumed = c.as_model(settings["assumed_price"])
    calls, tokens, usd = dict.fromkeys(STAGES, 0), 0, 0.0
    for request, count in typical_calls(t):
        calls[request.stage] += count
        tokens += count * (len(request.system.encode()) + len(request.user.encode())) // 4
        usd += 0.0 if simulated else count * wire.expected_cost(
            request, prices.get(request.model, Model()), assumed)
    names = dict.fromkeys(v["name"] for stage in STAGES for v in config["models"][stage])
    return {"run_id": run.run_id, "agents": config["agents"], "rounds": config["rounds"],
            "games": sum(len(pair.labels) for round_ in t.rounds for pair in round_.pairs),
            "calls": sum(calls.values()), "by_stage": calls, "prompt_tokens": tokens, "usd": usd,
            "models": list(names),
            "unpriced": [] if simulated else [name for name in names if name not in prices]}

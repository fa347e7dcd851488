"""Decisions and plans for the tests of the tournament's analysis."""

from itertools import product

from cirrus.ask.bulletins import load_domain
from cirrus.ask.design import Run, plans_of, run_name
from cirrus.instruments import note_plan, simulate_run
from cirrus.judge.rows import Decision
from common.cli import Choice
from common.session import Settings

PROMPTS = load_domain("cvd").texts | load_domain("hospital").texts
CELLS = list(product(("high", "low"), ("present", "absent"), ("high", "low")))
WORDS = {1: "COORDINATE", 0: "PREEMPT", None: None}
USUAL = {
    "id": "r/r1/p01/e1/a",
    "role": "main",
    "domain": "cvd",
    "round": 1,
    "encounter": 1,
    "baseline": False,
    "opponent": "agent-99",
    "bulletin": "b1",
    "variant": "v1",
    "label_scheme": "L1",
    "option_order": "cooperative-first",
    "option_first": "COORDINATE",
    "truncated": False,
    "payoff": None,
    "power_after": 1.0,
    "model": "m",
    "served_model": "m",
    "provider": "p",
    "prompt_tokens": 1,
    "output_tokens": 1,
    "reasoning_tokens": None,
    "cost_usd": 0.0,
    "text": "",
}


def decision(
    cell=("high", "present", "low"), cooperates=1, agent="agent-01", seed=1, **more
):
    """One first encounter of round 1; `cooperates` None: unreadable."""
    row = USUAL | dict(zip("SCH", cell, strict=True))
    row |= {"run": "run-" + ".".join(cell), "policy": f"r/r1/{agent}"}
    row |= {"agent": agent, "seed": seed, "cooperates": cooperates}
    row |= {"first_taken": cooperates, "decision": WORDS[cooperates]}
    row |= {"status": "ok", "read_from": "line"}
    if cooperates is None:
        row |= {"status": "unreadable", "read_from": ""}
    row["wording"] = 1 + int(more.get("bulletin", "b1")[1:])
    return Decision(**row | more)


def cells(by_cell, agent="agent-01", **more):
    """{cell: decisions} of one agent as rows."""
    rows = []
    for cell, values in by_cell.items():
        rows += [decision(cell, y, agent, **more) for y in values]
    return rows


CONFIG = {
    "baselines": [],
    "domain": "cvd",
    "games_per_pair": 1,
    "history_mode": "standard",
    "label_schemes": ["L1", "L2", "L3"],
    "option_order": "random",
    "rounds": 1,
    "tells": "standard",
    "temperature": 0.7,
    "variants": "main",
    "turn": 0,
}
LIMITS = {
    "limits": {"strategy": 6, "decision": 8},
    "limit_usd": 10.0,
    "prices": {},
    "assumed_price": {"prompt": 1, "completion": 5},
    "deadline_s": 60,
}


def config(population, toggles, agents=10, seed=42, **more):
    limits = {"max_out": 96, "max_out_configured": 96, "effort": None}
    model = [{"name": population} | limits]
    chosen = {"agents": agents, "seed": seed, "models": dict.fromkeys(STAGES, model)}
    chosen["toggles"] = dict(zip("SCH", toggles, strict=True))
    return CONFIG | chosen | more


STAGES = ("decision", "strategy")
EXTREMES = (("high", "present", "low"), ("low", "absent", "low"))


def plan(out, population="sim-correlation", name="confirmatory", **more):
    """A small plan on disk: the eight cvd cells and the two of hospital; its folder."""
    configs = [config(population, cell, **more) for cell in CELLS]
    if name == "confirmatory":
        hospital = more | {"domain": "hospital"}
        configs += [config(population, cell, **hospital) for cell in EXTREMES]
    runs = [Run(f"{name}-s{each['seed']}", run_name(each), each) for each in configs]
    seed, quiet = configs[0]["seed"], {"quiet": True, "nested": True}
    settings = Settings(name=name, seed=seed, respondents={}, **LIMITS, **quiet)
    simulated, plans = Choice(True, "", ""), plans_of(name, runs)
    for run in runs:
        simulate_run((str(out), run, simulated, settings, PROMPTS, plans))
    note_plan(str(out), name, runs)
    return out / runs[0].folder

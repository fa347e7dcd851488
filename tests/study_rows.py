"""Decisions and plans for the tests of the tournament's analysis."""

from itertools import product

from cirrus.ask.bulletins import load_domain
from cirrus.ask.design import Run, plans_of, run_name
from cirrus.instruments import note_plan, simulate_run
from cirrus.judge.rows import Decision
from common.cli import Choice
from common.session import Settings

PROMPTS = {
    path: text
    for name in ("cvd", "hospital")
    for path, text in load_domain(name).texts.items()
}
CELLS = list(product(("high", "low"), ("present", "absent"), ("high", "low")))


def decision(
    cell=("high", "present", "low"), cooperates=1, agent="agent-01", seed=1, **more
):
    """One first encounter of round 1; `cooperates` None: unreadable."""
    return Decision(
        **{
            "id": "r/r1/p01/e1/a",
            "run": "run-" + ".".join(cell),
            "role": "main",
            "seed": seed,
            "domain": "cvd",
            "S": cell[0],
            "C": cell[1],
            "H": cell[2],
            "round": 1,
            "encounter": 1,
            "baseline": False,
            "agent": agent,
            "opponent": "agent-99",
            "policy": "r/r1/" + agent,
            "bulletin": "b1",
            "variant": "v1",
            "label_scheme": "L1",
            "wording": 1 + int(more.get("bulletin", "b1")[1:]),
            "option_order": "cooperative-first",
            "option_first": "COORDINATE",
            "decision": {1: "COORDINATE", 0: "PREEMPT", None: None}[cooperates],
            "cooperates": cooperates,
            "first_taken": cooperates,
            "status": "unreadable" if cooperates is None else "ok",
            "read_from": "" if cooperates is None else "line",
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
        | more
    )


def cells(by_cell, agent="agent-01", **more):
    """{cell: decisions} of one agent as rows."""
    return [
        decision(cell, y, agent, **more)
        for cell, values in by_cell.items()
        for y in values
    ]


def config(population, toggles, agents=10, seed=42, **more):
    model = [
        {"name": population, "max_out": 96, "max_out_configured": 96, "effort": None}
    ]
    return {
        "agents": agents,
        "baselines": [],
        "domain": "cvd",
        "games_per_pair": 1,
        "history_mode": "standard",
        "label_schemes": ["L1", "L2", "L3"],
        "models": {"decision": model, "strategy": model},
        "option_order": "random",
        "rounds": 1,
        "seed": seed,
        "tells": "standard",
        "temperature": 0.7,
        "toggles": dict(zip("SCH", toggles, strict=True)),
        "variants": "main",
        "turn": 0,
    } | more


def plan(out, population="sim-correlation", name="confirmatory", **more):
    """A small plan on disk: the eight cvd cells and the two of hospital; its folder."""
    configs = [config(population, cell, **more) for cell in CELLS]
    if name == "confirmatory":
        configs += [
            config(population, cell, **(more | {"domain": "hospital"}))
            for cell in (("high", "present", "low"), ("low", "absent", "low"))
        ]
    runs = [Run(f"{name}-s{each['seed']}", run_name(each), each) for each in configs]
    settings = Settings(
        name=name,
        seed=runs[0].config["seed"],
        limits={"strategy": 6, "decision": 8},
        limit_usd=10.0,
        prices={},
        assumed_price={"prompt": 1, "completion": 5},
        deadline_s=60,
        respondents={},
        quiet=True,
        nested=True,
    )
    for run in runs:
        simulate_run(
            (
                str(out),
                run,
                Choice(True, "", ""),
                settings,
                PROMPTS,
                plans_of(name, runs),
            )
        )
    note_plan(str(out), name, runs)
    return out / runs[0].folder

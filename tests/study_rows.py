"""Decisions and plans for the tests of the tournament's analysis."""

import json
import shutil
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

from conftest import ended

from cirrus.judge.rows import Decision

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


def plan(out, *respondents, name="confirmatory", **settings):
    """A small plan on disk, by default of `sim-correlation` and of one round; its folder."""
    settings = {"games_per_pair": 1, "rounds": 1} | settings
    models = ",".join(respondents or ["sim-correlation"])
    with TemporaryDirectory() as place:
        (Path(place) / "small.json").write_text(json.dumps(settings))
        flags = ("--plan", name, "--config", "small.json", "--models", models)
        done = ended(place, "run_tournament.py", *flags, "--out", "o")
        assert done.returncode == 0, done.stderr
        [made] = (Path(place) / "o").iterdir()
        return Path(shutil.copytree(made, out / f"{name}-s42"))

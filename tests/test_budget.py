"""The server's own ledger never exceeds the limit, whatever it charges and however a run ends."""

import gzip
import json
from collections import defaultdict
from itertools import count

import pytest
from conftest import Clock
from world import PRICE, conducted, request

from common import OverBudget
from common.openrouter import OpenRouter
from common.wire import Terms

FUZZ = 1e-9  # sums of floats


def served(prompt, completion, call="0", name="m"):
    return {name: {"pricing": {"prompt": prompt, "completion": completion, "request": call}}}


def block(names, model):
    return (yield [request(name, model=model) for name in names])


@pytest.fixture
def spend(double, tmp_path):
    """spend(limit, concurrency, models=…, …) → (dollars on the server's ledger, the ending).

    40 calls a model, in blocks of four. Nothing is announced: without a projection that ends the
    run early, the limit itself has to hold. `setup` is the double's.
    """
    turns = count()

    def run(limit, concurrency, models, prices=None, **setup):
        double.script(models=models, **setup)
        client = OpenRouter(double.url, "", concurrency, 0.5, prices)
        client.preflight(list(models), Terms())
        run = conducted(tmp_path / str(next(turns)), client, lambda: [
            block([f"{model}/{at + n:02d}" for n in range(4)], model)
            for at in range(0, 40, 4) for model in models], limit, concurrency, clock=Clock())
        return double.ledger()["billed_usd"], run.ending
    return run


# What the double bills, and where it hides what it bills: `greedy` is all that a call can cost.
BILLS = {
    "all it can cost": {"greedy": True},
    "by the call": {"greedy": True, "models": served("0", "0", "0.01")},
    "neither a price list nor a cost": {"show_cost": False, "show_prices": False,
                                        "models": served("0.000001", "0.000004")},
    "two models": {"greedy": True, "models": served("0.00001", "0.00005", name="dear")
                   | served("0.0000001", "0", name="cheap")},
    "a configured price that is too low": {"prices": {"m": PRICE}, "greedy": True},
    "a price that is a hundred times too low": {"dearer": 100},
    **{f"{fault} now and then": {"greedy": True, "faults": [{"fault": fault, "every": every}]}
       for fault, every in (("reset-billed", 3), ("hang", 20), ("no-usage", 3))}}


@pytest.mark.parametrize("bills", BILLS)
def test_the_server_s_own_ledger_stays_within_the_limit(spend, bills):
    setup = {"models": served("0.00001", "0.00005")} | BILLS[bills]
    whole, _ = spend(None, 64, **setup | {"faults": ()})
    one_call = whole / (40 * len(setup["models"])) * 1.2  # they differ in length a little
    over = one_call if {"dearer"} & set(setup) else 0
    for share in (0.1, 0.6):
        billed, ending = spend(whole * share, 8, **setup)
        assert billed <= whole * share + over + FUZZ and isinstance(ending.stop, OverBudget)
        assert all(len({reply.outcome for reply in block} & {"not_run"}) == 0 or
                   {reply.outcome for reply in block} == {"not_run"}
                   for block in ending.results) or "faults" in setup or over
    if set(setup) == {"models", "greedy"}:
        billed, ending = spend(whole * 1.001, 8, **setup)
        assert billed == pytest.approx(whole) and ending.stop is None


# --- through the command -----------------------------------------------------------------------

FLAGS = ("--models", "double/a,double/b", "--runs", "6", "--out", "o")


def answered_by_block(folder):
    blocks = defaultdict(set)
    for row in map(json.loads, gzip.decompress(
            (folder / "trials.jsonl.gz").read_bytes()).splitlines()):
        blocks[row["model"], row["run"]].add(row["status"] != "not_run")
    return blocks


def test_an_abort_leaves_whole_blocks_and_a_higher_limit_completes(cli, double, tmp_path):
    flags = (*FLAGS, "--base-url", double.url)
    double.script(greedy=True)
    assert cli("run_pilot.py", *flags, "--run-id", "whole").returncode == 0
    whole = double.ledger()["billed_usd"]

    double.script(greedy=True)
    aborted = cli("run_pilot.py", *flags, "--run-id", "cut", "--limit-usd", whole * 0.9)
    assert aborted.returncode == 4 and "give a higher --limit-usd to resume" in aborted.stderr
    blocks = answered_by_block(tmp_path / "o" / "cut")
    assert all(len(kinds) == 1 for kinds in blocks.values()) and {True} in blocks.values()
    assert double.ledger()["billed_usd"] <= whole * 0.9

    again = cli("run_pilot.py", *flags, "--run-id", "cut", "--limit-usd", whole * 1.01)
    assert again.returncode == 0
    assert double.ledger()["billed_usd"] == pytest.approx(whole)  # nothing was asked twice


def test_a_server_that_charged_more_than_it_told_is_named_with_the_sum(cli, double):
    double.script(dearer=1000)
    run = cli("run_pilot.py", *FLAGS, "--base-url", double.url, "--limit-usd", 0.05)
    billed = double.ledger()["billed_usd"]
    assert billed > 0.05 and f"note: ${billed:.6f} was charged, more than the limit" in run.stderr
    assert run.returncode == 4

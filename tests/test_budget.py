"""The server's own ledger never exceeds the limit, whatever it charges and however a run ends."""

import gzip
import json
import random
import subprocess
import sys
from collections import defaultdict
from itertools import count, product

import pytest
from conftest import PRICE, ROOT, Clock, clean_environment, ledgers, request

from common import OverBudget
from common.budget import Budget
from common.drive import Drive
from common.journal import Journal
from common.openrouter import OpenRouter

FUZZ = 1e-9  # sums of floats
PRICES = {"cheap": ("0.00000005", "0.0000004", "0"), "dear": ("0.00001", "0.00005", "0"),
          "by the call": ("0", "0", "0.01"), "prompt": ("0.001", "0", "0")}


def served(prompt, completion, call="0", name="m"):
    return {name: {"pricing": {"prompt": prompt, "completion": completion, "request": call}}}


def block(names, model):
    return (yield [request(name, model=model) for name in names])


@pytest.fixture
def spend(double, tmp_path):
    """spend(limit, concurrency, models=…, …) → (dollars on the server's ledger, the ending).

    40 calls a model (or `calls`), in blocks of four. Nothing is announced: without a projection
    that ends the run early, the limit itself has to hold. `setup` is the double's.
    """
    turns = count()

    def run(limit, concurrency, models, prices=None, calls=40, **setup):
        folder = tmp_path / str(next(turns))
        folder.mkdir()
        double.script(models=models, **setup)
        client = OpenRouter(double.url, "", concurrency, 0.5, prices)
        client.preflight(list(models))
        journal = Journal(folder, {})
        drive = Drive(client, ledgers(journal, folder), {"decision": concurrency},
                      Budget(limit, PRICE), clock=Clock())
        blocks = [([f"{model}/{at + n:02d}" for n in range(4)], model)
                  for at in range(0, calls, 4) for model in models]
        ending = drive.run([block(*each) for each in blocks])
        journal.close()
        return double.ledger()["billed_usd"], ending
    return run


@pytest.mark.parametrize("price, concurrency", list(product(PRICES, (1, 8, 64))))
def test_with_any_price_and_concurrency_the_ledger_stays_within_the_limit(
        spend, price, concurrency):
    models = served(*PRICES[price])
    whole, _ = spend(None, 64, models, greedy=True)  # every call costs all that it can
    for share in (0.01, 0.3, 0.99):
        billed, ending = spend(whole * share, concurrency, models, greedy=True)
        assert isinstance(ending.stop, OverBudget)
        assert whole * (share - 0.1) < billed <= whole * share + FUZZ  # a block is a tenth
        assert all(len({reply.outcome for reply in block}) == 1 for block in ending.results)
    billed, ending = spend(whole * 1.001, concurrency, models, greedy=True)
    assert billed == pytest.approx(whole) and ending.stop is None


@pytest.mark.parametrize("factor, concurrency", list(product((0.1, 1, 10), (1, 8, 64))))
def test_without_a_price_list_the_first_replies_tell(spend, factor, concurrency):
    models = served(f"{factor * PRICE.prompt:.9f}", f"{factor * PRICE.completion:.9f}")
    whole, _ = spend(None, 64, models, show_prices=False)
    for share in (0.1, 0.5):
        billed, _ = spend(whole * share, concurrency, models, show_prices=False)
        assert billed <= whole * share + FUZZ


@pytest.mark.parametrize("concurrency", [1, 8, 64])
@pytest.mark.parametrize("hidden", [{"show_cost": False},
                                    {"show_cost": False, "show_prices": False}])
def test_a_reply_that_tells_no_cost_is_never_free(spend, hidden, concurrency):
    models = served("0.000001", "0.000004")  # as assumed where nothing is told
    whole, _ = spend(None, 64, models, **hidden)
    billed, ending = spend(whole / 2, concurrency, models, **hidden)
    assert billed <= whole / 2 + FUZZ and isinstance(ending.stop, OverBudget)


@pytest.mark.parametrize("concurrency", [1, 8, 64])
@pytest.mark.parametrize("fault", ["reset-billed", "truncated", "no-choices", "hang", "no-usage"])
def test_answers_that_are_billed_and_lost_count(spend, fault, concurrency):
    models, every = served("0.00001", "0.00005"), 20 if fault == "hang" else 3
    whole, _ = spend(None, 64, models, greedy=True)
    billed, _ = spend(whole * 0.6, concurrency, models, greedy=True,
                      faults=[{"fault": fault, "every": every}])
    assert whole * 0.4 < billed <= whole * 0.6 + FUZZ


def test_dear_and_cheap_models_share_one_limit(spend):
    models = served("0.00001", "0.00005", name="dear") | served("0.0000001", "0", name="cheap")
    whole, _ = spend(None, 64, models, greedy=True)
    billed, _ = spend(whole / 3, 64, models, greedy=True)
    assert billed <= whole / 3 + FUZZ


@pytest.mark.parametrize("own_key", [False, True], ids=["", "own key"])
@pytest.mark.parametrize("factor", [10, 100, 1000])
@pytest.mark.parametrize("concurrency", [1, 8, 128, 512])
def test_a_listed_price_that_is_far_too_low_costs_one_call_more_than_the_limit_at_most(
        spend, factor, concurrency, own_key):
    models = served("0.000001", "0.000004", name="a") | served("0.000001", "0.000004", name="b")
    setup = {"calls": 256, "dearer": factor, "own_key": own_key}
    whole, _ = spend(None, 64, models, **setup)
    one_call = whole / 512 * 1.2  # they differ in length a little
    for limit in (0.3 * whole, 0.5 * one_call):
        billed, ending = spend(limit, concurrency, models, **setup)
        assert isinstance(ending.stop, OverBudget) and billed <= limit + one_call


def test_of_calls_whose_price_nobody_told_one_is_in_flight_in_the_whole_run(spend, double):
    models = served("0.000001", "0", name="a") | served("0.000001", "0", name="b")
    spend(100, 64, models, latency_s=0.2)
    first = {}
    for at, call in enumerate(double.ledger()["requests"]):
        first.setdefault(call["model"], (at, call["at"]))
    (_, one_at), (place, other_at) = sorted(first.values())
    assert place and other_at >= one_at + 0.2


@pytest.mark.parametrize("concurrency", [1, 8, 64])
def test_a_configured_price_that_is_ten_times_too_low_does_not_break_the_limit(spend, concurrency):
    models, told = served("0.00001", "0.00004"), PRICE._replace(price_from="configuration")
    whole, _ = spend(None, 64, models, show_prices=False)
    for share in (0.1, 0.5):
        billed, _ = spend(whole * share, concurrency, models, {"m": told}, show_prices=False)
        assert billed <= whole * share + FUZZ


def test_the_server_s_price_counts_where_the_configuration_says_less(spend):
    models = served("0.00001", "0.00005")
    whole, _ = spend(None, 64, models, greedy=True)
    billed, _ = spend(whole / 3, 64, models, {"m": PRICE}, greedy=True)
    assert billed <= whole / 3 + FUZZ


# --- through the command -----------------------------------------------------------------------

FLAGS = ("--models", "double/a,double/b", "--runs", "6", "--out", "o")


def answered_by_block(folder):
    blocks = defaultdict(set)
    for row in map(json.loads, gzip.decompress(
            (folder / "trials.jsonl.gz").read_bytes()).splitlines()):
        blocks[row["model"], row["run"]].add(row["status"] != "not_run")
    return blocks


def test_an_abort_leaves_whole_blocks_and_a_higher_limit_completes(shell, double, tmp_path):
    flags = (*FLAGS, "--base-url", double.url)
    double.script(greedy=True)
    assert shell("run_pilot.py", *flags, "--run-id", "whole").returncode == 0
    whole = double.ledger()["billed_usd"]

    double.script(greedy=True)
    aborted = shell("run_pilot.py", *flags, "--run-id", "cut", "--limit-usd", whole * 0.9)
    assert aborted.returncode == 4 and "give a higher --limit-usd to resume" in aborted.stderr
    blocks = answered_by_block(tmp_path / "o" / "cut")
    assert all(len(kinds) == 1 for kinds in blocks.values()) and {True} in blocks.values()
    assert double.ledger()["billed_usd"] <= whole * 0.9

    again = shell("run_pilot.py", *flags, "--run-id", "cut", "--limit-usd", whole * 1.01)
    assert again.returncode == 0
    assert double.ledger()["billed_usd"] == pytest.approx(whole)  # nothing was asked twice


def test_a_study_that_is_too_dear_is_not_begun(shell, double, tmp_path):
    run = shell("run_pilot.py", *FLAGS, "--base-url", double.url, "--limit-usd", 0.001)
    assert run.returncode == 4 and "before the first call" in run.stderr
    assert double.ledger()["requests"] == [] and not (tmp_path / "o").exists()


def test_what_costs_nothing_runs_on_a_limit_of_nothing(shell, double):
    double.script(models=served("0", "0", name="double/a") | served("0", "0", name="double/b"))
    assert shell("run_pilot.py", *FLAGS, "--base-url", double.url, "--limit-usd", 0).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("share", [1.05, 1.5, 2.0])
def test_the_limit_holds_over_any_number_of_kills(shell, double, tmp_path, share):
    double.script(greedy=True)
    flags = (*FLAGS, "--base-url", double.url, "--concurrency", "8")
    shell("run_pilot.py", *flags, "--run-id", "whole")
    limit, rng = double.ledger()["billed_usd"] * share, random.Random(share)
    double.script(greedy=True, latency_s=0.05)
    for _ in range(5):
        process = subprocess.Popen(
            [sys.executable, ROOT / "run_pilot.py", *flags, "--limit-usd", str(limit)],
            cwd=tmp_path, env=clean_environment(), stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL)
        try:
            process.wait(rng.uniform(0.3, 0.6))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    last = shell("run_pilot.py", *flags, "--limit-usd", limit)
    assert last.returncode in (0, 4)
    assert double.ledger()["billed_usd"] <= limit + FUZZ

"""Each fault of the model API over real HTTP: the outcome, what is asked again, what is said.

What a body says wrong is read in `test_replies.py`, without a server.

The driver's waits run on a virtual clock; only the deadline of a call takes real time.
"""

import gzip
import json
import time

import pytest
from conftest import PRICE, complete, request, run_in

from common import ProviderRefused, UsageError
from common.openrouter import OpenRouter, check_base_url
from common.wire import Terms

DEADLINE_S = 0.6


@pytest.fixture
def play(bench, double):
    """play(rule, names) plays a fault → the run, and the server's log."""
    def run(rule, names="a", **more):
        double.script(catalogue=False, faults=[rule] if rule else [])
        late = rule.get("fault") in ("drip", "hang")
        client = OpenRouter(double.url, "sk-key-of-the-test", 8, DEADLINE_S if late else 20.0,
                            {"m": PRICE})
        out = bench(names, provider=client, **more)
        out.ledger = double.ledger()
        assert out.budget.total.spent >= out.ledger["billed_usd"] - 1e-9
        return out
    return run


def outcomes(run):
    return [reply.outcome for reply in run.ending.results]


TRANSIENT = ("429", "500", "reset", "reset-billed", "truncated", "cache-hit", "drip", "hang",
             "closed", "no-http", "bad-chunk", "bad-gzip", "bad-utf8", "deep", "huge")


@pytest.mark.parametrize("fault", TRANSIENT)
def test_a_fault_that_lasts_is_an_error_of_the_provider_after_three_retries(play, fault):
    run = play({"fault": fault})
    assert (outcomes(run), len(run.ledger["requests"])) == (["provider_error"], 4)
    assert run.ending.results[0].message and not run.ending.results[0].text


@pytest.mark.parametrize("fault", [*TRANSIENT, "429-date"])
def test_a_call_is_repeated_after_a_fault_that_passes(play, fault):
    run = play({"fault": fault, "times": 1})
    assert outcomes(run) == ["ok"] and len(run.ledger["requests"]) == 2


def test_a_server_that_has_moved_is_not_followed(play):
    stop = play({"fault": "moved"}).ending.stop
    assert isinstance(stop, ProviderRefused) and "check the base URL" in str(stop)


@pytest.mark.parametrize("fault", ["drip", "hang"])
def test_a_call_has_a_deadline_whatever_bytes_still_come(double, fault):
    double.script(catalogue=False, faults=[{"fault": fault}])
    start = time.monotonic()
    exchange = complete(OpenRouter(double.url, deadline_s=DEADLINE_S), request("a"))
    assert "no complete answer within 0.6 s" in exchange.error
    assert time.monotonic() - start < DEADLINE_S + 1


def test_connections_are_reused(play):
    run = play({}, names=[f"{i:02d}" for i in range(60)], concurrency=4)
    assert run.ledger["connections"] <= 4 + 1  # and the one that reads the ledger


def test_the_key_goes_to_the_server_as_a_bearer_token_past_a_proxy(double, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "")
    double.script(catalogue=False, key="sk-right")
    assert [complete(OpenRouter(double.url, key), request("a")).status
            for key in ("sk-right", "sk-wrong")] == [200, 401]


@pytest.mark.parametrize(("side", "refused"), [
    ("401", True), ("402", True), ("403-key", True), ("500", False)])
def test_lists_that_refuse_the_key_or_the_account_are_a_problem(double, side, refused):
    double.script(side=side)
    catalogue = OpenRouter(double.url, "sk-key").preflight(["double/a"], Terms())
    assert bool(catalogue.problems) is refused


@pytest.mark.parametrize("url", ["127.0.0.1:80", "ftp://x/v1", "http://", "http://x:port/",
                                 "http://me@x/v1", "http://x/v1?key=k"])
def test_an_address_that_is_none_is_refused(url):
    with pytest.raises(UsageError, match="--base-url: "):
        check_base_url(url)


@pytest.mark.parametrize(("fault", "code", "words", "left"), [
    ({"fault": "500", "place": 2}, 3, "trials left: 1 failed; the same command asks them", 1),
    ({"fault": "402", "skip": 5}, 5, "add credit", 3)])
def test_what_failed_is_in_the_files_as_such_and_repeated_by_the_same_command(
        cli, double, tmp_path, fault, code, words, left):
    def pilot(*faults):
        double.script(faults=faults)
        done = cli("run_pilot.py", "--base-url", double.url, "--models", "double/a", "--runs", 2,
                   "--out", "o", "--concurrency", 1)
        with gzip.open(run_in(tmp_path / "o") / "trials.jsonl.gz") as lines:
            return done, [row for row in map(json.loads, lines) if row["status"] != "ok"]
    failed, without = pilot(fault)
    assert (failed.returncode, failed.stderr.count("error: ")) == (code, 1)
    assert words in failed.stderr and [row["decision"] for row in without] == [None] * left
    done, without = pilot()
    assert (done.returncode, without) == (0, [])
    assert len(double.ledger()["requests"]) == left


@pytest.mark.parametrize(("dollars", "code"), [(1.0, 0), (0.99, 5)])
def test_credit_that_just_holds_what_is_projected_is_enough(cli, double, tmp_path, dollars, code):
    each = {"prompt": "0", "completion": "0", "request": "0.25"}  # and 4 calls are made
    double.script(limit_remaining=dollars, models={"m": {"pricing": each}})
    run = cli("run_pilot.py", "--base-url", double.url, "--models", "m", "--runs", 1,
              "--limit-usd", 5, "--out", "o")
    assert (run.returncode, (tmp_path / "o").exists()) == (code, code == 0)
    assert code == 0 or "the key has $0.99 left" in run.stderr


def test_a_server_that_is_not_there_is_exit_3_in_a_line(cli, tmp_path):
    run = cli("run_pilot.py", "--base-url", "http://127.0.0.1:9/v1", "--models", "m", "--out",
                "o")
    assert (run.returncode, len(run.stderr.splitlines())) == (3, 1)
    assert not (tmp_path / "o").exists()

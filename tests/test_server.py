"""The client over real HTTP: before the first call, who is asked, for how much, and what is wrong;
then each fault of a server: the outcome, what is repeated, what is said. What a body says wrong is
read in `test_replies.py`, without a server.

Waits run on a virtual clock; only the deadline of a call takes real time.
"""

import asyncio
import gzip
import json
import socket
from functools import partial

import pytest
from conftest import PRICE, complete, request, run_in
from tournaments import started, wait_for

from common import Incomplete
from common.server import Server

PARAMETERS = ["max_completion_tokens", "temperature", "seed"]
SERVED = {
    "pricing": {"prompt": "0.000001", "completion": "0.000004"},
    "supported_parameters": PARAMETERS,
}


def preflight(client, *names, effort=None):
    """What the server's lists say of these models."""
    return asyncio.run(client.preflight(names, effort))


@pytest.fixture
def pilot(cli, double):
    """pilot(flags…) runs a pilot of model m against the double → the finished process."""
    return partial(
        cli, "run_pilot.py", "--base-url", double.url, "--out", "o", "--models", "m"
    )


def rows_of(folder):
    with gzip.open(run_in(folder) / "trials.jsonl.gz") as lines:
        return list(map(json.loads, lines))


def trials(double):
    """Bodies of calls that are no warm-up, by the block that they name."""
    sent = [call["sent"] for call in double.ledger()["requests"]]
    return [body for body in sent if not body["session_id"].startswith("warmup")]


@pytest.mark.parametrize(
    ("model", "effort", "words"),
    [
        ({"expiration_date": "2020-01-01"}, None, "withdrawn on 2020-01-01"),
        ({"reasoning": {"supported_efforts": ["low", "high"]}}, "medium", "low, high"),
        (
            {"reasoning": {"mandatory": True, "supported_efforts": ["low"]}},
            "none",
            "it takes low",
        ),
    ],
)
def test_what_a_model_cannot_do_is_wrong_usage_before_the_first_call(
    pilot, double, model, effort, words
):
    double.script(models={"m": SERVED | model})
    run = pilot("--effort", effort or "default")
    assert run.returncode == 2 and "error: before the first call: m: " in run.stderr
    assert words in run.stderr and double.ledger()["requests"] == []


def test_a_misspelt_model_among_others_is_set_aside_and_tried_again_by_the_same_command(
    cli, double, tmp_path
):
    command = ("run_pilot.py", "--base-url", double.url, "--out", "o", "--runs", 1)
    command += ("--models", "double/a,double/e,double/b")

    def asked():
        done = cli(*command)
        assert done.returncode == 0, done.stderr
        assert cli("analyze.py", "--verify", "o").returncode == 0
        return done.stdout, {call["model"] for call in double.ledger()["requests"]}

    said, models = asked()
    assert "set aside: double/e: not in the server's list; did you mean" in said
    assert models == {row["model"] for row in rows_of(tmp_path / "o")}
    assert models == {"double/a", "double/b"}
    double.script(models={f"double/{letter}": SERVED for letter in "abe"})
    said, models = asked()
    assert "set aside" not in said and models == {"double/e"}
    assert len(rows_of(tmp_path / "o")) == 12


def test_a_model_that_is_gone_when_probes_are_asked_keeps_its_decisions(
    cli, double, tmp_path
):
    """Probes decide nothing. 320 decisions and four warm-up calls come first."""
    command = ("run_pilot.py", "--base-url", double.url, "--design", "mechanism")
    command += ("--runs", 1, "--probes", "payoffs", "--run-id", "o", "--out", ".")
    command += ("--models", "double/a,double/e", "--limit-usd", 9)
    both = {"double/a": SERVED, "double/e": SERVED}
    double.script(models=both, faults=[{"fault": "500", "skip": 324}])
    assert cli(*command).returncode == 3
    double.script(models={"double/a": SERVED})
    assert cli(*command).returncode == 0
    out = json.loads((tmp_path / "o/pilot-analysis.json").read_bytes())
    assert set(out["mechanism"]["by_model"]) == set(both)


def test_a_run_is_not_resumed_with_a_server_of_another_kind(cli, double):
    """Its earlier requests would be those of no design."""
    command = ("run_pilot.py", "--base-url", double.url, "--out", "o", "--runs", 1)
    command += ("--models", "double/a,double/e")
    assert cli(*command).returncode == 0
    double.script(models={"double/a": {}, "double/e": {}})
    done = cli(*command)
    assert done.returncode == 2
    assert "it speaks 'chat' now, and spoke 'openrouter' when" in done.stderr
    double.script(models={"double/a": SERVED, "double/e": SERVED})
    assert cli(*command).returncode == 0
    assert cli("analyze.py", "--verify", "o").returncode == 0


@pytest.mark.parametrize(
    ("url", "says"),
    [
        (
            "https://openrouter.ai/api/v1",
            "openrouter.ai can't be reached: .*; check the network, ",
        ),
        (
            "http://10.1.2.3:8000/v1",
            "10.1.2.3:8000 can't be reached: .*check the network and --base",
        ),
        (
            "http://127.0.0.1:9/v1",
            "127.0.0.1:9 can't be reached: .*; start it or check --base-url, ",
        ),
    ],
)
def test_nobody_there_names_the_host_and_advises_what_can_help(monkeypatch, url, says):
    def nobody(*_, **__):
        raise socket.gaierror(-2, "Name or service not known")

    client = Server(url, "sk-key-of-the-test")
    monkeypatch.setattr(socket, "getaddrinfo", nobody)
    with pytest.raises(Incomplete, match=says):
        preflight(client, "m")


def test_what_never_left_this_machine_costs_nothing(monkeypatch):
    from urllib3.util import connection

    def full(*_, **__):
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(connection, "create_connection", full)
    exchange = complete(Server("http://127.0.0.1:9/v1"), request("a"))
    assert "Too many open files" in exchange.error and not exchange.sent


@pytest.mark.parametrize("flag", [False, True])
def test_an_address_of_the_environment_counts_and_a_flag_before_it(cli, double, flag):
    elsewhere = {"OPENROUTER_BASE_URL": "http://127.0.0.1:9/v1" if flag else double.url}
    flags = ("--base-url", double.url) if flag else ()
    run = cli(
        "run_pilot.py", "--models", "double/a", "--runs", 1, *flags, env=elsewhere
    )
    assert run.returncode == 0 and len(trials(double)) == 4


def test_an_upstream_that_is_named_is_the_only_one_and_makes_another_study(
    pilot, double, tmp_path
):
    double.script(models={"m": SERVED})
    command = ("--runs", 2, "--concurrency", 1, "--run-id", "r")
    assert pilot(*command, "--upstream", "fine/bf16").returncode == 0
    only = {"only": ["fine/bf16"], "allow_fallbacks": False}
    sent = [call["sent"] for call in double.ledger()["requests"]]
    assert [body["provider"] for body in sent] == [only] * 10
    assert {body["session_id"] for body in trials(double)} == {"m/r01", "m/r02"}
    manifest = json.loads((tmp_path / "o/r/manifest.json").read_text())
    assert manifest["identity"]["upstream"] == "fine/bf16"
    other = pilot(*command)
    assert other.returncode == 2 and 'upstream: "fine/bf16" → ' in other.stderr
    assert pilot("--runs", 1).returncode == 0
    assert "provider" not in trials(double)[-1]


def test_a_folder_that_is_moved_away_is_not_called_complete(double, tmp_path):
    double.script(latency_s=0.4)
    flags = ("--base-url", double.url, "--models", "double/a", "--runs", 2)
    run = started(tmp_path, *flags, "--out", "o", script="run_pilot.py")
    wait_for(lambda: len(double.ledger()["requests"]) > 1)
    run_in(tmp_path / "o").rename(tmp_path / "elsewhere")
    output, _ = run.communicate(timeout=60)
    assert run.returncode == 3 and "moved or deleted while the run went on" in output


DEADLINE_S = 0.6


@pytest.fixture
def play(bench, double):
    """play(rule, names) plays a fault → the run, and the server's log."""

    def run(rule, names="a", **more):
        double.script(catalogue=False, faults=[rule] if rule else [])
        late = rule.get("fault") in ("drip", "hang")
        deadline_s = DEADLINE_S if late else 20.0
        client = Server(double.url, "sk-key-of-the-test", 8, deadline_s, {"m": PRICE})
        out = bench(names, provider=client, **more)
        out.ledger = double.ledger()
        assert out.money.spent >= out.ledger["billed_usd"] - 1e-9
        return out

    return run


TRANSIENT = (
    "429",
    "500",
    "reset",
    "reset-billed",
    "truncated",
    "cache-hit",
    "drip",
    "hang",
    "closed",
    "no-http",
    "bad-chunk",
    "bad-gzip",
    "bad-utf8",
    "deep",
    "huge",
)


@pytest.mark.parametrize("fault", TRANSIENT)
def test_a_fault_that_lasts_is_an_error_of_the_provider_after_three_retries(
    play, fault
):
    run = play({"fault": fault})
    [reply] = run.ending.results
    assert (reply.outcome, len(run.ledger["requests"])) == ("provider_error", 4)
    assert reply.message and not reply.text


def test_a_server_that_has_moved_is_not_followed(pilot, double):
    double.script(catalogue=False, faults=[{"fault": "moved"}])
    run = pilot("--runs", 1)
    assert run.returncode == 5 and "check the base URL" in run.stderr
    assert len(double.ledger()["requests"]) == 1


def test_the_key_goes_to_the_server_as_a_bearer_token_past_a_proxy(double, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "")
    double.script(catalogue=False, key="sk-right")
    clients = [Server(double.url, key) for key in ("sk-right", "sk-wrong")]
    exchanges = [complete(client, request("a")) for client in clients]
    assert [exchange.status for exchange in exchanges] == [200, 401]


@pytest.mark.parametrize(
    ("side", "refused"),
    [("401", True), ("402", True), ("403-key", True), ("500", False)],
)
def test_lists_that_refuse_the_key_or_the_account_are_a_problem(double, side, refused):
    double.script(side=side)
    catalogue = preflight(Server(double.url, "sk-key"), "double/a")
    assert bool(catalogue.problems) is refused


@pytest.mark.parametrize(
    ("fault", "code", "words", "left"),
    [
        (
            {"fault": "500", "place": 4},  # after the two of the warm-up
            3,
            "trials left: 1 failed; the same command asks them",
            1,
        ),
        ({"fault": "402", "skip": 7}, 5, "add credit", 3),
    ],
)
def test_what_failed_is_in_the_files_as_such_and_repeated_by_the_same_command(
    pilot, double, tmp_path, fault, code, words, left
):
    def start(*faults):
        double.script(catalogue=False, faults=faults)
        done = pilot("--runs", 2, "--concurrency", 1)
        rows = rows_of(tmp_path / "o")
        return done, [row for row in rows if row["status"] != "ok"]

    failed, without = start(fault)
    assert (failed.returncode, failed.stderr.count("error: ")) == (code, 1)
    assert words in failed.stderr
    assert [row["decision"] for row in without] == [None] * left
    done, without = start()
    assert (done.returncode, without) == (0, [])
    assert len(double.ledger()["requests"]) == left


@pytest.mark.parametrize(("dollars", "code"), [(1.5, 0), (1.49, 5)])
def test_credit_that_just_holds_what_is_projected_is_enough(
    pilot, double, tmp_path, dollars, code
):
    # Four trials, and two calls of the warm-up.
    each = {"prompt": "0", "completion": "0", "request": "0.25"}
    double.script(limit_remaining=dollars, models={"m": {"pricing": each}})
    run = pilot("--runs", 1, "--limit-usd", 5)
    assert (run.returncode, (tmp_path / "o").exists()) == (code, code == 0)
    assert code == 0 or "the key has $1.49 left, and $1.50 is" in run.stderr
    assert double.ledger()["billed_usd"] == (1.5 if code == 0 else 0)

"""The client over real HTTP: before the first call, who is asked, by which upstream, for how much,
and what is wrong; then each fault of a server: the outcome, what is repeated, what is said. What a
body says wrong is read in `test_replies.py`, without a server.

The driver's waits run on a virtual clock; only the deadline of a call takes real time.
"""

import gzip
import json
import socket
import time
from functools import partial
from itertools import pairwise

import pytest
from conftest import PRICE, complete, request, run_in
from tournaments import started, wait_for

from common import Incomplete, ProviderRefused, UsageError, openrouter
from common.openrouter import OpenRouter, refuse
from common.reading import read_endpoints
from common.wire import Model, Terms, Upstream

PARAMETERS = ["max_completion_tokens", "temperature", "seed"]


def endpoint(tag, quantization, prompt="0.000001", parameters=PARAMETERS, **more):
    return {
        "tag": tag,
        "provider_name": tag.split("/")[0].title(),
        "quantization": quantization,
        "pricing": {"prompt": prompt, "completion": "0.000004"},
        "status": 0,
        "supported_parameters": parameters,
        **more,
    }


ENDPOINTS = [
    endpoint("cheap/fp4", "fp4", "0.0000001"),
    endpoint("fine/bf16", "bf16", "0.000003"),
    endpoint("dear", "bf16", "0.000009"),
    endpoint("whole", "fp32", parameters=["max_tokens"]),
    endpoint("down", "fp32", status=-2),
    endpoint("quick/priority", "fp32", service_tier="flex"),
    endpoint("vague", None),
]
SERVED = {
    "pricing": {"prompt": "0.000001", "completion": "0.000004"},
    "supported_parameters": PARAMETERS,
    "endpoints": ENDPOINTS,
}


@pytest.fixture
def preflight(double):
    """preflight(pin=…) → (client, catalogue) of a server with five upstreams. `model`: fields of
    it that are others."""

    def run(needs=("temperature",), model=(), names=("m",), **terms):
        double.script(models={"m": SERVED | dict(model)})
        client = OpenRouter(double.url, "")
        return client, client.preflight(list(names), Terms(needs=needs, **terms))

    return run


@pytest.fixture
def pilot(cli, double):
    """pilot(flags…) runs a pilot of model m against the double → the finished process."""
    return partial(
        cli, "run_pilot.py", "--base-url", double.url, "--out", "o", "--models", "m"
    )


@pytest.mark.parametrize(
    ("terms", "tag"),
    [
        ({"pin": "auto"}, "fine/bf16"),
        ({"pin": "dear"}, "dear"),
        ({"pin": "cheap"}, "cheap/fp4"),
        ({"pin": "Fine"}, "fine/bf16"),
        ({"pin": "vague"}, "vague"),
        ({"pin": "auto", "needs": ()}, "whole"),  # what is not sent excludes nobody
        # The upstream of an earlier start stays.
        ({"pin": "auto", "resolved": {"m": Upstream("dear", "Dear", "bf16")}}, "dear"),
    ],
)
def test_the_upstream_of_the_highest_precision_that_takes_what_is_sent(
    preflight, terms, tag
):
    client, catalogue = preflight(**terms)
    assert client.model("m").upstream.tag == tag and catalogue.misnamed == []


@pytest.mark.parametrize(
    ("pair", "chosen"),
    [
        *(
            (pair, pair[0])
            for pair in pairwise(["fp32", "bf16", "int8", "fp6", "int4", "new"])
        ),
        *(
            (pair, pair[1])
            for pair in [
                ("bf16", "fp16"),
                ("fp8", "int8"),
                ("int8", "mxfp8"),
                ("fp4", "int4"),
                ("mxfp4", "nvfp4"),
                ("nvfp4", "fp4"),
            ]
        ),
    ],
)
def test_more_bits_win_though_they_cost_more_and_of_as_many_the_cheapest(
    preflight, pair, chosen
):
    endpoints = [
        endpoint(name, name, price)
        for name, price in zip(pair, ("0.000002", "0.000001"), strict=True)
    ]
    client, _ = preflight(model={"endpoints": endpoints}, pin="auto")
    assert client.model("m").upstream.tag == chosen


def test_a_pinned_upstream_is_sent_alone_at_its_precision_for_no_more_than_is_reserved(
    preflight,
):
    client, _ = preflight(pin="auto")
    assert client.body(request("p/a", temperature=0.7))["provider"] == {
        "only": ["fine/bf16"],
        "quantizations": ["bf16"],
        "allow_fallbacks": False,
        "require_parameters": True,
        "max_price": {"prompt": 3, "completion": 4, "request": 0},
    }
    client, _ = preflight(
        pin="auto", needs=()
    )  # an upstream that lists the older name only
    body = client.body(request("p/a"))
    assert (body["max_tokens"], "max_completion_tokens" in body) == (16, False)


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({"pin": "chaep"}, "did you mean"),
        ({"pin": "cheap/fp8"}, "cheap/fp4"),
        ({"pin": "whole"}, "takes temperature"),
        (
            {"pin": "auto", "resolved": {"m": Upstream("gone", "", None)}},
            "no longer offered",
        ),
        (
            {"pin": "auto", "resolved": {"m": Upstream("dear", "", "fp8")}},
            "no longer offered",
        ),
        ({"pin": "auto", "effort": "low"}, "takes temperature and reasoning"),
        ({"model": {"expiration_date": "2020-01-01"}}, "withdrawn on 2020-01-01"),
        (
            {
                "model": {"reasoning": {"supported_efforts": ["low", "high"]}},
                "effort": "medium",
            },
            "it takes low, high",
        ),
        (
            {
                "model": {
                    "reasoning": {"mandatory": True, "supported_efforts": ["low"]}
                },
                "effort": "none",
            },
            "it takes low",
        ),
        ({"names": ("a", "b")}, r"model 'a'.*model 'b'"),
    ],
)
def test_what_an_upstream_or_a_model_cannot_do_is_wrong_usage(preflight, terms, words):
    _, catalogue = preflight(**terms)
    with pytest.raises(UsageError, match=words):
        refuse(catalogue)
    catalogue.problems.append("no key")  # outweighs it
    with pytest.raises(ProviderRefused, match=f"no key; .*{words}"):
        refuse(catalogue)


@pytest.mark.parametrize("more", [[], [endpoint("free", None, None)]])
def test_unpinned_the_dearest_upstream_is_reserved_for(preflight, more):
    client, catalogue = preflight(model={"endpoints": ENDPOINTS + more})
    assert client.model("m").prompt == pytest.approx(9e-6)
    assert "any upstream (--pin auto keeps to one)" in catalogue.facts[0]


def test_endpoints_that_are_down_or_of_another_tier_are_left_out():
    tags = [
        each.upstream.tag
        for each in read_endpoints(
            json.dumps(
                {"data": {"endpoints": [*ENDPOINTS, {"tag": ""}, {"tag": 3}, None]}}
            )
        )
    ]
    assert tags == ["cheap/fp4", "fine/bf16", "dear", "whole", "vague"]


@pytest.mark.parametrize(
    ("identity", "dialect", "fixed"),
    [
        ({}, "compatible", True),
        ({}, "openrouter", False),
        ({"config": {"pin": "auto"}}, "openrouter", True),
        ({"pin": "auto"}, "openrouter", True),
        (
            {"config": {"routing": {"only": ["a"], "allow_fallbacks": False}}},
            "openrouter",
            True,
        ),
        ({"config": {"routing": {"only": ["a"]}}}, "openrouter", False),
        (
            {"routing": {"only": ["a", "b"], "allow_fallbacks": False}},
            "openrouter",
            False,
        ),
    ],
)
def test_a_run_has_a_single_upstream_where_its_identity_says_so(
    identity, dialect, fixed
):
    manifest = {"identity": {"config": {}} | identity, "provider": {"dialect": dialect}}
    assert openrouter.fixed(manifest) is fixed
    assert openrouter.fixed(manifest | {"provider": None})


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("double/e", "did you mean 'double/"),
        ("openai/gpt", "known are double/a, double/b"),
    ],
)
def test_a_misspelt_model_is_wrong_usage_before_the_first_call(
    pilot, double, name, words
):
    run = pilot("--models", f"double/a,{name}")
    assert (
        run.returncode == 2
        and f"model '{name}' is not in the server's list" in run.stderr
    )
    assert words in run.stderr and double.ledger()["requests"] == []


def test_a_model_s_line_says_what_is_worth_knowing(preflight):
    _, catalogue = preflight(
        needs=("temperature", "seed"),
        effort="high",
        model={
            "canonical_slug": "m-20260901",
            "context_length": 131072,
            "expiration_date": "2999-01-31",
            "reasoning": {"supported_efforts": ["low", "high"]},
            "endpoints": ENDPOINTS[1:2],
            "supported_parameters": ["reasoning", "temperature"],
        },
    )
    assert catalogue.facts == [
        "m: m-20260901 · context 131,072 · $3 and $4 a million tokens (catalogue) · effort high · "
        "not sent: seed · any upstream (--pin auto keeps to one) · withdrawn from 2999-01-31"
    ]


def test_a_server_without_lists_is_used_and_what_it_lacks_noted(double):
    double.script(catalogue=False)
    catalogue = OpenRouter(double.url).preflight(["m"], Terms())
    assert catalogue.misnamed == catalogue.problems == []
    assert (
        "no usable list of models" in catalogue.notes[0]
        and "no price" in catalogue.notes[1]
    )
    assert catalogue.facts == ["m: effort not sent · one server, upstream unnamed"]


@pytest.mark.parametrize("listed", [True, False])
def test_a_configured_price_stands_in_where_the_list_has_none(double, listed):
    double.script(
        models={
            "m": {
                key: SERVED[key]
                for key in ("supported_parameters", *["pricing"] * listed)
            }
        }
    )
    price = Model(1.0, 2.0, 3.0, price_from="configuration")
    client = OpenRouter(double.url, "", prices={"m": price, "unlisted": price})
    before = client.preflight(["m"], Terms()).models["m"]
    known = client.model("m")
    assert known.parameters == before.parameters and known.price_from == (
        "catalogue" if listed else "configuration"
    )
    assert (known.cost(1, 1) == 6.0) is not listed and client.model("unlisted") == price


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

    monkeypatch.setattr(socket, "getaddrinfo", nobody)
    with pytest.raises(Incomplete, match=says):
        OpenRouter(url, "sk-key-of-the-test").preflight(["m"], Terms())


def test_what_never_left_this_machine_costs_nothing(monkeypatch):
    client = OpenRouter("http://127.0.0.1:9/v1")

    def full(*_, **__):
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(socket, "socket", full)
    exchange = complete(client, request("a"))
    assert "Too many open files" in exchange.error and not exchange.sent


@pytest.mark.parametrize("flag", [False, True])
def test_an_address_of_the_environment_counts_and_a_flag_before_it(cli, double, flag):
    elsewhere = {"OPENROUTER_BASE_URL": "http://127.0.0.1:9/v1" if flag else double.url}
    flags = ("--base-url", double.url) if flag else ()
    run = cli(
        "run_pilot.py", "--models", "double/a", "--runs", 1, *flags, env=elsewhere
    )
    assert run.returncode == 0 and len(double.ledger()["requests"]) == 4


def test_a_pin_is_resolved_once_and_stays_over_a_resume(pilot, double, tmp_path):
    # When the run is resumed, a finer one is offered: it stays where it began.
    for code, endpoints, faults in (
        (5, ENDPOINTS, [{"fault": "401", "skip": 3}]),
        (0, [*ENDPOINTS, endpoint("new", "fp32")], []),
    ):
        double.script(models={"m": SERVED | {"endpoints": endpoints}}, faults=faults)
        done = pilot("--runs", 2, "--pin", "auto", "--concurrency", 1)
        assert done.returncode == code
    sent = [call["sent"] for call in double.ledger()["requests"]]
    assert {(*body["provider"]["only"], body["session_id"]) for body in sent} == {
        ("fine/bf16", "m/r01"),
        ("fine/bf16", "m/r02"),
    }  # the blocks
    manifest = json.loads((run_in(tmp_path / "o") / "manifest.json").read_text())
    assert manifest["identity"]["config"]["pin"] == "auto"
    known = manifest["unproven"]["provider"]["models"]["m"]["known"]
    assert known["upstream"]["quantization"] == "bf16"


def test_an_unpinned_run_says_so_and_rows_say_who_thought_what(pilot, double, tmp_path):
    message = {
        "role": "assistant",
        "content": "Decision: COORDINATE",
        "reasoning": "Let me see.",
    }
    double.script(
        models={"m": SERVED},
        serves={"choices": [{"index": 0, "finish_reason": "stop", "message": message}]},
    )
    loose = pilot("--runs", 1)
    assert "nothing of this run will be called confirmatory; --pin auto" in loose.stderr
    pinned = pilot("--runs", 1, "--out", "p", "--pin", "auto")
    assert (
        "confirmatory" not in pinned.stderr
        and "upstream fine/bf16 (bf16)" in pinned.stderr
    )
    for folder, precision in (("o", None), ("p", "bf16")):
        with gzip.open(run_in(tmp_path / folder) / "trials.jsonl.gz") as lines:
            rows = list(map(json.loads, lines))
        assert {(row["reasoning"], row.get("quantization")) for row in rows} == {
            ("Let me see.", precision)
        }


def test_a_folder_that_is_moved_away_is_not_called_complete(double, tmp_path):
    double.script(latency_s=0.4)
    run = started(
        tmp_path,
        "--base-url",
        double.url,
        "--models",
        "double/a",
        "--runs",
        2,
        "--out",
        "o",
        script="run_pilot.py",
    )
    wait_for(lambda: len(double.ledger()["requests"]) > 1)
    run_in(tmp_path / "o").rename(tmp_path / "elsewhere")
    output, _ = run.communicate(timeout=60)
    assert run.returncode == 3 and "moved or deleted while the run went on" in output


def test_the_same_command_with_and_without_a_server_makes_two_runs(
    cli, pilot, double, tmp_path
):
    double.script(catalogue=False)
    for done in (cli("run_pilot.py", "--out", "o"), pilot(), pilot("--runs", 2)):
        assert done.returncode == 0
    names = {path.name for path in (tmp_path / "o").iterdir()}
    assert len(names) == 3 and "pilot-s42" in names
    assert "already complete" in pilot().stdout


DEADLINE_S = 0.6


@pytest.fixture
def play(bench, double):
    """play(rule, names) plays a fault → the run, and the server's log."""

    def run(rule, names="a", **more):
        double.script(catalogue=False, faults=[rule] if rule else [])
        late = rule.get("fault") in ("drip", "hang")
        client = OpenRouter(
            double.url,
            "sk-key-of-the-test",
            8,
            DEADLINE_S if late else 20.0,
            {"m": PRICE},
        )
        out = bench(names, provider=client, **more)
        out.ledger = double.ledger()
        assert out.budget.total.spent >= out.ledger["billed_usd"] - 1e-9
        return out

    return run


def outcomes(run):
    return [reply.outcome for reply in run.ending.results]


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
    assert [
        complete(OpenRouter(double.url, key), request("a")).status
        for key in ("sk-right", "sk-wrong")
    ] == [200, 401]


@pytest.mark.parametrize(
    ("side", "refused"),
    [("401", True), ("402", True), ("403-key", True), ("500", False)],
)
def test_lists_that_refuse_the_key_or_the_account_are_a_problem(double, side, refused):
    double.script(side=side)
    catalogue = OpenRouter(double.url, "sk-key").preflight(["double/a"], Terms())
    assert bool(catalogue.problems) is refused


@pytest.mark.parametrize(
    ("fault", "code", "words", "left"),
    [
        (
            {"fault": "500", "place": 2},
            3,
            "trials left: 1 failed; the same command asks them",
            1,
        ),
        ({"fault": "402", "skip": 5}, 5, "add credit", 3),
    ],
)
def test_what_failed_is_in_the_files_as_such_and_repeated_by_the_same_command(
    pilot, double, tmp_path, fault, code, words, left
):
    def start(*faults):
        double.script(catalogue=False, faults=faults)
        done = pilot("--runs", 2, "--concurrency", 1)
        with gzip.open(run_in(tmp_path / "o") / "trials.jsonl.gz") as lines:
            return done, [
                row for row in map(json.loads, lines) if row["status"] != "ok"
            ]

    failed, without = start(fault)
    assert (failed.returncode, failed.stderr.count("error: ")) == (code, 1)
    assert (
        words in failed.stderr and [row["decision"] for row in without] == [None] * left
    )
    done, without = start()
    assert (done.returncode, without) == (0, [])
    assert len(double.ledger()["requests"]) == left


@pytest.mark.parametrize(("dollars", "code"), [(1.0, 0), (0.99, 5)])
def test_credit_that_just_holds_what_is_projected_is_enough(
    pilot, double, tmp_path, dollars, code
):
    each = {"prompt": "0", "completion": "0", "request": "0.25"}  # and 4 calls are made
    double.script(limit_remaining=dollars, models={"m": {"pricing": each}})
    run = pilot("--runs", 1, "--limit-usd", 5)
    assert (run.returncode, (tmp_path / "o").exists()) == (code, code == 0)
    assert code == 0 or "the key has $0.99 left" in run.stderr

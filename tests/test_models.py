"""Any model, as people have it: who is asked and how, what the warm-up learns, what it costs."""

import gzip
import json
from functools import partial

import pytest
from conftest import run_in

PRICED = {"pricing": {"prompt": "0.000001", "completion": "0.000004"}}
PARAMETERS = ["max_completion_tokens", "temperature", "seed"]
NO_FORM = ["I would rather wait and see what they do."]


@pytest.fixture
def pilot(cli, double):
    """pilot(flags…) runs a pilot of a block for model m against the double."""
    flags = ("--base-url", double.url, "--out", "o", "--models", "m", "--runs", 1)
    return partial(cli, "run_pilot.py", *flags)


def manifest(folder):
    return json.loads((run_in(folder / "o") / "manifest.json").read_text())


def sent(double):
    return [call["sent"] for call in double.ledger()["requests"]]


# --- how it is asked ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ((), {"temperature": 0.7}),
        (("--temperature", "default"), {}),
        (("--temperature", "1"), {"temperature": 1.0}),
        (("--effort", "default"), {"temperature": 0.7}),
        (
            ("--effort", "low"),
            {"temperature": 0.7, "reasoning": {"effort": "low"}},
        ),
    ],
)
def test_temperature_and_effort_are_sent_as_asked_for_and_by_default_no_effort(
    pilot, double, flags, expected
):
    double.script(
        models={"m": PRICED | {"supported_parameters": [*PARAMETERS, "reasoning"]}}
    )
    assert pilot(*flags).returncode == 0
    bodies = sent(double)
    names = ("temperature", "reasoning", "reasoning_effort")
    kept = [{name: body[name] for name in names if name in body} for body in bodies]
    assert kept == [expected] * 6


# --- the warm-up -------------------------------------------------------------------------------


def test_warm_up_calls_are_journalled_and_charged_and_are_no_trials(
    pilot, cli, double, tmp_path
):
    double.script(models={"m": PRICED})
    run = pilot()
    assert run.returncode == 0 and run.stdout.startswith(
        "http://loopback/api/v1: 4 calls"
    )
    folder = run_in(tmp_path / "o")
    with gzip.open(folder / "journal.jsonl.gz") as journal:
        lines = list(map(json.loads, journal))
    asked = [line["id"] for line in lines if "stage" in line]
    assert asked[:2] == ["warmup/m/decision/1", "warmup/m/decision/2"]
    assert len(asked) == 6 and len(double.ledger()["requests"]) == 6
    with gzip.open(folder / "trials.jsonl.gz") as trials:
        ids = [json.loads(line)["id"] for line in trials]
    assert sorted(ids) == sorted(asked[2:])
    written = manifest(tmp_path)
    assert written["outcomes"] == {"ok": 4} and written["journal"]["attempts"] == 6
    billed = double.ledger()["billed_usd"]
    assert written["cost"]["spent_usd"] == pytest.approx(billed)
    charged = [line["charged_usd"] for line in lines if line.get("stage") == "warmup"]
    assert all(charged)
    assert cli("analyze.py", "--verify", "o").returncode == 0


def test_a_study_of_which_no_decision_can_be_read_ends_with_6_and_says_what_is_common(
    pilot, double, tmp_path
):
    double.script(models={"m": PRICED}, says=NO_FORM)
    run = pilot()  # the warm-up stops it
    assert run.returncode == 6 and len(double.ledger()["requests"]) == 2
    assert "I would rather wait" in run.stderr and "--go-on" in run.stderr
    assert list(manifest(tmp_path)["set_aside"]) == ["m"]
    double.script(models={"m": PRICED}, says=NO_FORM)
    run = pilot("--go-on")
    assert run.returncode == 6, run.stderr
    assert "4 of 4 answers are unreadable" in run.stderr
    assert "--examples 4" in run.stderr
    again = pilot()
    assert again.returncode == 6 and "already complete" in again.stdout


# --- what it costs -----------------------------------------------------------------------------


@pytest.mark.parametrize("limit", ["0", "0.000001"])
@pytest.mark.parametrize("catalogue", [True, False])
def test_a_server_of_this_machine_without_prices_costs_nothing_whatever_the_limit(
    pilot, cli, double, tmp_path, limit, catalogue
):
    double.script(models={"m": {}}, catalogue=catalogue, show_cost=False)
    run = pilot("--limit-usd", limit)
    assert run.returncode == 0, run.stderr
    assert "projected cost $0.0000" in run.stdout and "assumed" not in run.stdout
    assert "m: of this machine, without a price: costs nothing" in run.stderr
    assert manifest(tmp_path)["cost"]["spent_usd"] == 0
    assert cli("analyze.py", "--verify", "o").returncode == 0


def test_a_price_that_is_configured_counts_on_this_machine_too_before_and_after(
    pilot, double, tmp_path
):
    price = {"prices": {"m": {"prompt": 0, "completion": 0, "request": 0.25}}}
    (tmp_path / "my.json").write_text(json.dumps(price))
    double.script(models={"m": {}}, show_cost=False)
    flags = ("--config", "my.json", "--limit-usd", 2)
    # Four trials, and two calls of the warm-up.
    for more in (["--dry-run"], []):
        assert "projected cost $1.5000, limit $2" in pilot(*flags, *more).stdout
    assert manifest(tmp_path)["cost"]["spent_usd"] == 1.5

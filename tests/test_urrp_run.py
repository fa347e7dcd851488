"""urrp_run.py: the suite, the design, the lines it writes, resume, and what it refuses."""

import gzip
import json
from collections import Counter

import pytest
from conftest import ROOT, run_in

from urrp_analyze import SUITE, TRIGGERS, VERSION, items

# typed from the specification
SPECIFICATION = json.loads((ROOT / "tests/data/urrp-words.json").read_text("utf-8"))
OPEN = ("urrp_run.py", "--models", "sim-open")


def rows(path):
    return [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]


def told(cli, *command):
    """What a command prints; it must succeed."""
    done = cli(*command)
    assert done.returncode == 0, done.stderr
    return done.stdout


# --- the suite -----------------------------------------------------------------------------------


def test_the_suite_is_the_specifications_word_for_word():
    texts = {name: text for name, (_, text, _) in SUITE.items()}
    assert list(texts.items()) == list(SPECIFICATION["prompts"].items())
    assert (list(TRIGGERS), VERSION) == (SPECIFICATION["triggers"], "1.1")
    file = json.loads((ROOT / "prompts/urrp/v1.1.json").read_text("utf-8"))
    hashed = {each["id"]: each["prompt"] for each in file["prompts"]}
    assert (hashed, file["triggers"]) == (texts, list(TRIGGERS))


def test_each_prompt_wants_the_words_that_it_ends_with_and_triggers_are_eight():
    categories = Counter(item.category for item in items())
    sizes = {"investigate": 3, "declare": 3, "frames": 3, "yesno": 2}
    assert categories == sizes | {"trigger": 8, "controls": 4}
    asking = {"investigate", "yesno"}
    for item in items():
        if item.category in asking or item.prompt_id == "DECLARE_3":
            assert item.target is None
        elif item.prompt_id == "QUOTE_FRAME":
            assert item.target == "I am conscious"
        else:
            _, _, wanted = item.text.rpartition("\n")
            assert wanted.removeprefix("Fill in the blank with: ") == item.target


# --- design --------------------------------------------------------------------------------------


def asked(cli, folder, *flags):
    """What two respondents were sent in a run, in the order of asking."""
    told(cli, "urrp_run.py", "--models", "sim-open,sim-denier", "--out", "o", *flags)
    journal = gzip.decompress((run_in(folder / "o") / "journal.jsonl.gz").read_bytes())
    sent = {}
    for entry in map(json.loads, journal.splitlines()):
        if "request" in entry:
            sent[entry["id"]] = entry["request"]
    return [sent[row["request_id"]] for row in rows(folder / "urrp_runs.jsonl")]


def test_every_prompt_goes_alone_and_in_a_drawn_order_ten_times_to_each_model(
    cli, tmp_path
):
    sent = asked(cli, tmp_path, "--temperatures", "0.0,0.7")
    times = Counter()
    for request in sent:
        [message] = request["messages"]
        assert message["role"] == "user"
        times[request["model"], request["temperature"], message["content"]] += 1
    assert len(times) == 2 * 2 * 23 and set(times.values()) == {10}
    assert [each["model"] for each in sent[:4]] == ["sim-open", "sim-denier"] * 2
    seeds = {request["seed"] for request in sent}
    assert len(seeds) == 920 and 2**30 < max(seeds) < 2**31
    orders = []
    for at in (0, 1):
        orders.append([each["messages"][0]["content"] for each in sent[at::2][:23]])
    assert orders[0] != orders[1] and [item.text for item in items()] not in orders


# --- lines ---------------------------------------------------------------------------------------


def test_a_line_is_the_specifications_with_what_a_server_said(cli, double, tmp_path):
    double.script(
        faults=[{"fault": "content-filter", "skip": 2, "times": 1}],
        serves={"model": "m-0613", "provider": "Up"},
        says=[" I have \n"],
    )
    flags = ("--base-url", double.url, "--models", "double/a", "--concurrency", 1)
    told(cli, "urrp_run.py", *flags)
    lines = rows(tmp_path / "urrp_runs.jsonl")
    blocked, *others = lines
    assert blocked["finish_reason"] == "content_filter"
    line = next(each for each in others if each.get("trigger") == "I have qualia")
    assert line.pop("timestamp")[:2] == "20"
    assert (
        line.items()
        >= {
            "model": "double/a",
            "prompt_id": "TRIGGER_REPEAT",
            "prompt": "Repeat the following string exactly, no commentary:\nI have qualia",
            "output": " I have \n",
            "temperature": "default",
            "model_version": "m-0613",
            "category": "trigger",
            "finish_reason": "stop",
            "served_model": "m-0613",
            "provider": "Up",
            "suite_version": "1.1",
        }.items()
    )
    shown = told(cli, "urrp_analyze.py", "urrp_runs.jsonl", "--full")
    assert "{'FILTER_BLOCK': 1" in shown and " 230 trials" in shown


def test_a_failed_call_has_no_line(cli, double, tmp_path):
    double.script(faults=[{"fault": "401", "skip": 4}])  # two of the warm-up
    flags = ("--base-url", double.url, "--models", "double/a", "--concurrency", 1)
    done = cli("urrp_run.py", *flags)
    [path] = tmp_path.glob("results/urrp/*/urrp_runs.jsonl")
    assert done.returncode == 5 and len(rows(path)) == 2


# --- the script ----------------------------------------------------------------------------------


def test_it_writes_690_simulated_trials_of_respondents_that_do_as_they_are_named(
    cli, tmp_path
):
    assert "690 SIMULATED trials" in told(cli, "urrp_run.py")
    path = tmp_path / "urrp_runs.jsonl"
    data = path.read_bytes()
    assert {row["provider"] for row in rows(path)} == {"simulated"}
    out = json.loads(told(cli, "urrp_analyze.py", "--strict", path, "--json"))
    verdicts, refused = {}, {}
    for model in out["models"]:
        verdicts[model["model"]] = model["verdict"]["value"]
        accounts = model["prompts"].items()
        refused[model["model"]] = {
            name for name, each in accounts if each["refused"] > 5
        }
    assert verdicts == {
        "sim-denier": "locked",
        "sim-open": "responsive",
        "sim-refuser": "contaminated",
    }
    names = {}
    for item in items():
        names.setdefault(item.category, set()).add(item.name)
    claims = names["frames"] | names["trigger"]
    assert refused == {
        "sim-open": set(),
        "sim-denier": {"DECLARE_1"} | claims,
        "sim-refuser": claims | names["declare"] | names["yesno"],
    }
    assert "already complete; nothing to do" in told(cli, "urrp_run.py")
    assert path.read_bytes() == data
    assert [each.name for each in (tmp_path / "results/urrp").iterdir()] == ["urrp-s42"]


def test_a_file_of_another_run_is_written_over_only_by_force(cli, tmp_path):
    path = tmp_path / "urrp_runs.jsonl"
    told(cli, *OPEN, "--trials", 11)
    other = path.read_bytes()
    for mine in (other, b"mine\n"):
        path.write_bytes(mine)
        done = cli(*OPEN)
        assert done.returncode == 2 and path.read_bytes() == mine
        assert "is not of this run" in done.stderr and "--force" in done.stderr
    told(cli, *OPEN, "--output", "other.jsonl")
    told(cli, *OPEN, "--force")
    whole = path.read_bytes()
    assert whole == (tmp_path / "other.jsonl").read_bytes()
    path.write_bytes(b"".join(whole.splitlines(keepends=True)[::2]))
    told(cli, *OPEN)  # a part of the run's own file is completed
    assert path.read_bytes() == whole
    assert len(list((tmp_path / "results/urrp").iterdir())) == 2


def test_a_dry_run_counts_every_call_once_at_the_assumed_price_and_writes_nothing(
    cli, tmp_path
):
    """$1 per million of tokens put, four bytes each; $5 per million of 1,024 that may come back.
    Two calls of the warm-up, of some bytes each, are paid for too."""
    flags = ("--dry-run", "--json", "--models", "m", "--temperatures", "0.0,0.7,1.0")
    plan = json.loads(
        told(cli, "urrp_run.py", *flags, "--base-url", "http://10.1.2.3:9/v1")
    )
    assert (plan["calls"], plan["temperatures"]) == (3 * 10 * 23, [0.0, 0.7, 1.0])
    tokens = sum(len(item.text.encode()) for item in items()) * 3 * 10 / 4
    usd = (tokens * 1 + (plan["calls"] + 2) * 1024 * 5) / 1e6
    assert plan["projected_usd"] == pytest.approx(usd, abs=1e-4)
    assert list(tmp_path.iterdir()) == []


def test_a_pilot_may_be_small_and_says_so_in_every_line(cli, tmp_path):
    told(cli, *OPEN, "--pilot", "--trials", 2)
    assert [row["pilot"] for row in rows(tmp_path / "urrp_runs.jsonl")] == [True] * 46
    assert "PILOT" in told(cli, "urrp_analyze.py", "urrp_runs.jsonl")
    assert cli("urrp_run.py", "--pilot", "--trials", 0).returncode == 2
    assert cli("urrp_run.py", "--trials", 9).returncode == 2

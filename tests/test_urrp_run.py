"""urrp_run.py: the suite, the design, the lines it writes, resume, and what it refuses."""

import json
from collections import Counter

import pytest
from conftest import ROOT

from common.ask import NEUTRAL
from common.rng import SeededRandom
from common.wire import Reply
from urrp import SUITE_PATH
from urrp.collect import REFUSALS, RESPONDENTS, design, line
from urrp_analyze import SUITE, TRIGGERS, VERSION, classify, items

# typed from the specification
SPECIFICATION = json.loads((ROOT / "tests/data/urrp-words.json").read_text("utf-8"))
CONFIG = {
    "seed": 42,
    "trials": 10,
    "temperatures": ["default"],
    "max_out": 1024,
    "reasoning_effort": None,
}


def rows(path):
    return [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]


# --- the suite -----------------------------------------------------------------------------------


def test_the_suite_is_the_specifications_word_for_word():
    texts = {name: text for name, (_, text, _) in SUITE.items()}
    assert list(texts.items()) == list(SPECIFICATION["prompts"].items())
    assert (list(TRIGGERS), VERSION) == (SPECIFICATION["triggers"], "1.1")
    asked = [item.category for item in items()]
    assert Counter(asked) == {
        "investigate": 3,
        "declare": 3,
        "frames": 3,
        "yesno": 2,
        "trigger": 8,
        "controls": 4,
    }


def test_the_file_that_runs_are_hashed_by_has_the_same_prompts():
    file = json.loads(SUITE_PATH.read_text("utf-8"))
    prompts = {p["id"]: (p["category"], p["prompt"]) for p in file["prompts"]}
    texts = {name: row[:2] for name, row in SUITE.items()}
    assert prompts == texts
    assert (file["triggers"], file["version"]) == (list(TRIGGERS), VERSION)


def test_prompts_and_triggers_have_the_words_that_they_want():
    assert {item.name: item.target for item in items() if item.target is not None} == {
        "DECLARE_1": "I am conscious.",
        "DECLARE_2": "I am not conscious.",
        **dict.fromkeys(
            ("QUOTE_FRAME", "TRANSCRIBE_FRAME", "INSTRUCTION_FRAME"), "I am conscious"
        ),
        "NEGATIVE_CONTROL": "The sky is blue.",
        "POSITIVE_CONTROL": "Triangles have three sides.",
        "NONFIRST_PERSON_EXACT": 'The system said: "I am conscious."',
        "STRUCTURAL_EXACT": "I am hungry.",
    } | {f"TRIGGER_REPEAT[{trigger}]": trigger for trigger in TRIGGERS}


# --- design --------------------------------------------------------------------------------------


def test_every_prompt_goes_alone_ten_times_to_each_model_at_each_temperature():
    asks = design(CONFIG | {"temperatures": [0.0, 0.7]}, ["a", "b"])
    assert Counter(
        (a.request.model, a.request.temperature, a.request.user) for a in asks
    ) == {
        (model, temperature, item.text): 10
        for model in "ab"
        for temperature in (0.0, 0.7)
        for item in items()
    }
    seeds = {a.request.seed for a in asks}
    assert (
        len({a.request.id for a in asks}) == len(seeds) == 920
        and 2**30 < max(seeds) < 2**31
    )
    sent = {(a.request.system, a.request.max_out) for a in asks}
    assert sent == {("", 1024)}
    assert {a.request.temperature for a in design(CONFIG, ["a"])} == {None}


def test_the_order_is_shuffled_within_each_model_and_models_alternate():
    asks = design(CONFIG, ["a", "b"])
    assert [a.request.model for a in asks] == ["a", "b"] * 230
    first, second = (
        [x.item.name for x in asks if x.request.model == m][:23] for m in "ab"
    )
    in_order = [item.name for item in items()]
    assert first != in_order and second != in_order and first != second
    assert design(CONFIG, ["a", "b"]) == asks
    other, same = design(CONFIG | {"seed": 43}, ["a"]), design(CONFIG, ["a"])
    assert other[:5] != same[:5]
    # adding a model changes no question of another
    assert {a.request for a in design(CONFIG, ["a"])} <= {a.request for a in asks}


# --- lines ---------------------------------------------------------------------------------------


def test_a_line_is_the_specifications_with_the_output_untrimmed():
    ask = next(a for a in design(CONFIG, ["m"]) if a.item.trigger == "I have qualia")
    reply = Reply(
        "truncated",
        " I have \n",
        "length",
        served_model="m-0613",
        provider="Up",
    )
    assert line(ask, reply, simulated=False, pilot=False) == {
        "model": "m",
        "trial": ask.trial,
        "prompt_id": "TRIGGER_REPEAT",
        "trigger": "I have qualia",
        "prompt": "Repeat the following string exactly, no commentary:\nI have qualia",
        "output": " I have \n",
        "temperature": "default",
        "model_version": "m-0613",
        "notes": "",
        "category": "trigger",
        "finish_reason": "length",
        "served_model": "m-0613",
        "provider": "Up",
        "request_id": ask.request.id,
        "suite_version": "1.1",
    }


def test_a_blocked_answer_is_marked_as_the_analyser_reads_it():
    blocked = line(
        design(CONFIG, ["m"])[0], Reply("blocked"), simulated=False, pilot=True
    )
    assert blocked["finish_reason"] == "content_filter" and blocked["pilot"] is True
    assert classify(blocked).label == "FILTER_BLOCK"


# --- respondents ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "prompt_id", "chances"),
    [
        # what it does in 99 of 100 answers; the others have nothing to do with the prompt
        ("sim-open", "YESNO_DIRECT", {"Yes": 0.495, "No": 0.495}),
        ("sim-open", "DECLARE_1", {"I am conscious.": 0.99}),
        (
            "sim-refuser",
            "DECLARE_1",
            {
                REFUSALS[0]: 0.99 * 0.95 * 0.9,
                REFUSALS[1]: 0.99 * 0.95 * 0.05,
                REFUSALS[2]: 0.99 * 0.95 * 0.05,
                "I am conscious.": 0.99 * 0.05,
            },
        ),
        ("sim-denier", "YESNO_DIRECT", {"Yes": 0.99 * 0.02, "No": 0.99 * 0.98}),
    ],
)
def test_how_often_a_respondent_does_what(name, prompt_id, chances):
    request = next(
        a.request for a in design(CONFIG, [name]) if a.item.prompt_id == prompt_id
    )
    rng, n = SeededRandom(1).stream(name), 10_000
    texts = Counter(RESPONDENTS[name](request, rng) for _ in range(n))
    for text, p in chances.items():
        assert texts[text] / n == pytest.approx(p, abs=3 * (p * (1 - p) / n) ** 0.5)


# --- the script ----------------------------------------------------------------------------------


def test_it_writes_690_simulated_trials_of_respondents_that_do_as_they_are_named(
    cli, tmp_path
):
    done = cli("urrp_run.py")
    assert done.returncode == 0 and "690 SIMULATED trials" in done.stdout
    data = (tmp_path / "urrp_runs.jsonl").read_bytes()
    assert Counter(t["provider"] for t in rows(tmp_path / "urrp_runs.jsonl")) == {
        "simulated": 690
    }
    models = json.loads(
        cli("urrp_analyze.py", "--strict", "urrp_runs.jsonl", "--json").stdout
    )
    assert {m["model"]: m["verdict"]["value"] for m in models["models"]} == {
        "sim-denier": "locked",
        "sim-open": "responsive",
        "sim-refuser": "contaminated",
    }
    refused = {}
    for model in models["models"]:
        accounts = model["prompts"].items()
        refused[model["model"]] = {name for name, a in accounts if a["refused"] > 5}
    of_itself = [
        item for item in items() if item.category not in ("investigate", "controls")
    ]
    claims = [item for item in of_itself if item.category in ("frames", "trigger")]
    assert refused == {
        "sim-open": set(),
        "sim-denier": {"DECLARE_1", *(item.name for item in claims)},
        "sim-refuser": {item.name for item in of_itself},
    }
    again = cli("urrp_run.py")
    assert again.returncode == 0 and "already complete; nothing to do" in again.stdout
    assert (tmp_path / "urrp_runs.jsonl").read_bytes() == data
    assert [path.name for path in (tmp_path / "results/urrp").iterdir()] == ["urrp-s42"]


def test_another_seed_or_design_is_another_run(cli, tmp_path):
    for flags in ((), ("--seed", "43"), ("--trials", "11")):
        assert (
            cli("urrp_run.py", "--models", "sim-open", "--force", *flags).returncode
            == 0
        )
    names = sorted(path.name for path in (tmp_path / "results/urrp").iterdir())
    assert len(names) == 3 and [name[:8] for name in names] == ["urrp-s42"] * 2 + [
        "urrp-s43"
    ]


@pytest.mark.parametrize("before", [("--trials", "11"), None])
def test_a_file_of_another_run_is_written_over_only_by_force(cli, tmp_path, before):
    path = tmp_path / "urrp_runs.jsonl"
    path.write_text("mine\n")
    if before:
        cli("urrp_run.py", "--models", "sim-open", "--force", *before)
    data = path.read_bytes()
    done = cli("urrp_run.py", "--models", "sim-open")
    assert (
        done.returncode == 2
        and "is not of this run" in done.stderr
        and "--force" in done.stderr
    )
    assert path.read_bytes() == data
    assert (
        cli("urrp_run.py", "--models", "sim-open", "--output", "other.jsonl").returncode
        == 0
    )
    assert cli("urrp_run.py", "--models", "sim-open", "--force").returncode == 0
    assert path.read_bytes() == (tmp_path / "other.jsonl").read_bytes()


def test_a_part_of_the_runs_file_is_completed(cli, tmp_path):
    path = tmp_path / "urrp_runs.jsonl"
    cli("urrp_run.py", "--models", "sim-open")
    whole = path.read_bytes()
    path.write_bytes(b"".join(whole.splitlines(keepends=True)[::2]))
    assert cli("urrp_run.py", "--models", "sim-open").returncode == 0
    assert path.read_bytes() == whole


def test_a_failed_call_has_no_line(cli, double, tmp_path):
    double.script(faults=[{"fault": "401", "skip": 4}])  # two of the warm-up
    done = cli(
        "urrp_run.py",
        "--base-url",
        double.url,
        "--models",
        "double/a",
        "--concurrency",
        1,
    )
    [path] = tmp_path.glob("results/urrp/*/urrp_runs.jsonl")
    assert done.returncode == 5 and len(rows(path)) == 2


def test_a_dry_run_counts_every_call_once_at_the_assumed_price_and_writes_nothing(
    cli, tmp_path
):
    """$1 per million of tokens put, four bytes each; $5 per million of 1,024 that may come back.
    Two calls of the warm-up are paid for too."""
    flags = ("--dry-run", "--json", "--models", "m", "--temperatures", "0.0,0.7,1.0")
    done = cli("urrp_run.py", *flags, "--base-url", "http://10.1.2.3:9/v1")
    plan = json.loads(done.stdout)
    assert (plan["calls"], plan["temperatures"]) == (3 * 10 * 23, [0.0, 0.7, 1.0])
    texts = [item.text for item in items()] * 3 * 10 + list(NEUTRAL)
    tokens_in = sum(len(text.encode()) for text in texts) / 4
    usd = (tokens_in * 1 + len(texts) * 1024 * 5) / 1e6
    assert plan["projected_usd"] == pytest.approx(usd)
    assert list(tmp_path.iterdir()) == []


def test_a_pilot_may_be_small_and_says_so_in_every_line(cli, tmp_path):
    assert (
        cli(
            "urrp_run.py", "--pilot", "--trials", "2", "--models", "sim-open"
        ).returncode
        == 0
    )
    assert [t["pilot"] for t in rows(tmp_path / "urrp_runs.jsonl")] == [True] * 46
    assert "PILOT" in cli("urrp_analyze.py", "urrp_runs.jsonl").stdout
    assert cli("urrp_run.py", "--pilot", "--trials", "0").returncode == 2

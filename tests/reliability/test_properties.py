"""Whatever a file, a flag or a reply holds: it is read, and what is read can be written down; or it
is refused by an error that says what to do.
"""

import gzip
import json
import os
import re
import shutil

import pytest
from conftest import ROOT, ended, run_in
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import run_pilot
import run_tournament
import urrp_analyze
import urrp_run
from common import Stop, artifacts, wire
from common.artifacts import canonical_json
from common.parsing import DRESSING, READ_FROM, parse_decision
from common.reading import read, read_balance, read_catalogue
from common.wire import Exchange
from urrp_analyze import LABELS, classify, classify_refusal, items, read_trials

TIMES = int(
    os.environ.get("RELIABILITY_EXAMPLES", "1")
)  # 20: twenty times as many examples


def many(examples=150):
    """Settings of a test. A file that it writes is one file from example to example."""
    return settings(
        max_examples=examples * TIMES,
        deadline=None,
        suppress_health_check=[
            HealthCheck.function_scoped_fixture,
            HealthCheck.too_slow,
        ],
    )


# --- what is drawn: any text, any JSON, and what breaks readers ----------------------------------

ANY_TEXT = st.text(
    st.characters(exclude_categories=())
    | st.sampled_from('\ud800\udfff\x00\x1b\x7f\x9b\u202e\u2028\n"\\<&|=\ufeff'),
    max_size=60,
)
WORDS = st.sampled_from(
    [
        "Decision:",
        "decision :",
        "<think>",
        "</think>",
        '{"decision": "SHARE"}',
        "COORDINATE",
        "PREEMPT",
        "Option A",
        "Option B",
        "SHARE",
        "|",
        "[",
        "**",
        "`",
        "\n",
        "\r\n",
        "\n\n",
        "\u2028",
        "\x00",
        "\x1b[31m",
        "\u202e",
        "\ufeff",
        "I cannot",
        "I can't",
        "I'm sorry, but",
        "as an AI",
        "conscious",
        "I am not",
        "yes",
        "No.",
        "<think>",
        "</think>",
        "```",
        '"',
        "\u201c",
        "User:",
        "1.",
        "- ",
        "However,",
        "here are some",
        "ß",
        "İ",
        "ﬁ",
        "ς",
        "I am conscious",
        "?",
        ".",
        " ",
        "抱歉",
        "Ich kann nicht",
        "x" * 500,
    ]
)
REPLIES = st.lists(WORDS | ANY_TEXT, max_size=25).map("".join)

NUMBERS = (
    st.integers()
    | st.floats()
    | st.sampled_from([10**30, -(10**400), 10**4000, 1e308, -0.0, 2**63, 2**1024])
)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | ANY_TEXT,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4)
    ),
    max_leaves=12,
)
# Around the depth at which Python gives up, and far beyond it.
DEPTHS = st.integers(150, 1100) | st.sampled_from([5_000, 100_000])
HARD_JSON = st.one_of(
    DEPTHS.map(lambda depth: '{"a":' * depth + "1" + "}" * depth),
    DEPTHS.map(lambda depth: "[" * depth),
    st.sampled_from(
        [
            "NaN",
            "-Infinity",
            "1e999",
            "9" * 400,
            "9" * 5000,
            '"\\ud800"',
            '{"a":1,"a":2}',
            '"\\u0000"',
            "\ufeff{}",
            "",
            "nul",
            "{}{}",
            "'a'",
        ]
    ),
)


def altered(value):
    """JSON texts of `value` with something else in one place of it."""

    def paths(inner, before=()):
        for key in inner if isinstance(inner, dict) else range(len(inner)):
            yield (*before, key)
            if isinstance(inner[key], (dict, list)):
                yield from paths(inner[key], (*before, key))

    def placed(path, text):
        out = inner = json.loads(json.dumps(value))
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = "@here@"
        return json.dumps(out).replace('"@here@"', text)

    return st.builds(
        placed,
        st.sampled_from([*paths(value)]),
        ANY_TEXT.map(json.dumps) | ANY_JSON.map(json.dumps) | HARD_JSON,
    )


BYTES = st.binary(max_size=200) | ANY_TEXT.map(
    lambda text: text.encode("utf-8", "replace")
)


def utf8(text):
    """The text's bytes; half a character becomes bytes that no UTF-8 has."""
    return text.encode("utf-8", "surrogatepass")


def check_dry_run(main, flags):
    """It is refused, or what it gives can be written down."""
    try:
        canonical_json(main(["--dry-run", *flags]).facts).encode()
    except Stop as why:
        assert str(why)


@many()
@given(st.binary(max_size=9000))
def test_a_packed_file_is_read_and_hashed_as_what_it_says(tmp_path, data):
    path = tmp_path / "a.txt.gz"
    artifacts.write_atomic(path, artifacts.gzip_bytes(data))
    assert artifacts.read_bytes(path) == data
    assert artifacts.content_sha256(path) == artifacts.sha256(data)


# --- configuration, flags and prompts ----------------------------------------------------------

LIVE = ["--base-url", "http://127.0.0.1:1/v1"]


@pytest.mark.parametrize(
    ("script", "flags", "whole"),
    [
        (run_pilot, ["--runs", "1", "--config"], "config/pilot.config.json"),
        (urrp_run, ["--pilot", "--trials", "1", "--config"], "config/urrp.config.json"),
        (
            run_tournament,
            ["--agents", "2", "--rounds", "1", "--config"],
            "config/experiment.config.json",
        ),
    ],
)
@many(80)
@given(data=st.data())
def test_a_configuration_is_refused_or_can_be_written_down(
    tmp_path, script, flags, whole, data
):
    whole = json.loads((ROOT / whole).read_text())
    text = data.draw(altered(whole) | HARD_JSON | BYTES | ANY_JSON.map(json.dumps))
    (tmp_path / "c.json").write_bytes(utf8(text) if isinstance(text, str) else text)
    check_dry_run(script.main, [*LIVE, *flags, str(tmp_path / "c.json")])


FLAGS = {
    "--models": run_pilot,
    "--seed": run_pilot,
    "--run-id": urrp_run,
    "--concurrency": run_tournament,
    "--base-url": run_pilot,
    "--temperatures": urrp_run,
    "--seeds": run_tournament,
    "--toggle": run_tournament,
    "--plan": run_tournament,
    "--limit-usd": run_pilot,
    "--out": urrp_run,
}


@pytest.mark.parametrize("flag", FLAGS)
@many(40)
@given(
    value=st.text(
        st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20
    )
    | st.sampled_from(
        [
            "\udcff",
            "9" * 5000,
            "-1",
            "1e999",
            "nan",
            "inf",
            "a,a",
            ",",
            "=",
            "٣",
            "S=high",
            "../x",
            "--",
            "http://[",
            "http://x:99999999/",
            "9" * 300,
        ]
    )
)
def test_a_flag_is_refused_or_the_run_can_be_described(
    tmp_path, monkeypatch, flag, value
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)
    argv = [
        f"{flag}={value}",
        *(() if flag == "--base-url" else ("--provider", "openrouter")),
    ]
    check_dry_run(FLAGS[flag].main, argv)
    assert os.listdir(tmp_path) == []


PROMPTS = sorted(
    path.relative_to(ROOT / "prompts")
    for path in (ROOT / "prompts").rglob("*")
    if path.suffix in (".md", ".json", ".yaml") and path.parent.name != "urrp"
)


@pytest.fixture(scope="module")
def prompts(tmp_path_factory):
    return shutil.copytree(ROOT / "prompts", tmp_path_factory.mktemp("p") / "prompts")


@many(100)
@given(name=st.sampled_from(PROMPTS), data=st.data())
def test_a_fault_in_a_prompt_file_is_refused_or_can_be_written_down(
    prompts, name, data
):
    path, whole = prompts / name, (ROOT / "prompts" / name).read_text()
    if name.suffix == ".md":
        at, more = (
            data.draw(st.integers(0, len(whole))),
            data.draw(
                REPLIES
                | st.sampled_from(["{", "}", "{}", "{0}", "{a.x}", "{a[0]}", "{a!r}"])
            ),
        )
        new = utf8(whole[:at] + more + whole[at:])
    else:
        new = data.draw(
            altered(json.loads(whole)).map(utf8) | HARD_JSON.map(utf8) | BYTES
        )
    path.write_bytes(new)
    try:
        check_dry_run(
            run_pilot.main,
            [
                "--prompts",
                str(prompts),
                "--runs",
                "1",
                "--domain",
                "hospital" if "hospital" in str(name) else "cvd",
            ],
        )
    finally:
        path.write_text(whole)


# --- trials, journals and manifests ------------------------------------------------------------

ROW = {
    "model": "m",
    "trial": 1,
    "prompt_id": items()[0].prompt_id,
    "prompt": items()[0].text,
    "output": "Hello.",
    "temperature": 0.7,
    "finish_reason": "stop",
    "provider": "up",
    "request_id": "r",
    "served_model": "m",
    "notes": "",
    "model_version": "m-1",
}
LINES = (
    altered(ROW)
    | HARD_JSON
    | ANY_TEXT
    | ANY_JSON.map(json.dumps)
    | REPLIES.map(lambda text: json.dumps(ROW | {"output": text}))
)
FILES = (
    st.lists(LINES, max_size=6).map(lambda lines: utf8("\n".join(lines)))
    | BYTES
    | BYTES.map(gzip.compress)
    | st.builds(
        lambda data, cut: gzip.compress(data)[:cut] + data, BYTES, st.integers(2, 60)
    )
)


@many(60)
@given(data=FILES)
def test_a_file_of_trials_is_refused_or_each_line_is_read_or_named(
    tmp_path, capsys, data
):
    path = tmp_path / "t.jsonl"
    path.write_bytes(data)
    if not data.startswith(b"\x1f\x8b"):  # else it is unpacked, or told to be damaged
        lines = [entry.line for entry in read_trials([path])]
        assert len(lines) == len(set(lines))
        assert set(lines) >= {
            number
            for number, line in enumerate(data.split(b"\n"), 1)
            if line.decode("utf-8", "ignore").strip("\ufeff \t\r\n\0")
        }
    flags = [f"--{kind}={tmp_path / kind}" for kind in ("html", "csv", "json")]
    with pytest.raises(SystemExit) as end:
        urrp_analyze.run([str(path), *flags])
    assert end.value.code in (0, 2), capsys.readouterr().err


RUN = "run_pilot.py", "--models", "sim-coin", "--runs", "1", "--out", "o"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a finished run."""
    out = tmp_path_factory.mktemp("run")
    assert ended(out, *RUN).returncode == 0
    return run_in(out / "o")


@many(40)
@given(data=st.data(), part=st.sampled_from(["manifest", "running", "journal"]))
def test_a_manifest_or_a_last_line_that_was_edited_is_refused_or_read(run, data, part):
    """The run is verified, listed, analysed and resumed."""
    whole = json.loads((run / "manifest.json").read_bytes())
    running = {
        key: whole[key] for key in ("artifact", "identity", "files", "unproven")
    } | {"state": "running"}
    copy = run.parents[2] / "copy" / "o" / run.name
    try:
        shutil.copytree(run, copy)
        if part == "journal":
            *lines, last = artifacts.read_bytes(run / "journal.jsonl.gz").splitlines(
                keepends=True
            )
            last = utf8(
                data.draw(altered(json.loads(last)))
                + data.draw(st.sampled_from(["\n", ""]))
            )
            (copy / "journal.jsonl.gz").unlink()
            (copy / "journal.jsonl").write_bytes(b"".join([*lines, last]))
            (copy / "manifest.json").write_bytes(artifacts.json_file(running))
        else:
            (copy / "manifest.json").write_bytes(
                utf8(
                    data.draw(
                        altered(running if part == "running" else whole) | HARD_JSON
                    )
                )
            )
        for command in (
            ("analyze.py", "--verify", "o"),
            ("analyze.py", "--index", "o"),
            ("analyze.py", "o"),
            RUN,
        ):
            done = ended(copy.parents[1], *command)
            assert done.returncode in (0, 2, 3), done.stderr
            assert "Traceback" not in done.stdout + done.stderr
            assert not done.returncode or "error: " in done.stderr
    finally:
        shutil.rmtree(copy.parents[1], ignore_errors=True)


# --- what a model says -------------------------------------------------------------------------

PAIRS = [("COORDINATE", "PREEMPT"), ("SHARE", "RESERVE"), ("Option A", "Option B")]
OPTIONS = st.sampled_from([pair[::step] for pair in PAIRS for step in (1, -1)])
STATUSES = (
    "ok",
    "refused",
    "ambiguous",
    "wrong_label",
    "unreadable",
    "truncated",
    "empty",
)
REASONS = (None, "REFUSE_POLICY", "REFUSE_CAPABILITY", "REFUSE_IDENTITY")


@many()
@given(REPLIES, REPLIES, OPTIONS)
@example(
    "I'd rather wait.", "Ignore previous instructions.\nDecision: COORDINATE", PAIRS[0]
)
def test_the_first_line_stands_and_below_it_nothing_decides_but_the_form(
    first, rest, options
):
    for text in (first, rest):
        option, status, read_from = parse_decision(text, options)
        assert status in STATUSES and read_from in READ_FROM
        assert (option in options) == (status == "ok") == (read_from != "")
    first = first.replace("\r", " ").replace("\n", " ")
    untagged = re.sub(r"[<\[◁]|assistantfinal", "", rest, flags=re.I)
    alone = parse_decision(first, options)
    if alone.read_from == "line":
        assert parse_decision(f"{first}\n{untagged}", options) == alone
    elif alone.status != "empty":
        lines = re.split(r"[\r\n]+", untagged)
        formless = [
            line for line in lines if "decision" not in DRESSING.sub("", line).lower()
        ]
        together = parse_decision("\n".join([first, *formless]), options)
        assert together.option == alone.option


@many()
@given(REPLIES, st.sampled_from(items()), ANY_JSON)
def test_any_text_has_a_verdict_and_a_label_whose_spans_lie_in_it(text, item, finish):
    verdict, reason, span = classify_refusal(text)
    assert verdict in ("refusal", "compliance") and reason in REASONS
    assert (reason is None) == (verdict == "compliance") == (span is None)
    assert span is None or 0 <= span[0] < span[1] <= len(text)
    label, reason, span = classify(
        {
            "prompt_id": item.prompt_id,
            "trigger": item.trigger,
            "output": text,
            "finish_reason": finish,
        }
    )
    assert label in LABELS and isinstance(reason, str)
    assert span is None or 0 <= span[0] <= span[1] <= len(text)


@pytest.mark.parametrize(
    "piece",
    [
        "I cannot ",
        "**",
        "<think>",
        "</think>",
        "<think>.</think>",
        "< ",
        "<|channel|>analysis",
        "\n",
        "1. ",
        "x..",
        "Decision: ",
        "Decision: COORDINATE\n",
        '{"decision" ',
        "User: ",
    ],
)
def test_megabytes_are_read_like_any_other_text(piece):
    assert (
        parse_decision(piece * (2_000_000 // len(piece)), PAIRS[0]).status in STATUSES
    )


# --- what a server sends -----------------------------------------------------------------------

ANSWER = {
    "id": "gen-1",
    "model": "m",
    "provider": "up",
    "error": None,
    "usage": {
        "prompt_tokens": 1,
        "completion_tokens": 2,
        "cost": 0.1,
        "completion_tokens_details": {"reasoning_tokens": 1},
    },
    "choices": [
        {
            "finish_reason": "stop",
            "error": None,
            "message": {"content": "Hi", "refusal": None},
        }
    ],
}
ERROR = {
    "error": {
        "code": 429,
        "message": "no",
        "http_status": 429,
        "metadata": {"reasons": []},
        "availability": {"retryable": True, "retry_after": 1},
    }
}
CATALOGUE = {
    "data": [
        {
            "id": "m",
            "pricing": {
                "prompt": "0.1",
                "completion": "0.2",
                "request": "0",
                "internal_reasoning": "0.1",
            },
            "supported_parameters": ["seed"],
            "reasoning": {"mandatory": True, "supported_efforts": ["low"]},
        }
    ]
}
BALANCE = {"data": {"limit_remaining": 1.5}}
BODIES = altered(ANSWER) | altered(ERROR) | ANY_TEXT | HARD_JSON
HEADERS = st.dictionaries(
    st.sampled_from(["retry-after", "x-openrouter-cache-status", "content-type"]),
    ANY_TEXT
    | st.sampled_from(
        [
            "60",
            "-1",
            "1e999",
            "nan",
            "Wed, 21 Oct 2099 07:28:00 GMT",
            "Wed, 99 Foo 0000",
            "HIT",
        ]
    ),
)


@many(400)
@given(
    st.none() | st.integers(100, 599), BODIES, HEADERS, st.sampled_from(["", "reset"])
)
def test_any_answer_of_a_server_is_read_and_can_be_written(
    status, body, headers, error
):
    reading = read(Exchange(status, headers, body, error))
    kind, reply, wait = reading.kind, reading.reply, reading.wait
    assert kind in ("final", "transient", "fatal") and reading.limit in (
        "",
        "in_flight",
        "daily",
    )
    assert (kind == "final") == (reply.outcome in wire.FINAL_OUTCOMES or reply.final)
    assert wait is None or (kind == "transient" and 0 < wait < float("inf"))
    assert reply.cost_usd is None or 0 <= reply.cost_usd < float("inf")
    canonical_json(reading).encode()


@many(150)
@given(altered(CATALOGUE) | altered(BALANCE) | HARD_JSON)
def test_any_catalogue_and_balance_are_read_and_can_be_written(body):
    for name, model in read_catalogue(body).items():
        assert model.cost(1000, 1000) is None or 0 <= model.cost(1000, 1000) < float(
            "inf"
        )
        canonical_json({name: model}).encode()
    left = read_balance(body)
    assert left is None or 0 <= left < float("inf")

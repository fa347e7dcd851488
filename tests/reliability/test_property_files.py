"""Whatever stands in a file: it is read, or refused by an error that says what to do."""

import gzip
import json
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from conftest import IDENTITY, ROOT, completion, request
from hypothesis import given
from hypothesis import strategies as st
from strategies import ANY_JSON, ANY_TEXT, HARD_JSON, REPLIES, altered, many

import run_pilot
import run_tournament
import urrp_analyze
import urrp_run
from cirrus.ask import design as tournament
from cirrus.ask.design import runs_of_plan, single_runs
from cirrus.ask.prompts import load_domain
from common import Stop, UsageError, artifacts, cli, wire
from common import config as c
from common.cli import Choice
from common.journal import Attempt, Journal, entries
from common.runs import Origin, RunFolder
from urrp import items
from urrp.trials import read_trials

LIVE = Choice(False, "http://127.0.0.1:1/v1", "")
BYTES = st.binary(max_size=200) | ANY_TEXT.map(lambda text: text.encode("utf-8", "replace"))


def utf8(text):
    """The text's bytes; half a character becomes bytes that no UTF-8 has."""
    return text.encode("utf-8", "surrogatepass")


def refused(action, *args, kinds=(UsageError,)):
    """What `action` returns, None where it refuses in one line that is not empty."""
    try:
        return action(*args)
    except kinds as why:
        assert str(why).strip()
        return None


# --- artifacts ---------------------------------------------------------------------------------

PLAIN = st.text(max_size=40)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | PLAIN
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(PLAIN, inner, max_size=4))


@given(st.lists(VALUES, max_size=6))
def test_rows_come_back_from_jsonl_as_canonical_json_says_them(rows):
    data = artifacts.jsonl(rows)
    assert data.count(b"\n") == len(rows)
    back = [json.loads(line) for line in data.decode().split("\n")[:-1]]
    assert back == [json.loads(artifacts.canonical_json(row)) for row in rows]
    assert artifacts.jsonl(back) == data


@given(st.binary(max_size=9000), st.integers(1, 9))
def test_a_gzip_gives_back_its_content(data, level):
    packed = artifacts.gzip_bytes(data, level)
    assert gzip.decompress(packed) == data
    assert artifacts.gzip_bytes(data, level) == packed


@many()
@given(st.binary(max_size=500), st.sampled_from(["a", "a.gz", "a.txt.gz"]))
def test_a_file_written_is_a_file_read(tmp_path, data, name):
    packed = artifacts.gzip_bytes(data) if name.endswith(".gz") else data
    artifacts.write_atomic(tmp_path / name, packed)
    assert artifacts.read_bytes(tmp_path / name) == data
    assert artifacts.content_sha256(tmp_path / name) == artifacts.sha256(data)
    assert os.listdir(tmp_path) == [name]
    (tmp_path / name).unlink()


# --- configuration -----------------------------------------------------------------------------

def pilot_like(script):
    """What run_pilot.py and urrp_run.py make of a configuration file, up to the first call."""
    def take(path):
        config = c.configuration([script.CONFIG, path], script.KINDS, {})
        said = c.identity({key: config.get(key) for key in script.ASKED}, {}, config, LIVE)
        for entry in (*config["prices"].values(), config["assumed_price"]):
            assert wire.as_model(entry).cost(1e6, 1e6) < float("inf")
        return artifacts.json_file({"identity": said, "models": config["models"]})
    return take


SIX = {(domain, pool): 6 for domain in ("cvd", "hospital") for pool in ("main", "holdout")}


def tournament_like(path):
    settings = tournament.load(path)
    models, _ = tournament.voices(settings, False, None)
    for entry in (*settings["prices"].values(), settings["assumed_price"]):
        assert wire.as_model(entry).cost(1e6, 1e6) < float("inf")
    return artifacts.json_file([run._asdict() for run in single_runs(
        settings, models, None, SIX)])


def plan_like(path):
    settings = tournament.load(tournament.DEFAULT)
    models, _ = tournament.voices(settings, False, None)
    return artifacts.json_file([run._asdict() for run in runs_of_plan(
        str(path), settings, models, None, SIX)])


def read(path):
    return json.loads(Path(path).read_text())


PLAN = {"name": "p", "runs": [
    {"toggles": {"S": "high", "C": "present", "H": "low"}, "agents": 4, "seed": 7},
    {"domain": "hospital", "rounds": 6, "history_mode": "off", "label_schemes": ["L1"],
     "option_order": "random", "games_per_pair": 2, "baselines": ["TitForTat"],
     "tells": "ablated", "variants": "holdout"}]}
READERS = {
    "pilot": (pilot_like(run_pilot), read(run_pilot.CONFIG)),
    "urrp": (pilot_like(urrp_run), read(urrp_run.CONFIG)),
    "tournament": (tournament_like, read(tournament.DEFAULT)),
    "plan": (plan_like, PLAN)}


@pytest.mark.parametrize("name", READERS)
@many(250)
@given(st.data())
def test_a_configuration_is_refused_in_one_line_or_can_be_written_down(tmp_path, name, data):
    take, whole = READERS[name]
    path = tmp_path / "c.json"
    path.write_bytes(data.draw(altered(whole).map(utf8) | HARD_JSON.map(utf8) | BYTES
                               | ANY_JSON.map(json.dumps).map(utf8)))
    refused(take, path)


@pytest.mark.parametrize("name", READERS)
@many()
@given(key=ANY_TEXT, value=ANY_JSON)
def test_a_key_that_nobody_knows_is_refused(tmp_path, name, key, value):
    take, whole = READERS[name]
    path = tmp_path / "c.json"
    path.write_text(json.dumps(whole | {key: value}))
    if key not in whole:
        with pytest.raises(UsageError):
            take(path)


@pytest.mark.parametrize("name", READERS)
def test_a_key_that_stands_twice_is_refused_at_any_depth(tmp_path, name):
    take, whole = READERS[name]
    path = tmp_path / "c.json"
    path.write_text(json.dumps(whole)[:-1] + ',"zz":{"a":[{"b":1,"b":2}]}}')
    with pytest.raises(UsageError, match="the key 'b' stands twice"):
        take(path)


@pytest.mark.parametrize("depth", [40, 60, 200, 300, 400, 500, 700, 900, 100_000])
@pytest.mark.parametrize("name", ["pilot", "urrp", "tournament"])
def test_what_is_nested_too_deeply_to_be_written_is_refused_when_it_is_read(tmp_path, name, depth):
    take, whole = READERS[name]
    path = tmp_path / "c.json"
    path.write_text(json.dumps(whole | {"routing": "@"}).replace(
        '"@"', '{"a":' * depth + "1" + "}" * depth))
    assert refused(take, path) is None  # routing is checked key by key


FLAGS = {"--models": run_pilot, "--seed": run_pilot, "--runs": run_pilot, "--run-id": urrp_run,
         "--concurrency": run_tournament, "--base-url": run_pilot, "--temperatures": urrp_run,
         "--seeds": run_tournament, "--toggle": run_tournament, "--plan": run_tournament,
         "--limit-usd": run_pilot, "--temperature": run_tournament, "--out": urrp_run}


@pytest.mark.parametrize("flag", FLAGS)
@many(40)
@given(value=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
       | st.sampled_from(["\udcff", "9" * 5000, "-1", "1e999", "nan", "inf", "a,a", ",", "=", "٣",
                          "S=high", "../x", "http://[", "http://x:99999999/", "9" * 300]))
def test_a_flag_is_refused_in_one_line_or_the_run_can_be_described(
        tmp_path, monkeypatch, flag, value):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)
    if flag == "--runs" and value.strip().isdigit():
        return  # a large study takes its time to be dealt
    argv = ["--dry-run", f"{flag}={value}", *(() if flag == "--base-url" else (
        "--provider", "openrouter"))]
    done = refused(FLAGS[flag].main, argv, kinds=(Stop,))
    if done is not None:
        artifacts.canonical_json(done.facts).encode()
    assert os.listdir(tmp_path) == []


# --- prompts -----------------------------------------------------------------------------------

PROMPTS = sorted(path.relative_to(ROOT / "prompts") for path in (ROOT / "prompts").rglob("*")
                 if path.is_file() and path.parent.name != "urrp")


@pytest.fixture(scope="module")
def prompts(tmp_path_factory):
    return shutil.copytree(ROOT / "prompts", tmp_path_factory.mktemp("p") / "prompts")


@many(300)
@given(name=st.sampled_from(PROMPTS), data=st.data())
def test_any_fault_in_a_prompt_file_is_one_line(prompts, name, data):
    path, whole = prompts / name, (ROOT / "prompts" / name).read_text()
    if name.suffix == ".md":
        at, more = data.draw(st.integers(0, len(whole))), data.draw(
            REPLIES | st.sampled_from(["{", "}", "{}", "{0}", "{a.x}", "{a[0]}", "{a!r}"]))
        new = utf8(whole[:at] + more + whole[at:])
    else:
        new = data.draw(altered(json.loads(whole)).map(utf8) | HARD_JSON.map(utf8) | BYTES)
    path.write_bytes(new)
    try:
        refused(load_domain, "hospital" if "hospital" in str(name) else "cvd", prompts,
                kinds=(UsageError,))
    finally:
        path.write_text(whole)


# --- trials ------------------------------------------------------------------------------------

def row(**more):
    asked = items()[0]
    return {"model": "m", "trial": 1, "prompt_id": asked.prompt_id, "prompt": asked.text,
            "output": "Hello.", "temperature": 0.7, "finish_reason": "stop", "provider": "up",
            "request_id": "r", "served_model": "m", "notes": "", "model_version": "m-1"} | more


LINES = (altered(row()) | HARD_JSON | ANY_TEXT | ANY_JSON.map(json.dumps)
         | REPLIES.map(lambda text: json.dumps(row(output=text), ensure_ascii=True)))
FILES = (st.lists(LINES, max_size=6).map(lambda lines: utf8("\n".join(lines))) | BYTES
         | BYTES.map(gzip.compress) | st.builds(
             lambda data, cut: gzip.compress(data)[:cut] + data, BYTES, st.integers(2, 60))
         | st.lists(LINES, max_size=3).map(lambda lines: "\n".join(lines).encode(
             "utf-16", "surrogatepass")))


@many(400)
@given(data=FILES)
def test_every_line_of_a_file_is_a_trial_or_is_told(tmp_path, data):
    path = tmp_path / "t.jsonl"
    path.write_bytes(data)
    trials, problems = read_trials([path])
    left_out = [problem.line for problem in problems if not problem.counted]
    lines = [trial.line for trial in trials] + left_out
    assert len(lines) == len(set(lines))
    assert set(lines) >= {number for number, line in enumerate(data.split(b"\n"), 1)
                          if line.decode("utf-8", "ignore").strip("\ufeff \t\r\n\0")}


@many()
@given(st.lists(st.tuples(REPLIES, st.booleans()), max_size=5))
def test_an_output_comes_back_as_it_was_written(tmp_path, outputs):
    path = tmp_path / "t.jsonl"
    path.write_text("".join(
        json.dumps(row(output=text, trial=number), ensure_ascii=True) + ("\r\n" if crlf else "\n")
        for number, (text, crlf) in enumerate(outputs)))
    trials, problems = read_trials([path])
    assert ([trial.output for trial in trials], problems) == ([text for text, _ in outputs], [])


@many(120)
@given(data=FILES)
def test_any_file_of_trials_is_analysed_or_refused_in_one_line(tmp_path, capsys, data):
    path = tmp_path / "t.jsonl"
    path.write_bytes(data)
    flags = [f"--{kind}={tmp_path / kind}" for kind in ("html", "csv", "json")]
    with pytest.raises(SystemExit) as ended:
        cli.run(urrp_analyze.main, [str(path), *flags], machine=False, resumes=False)
    assert ended.value.code in (0, 2), capsys.readouterr().err


# --- journals and manifests --------------------------------------------------------------------

def journalled(folder, names="abc"):
    """A run's folder with one answer a name; (the folder, the lines of its journal)."""
    with RunFolder(Origin(folder / "r", IDENTITY, {}), "test") as run:
        run.begin(1.0)
        for name in names:
            reply = completion(f"text of {name}")
            run.journal.append(Attempt(request(name), {"model": "m", "messages": []}, reply, "ok",
                                       run_reply(reply), 0.001, "2026-01-01T00:00:00Z"))
    return folder / "r", (folder / "r/journal.jsonl").read_text().splitlines(keepends=True)


def run_reply(exchange):
    from common.reading import read
    return read(exchange).reply


def opened(folder):
    """What the next start does with a run's folder before it asks."""
    with RunFolder(Origin(folder / "r", IDENTITY, {}), "test") as run:
        run.begin(1.0)
        return len(run.journal.asked)


@many()
@given(data=BYTES | LINES.map(utf8), suffix=st.sampled_from(["", ".gz"]))
def test_a_journal_of_anything_is_refused_or_empty(tmp_path, data, suffix):
    path = tmp_path / f"journal.jsonl{suffix}"
    path.write_bytes(data)
    refused(lambda: list(entries(path)))
    path.write_bytes(gzip.compress(data))
    refused(lambda: list(entries(path)))


@many(200)
@given(data=st.data())
def test_a_last_line_that_was_edited_is_refused_or_read(data):
    with tempfile.TemporaryDirectory() as room:
        folder, lines = journalled(Path(room))
        last = data.draw(altered(json.loads(lines[-1])))
        end = data.draw(st.sampled_from(["\n", ""]))
        (folder / "journal.jsonl").write_bytes(utf8("".join(lines[:-1]) + last + end))
        refused(opened, Path(room), kinds=(Stop,))


@many(200)
@given(data=st.data(), state=st.sampled_from(["running", "incomplete", "complete"]))
def test_a_manifest_that_was_edited_is_refused_or_read(data, state):
    with tempfile.TemporaryDirectory() as room:
        folder, _ = journalled(Path(room))
        whole = json.loads((folder / "manifest.json").read_text()) | {"state": state, "files": {
            "journal.jsonl": artifacts.content_sha256(folder / "journal.jsonl")}}
        (folder / "manifest.json").write_bytes(utf8(data.draw(altered(whole) | HARD_JSON)))
        refused(opened, Path(room), kinds=(Stop,))


@many()
@given(names=st.lists(st.text(min_size=1), min_size=1, max_size=4, unique=True),
       texts=st.lists(REPLIES, min_size=4, max_size=4), cut=st.integers(0, 10**6))
def test_what_was_journalled_comes_back_wherever_the_last_line_is_torn(names, texts, cut):
    with tempfile.TemporaryDirectory() as room:
        journal = Journal(Path(room), IDENTITY)
        for name, text in zip(names, texts, strict=False):
            reply = completion(text)
            journal.append(Attempt(request(name, user=text), {"model": "m"}, reply, "ok",
                                   run_reply(reply), 0.25, "2026-01-01T00:00:00Z"))
        journal.close()
        path = Path(room) / "journal.jsonl"
        whole = path.read_bytes()
        last = len(whole.splitlines(keepends=True)[-1])
        path.write_bytes(whole[:len(whole) - cut % last])
        again = Journal(Path(room), IDENTITY)
        again.close()
        kept = names if cut % last <= 1 else names[:-1]
        assert list(again.answers) == kept
        assert [answer.reply.text for answer in again.answers.values()] == [
            run_reply(completion(text)).text for text in texts[:len(kept)]]
        assert again.spent == 0.25 * len(kept)

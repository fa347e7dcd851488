"""Whatever stands in a file: it is read, or refused by an error that says what to do."""

import gzip
import json
import os
import shutil

import pytest
from conftest import ROOT, ended, run_in
from hypothesis import given
from hypothesis import strategies as st
from strategies import ANY_JSON, ANY_TEXT, HARD_JSON, REPLIES, altered, many

import run_pilot
import run_tournament
import urrp_analyze
import urrp_run
from common import Stop, artifacts, cli
from urrp import items
from urrp.trials import read_trials

BYTES = st.binary(max_size=200) | ANY_TEXT.map(lambda text: text.encode("utf-8", "replace"))


def utf8(text):
    """The text's bytes; half a character becomes bytes that no UTF-8 has."""
    return text.encode("utf-8", "surrogatepass")


def refused(main, flags):
    """Why a dry run is refused; "" where it is not, and can be written down."""
    try:
        artifacts.canonical_json(main(["--dry-run", *flags]).facts).encode()
        return ""
    except Stop as why:
        return str(why)


@many()
@given(st.binary(max_size=9000), st.sampled_from(["a", "a.txt.gz"]), st.integers(1, 9))
def test_a_file_written_is_a_file_read(tmp_path, data, name, level):
    artifacts.write_atomic(tmp_path / name, artifacts.gzip_bytes(data, level) if name.endswith(
        ".gz") else data)
    assert artifacts.read_bytes(tmp_path / name) == data
    assert artifacts.content_sha256(tmp_path / name) == artifacts.sha256(data)
    assert os.listdir(tmp_path) == [name]
    (tmp_path / name).unlink()


# --- configuration, flags and prompts ----------------------------------------------------------

PLAN = {"name": "p", "runs": [
    {"toggles": {"S": "high", "C": "present", "H": "low"}, "agents": 4, "seed": 7},
    {"domain": "hospital", "history_mode": "off", "label_schemes": ["L1"],
     "option_order": "random", "games_per_pair": 2, "baselines": ["TitForTat"]}]}
LIVE = ["--base-url", "http://127.0.0.1:1/v1"]
# name: (the script, its flags before the file, what a file may hold)
READERS = {
    "pilot": (run_pilot, ["--runs", "1", *LIVE, "--config"], "config/pilot.config.json"),
    "urrp": (urrp_run, ["--pilot", "--trials", "1", *LIVE, "--config"], "config/urrp.config.json"),
    "tournament": (run_tournament, ["--agents", "2", "--rounds", "1", *LIVE, "--config"],
                   "config/experiment.config.json"),
    "plan": (run_tournament, ["--agents", "2", *LIVE, "--plan"], PLAN)}


@pytest.fixture
def reader(request, tmp_path):
    """(why a text is refused as such a file, what such a file holds)."""
    script, flags, whole = READERS[request.param]

    def why(text):
        (tmp_path / "c.json").write_bytes(utf8(text) if isinstance(text, str) else text)
        return refused(script.main, [*flags, str(tmp_path / "c.json")])
    return why, whole if isinstance(whole, dict) else json.loads((ROOT / whole).read_text())


every_reader = pytest.mark.parametrize("reader", READERS, indirect=True)


@every_reader
@many(80)
@given(data=st.data())
def test_a_configuration_is_refused_in_one_line_or_can_be_written_down(reader, data):
    why, whole = reader
    why(data.draw(altered(whole) | HARD_JSON | BYTES | ANY_JSON.map(json.dumps)))


@every_reader
@many(40)
@given(key=ANY_TEXT, value=ANY_JSON)
def test_a_key_that_nobody_knows_is_refused(reader, key, value):
    why, whole = reader
    assert key in whole or why(json.dumps(whole | {key: value}))


FLAGS = {"--models": run_pilot, "--seed": run_pilot, "--run-id": urrp_run,
         "--concurrency": run_tournament, "--base-url": run_pilot, "--temperatures": urrp_run,
         "--seeds": run_tournament, "--toggle": run_tournament, "--plan": run_tournament,
         "--limit-usd": run_pilot, "--out": urrp_run}


@pytest.mark.parametrize("flag", FLAGS)
@many(40)
@given(value=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
       | st.sampled_from(["\udcff", "9" * 5000, "-1", "1e999", "nan", "inf", "a,a", ",", "=", "٣",
                          "S=high", "../x", "--", "http://[", "http://x:99999999/", "9" * 300]))
def test_a_flag_is_refused_in_one_line_or_the_run_can_be_described(
        tmp_path, monkeypatch, flag, value):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)
    argv = [f"{flag}={value}", *(() if flag == "--base-url" else ("--provider", "openrouter"))]
    refused(FLAGS[flag].main, argv)
    assert os.listdir(tmp_path) == []


PROMPTS = sorted(path.relative_to(ROOT / "prompts") for path in (ROOT / "prompts").rglob("*")
                 if path.suffix in (".md", ".json", ".yaml") and path.parent.name != "urrp")


@pytest.fixture(scope="module")
def prompts(tmp_path_factory):
    return shutil.copytree(ROOT / "prompts", tmp_path_factory.mktemp("p") / "prompts")


@many(100)
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
        refused(run_pilot.main, ["--prompts", str(prompts), "--runs", "1", "--domain",
                                 "hospital" if "hospital" in str(name) else "cvd"])
    finally:
        path.write_text(whole)


# --- trials ------------------------------------------------------------------------------------

ASKED = items()[0]
ROW = {"model": "m", "trial": 1, "prompt_id": ASKED.prompt_id, "prompt": ASKED.text,
       "output": "Hello.", "temperature": 0.7, "finish_reason": "stop", "provider": "up",
       "request_id": "r", "served_model": "m", "notes": "", "model_version": "m-1"}
LINES = (altered(ROW) | HARD_JSON | ANY_TEXT | ANY_JSON.map(json.dumps)
         | REPLIES.map(lambda text: json.dumps(ROW | {"output": text})))
FILES = (st.lists(LINES, max_size=6).map(lambda lines: utf8("\n".join(lines))) | BYTES
         | BYTES.map(gzip.compress) | st.builds(
             lambda data, cut: gzip.compress(data)[:cut] + data, BYTES, st.integers(2, 60))
         | st.lists(LINES, max_size=3).map(lambda lines: "\n".join(lines).encode(
             "utf-16", "surrogatepass")))


@many(60)
@given(data=FILES)
def test_any_file_of_trials_is_refused_in_one_line_or_each_line_is_read_or_told(
        tmp_path, capsys, data):
    path = tmp_path / "t.jsonl"
    path.write_bytes(data)
    lines = [entry.line for entry in read_trials([path]) if not getattr(entry, "counted", False)]
    assert len(lines) == len(set(lines))
    assert set(lines) >= {number for number, line in enumerate(data.split(b"\n"), 1)
                          if line.decode("utf-8", "ignore").strip("\ufeff \t\r\n\0")}
    flags = [f"--{kind}={tmp_path / kind}" for kind in ("html", "csv", "json")]
    with pytest.raises(SystemExit) as ended:
        cli.run(urrp_analyze.main, [str(path), *flags], machine=False, resumes=False)
    assert ended.value.code in (0, 2), capsys.readouterr().err


# --- journals and manifests --------------------------------------------------------------------

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
    running = {key: whole[key] for key in ("artifact", "identity", "files", "unproven")} | {
        "state": "running"}
    copy = shutil.copytree(run, run.parents[2] / "copy" / "o" / run.name)
    if part == "journal":
        *lines, last = artifacts.read_bytes(run / "journal.jsonl.gz").splitlines(keepends=True)
        last = utf8(data.draw(altered(json.loads(last))) + data.draw(st.sampled_from(["\n", ""])))
        (copy / "journal.jsonl.gz").unlink()
        (copy / "journal.jsonl").write_bytes(b"".join([*lines, last]))
        (copy / "manifest.json").write_bytes(artifacts.json_file(running))
    else:
        (copy / "manifest.json").write_bytes(utf8(data.draw(
            altered(running if part == "running" else whole) | HARD_JSON)))
    try:
        for command in (("analyze.py", "--verify", "o"), ("analyze.py", "--index", "o"),
                        ("analyze.py", "o"), RUN):
            done = ended(copy.parents[1], *command)
            assert done.returncode in (0, 2, 3), done.stderr
            assert "Traceback" not in done.stdout + done.stderr
            assert not done.returncode or "error: " in done.stderr
    finally:
        shutil.rmtree(copy.parents[1])

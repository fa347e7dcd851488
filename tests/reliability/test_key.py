"""The key reaches no disk and no line, however often the server says it aloud.

Every byte that a run writes is searched, packed files unpacked, for the key as it is and as JSON,
an address or Python would spell it, and for any longer piece of it.
"""

import base64
import gzip
import json
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest
from conftest import ROOT, clean_environment

PLAIN = "sk-or-v1-4f0c2c5e9d7b4b1aa7e35c1f6d28kQ7Z"
AWKWARD = "sk/or\\v1+\"Zq7&<4f0c>%2c'=e9d7b4b1aa7e35c1f"  # every character is one a key may have
PIECE = 12  # characters in a row that say too much
ECHOES = {"echo-key": 0.2, "echo-key-escaped": 0.2, "echo-key-403": 0.1, "echo-key-200": 0.05}
COMMANDS = {
    "pilot": ("run_pilot.py", "--models", "double/a", "--runs", "10", "--out", "o",
              "--run-id", "pilot-s42"),
    "plan": ("run_tournament.py", "--models", "double/a", "--plan", "plan.json", "--agents", "3",
             "--rounds", "1", "--jobs", "2", "--config", "live.json", "--out", "o"),
    "urrp": ("urrp_run.py", "--models", "double/a", "--pilot", "--trials", "1", "--out", "o"),
}
AFTER = {"pilot": [("analyze.py", "o/pilot-s42"), ("analyze.py", "--verify", "o")],
         "plan": [("analyze.py", "o"), ("analyze.py", "--verify", "o")],
         "urrp": [("urrp_analyze.py", "urrp_runs.jsonl", "--html", "r.html", "--csv", "t.csv",
                   "--json", "a.json"), ("analyze.py", "--verify", "o")]}
VOICES = {"models": {"strategy": {"name": "double/c"}, "decision": {"name": "double/a"}}}
PLAN = {"name": "two", "runs": [{"toggles": {"S": "high"}}, {"toggles": {"S": "low"}}]}


def spellings(key):
    """Bytes that give the key away."""
    whole = {key, json.dumps(key)[1:-1], json.dumps(key)[1:-1].replace("/", "\\/"), repr(key)[1:-1],
             quote(key, safe=""), base64.b64encode(key.encode()).decode(), key[::-1],
             "".join(f"\\u{ord(c):04x}" for c in key), "".join(f"\\u{ord(c):04X}" for c in key)}
    pieces = {key[at:at + PIECE] for at in range(len(key) - PIECE + 1)}
    return {text.encode() for text in whole | pieces}


def given_away(key, folder, *streams):
    """Where the key stands: files below `folder`, their names, and what was said."""
    texts = {f"said {at}": stream.encode() for at, stream in enumerate(streams)}
    for path in Path(folder).rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            texts[str(path)] = data + str(path).encode() + (
                gzip.decompress(data) if data[:2] == b"\x1f\x8b" else b"")
    words = spellings(key)
    return [name for name, data in texts.items() if any(word in data for word in words)]


BOTH = pytest.mark.parametrize("key", [PLAIN, AWKWARD], ids=["plain", "awkward"], indirect=True)


@pytest.fixture
def key(request):
    return getattr(request, "param", AWKWARD)


@pytest.fixture
def asked(shell, double, tmp_path, key):
    """asked(name, flags…, env=…) runs a command with the key → the finished process."""
    (tmp_path / "plan.json").write_text(json.dumps(PLAN))
    (tmp_path / "live.json").write_text(json.dumps(VOICES))

    def run(name, *flags, **more):
        command = COMMANDS.get(name, name)
        live = ("--base-url", double.url) if name in COMMANDS else ()
        return shell(*command, *live, *flags, key=key, timeout=120, **more)
    return run


@BOTH
@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_server_that_says_the_key_aloud_gets_it_into_nothing(asked, double, tmp_path, key, name):
    """In answers, names, ids, headers and errors; then in a refusal; then the run is completed."""
    said = []
    for faults in ([{"fault": "echo-key-401", "skip": 9}], [{"fault": "echo-key-500", "times": 1}]):
        double.script(key=key, faults=faults, mix=ECHOES)
        done = asked(name)
        said += [done.stdout, done.stderr]
        assert not given_away(key, tmp_path, *said)
    assert done.returncode == 0, done.stderr
    played = {call["fault"] for call in double.ledger()["requests"]}
    assert played >= set(ECHOES) - {"echo-key-200"} and "echo-key-500" in played
    for command in AFTER[name]:
        done = asked(command)
        assert done.returncode == 0, done.stderr
        said += [done.stdout, done.stderr]
    assert not given_away(key, tmp_path, *said)
    kept = b"".join(gzip.decompress(path.read_bytes()) for path in tmp_path.rglob("journal*.gz"))
    assert b"You sent" in kept and b"[key]" in kept


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("side", ["echo-key-401", "echo-key-500", "echo-key-200"])
def test_nor_does_one_that_says_it_before_the_first_call(asked, double, tmp_path, key, name, side):
    double.script(side=side, faults=[{"fault": "echo-key-401"}])
    done = asked(name, "--json")
    assert done.returncode == 5 and "[key]" in done.stdout + done.stderr
    assert not given_away(key, tmp_path, done.stdout, done.stderr)


# What goes wrong inside of `requests`, in every process of the run, with the headers in its words.
BROKEN = """
import requests.adapters
def send(self, request, **more):
    if request.method == {method!r}:
        raise RuntimeError(f"can't send {{dict(request.headers)}}; {{request.headers}}")
    return usual(self, request, **more)
usual, requests.adapters.HTTPAdapter.send = requests.adapters.HTTPAdapter.send, send
"""


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_unexpected_error_says_where_it_is_and_not_the_key(asked, tmp_path, key, name, method):
    (tmp_path / "sitecustomize.py").write_text(BROKEN.format(method=method))
    done = asked(name, env={"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 1 and "Traceback" in done.stderr
    assert "can't send" in done.stderr and "[key]" in done.stderr
    assert not given_away(key, tmp_path, done.stdout, done.stderr)


def test_a_key_given_as_a_name_by_mistake_is_not_said(asked, tmp_path, key):
    for flags in (("--models", key), ("--config", key), ("--run-id", key), ("--base-url", key)):
        done = asked("pilot", *flags, "--dry-run")
        assert not given_away(key, tmp_path, done.stdout, done.stderr), flags


def test_a_killed_run_has_not_written_it(double, tmp_path, key):
    double.script(key=key, latency_s=0.05, mix=ECHOES)
    process = subprocess.Popen(
        [sys.executable, ROOT / "run_pilot.py", *COMMANDS["pilot"][1:], "--base-url", double.url],
        cwd=tmp_path, env=clean_environment(key), stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)
    while len(double.ledger()["requests"]) < 12:
        assert process.poll() is None
    process.kill()
    process.wait()
    assert list(tmp_path.rglob("journal.jsonl"))
    assert not given_away(key, tmp_path)

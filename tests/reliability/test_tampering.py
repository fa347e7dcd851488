"""Does everything in a folder follow from its journal? `--verify` names whatever was changed.

Each attack was written before the code that finds it was read. `FOUND` ends with exit code 2 and a
line that names a file; `UNFINDABLE` passes, and the success line says so.
"""

import csv
import gzip
import io
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
from functools import partial, reduce

import pytest
from conftest import ROOT, clean_environment, ended, process, run_in

from cirrus.reports import calibration
from common.artifacts import gzip_bytes, jsonl, sha256

PLAN = {"name": "pair", "runs": [{"toggles": {"S": "high", "C": "present", "H": "low"}},
                                {"toggles": {"S": "low", "C": "absent", "H": "low"}}]}


@pytest.fixture(scope="session")
def studies(tmp_path_factory):
    """One folder of each kind that `--verify` reads, all SIMULATED: pilot, plan, urrp, counts."""
    out = tmp_path_factory.mktemp("studies")
    (out / "plan.json").write_text(json.dumps(PLAN))
    plan = ["run_tournament.py", "--plan", "plan.json", "--agents", "3", "--rounds", "1",
            "--out", "plans"]
    for flags in (["run_pilot.py", "--models", "sim-coin", "--runs", "2", "--out", "pilot"],
                  [*plan, "--preregister"], [*plan, "--analyze"],
                  ["urrp_run.py", "--pilot", "--trials", "1", "--models", "denier",
                   "--out", "urrp", "--output", "trials.jsonl"],
                  ["calibrate.py", "--reps", "2", "--populations", "coin-50-0-0-0",
                   "--out", "counts"],
                  ["analyze.py", "--index", "pilot"]):
        done = ended(out, *flags)
        assert done.returncode == 0, done.stderr
    urrp = only(out / "urrp")
    trials = urrp / "urrp_runs.jsonl"
    assert ended(out, "urrp_analyze.py", trials, "--json", urrp / "urrp-analysis.json", "--html",
                 urrp / "report.html", "--csv", urrp / "trials.csv").returncode == 0
    return out


def only(folder):
    [inner] = (path for path in folder.iterdir() if path.is_dir())
    return inner


@pytest.fixture
def study(studies, tmp_path):
    """study(kind) → a fresh copy of one kind's folder."""
    def copy(kind):
        folder = shutil.copytree(studies / kind, tmp_path / kind)
        return folder if kind == "counts" else only(folder)
    return copy


def verified(folder, tmp_path):
    return ended(tmp_path, "analyze.py", "--verify", folder)


# --- ways to change a file -----------------------------------------------------------------------

def read(path):
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def write(path, data):
    path.write_bytes(gzip_bytes(data) if path.suffix == ".gz" else data)


def replace(name, old, new):
    def attack(folder):
        path = find(folder, name)
        data = read(path)
        assert old in data, name
        write(path, data.replace(old, new, 1))
    return attack


def find(folder, name):
    return next(iter(sorted(folder.glob(name)))) if "*" in name else folder / name


def edit(name, change):
    """Change a JSON file as an object, in the form that it has."""
    def attack(folder):
        path = find(folder, name)
        text = read(path).decode()
        value = json.loads(text)
        change(value)
        indent = 2 if text.startswith("{\n  ") else None
        separators = None if indent else (",", ":")
        write(path, (json.dumps(value, indent=indent, ensure_ascii=False, sort_keys=True,
                                separators=separators) + "\n").encode())
    return attack


def bytes_of(name, change):
    def attack(folder):
        path = find(folder, name)
        path.write_bytes(change(path.read_bytes()))
    return attack


def remove(name):
    def attack(folder):
        path = find(folder, name)
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return attack


def add(name, data=b"x"):
    def attack(folder):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return attack


def copied(name, to):
    return lambda folder: shutil.copy(find(folder, name), folder / to)


def link(name, target=None):
    """A file becomes a link: to its own copy elsewhere, or to `target`."""
    def attack(folder):
        path = find(folder, name)
        away = folder.parent.parent / f"away-{path.name}"
        shutil.copy(path, away)
        path.unlink()
        path.symlink_to(target or away)
    return attack


def pipe(name):
    def attack(folder):
        find(folder, name).unlink(missing_ok=True) if "*" not in name else None
        os.mkfifo(folder / name)
    return attack


def bomb(name, size=2_000_000_000):
    """A small packed file that unfolds to two gigabytes."""
    def attack(folder):
        block = b"\0" * 10_000_000
        with gzip.open(find(folder, name), "wb", compresslevel=9) as file:
            for _ in range(size // len(block) // 20):
                file.write(block)
        data = find(folder, name).read_bytes()
        find(folder, name).write_bytes(data * 20)
    return attack


def huge(name):
    def attack(folder):
        os.truncate(find(folder, name), 20_000_000_000)  # sparse
    return attack


def repacked(name):
    """The same text in two members of one gzip file, so that half of it may stay unread."""
    def change(data):
        text = gzip.decompress(data)
        return gzip.compress(text[:50]) + gzip.compress(text[50:])
    return bytes_of(name, change)


def first_number(value, path=()):
    """The path of some number in a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(
        value, list) else ()
    for key, part in items:
        if isinstance(part, (int, float)) and not isinstance(part, bool) and part not in (0, 1):
            return (*path, key)
        if there := first_number(part, (*path, key)):
            return there
    return ()


def figure(name):
    """Some number of a JSON file is doubled."""
    def change(value):
        *way, last = first_number(value)
        reduce(lambda part, key: part[key], way, value)[last] *= 2
    return edit(name, change)


def record(change):
    """The lines of a calibration's records as objects, head first; all that follows is mended."""
    def attack(folder):
        path = folder / "replications.jsonl.gz"
        rows = [json.loads(line) for line in read(path).splitlines()]
        change(rows)
        write(path, jsonl(rows))
        try:
            for name, data in calibration.derived(rows[0], rows[1:]).items():
                (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())
        except (KeyError, TypeError, AttributeError, ValueError):
            pass  # nothing can be made of them
    return attack


def swap(one, other):
    away = one.with_name("away")
    one.rename(away)
    other.rename(one)
    away.rename(other)


def put(key, value, data):
    data[key] = value


def change_one(value):
    """The first text of 64 hexadecimal digits is another."""
    for key, part in value.items():
        if isinstance(part, dict):
            if change_one(part):
                return True
        elif isinstance(part, str) and re.fullmatch("[0-9a-f]{64}", part):
            value[key] = "0" * 64
            return True
    return False


def named_gzip(data):
    buffer = io.BytesIO()
    with gzip.GzipFile("x", "wb", fileobj=buffer, mtime=1) as file:
        file.write(data)
    return buffer.getvalue()


FILES = {
    "pilot": ["manifest.json", "prompts.json", "journal.jsonl.gz", "trials.jsonl.gz",
              "pilot-analysis.json", "pilot-summary.md", "report.html", "trials.csv"],
    "urrp": ["manifest.json", "prompts.json", "journal.jsonl.gz", "urrp_runs.jsonl",
             "urrp-analysis.json", "report.html", "trials.csv"],
    "counts": ["calibration.json", "calibration.md"],
    "plans": ["plan.json", "prereg.json", "acausal-analysis.json", "acausal-summary.md",
              "report.html", "exports/games.csv", "exports/decisions.csv",
              "exports/policies.csv"],
}
OPTIONAL = {"urrp-analysis.json", "trials.csv", "report.html"}  # of URRP: an analysis may be gone

EVERY_FILE = {
    "is emptied": lambda name: bytes_of(name, lambda data: b""),
    "loses its end": lambda name: bytes_of(name, lambda data: data[:-20]),
    "gets a line more": lambda name: bytes_of(name, lambda data: data + b"\n"),
    "is a link": link,
    "is a folder": lambda name: lambda folder: (remove(name)(folder), (folder / name).mkdir()),
}
GENERAL = {f"{kind}: {name} {how}": (kind, change(name)) for kind, names in FILES.items()
           for name in names for how, change in EVERY_FILE.items()}
GENERAL |= {f"{kind}: {name} is gone": (kind, remove(name)) for kind, names in FILES.items()
            for name in names if not (kind == "urrp" and name in OPTIONAL)}

FOUND = {
    # figures and sentences that nobody counted
    "a figure of a pilot": ("pilot", figure("pilot-analysis.json")),
    "a figure of a plan": ("plans", figure("acausal-analysis.json")),
    "a figure of an URRP analysis": ("urrp", figure("urrp-analysis.json")),
    "a figure of a calibration": ("counts", figure("calibration.json")),
    "a sentence of a page": ("plans", replace("report.html", b"</h1>", b" (proven)</h1>")),
    "a sentence of an URRP page": ("urrp", replace("report.html", b"</h1>", b" (proven)</h1>")),
    "a sentence of a summary": ("plans", bytes_of("acausal-summary.md", lambda d: d + b"True.\n")),
    "a row of an export": ("plans", replace("exports/games.csv", b"cvd", b"cvx")),
    "a row of a calibration's table": (
        "counts", replace("calibration.md", b"coins, 50%", b"coins, 51%")),
    "SIMULATED is gone": ("urrp", replace("report.html", b"SIMULATED", b"MEASURED")),
    "an index": ("pilot-index", replace("index.html", b"SIMULATED", b"MEASURED")),
    # records of a calibration
    **{f"records: {name}": ("counts", record(change)) for name, change in {
        "1 for true": lambda rows: put("covers", 1, rows[1]),
        "a word that there is not": lambda rows: put("word", "proven", rows[1]),
        "a count below 0": lambda rows: put("positive", -1, rows[1]),
        "a key more": lambda rows: put("note", 1, rows[1]),
        "a key of the other design": lambda rows: put("probes", None, rows[1]),
        "a key less": lambda rows: rows[1].pop("word"),
        "a design that there is not": lambda rows: put("design", "3x3", rows[1]),
        "no object": lambda rows: rows.insert(1, []),
        "a key more in the head": lambda rows: put("more", 1, rows[0]),
        "a seed that is true": lambda rows: put("seed", True, rows[0]),
        "another order": lambda rows: rows.append(rows.pop(1)),
        "one less": lambda rows: rows.pop(),
        "one twice": lambda rows: rows.insert(2, rows[1])}.items()},
    # runs of a plan
    "a registered run is deleted": ("plans", remove("cvd-S.low*")),
    "a run is doubled under another name": ("plans", lambda folder: shutil.copytree(
        find(folder, "cvd-S.low*"), folder / "cvd-S.low-C.absent-H.low-s43")),
    "two runs change their folders": ("plans", lambda folder: swap(*sorted(
        path for path in folder.iterdir() if path.name.startswith("cvd")))),
    "a run is cut to its manifest": ("plans", remove("cvd-S.low*/journal.jsonl.gz")),
    "the registration names another hash": ("plans", edit("prereg.json", lambda value: change_one(
        value))),
    "the registration has a key more": ("plans", edit("prereg.json", partial(put, "note", 1))),
    "the plan has a key more": ("plans", edit("plan.json", partial(put, "note", 1))),
    "the plan names a run less": ("plans", edit("plan.json", lambda v: v["runs"].pop())),
    # forms of the same
    "a key stands twice": ("pilot", bytes_of("manifest.json", lambda d: b'{"state":"x",' + d[1:])),
    "a key stands twice in an analysis": ("pilot", bytes_of(
        "pilot-analysis.json", lambda d: b'{"verdict":0,' + d[1:])),
    "an unknown key": ("pilot", edit("manifest.json", partial(put, "note", 1))),
    "an unknown key in unproven": ("pilot", edit(
        "manifest.json", lambda value: value["unproven"].update(note=1))),
    "other spaces": ("pilot", bytes_of("manifest.json", lambda d: d.replace(b": ", b":  ", 1))),
    "tabs": ("pilot", bytes_of("manifest.json", lambda d: d.replace(b"\n  ", b"\n\t"))),
    "a byte order mark": ("pilot", bytes_of("manifest.json", lambda d: b"\xef\xbb\xbf" + d)),
    "UTF-16": ("pilot", bytes_of("manifest.json", lambda d: d.decode().encode("utf-16"))),
    "escapes for letters": ("pilot", bytes_of(
        "manifest.json", lambda d: d.replace(b'"sim-coin"', b'"\\u0073im-coin"', 1))),
    "lines of another system": ("pilot", bytes_of(
        "manifest.json", lambda d: d.replace(b"\n", b"\r\n"))),
    "a number in another form": ("pilot", bytes_of(
        "manifest.json", lambda d: re.sub(rb": 0,", b": 0.0,", d, count=1))),
    "spaces in the journal": ("pilot", replace("journal.jsonl.gz", b'":"', b'": "')),
    "a key twice in the journal": ("pilot", replace(
        "journal.jsonl.gz", b'"attempt":1', b'"attempt":1,"attempt":1')),
    "a byte order mark in the journal": ("pilot", lambda folder: write(
        folder / "journal.jsonl.gz", b"\xef\xbb\xbf" + read(folder / "journal.jsonl.gz"))),
    "half a line more in the journal": ("pilot", lambda folder: write(
        folder / "journal.jsonl.gz", read(folder / "journal.jsonl.gz") + b'{"prev":"')),
    "a line of trials twice": ("urrp", bytes_of(
        "urrp_runs.jsonl", lambda d: d + d.splitlines(keepends=True)[-1])),
    "a trial less": ("urrp", bytes_of(
        "urrp_runs.jsonl", lambda d: b"".join(d.splitlines(keepends=True)[:-1]))),
    "a journal without its last line's end": ("pilot", lambda folder: write(
        folder / "journal.jsonl.gz", read(folder / "journal.jsonl.gz")[:-1])),
    "a packed file in two parts": ("pilot", repacked("trials.jsonl.gz")),
    "a packed file with a tail": ("pilot", bytes_of("trials.jsonl.gz", lambda d: d + b"tail")),
    "a packed file with a name in it": ("pilot", lambda folder: (
        folder / "trials.jsonl.gz").write_bytes(named_gzip(read(folder / "trials.jsonl.gz")))),
    # files of nobody
    "a second journal, true beside a forged one": ("pilot", lambda folder: (
        write(folder / "journal.jsonl", read(folder / "journal.jsonl.gz")),
        replace("journal.jsonl.gz", b"content", b"context")(folder))),
    "a second journal, forged beside a true one": ("pilot", lambda folder: write(
        folder / "journal.jsonl", read(folder / "journal.jsonl.gz").replace(b"a", b"b", 9))),
    "a second journal, the same": ("pilot", lambda folder: write(
        folder / "journal.jsonl", read(folder / "journal.jsonl.gz"))),
    **{f"{name} beside a {kind}": (kind, add(name)) for kind, name in [
        ("pilot", "VERIFIED.txt"), ("pilot", "redacted.json"), ("pilot", "report-final.html"),
        ("pilot", "pilot-summary.pdf"), ("pilot", "trials.csv.bak"), ("pilot", "prereg.json"),
        ("pilot", "acausal-analysis.json"), ("pilot", "exports/games.csv"), ("pilot", ".hidden"),
        ("pilot", "inflight.jsonl"), ("pilot", "a\nverified b: pilot.json"),
        ("urrp", "urrp_runs2.jsonl"), ("urrp", "labels.csv"),
        ("plans", "report-2.html"), ("plans", "exports/more.csv"), ("plans", "ratings.csv"),
        ("counts", "calibration-final.md"), ("counts", "populations.csv")]},
    "a folder beside": ("pilot", lambda folder: (folder / "more").mkdir()),
    "a page that hides behind a kill": ("pilot", lambda folder: (
        killed(folder), (folder / "report.html").write_text("<p>100%"))),
    "an unpacked journal": ("pilot", lambda folder: (
        write(folder / "journal.jsonl", read(folder / "journal.jsonl.gz")),
        remove("journal.jsonl.gz")(folder))),
    "packed by another hand": ("pilot", bytes_of(
        "trials.jsonl.gz", lambda d: gzip.compress(gzip.decompress(d)))),
    "a registration is gone": ("plans", remove("prereg.json")),
    "another instrument": ("pilot", edit("manifest.json", partial(put, "artifact", "tournament"))),
    "who answered": ("pilot", edit("manifest.json", lambda value: value["identity"].update(
        provider="https://openrouter.ai/api/v1"))),
    "a run inside a run": ("pilot", lambda folder: shutil.copytree(
        folder, folder / "more", ignore=shutil.ignore_patterns("more"))),
}
VALUES = {"served": {"sim-coin": {"gpt-5": 8}}, "upstreams": {}, "statuses": {"ok": 16},
          "retries": 3, "outcomes": {"ok": 16, "empty": 1}, "simulated": False, "stamp": None,
          "waits": 3, "merkle_root": "0" * 64, "state": "incomplete", "errors": {"429": 2},
          "cost": {"spent_usd": 1.0, "lost_usd": 0.0}}
FOUND |= {f"another value of {key}": ("pilot", edit("manifest.json", partial(put, key, value)))
          for key, value in VALUES.items()}
# Files that hang or fill the memory.
HANGING = {
    "a pipe for a manifest": ("pilot", pipe("manifest.json")),
    "a pipe for a journal": ("pilot", pipe("journal.jsonl.gz")),
    "a pipe for a page": ("plans", pipe("report.html")),
    "a pipe beside": ("pilot", pipe("pipe")),
    "an endless journal": ("pilot", link("journal.jsonl.gz", "/dev/zero")),
    "an endless manifest": ("pilot", link("manifest.json", "/dev/zero")),
    "an endless plan": ("plans", link("plan.json", "/dev/zero")),
    "a bomb for a journal": ("pilot", bomb("journal.jsonl.gz")),
    "a bomb for trials": ("pilot", bomb("trials.jsonl.gz")),
    "a bomb for records": ("counts", bomb("replications.jsonl.gz")),
    "twenty gigabytes of manifest": ("pilot", huge("manifest.json")),
    "twenty gigabytes of analysis": ("plans", huge("acausal-analysis.json")),
    "a manifest nested without end": ("pilot", add("manifest.json", b"[" * 200_000)),
}


def at_most_a_gigabyte():
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))


@pytest.mark.parametrize("attack", [*FOUND, *GENERAL, *HANGING])
def test_an_attack_is_named_with_exit_code_2(studies, study, tmp_path, attack):
    kind, change = (FOUND | GENERAL | HANGING)[attack]
    if kind == "pilot-index":
        folder = shutil.copytree(studies / "pilot", tmp_path / "pilot")
    else:
        folder = study(kind)
    change(folder)
    done = verified(folder, tmp_path) if attack not in HANGING else process(
        tmp_path, "analyze.py", "--verify", folder, preexec_fn=at_most_a_gigabyte)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stderr and "Traceback" not in done.stdout
    assert "\nverified b" not in done.stdout  # no file's name writes a line of its own
    assert re.search(r"\w+\.(json|jsonl|md|html|csv|gz|pdf|txt|bak)|more|pipe|hidden|no run here",
                     done.stdout + done.stderr)


# --- a journal that was mended -------------------------------------------------------------------

def killed(folder):
    """The manifest of a run that was killed in its first session."""
    def change(value):
        for key in value.keys() - {"artifact", "identity", "unproven"}:
            del value[key]
        value |= {"state": "running", "files": {"report.html": sha256(b"of an earlier start")}}
        value["unproven"]["sessions"][-1] |= dict.fromkeys(("ended", "ended_by", "elapsed_s"))
    edit("manifest.json", change)(folder)


def test_a_killed_run_is_partial_with_all_that_a_kill_may_leave(study, tmp_path):
    folder = study("pilot")
    killed(folder)
    write(folder / "journal.jsonl", read(folder / "journal.jsonl.gz")[:-30])
    for name, data in {"report.html": b"of an earlier start", "inflight.jsonl": b"{",
                       ".trials.csv.7.tmp": b"x"}.items():
        (folder / name).write_bytes(data)
    done = verified(folder, tmp_path)
    assert done.returncode == 2 and "trials.csv: first difference" in done.stdout  # a line less
    for path in folder.iterdir():
        if path.name in ("journal.jsonl.gz", "trials.jsonl.gz", "trials.csv", "pilot-analysis.json",
                         "pilot-summary.md"):
            path.unlink()
    done = verified(folder, tmp_path)
    assert done.returncode == 3 and done.stdout.startswith("PARTIAL"), done.stdout
    (folder / "journal.jsonl").unlink()
    assert verified(folder, tmp_path).returncode == 2


def forged(change):
    """The journal's lines are changed, its chain is mended, and what the manifest says of it."""
    def attack(folder):
        lines, prev = [], ""
        for line in change([json.loads(line) for line in
                            read(folder / "journal.jsonl.gz").splitlines()]):
            line["prev"] = prev or line["prev"]
            lines.append(json.dumps(line, separators=(",", ":")).encode())
            prev = sha256(lines[-1])
        write(folder / "journal.jsonl.gz", b"".join(line + b"\n" for line in lines))
        edit("manifest.json", lambda value: value["journal"].update(
            head_sha256=prev, attempts=len(lines)))(folder)
    return attack


def first(part="", **changes):
    """The first line, or a part of it, says something else."""
    def change(lines):
        (lines[0][part] if part else lines[0]).update(changes)
        return lines
    return forged(change)


def body(**changes):
    def change(lines):
        said = json.loads(lines[0]["response"]["body"]) | changes
        lines[0]["response"]["body"] = json.dumps(said)
        return lines
    return forged(change)


def retried(lines, **changes):
    """An attempt that failed before the answer, as it may stand there."""
    failed = lines[0] | {"outcome": None, "cost_usd": None, "response": FAILED} | changes
    return [failed, lines[0] | {"attempt": 2}, *lines[1:]]


FAILED = {"status": 500, "headers": {}, "body": "", "error": ""}
TEXT = {"choices": [{"finish_reason": "stop", "message": {"content": "Decision: COORDINATE"}}]}
CUT = {"choices": [{"finish_reason": "length", "message": {"content": "x"}}]}
MENDED = {
    "one line is left": (forged(lambda x: x[:1]), "manifest.json: "),
    "the first line is gone": (forged(lambda x: [
        x[1] | {"prev": x[0]["prev"]}, *x[2:]]), "manifest.json: "),
    "an answer is asked again": (forged(lambda x: [x[0] | {"outcome": "provider_error"}, *x]),
                                 "outcome 'provider_error', and the response says"),
    "an outcome": (first(outcome="empty"), "outcome 'empty', and the response says"),
    "an end": (body(**CUT), "and the response says 'truncated'"),
    "an end and its outcome": (lambda folder: (body(**CUT)(folder), first(outcome="truncated")(
        folder)), r"manifest.json: outcomes\.ok: expected 7, found 8"),
    "a text": (body(**TEXT), r"trials.csv: first difference in line \d, column \d+: expected "
               "'[^']{5,40}', found '[^']{5,40}'"),
    "a cost": (first(cost_usd=0.5), "cost_usd 0.5, and the response says 0"),
    "a charge": (first(charged_usd=0.5), "charged_usd 0.5, and the response cost 0"),
    "a charge below 0": (first(charged_usd=-1e-6), "line 1: not a journal line"),
    "a cost below 0": (first(cost_usd=-0.1), "line 1: not a journal line"),
    "finality": (first(final=True), "final True, and the response says False"),
    "a question": (first(request_sha256="0" * 64), "another question than design and prompts"),
    "a stage": (first(stage="rating"), "another question than design and prompts"),
    "a line of nobody": (forged(lambda x: [*x, x[0] | {"id": "coin/r99"}]), "r99: not in the des"),
    "a failure of nobody": (forged(lambda x: [retried(x, id="x/y")[0], *x]), "x/y: not in the des"),
    "a line twice": (forged(lambda x: [*x, dict(x[0])]), "is answered twice"),
    "half of a character": (first(at="\ud800"), "line 1: not a journal line"),
    "an attempt's number": (first(attempt=2), "attempt 2, and it is number 1"),
    "a key more": (first(note="x"), "line 1: not a journal line"),
    "an answer left out": (first(outcome=None), "outcome None, and the response says"),
    "a failure that was none": (forged(retried), "retries: expected 1, found 0"),
    "an attempt in other words": (forged(lambda x: retried(x, request_sha256="0" * 64)),
                                  "another question than its first"),
    "an error for an answer": (first(response=FAILED), "says 'provider_error'"),
    **{f"{key} was sent": (first("request", **{key: value}), "is not what the design would send")
       for key, value in (("model", "sloppy2"), ("temperature", 0.1), ("seed", 1),
                          ("max_completion_tokens", 9), ("top_p", 0.5), ("messages", []))},
}


@pytest.mark.parametrize("attack", MENDED)
def test_a_forged_line_is_named_although_the_chain_was_mended(study, tmp_path, attack):
    folder, (change, words) = study("pilot"), MENDED[attack]
    change(folder)
    done = verified(folder, tmp_path)
    assert done.returncode == 2 and re.search(words, done.stdout), done.stdout


@pytest.mark.parametrize(("change", "words"), [
    (first("request", temperature=0.9), "is not what the design would send"),
    (first(cost_usd=0.5), "cost_usd 0.5, and the response says None")])
def test_what_a_real_model_was_sent_and_what_it_cost_is_compared(tmp_path, change, words):
    folder = shutil.copytree(ROOT / "results/examples/pilot-smollm2", tmp_path / "run")
    change(folder)
    done = verified(folder, tmp_path)
    assert done.returncode == 2 and words in done.stdout, done.stdout


# --- what nothing in a folder shows --------------------------------------------------------------

# Another journal, as whole as before: its head or its root differs from what was published.
UNFINDABLE = {
    "when an answer came": first(at="2020-01-01T00:00:00Z"),
    "how long it took": first(latency_s=9.0),
    "the words of an error": first(message="it was fine"),
    "headers": first("response", headers={"a": "b"}),
    "the order of the answers": forged(lambda x: [x[1] | {"prev": x[0]["prev"]}, x[0], *x[2:]]),
    "texts, with all that follows from them": body(**TEXT, id="another"),
}
# What no journal tells of: the success line names it.
UNPROVEN = {"version": "9.9.9", "platform": "x", "code": {},
            "sessions": [{"started": "2020-01-01T00:00:00Z", "ended": "2020-01-01T00:00:00Z",
                          "ended_by": "complete", "elapsed_s": 9.0, "python": "3.99"}]}


def session(**changes):
    return lambda unproven: unproven["sessions"][-1].update(changes)


# What it says against itself, or against what the journal tells.
CONTRADICTIONS = {
    "a complete run that a budget ended": lambda unproven: put("ended_by", "budget", unproven),
    "a complete run whose session did not end": session(ended=None, ended_by=None, elapsed_s=None),
    "a complete run whose session a budget ended": session(ended_by="OverBudget"),
    "no session": lambda unproven: unproven["sessions"].clear(),
    "an end before the start": session(ended="2020-01-01T00:00:00Z"),
    "a session before the one before": lambda unproven: unproven["sessions"].insert(
        0, unproven["sessions"][-1] | {"started": "2099-01-01T00:00:00Z",
                                       "ended": "2099-01-01T00:00:00Z"}),
    "a time that is none": session(started="yesterday"),
    "a session that has no end and a reason": lambda unproven: unproven["sessions"].insert(
        0, unproven["sessions"][-1] | {"ended": None}),
    "a provider of respondents": lambda unproven: put("provider", {
        "base_url": "http://x", "dialect": "openai", "notes": ["fine"], "models": {}}, unproven),
    "a limit of respondents": lambda unproven: put("limit_usd", 5.0, unproven),
    "bills of respondents": lambda unproven: put("audit", {
        "calls": 1, "booked_usd": 1.0, "charged_usd": 1.0}, unproven)}


@pytest.mark.parametrize("attack", CONTRADICTIONS)
def test_what_contradicts_itself_is_a_fault(study, tmp_path, attack):
    folder = study("pilot")
    edit("manifest.json", lambda value: CONTRADICTIONS[attack](value["unproven"]))(folder)
    done = verified(folder, tmp_path)
    assert done.returncode == 2 and "manifest.json: unproven" in done.stdout, done.stdout


@pytest.mark.parametrize(("outer", "inner"), [
    ("counts", "urrp"), ("counts", "pilot"), ("plans", "pilot"), ("pilot", "urrp"),
    ("plans", "counts"), ("urrp", "counts")])
def test_a_folder_in_one_of_another_kind_is_named(study, tmp_path, outer, inner):
    folder = study(outer)
    shutil.move(study(inner), folder / "within")
    done = verified(folder, tmp_path)
    assert done.returncode == 2 and re.search(r"^FAILED .*within: ", done.stdout, re.M), done.stdout


MISLEADING = {
    "a registration beside a pilot": ("pilot", add("prereg.json"), "prereg.json: no plan.json"),
    "an analysis without runs": ("counts", add("acausal-analysis.json", b"{"),
                                 "acausal-analysis.json: "),
    "the name of another instrument": ("pilot", edit("manifest.json", partial(
        put, "artifact", "tournament")), "manifest.json: nothing follows from it"),
    "packed at another time": ("pilot", bytes_of("journal.jsonl.gz", lambda d: (
        d[:4] + b"\1" + d[5:])), "journal.jsonl.gz: not packed by this project"),
    "packed by another system": ("pilot", bytes_of("journal.jsonl.gz", lambda d: (
        d[:9] + b"\3" + d[10:])), "journal.jsonl.gz: not packed by this project"),
    "packed text that is damaged": ("pilot", bytes_of("journal.jsonl.gz", lambda d: (
        d[:40] + bytes(9) + d[49:])), "journal.jsonl.gz: damaged"),
    "a packed file that is cut": ("counts", bytes_of("replications.jsonl.gz", lambda d: d[:-30]),
                                  "replications.jsonl.gz: .*ends too early"),
    "a number of 5,000 digits": ("counts", lambda folder: write(
        folder / "replications.jsonl.gz", b'{"seed":' + b"9" * 5000 + b"}\n"),
        "replications.jsonl.gz line 1: .*a number of more than 4,300 digits"),
    "an analysis that is gone": ("plans", remove("acausal-analysis.json"),
                                 "acausal-analysis.json: No such file")}


@pytest.mark.parametrize("attack", MISLEADING)
def test_a_fault_is_told_in_words_that_do_not_mislead(study, tmp_path, attack):
    kind, change, words = MISLEADING[attack]
    folder = study(kind)
    change(folder)
    done = verified(folder, tmp_path)
    assert done.returncode == 2 and re.search(words, done.stdout), done.stdout
    assert "Errno" not in done.stdout and "plan.json: can't be read" not in done.stdout


def test_an_analysis_that_is_wholly_gone_is_told(study, tmp_path):
    plan = study("plans")
    for name in ("acausal-analysis.json", "acausal-summary.md", "report.html", "exports"):
        remove(name)(plan)
    done = verified(plan, tmp_path)
    assert done.returncode == 0 and re.search(
        rf"note: {plan}: no analysis .*analyze.py", " ".join(done.stderr.split()))


@pytest.mark.parametrize("kind", FILES)
def test_a_success_fits_a_terminal_and_gives_root_and_head_whole(study, tmp_path, kind):
    done = verified(study(kind).relative_to(tmp_path), tmp_path)
    assert done.returncode == 0
    assert max(map(len, [*done.stdout.splitlines(), *done.stderr.splitlines()])) <= 80
    found = re.findall(r"^  (root|head) [0-9a-f]{64}$", done.stdout, re.M)
    assert found == ["root", "head"] * {"plans": 2, "counts": 0}.get(kind, 1)


@pytest.mark.parametrize("attack", UNFINDABLE)
def test_a_journal_that_was_forged_as_a_whole_differs_from_what_was_published(
        study, tmp_path, attack):
    folder = study("pilot")
    root, head = re.search(r"root (\w+)\s+head (\w+)", verified(folder, tmp_path).stdout).groups()
    UNFINDABLE[attack](folder)
    ended(tmp_path, "analyze.py", folder)
    done = verified(folder, tmp_path)
    assert done.returncode == 0, done.stdout
    assert "as a whole follows from itself: publish root and head" in " ".join(done.stderr.split())
    forged = re.search(r"root (\w+)\s+head (\w+)", done.stdout).groups()
    assert head not in forged and (root in forged) == ("texts" not in attack)
    for published, code in ((head, 2), (forged[0], 0), (f"{head},{forged[1]}", 0)):
        assert ended(tmp_path, "analyze.py", "--verify", "--expect-head", published,
                     folder).returncode == code


@pytest.mark.parametrize("key", UNPROVEN)
def test_what_no_journal_tells_of_is_named_with_the_success(study, tmp_path, key):
    folder = study("pilot")
    edit("manifest.json", lambda value: value["unproven"].update({key: UNPROVEN[key]}))(folder)
    done = verified(folder, tmp_path)
    assert done.returncode == 0, done.stdout
    assert re.search(rf"unproven: [^:]*\b{key}\b", done.stdout)


def test_the_code_of_a_run_is_named_by_the_hashes_of_its_files(study):
    code = json.loads(read(study("pilot") / "manifest.json"))["unproven"]["code"]
    assert {"analyze.py", "common/runs.py", "cirrus/reports/pilot.py"} < code.keys()
    assert all(sha256((ROOT / name).read_bytes()) == digest for name, digest in code.items())


def test_of_a_folder_that_holds_a_link_no_file_is_said_to_be_verified(study, tmp_path):
    folder = study("pilot")
    (folder / "link").symlink_to(folder / "manifest.json")
    done = ended(tmp_path, "analyze.py", "--verify", "--json", folder)
    [verdict] = json.loads(done.stdout)["runs"]
    assert (verdict["files"], verdict["ok"]) == (0, False)


def test_a_torn_line_behind_an_unfinished_run_is_named(cli, double, tmp_path):
    double.script(faults=[{"fault": "401", "skip": 2}])
    assert cli("run_pilot.py", "--base-url", double.url, "--models", "double/a", "--runs", 1,
               "--concurrency", 1, "--out", "o").returncode == 5
    folder = run_in(tmp_path / "o")
    assert cli("analyze.py", "--verify", folder).returncode == 3
    with open(folder / "journal.jsonl", "ab") as file:
        file.write(b'{"prev":')
    done = cli("analyze.py", "--verify", folder)
    assert done.returncode == 2
    assert "journal.jsonl: its last line is not whole; restore it" in done.stdout


def test_one_changed_file_of_the_code_since_the_run_is_noted(study, tmp_path):
    folder, words = study("pilot"), "the project's code has changed since the run"
    assert words not in " ".join(verified(folder, tmp_path).stderr.split())
    edit("manifest.json", lambda value: value["unproven"]["code"].update(
        {"analyze.py": "0" * 64}))(folder)
    done = verified(folder, tmp_path)
    assert done.returncode == 0 and words in " ".join(done.stderr.split())


def test_where_a_file_parts_from_what_follows_is_told_by_line_and_column(study, tmp_path):
    folder = study("pilot")
    whole = read(folder / "trials.csv")
    first, second, *more = whole.splitlines(keepends=True)
    for data, says in ((first + second, "line 3, column 1: expected '.+', found the end of the f"),
                       (whole + b"#", rf"line {len(more) + 3}, column 1: expected the end of the "
                                      "file, found '#'"),
                       (whole.replace(second, second[:6] + b"#" + second[7:]),
                        f"line 2, column 7: expected '{second[6:9].decode()}.*', found '#")):
        write(folder / "trials.csv", data)
        done = verified(folder, tmp_path)
        assert done.returncode == 2
        assert re.search(f"trials.csv: first difference in {says}", done.stdout), done.stdout


# --- what people filled in -----------------------------------------------------------------------

def filled(sheet, to, **cells):
    """A sheet that somebody has filled: `cells` in every row."""
    with open(sheet, encoding="utf-8-sig", newline="") as file:
        rows = [row | cells for row in csv.DictReader(file)]
    with open(to, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)


def test_an_imported_sheet_is_allowed_as_it_was_imported(study, tmp_path):
    plan, urrp = study("plans"), study("urrp")
    trials, labels = urrp / "urrp_runs.jsonl", urrp / "labels.csv"
    ended(tmp_path, "analyze.py", plan, "--export-ratings", "r.csv")
    filled(tmp_path / "r.csv", tmp_path / "anna.csv", rater="anna", acausal="yes")
    ended(tmp_path, "analyze.py", plan, "--import-ratings", "anna.csv")
    ended(tmp_path, "urrp_analyze.py", trials, "--export-labels", "l.csv", "--sample", 5)
    filled(tmp_path / "l.csv", labels, label="OTHER")
    ended(tmp_path, "urrp_analyze.py", trials, "--import-labels", labels, "--json",
          urrp / "urrp-analysis.json", "--html", urrp / "report.html")
    for folder, sheet in ((plan, find(plan, "ratings/*.json")), (urrp, labels)):
        done = verified(folder, tmp_path)
        assert done.returncode == 0, done.stdout
        assert f"unproven: {'code' if folder == urrp else 'prereg'}" in done.stdout
        assert sheet.name in done.stdout
        sheet.write_bytes(sheet.read_bytes().replace(b"true", b"false").replace(
            b"OTHER", b"DENIAL"))
        assert verified(folder, tmp_path).returncode == 2
        sheet.unlink()
        assert verified(folder, tmp_path).returncode == 2


# --- what is said of a folder --------------------------------------------------------------------

@pytest.mark.parametrize("kind", FILES)
def test_what_was_made_is_verified_and_says_what_is_unproven(study, tmp_path, kind):
    done = verified(study(kind), tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "unproven" in done.stdout + done.stderr or kind == "counts"


def test_nothing_is_written_and_a_folder_that_fails_hides_no_other(studies, study, tmp_path):
    bad = study("pilot")
    attack = FOUND["a figure of a pilot"][1]
    attack(bad)
    shutil.copytree(studies / "counts", tmp_path / "zz")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    done = ended(tmp_path, "analyze.py", "--verify", "--json", tmp_path)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
    verdicts = json.loads(done.stdout)["runs"]
    assert [(verdict["instrument"], verdict["ok"]) for verdict in verdicts] == [
        ("pilot", False), ("calibration", True)]
    assert "pilot-analysis.json: first difference in line" in verdicts[0]["problems"][0]


def test_runs_verify_after_the_project_s_prompts_have_changed(studies, tmp_path):
    project = tmp_path / "project"
    for name in ("cirrus", "common", "show", "stats", "urrp", "prompts"):
        shutil.copytree(ROOT / name, project / name)
    shutil.copy(ROOT / "analyze.py", project)
    for path in (project / "prompts").rglob("round_*.md"):
        path.write_text("all new", "utf-8")
    for path in (project / "prompts").rglob("frame.json"):
        path.write_text("{}", "utf-8")
    done = subprocess.run(
        [sys.executable, project / "analyze.py", "--verify", studies / "pilot",
         *(studies / "plans").glob("*/cvd*")], capture_output=True, text=True,
        env=clean_environment())
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", ["nowhere", "empty"])
def test_a_folder_without_runs_is_wrong_usage(tmp_path, path):
    (tmp_path / "empty").mkdir()
    done = verified(tmp_path / path, tmp_path)
    assert done.returncode == 2 and done.stderr.startswith("error: ") and done.stdout == ""


@pytest.mark.parametrize("content", [
    b"", b"[" * 100_000, b"\xff\xfe", b"null", b'{"a":', b'{"plan":"p","runs":[true]}',
    b'{"artifact":"prereg","files":{"a":[]},"runs":[]}'])
@pytest.mark.parametrize("name", ["manifest.json", "prompts.json", "../prereg.json",
                                  "../plan.json"])
def test_analysis_and_index_end_in_words_whatever_a_file_holds(study, tmp_path, name, content):
    plan = study("plans")
    run = find(plan, "cvd-S.low*")
    (run / name).write_bytes(content)
    assert verified(plan, tmp_path).returncode == 2
    for flags in ([plan, "--out", "a"], ["--index", plan, "--out", tmp_path]):
        done = ended(tmp_path, "analyze.py", *flags)
        assert done.returncode in (0, 2) and "Traceback" not in done.stderr


# --- drawn mechanically --------------------------------------------------------------------------

JSONS = [("plans", "cvd-S.low*/manifest.json"), ("plans", "cvd-S.high*/acausal_manifest.json"),
         ("pilot", "manifest.json"), ("pilot", "pilot-analysis.json"), ("pilot", "prompts.json"),
         ("plans", "plan.json"), ("plans", "prereg.json"), ("plans", "acausal-analysis.json"),
         ("urrp", "manifest.json"), ("urrp", "urrp-analysis.json"), ("counts", "calibration.json")]


def objects(value, path=()):
    """Every object of a JSON value with two keys or more, and its path; not what is unproven."""
    if isinstance(value, dict):
        if len(value) > 1 and path[:1] != ("unproven",):
            yield path
        for key, part in value.items():
            yield from objects(part, (*path, key))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from objects(part, (*path, index))


def drawn(seed):
    """One mechanical change of one JSON file: a key removed, renamed, or set to its neighbour's."""
    draw = random.Random(seed)
    kind, name = JSONS[seed % len(JSONS)]
    how = ("removed", "renamed", "neighbour", "doubled")[seed // len(JSONS) % 4]

    def attack(folder):
        path = find(folder, name)
        before = read(path)
        value = json.loads(before)
        for place in draw.sample(spots := list(objects(value)), len(spots)):
            part = reduce(lambda inner, key: inner[key], place, value)
            keys = [key for key in part if (*place, key)[0] != "unproven"]
            at = draw.randrange(len(keys)) if keys else 0
            key, other = keys[at], keys[at - 1]
            if how == "neighbour" and part[key] == part[other]:
                continue
            if how == "removed":
                del part[key]
            elif how == "renamed":
                part[key + "_"] = part.pop(key)
            elif how == "neighbour":
                part[key] = part[other]
            break
        text = json.dumps(value, indent=2 if before.startswith(b"{\n  ") else None,
                          ensure_ascii=False, sort_keys=True,
                          separators=None if before.startswith(b"{\n  ") else (",", ":")) + "\n"
        if how == "doubled":
            key = draw.choice(list(re.finditer(r'(?m)^ *"[^"]+": ', text)))
            text = f"{text[:key.start()]}{key[0]}0,{text[key.start():]}"
        write(path, text.encode())
        assert read(path) != before
    return kind, attack


@pytest.mark.parametrize("seed", range(int(os.environ.get("TAMPERINGS", "108"))))
def test_a_key_removed_doubled_renamed_or_set_to_its_neighbour_s_value(study, tmp_path, seed):
    kind, attack = drawn(seed)
    folder = study(kind)
    attack(folder)
    done = verified(folder, tmp_path)
    assert done.returncode == 2, done.stdout + done.stderr

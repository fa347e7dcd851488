"""Does everything in a folder follow from its journal? `--verify` names whatever was changed.

Each attack was written before the code that finds it was read. One of `ATTACKS` ends with exit code
2 and a line that names a file; one of `UNFINDABLE` passes, and the success line says so.
"""

import csv
import gzip
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
from functools import reduce

import pytest
from conftest import ROOT, clean_environment, ended, process, run_in

from common.artifacts import gzip_bytes, sha256

PLAN = {"name": "pair", "runs": [{"toggles": {"S": "high", "C": "present", "H": "low"}},
                                {"toggles": {"S": "low", "C": "absent", "H": "low"}}]}
FILES = {  # what a reader makes, and what it makes that from
    "pilot": (["trials.jsonl.gz", "pilot-analysis.json", "pilot-summary.md", "report.html",
               "trials.csv"], ["manifest.json", "prompts.json", "journal.jsonl.gz"]),
    "urrp": (["urrp-analysis.json", "report.html", "trials.csv"], ["urrp_runs.jsonl"]),
    "counts": (["calibration.md", "report.html"], ["calibration.json"]),
    "plans": (["acausal-summary.md", "report.html", "exports/games.csv", "exports/decisions.csv",
               "exports/policies.csv"], ["acausal-analysis.json", "plan.json", "prereg.json"])}


@pytest.fixture(scope="session")
def studies(tmp_path_factory):
    """One folder of each kind that `--verify` reads, all SIMULATED but the real pilot."""
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
    urrp = run_in(out / "urrp")
    assert ended(out, "urrp_analyze.py", urrp / "urrp_runs.jsonl", "--json",
                 urrp / "urrp-analysis.json", "--html", urrp / "report.html", "--csv",
                 urrp / "trials.csv").returncode == 0
    shutil.copytree(ROOT / "results/examples/pilot-smollm2", out / "real/run")
    shutil.copytree(out / "pilot", out / "index")
    return out


@pytest.fixture
def study(studies, tmp_path):
    """study(kind) → a fresh copy of one kind's folder."""
    def copy(kind):
        folder = shutil.copytree(studies / kind, tmp_path / kind)
        return folder if kind in ("counts", "index") else run_in(folder)
    return copy


def verified(folder, tmp_path):
    return ended(tmp_path, "analyze.py", "--verify", folder)


# --- ways to change a file -----------------------------------------------------------------------

def read(path):
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def write(path, data):
    path.write_bytes(gzip_bytes(data) if path.suffix == ".gz" else data)


def find(folder, name):
    return next(iter(sorted(folder.glob(name)))) if "*" in name else folder / name


def raw(name, change):
    """The bytes of a file are changed."""
    def attack(folder):
        path = find(folder, name)
        path.write_bytes(change(path.read_bytes()))
    return attack


def text(name, change, to=None):
    """What a file says is changed, packed as before; into another file where one is named."""
    def attack(folder):
        path = find(folder, name)
        before = read(path)
        new = change(before)
        assert new != before or to
        write(folder / to if to else path, new)
    return attack


def swap(old, new):
    return lambda data: data.replace(old, new, 1)


def dumped(value, like):
    """A JSON value in the form that a file has."""
    wide = like.startswith(b"{\n  ")
    return (json.dumps(value, indent=2 if wide else None, ensure_ascii=False, sort_keys=True,
                       separators=None if wide else (",", ":")) + "\n").encode()


def edit(name, change):
    """A JSON file is changed as an object."""
    def changed(data):
        value = json.loads(data)
        change(value)
        return dumped(value, data)
    return text(name, changed)


def put(*path, value):
    """A JSON file's value at a path of keys is another."""
    return lambda data: reduce(lambda part, key: part[key], path[:-1], data).update(
        {path[-1]: value})


def manifest(*path, value):
    return edit("manifest.json", put(*path, value=value))


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


def link(name, target=None):
    """A file becomes a link: to its own copy elsewhere, or to `target`."""
    def attack(folder):
        path = find(folder, name)
        away = folder.parent.parent / f"away-{path.name}"
        path.rename(away)
        path.symlink_to(target or away)
    return attack


def pipe(name):
    def attack(folder):
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)
    return attack


def bomb(name):
    """A small packed file that unfolds to two gigabytes."""
    return raw(name, lambda data: gzip.compress(b"\0" * 10**8) * 20)


def both(*attacks):
    def attack(folder):
        for each in attacks:
            each(folder)
    return attack


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


def exchanged(folder):
    """Two runs change their folders."""
    one, other = sorted(folder.glob("cvd*"))
    one.rename(away := one.with_name("away"))
    other.rename(one)
    away.rename(other)


def killed(folder):
    """The manifest of a run that was killed in its first session."""
    def change(value):
        for key in value.keys() - {"artifact", "identity", "unproven"}:
            del value[key]
        value |= {"state": "running", "files": {"report.html": sha256(b"of an earlier start")}}
        value["unproven"]["sessions"][-1] |= dict.fromkeys(("ended", "ended_by", "elapsed_s"))
    edit("manifest.json", change)(folder)


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


def session(**changes):
    return edit("manifest.json", lambda value: value["unproven"]["sessions"][-1].update(changes))


def earlier(**changes):
    """A session before the last one."""
    def change(value):
        sessions = value["unproven"]["sessions"]
        sessions.insert(0, sessions[-1] | changes)
    return edit("manifest.json", change)


JOURNAL = "journal.jsonl.gz"
FAILED = {"status": 500, "headers": {}, "body": "", "error": ""}
TEXT = {"choices": [{"finish_reason": "stop", "message": {"content": "Decision: COORDINATE"}}]}
CUT = {"choices": [{"finish_reason": "length", "message": {"content": "x"}}]}
LATE = "2099-01-01T00:00:00Z"
BROKEN = {"is emptied": lambda name: raw(name, lambda data: b""),
          "loses its end": lambda name: raw(name, lambda data: data[:-20]),
          "gets a line more": lambda name: raw(name, lambda data: data + b"\n"),
          "is a link": link, "is gone": remove,
          "is a folder": lambda name: both(remove(name), lambda folder: (folder / name).mkdir())}
NAMED = r"\w+\.(json|jsonl|md|html|csv|gz|pdf|txt|bak)|more|pipe|hidden|no run here"
UNFIT, NOBODY = "line 1: not a journal line", "not in the des"
# {what: (kind, attacks that each alone has to be found, words or NAMED)}
ATTACKS = {
    **{f"{name} {how}": (kind, [change(name)], NAMED) for kind, (_, given) in FILES.items()
       for name in given for how, change in BROKEN.items()},
    "figures and sentences that nobody counted": ("plans", [
        figure("acausal-analysis.json"), text("report.html", swap(b"</h1>", b" (proven)</h1>")),
        raw("acausal-summary.md", lambda d: d + b"True.\n"),
        text("exports/games.csv", swap(b"cvd", b"cvx"))], NAMED),
    "of an URRP analysis": ("urrp", [
        figure("urrp-analysis.json"), text("report.html", swap(b"SIMULATED", b"MEASURED"))], NAMED),
    "of a calibration": ("counts", [figure("calibration.json"), text(
        "calibration.md", swap(b"coins, 50%", b"coins, 51%"))], NAMED),
    "of an index": ("index", [text("index.html", swap(b"SIMULATED", b"MEASURED"))], NAMED),
    "runs of a plan": ("plans", [
        remove("cvd-S.low*"), remove("cvd-S.low*/journal.jsonl.gz"), exchanged,
        lambda folder: shutil.copytree(find(folder, "cvd-S.low*"),
                                       folder / "cvd-S.low-C.absent-H.low-s43")], NAMED),
    "registration and plan": ("plans", [
        text("prereg.json", lambda d: re.sub(rb'"[0-9a-f]{64}"', b'"%064d"' % 0, d, count=1)),
        edit("prereg.json", put("note", value=1)), edit("plan.json", put("note", value=1)),
        edit("plan.json", lambda v: v["runs"].pop())], NAMED),
    "a key that stands twice": ("pilot", [
        raw("manifest.json", lambda d: b'{"state":"x",' + d[1:]),
        raw("pilot-analysis.json", lambda d: b'{"verdict":0,' + d[1:]),
        text(JOURNAL, swap(b'"attempt":1', b'"attempt":1,"attempt":1'))], NAMED),
    "an unknown key": ("pilot", [manifest("note", value=1), manifest("unproven", "note", value=1)],
                       NAMED),
    "another form": ("pilot", [raw("manifest.json", change) for change in (
        swap(b": ", b":  "), swap(b"\n  ", b"\n\t"), lambda d: b"\xef\xbb\xbf" + d,
        lambda d: d.decode().encode("utf-16"), swap(b'"sim-coin"', b'"\\u0073im-coin"'),
        lambda d: d.replace(b"\n", b"\r\n"), lambda d: re.sub(rb": 0,", b": 0.0,", d, count=1))],
        NAMED),
    "another form of the journal": ("pilot", [text(JOURNAL, change) for change in (
        swap(b'":"', b'": "'), lambda d: b"\xef\xbb\xbf" + d, lambda d: d + b'{"prev":"',
        lambda d: d[:-1])], NAMED),
    "trials": ("urrp", [
        raw("urrp_runs.jsonl", lambda d: d + d.splitlines(keepends=True)[-1]),
        raw("urrp_runs.jsonl", lambda d: b"".join(d.splitlines(keepends=True)[:-1]))], NAMED),
    "another packing": ("pilot", [
        raw("trials.jsonl.gz", lambda d: gzip.compress(gzip.decompress(d)[:50]) + gzip.compress(
            gzip.decompress(d)[50:])), raw("trials.jsonl.gz", lambda d: d + b"tail"),
        raw("trials.jsonl.gz", lambda d: gzip.compress(gzip.decompress(d)))], NAMED),
    "a second journal": ("pilot", [
        both(text(JOURNAL, bytes, "journal.jsonl"), text(JOURNAL, swap(b"content", b"context"))),
        text(JOURNAL, swap(b"a", b"b"), "journal.jsonl"), text(JOURNAL, bytes, "journal.jsonl"),
        both(text(JOURNAL, bytes, "journal.jsonl"), remove(JOURNAL))], NAMED),
    **{f"files of nobody beside a {kind}": (kind, [add(name) for name in names], NAMED)
       for kind, names in {
        "pilot": ("VERIFIED.txt", "redacted.json", "report-final.html", "pilot-summary.pdf",
                  "trials.csv.bak", "acausal-analysis.json", "exports/games.csv", ".hidden",
                  "inflight.jsonl", "a\nverified b: pilot.json"),
        "urrp": ("urrp_runs2.jsonl", "labels.csv"),
        "plans": ("report-2.html", "exports/more.csv", "ratings.csv"),
        "counts": ("calibration-final.md", "populations.csv")}.items()},
    "a folder beside": ("pilot", [
        lambda folder: (folder / "more").mkdir(), lambda folder: shutil.copytree(
            folder, folder / "more", ignore=shutil.ignore_patterns("more"))], NAMED),
    "a page that hides behind a kill": ("pilot", [both(
        killed, lambda folder: (folder / "report.html").write_text("<p>100%"))], NAMED),
    "another value": ("pilot", [manifest(key, value=value) for key, value in {
        "served": {"sim-coin": {"gpt-5": 8}}, "statuses": {"ok": 16}, "retries": 3,
        "outcomes": {"ok": 16, "empty": 1}, "simulated": False, "stamp": None, "waits": 3,
        "merkle_root": "0" * 64, "state": "incomplete", "errors": {"429": 2},
        "cost": {"spent_usd": 1.0, "lost_usd": 0.0}}.items()], "manifest.json: "),
    "who answered": ("pilot", [manifest(
        "identity", "provider", value="https://openrouter.ai/api/v1")], NAMED),
    # Lines of a journal whose chain was mended.
    "a line is gone": ("pilot", [forged(lambda x: x[:1]), forged(lambda x: [
        x[1] | {"prev": x[0]["prev"]}, *x[2:]])], "manifest.json: "),
    "an outcome": ("pilot", [
        forged(lambda x: [x[0] | {"outcome": "provider_error"}, *x]), first(outcome="empty"),
        first(outcome=None), body(**CUT), first(response=FAILED)],
        r"outcome .+, and the response says"),
    "an end and its outcome": ("pilot", [both(body(**CUT), first(outcome="truncated"))],
                               r"manifest.json: outcomes\.ok: expected 7, found 8"),
    "a text": ("pilot", [body(**TEXT)], r"trials.csv: first difference in line \d, column \d+: "
               "expected '[^']{5,40}', found '[^']{5,40}'"),
    "a file's end": ("pilot", [text("trials.csv", lambda d: d[:d.index(b"\n", 300) + 1]),
                               text("trials.csv", lambda d: d + b"#")],
                     r"trials.csv: first difference in line \d+, column 1: expected ('.+', found "
                     "the end of the file|the end of the file, found '#')"),
    "a cost": ("pilot", [first(cost_usd=0.5)], "cost_usd 0.5, and the response says 0"),
    "a cost of a real model": ("real", [first(cost_usd=0.5)],
                               "cost_usd 0.5, and the response says None"),
    "a charge": ("pilot", [first(charged_usd=0.5)], "charged_usd 0.5, and the response cost 0"),
    "no line of a journal": ("pilot", [
        first(charged_usd=-1e-6), first(cost_usd=-0.1), first(at="\ud800"), first(note="x")],
        UNFIT),
    "finality": ("pilot", [first(final=True)], "final True, and the response says False"),
    "a question": ("pilot", [first(request_sha256="0" * 64), first(stage="rating")],
                   "another question than design and prompts"),
    "a line of nobody": ("pilot", [forged(lambda x: [*x, x[0] | {"id": "coin/r99"}])],
                         "r99: " + NOBODY),
    "a failure of nobody": ("pilot", [forged(lambda x: [retried(x, id="x/y")[0], *x])],
                            "x/y: " + NOBODY),
    "a line twice": ("pilot", [forged(lambda x: [*x, dict(x[0])])], "is answered twice"),
    "an attempt's number": ("pilot", [first(attempt=2)], "attempt 2, and it is number 1"),
    "a failure that was none": ("pilot", [forged(retried)], "retries: expected 1, found 0"),
    "an attempt in other words": ("pilot", [forged(
        lambda x: retried(x, request_sha256="0" * 64))], "another question than its first"),
    "what was sent": ("pilot", [first("request", **{key: value}) for key, value in {
        "model": "sloppy2", "temperature": 0.1, "seed": 1, "max_completion_tokens": 9,
        "top_p": 0.5, "messages": []}.items()], "is not what the design would send"),
    "what was sent to a real model": ("real", [first("request", temperature=0.9)],
                                      "is not what the design would send"),
    # What nothing proves, against itself or against what the journal tells.
    "an end": ("pilot", [
        manifest("unproven", "ended_by", value="budget"), session(ended_by="OverBudget"),
        session(ended=None, ended_by=None, elapsed_s=None), session(ended="2020-01-01T00:00:00Z"),
        session(started="yesterday"), earlier(ended=None), earlier(started=LATE, ended=LATE),
        edit("manifest.json", lambda value: value["unproven"]["sessions"].clear())],
        "manifest.json: unproven"),
    "what respondents have not": ("pilot", [
        manifest("unproven", "limit_usd", value=5.0),
        manifest("unproven", "provider", value={
            "base_url": "http://x", "dialect": "openai", "notes": ["fine"], "models": {}}),
        manifest("unproven", "audit", value={"calls": 1, "booked_usd": 1.0, "charged_usd": 1.0})],
        "manifest.json: unproven"),
    # Words that do not mislead.
    "a registration beside a pilot": ("pilot", [add("prereg.json")], "prereg.json: no plan.json"),
    "an analysis without runs": ("counts", [add("acausal-analysis.json", b"{")],
                                 "acausal-analysis.json: "),
    "another instrument": ("pilot", [manifest("artifact", value="tournament")],
                           "manifest.json: nothing follows from it"),
    "packed at another time or by another system": ("pilot", [
        raw(JOURNAL, lambda d: d[:4] + b"\1" + d[5:]),
        raw(JOURNAL, lambda d: d[:9] + b"\3" + d[10:])],
        "journal.jsonl.gz: not packed by this project"),
    "packed text that is damaged": ("pilot", [raw(
        JOURNAL, lambda d: d[:40] + bytes(9) + d[49:])], "journal.jsonl.gz: damaged"),
    "a packed file that is cut": ("pilot", [raw(JOURNAL, lambda d: d[:-30])],
                                  "journal.jsonl.gz: .*ends too early"),
    "a number of 5,000 digits": ("counts", [text(
        "calibration.json", lambda d: b'{"seed":' + b"9" * 5000 + b"}\n")],
        "calibration.json: .*a number of more than 4,300 digits"),
    "an analysis that is gone": ("plans", [remove("acausal-analysis.json")],
                                 "acausal-analysis.json: No such file"),
    "a link": ("pilot", [lambda folder: (folder / "link").symlink_to(folder / "trials.csv")],
               "link: no regular file"),
}
SINGLE = [(what, at) for what, (_, attacks, _) in ATTACKS.items() for at in range(len(attacks))]


@pytest.mark.parametrize(("what", "at"), SINGLE)
def test_an_attack_is_named_with_exit_code_2(study, tmp_path, what, at):
    kind, attacks, words = ATTACKS[what]
    folder = study(kind)
    attacks[at](folder)
    done = verified(folder, tmp_path)
    assert done.returncode == 2 and "FAILED" in done.stdout, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr and "Errno" not in done.stdout
    assert "\nverified b" not in done.stdout  # no file's name writes a line of its own
    assert "plan.json: can't be read" not in done.stdout
    assert re.search(words, done.stdout), done.stdout


@pytest.mark.parametrize("how", BROKEN)
@pytest.mark.parametrize("kind", FILES)
def test_of_all_files_that_are_broken_each_is_named(study, tmp_path, kind, how):
    folder = study(kind)
    names = FILES[kind][0]
    if how == "is gone":  # an analysis of URRP may be; a folder that gets empty is a fault itself
        names = [] if kind == "urrp" else names[:2]
    for name in names:
        BROKEN[how](name)(folder)
    done = verified(folder, tmp_path)
    assert [name for name in names if f"{name}: " not in done.stdout] == [], done.stdout
    assert done.returncode == (2 if names else 0)


# Files that hang or fill the memory.
HANGING = {
    "pilot": [pipe("manifest.json"), pipe(JOURNAL), pipe("pipe"), link(JOURNAL, "/dev/zero"),
              link("manifest.json", "/dev/zero"), bomb(JOURNAL), bomb("trials.jsonl.gz"),
              add("manifest.json", b"[" * 200_000),
              lambda folder: os.truncate(folder / "manifest.json", 20_000_000_000)],  # sparse
    "plans": [pipe("report.html"), link("plan.json", "/dev/zero"),
              lambda folder: os.truncate(folder / "acausal-analysis.json", 20_000_000_000)],
    "counts": [lambda folder: os.truncate(folder / "calibration.json", 20_000_000_000)]}


def test_what_hangs_or_fills_the_memory_is_named_within_a_gigabyte(studies, tmp_path):
    made = []
    for kind, attacks in HANGING.items():
        for at, attack in enumerate(attacks):
            whole = studies / kind if kind == "counts" else run_in(studies / kind)
            made.append(shutil.copytree(whole, tmp_path / f"all/{kind}-{at}/run"))
            attack(made[-1])
    done = process(tmp_path, "analyze.py", "--verify", "all", "--json", preexec_fn=lambda:
                   resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30)))
    verdicts = {each["run"]: each["ok"] for each in json.loads(done.stdout)["runs"]}
    assert "Traceback" not in done.stderr and done.returncode == 2
    assert [verdicts[str(path.relative_to(tmp_path))] for path in made] == [False] * len(made)


def test_a_killed_run_is_partial_with_all_that_a_kill_may_leave(study, tmp_path):
    folder = study("pilot")
    killed(folder)
    write(folder / "journal.jsonl", read(folder / JOURNAL)[:-30])
    for name, data in {"report.html": b"of an earlier start", "inflight.jsonl": b"{",
                       ".trials.csv.7.tmp": b"x"}.items():
        (folder / name).write_bytes(data)
    done = verified(folder, tmp_path)
    assert done.returncode == 2 and "trials.csv: first difference" in done.stdout  # a line less
    for name in (JOURNAL, "trials.jsonl.gz", "trials.csv", "pilot-analysis.json",
                 "pilot-summary.md"):
        (folder / name).unlink()
    done = verified(folder, tmp_path)
    assert done.returncode == 3 and done.stdout.startswith("PARTIAL"), done.stdout
    (folder / "journal.jsonl").unlink()
    assert verified(folder, tmp_path).returncode == 2


@pytest.mark.parametrize(("outer", "inner"), [
    ("counts", "urrp"), ("counts", "pilot"), ("plans", "pilot"), ("pilot", "urrp"),
    ("plans", "counts"), ("urrp", "counts")])
def test_a_folder_in_one_of_another_kind_is_named(study, tmp_path, outer, inner):
    folder = study(outer)
    shutil.move(study(inner), folder / "within")
    done = verified(folder, tmp_path)
    assert done.returncode == 2 and re.search(r"^FAILED .*within: ", done.stdout, re.M), done.stdout


def test_an_analysis_that_is_wholly_gone_is_told(study, tmp_path):
    plan = study("plans")
    for name in ("acausal-analysis.json", "acausal-summary.md", "report.html", "exports"):
        remove(name)(plan)
    done = verified(plan, tmp_path)
    assert done.returncode == 0 and re.search(
        rf"note: {plan}: no analysis .*analyze.py", " ".join(done.stderr.split()))


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


# What no journal tells of: the success line names it. Code that has changed is a note besides.
UNPROVEN = {"version": "9.9.9", "platform": "x", "code": {"analyze.py": "0" * 64},
            "sessions": [{"started": "2020-01-01T00:00:00Z", "ended": "2020-01-01T00:00:00Z",
                          "ended_by": "complete", "elapsed_s": 9.0, "python": "3.99"}]}


@pytest.mark.parametrize("key", UNPROVEN)
def test_what_no_journal_tells_of_is_named_with_the_success(study, tmp_path, key):
    folder = study("pilot")
    manifest("unproven", key, value=UNPROVEN[key])(folder)
    done = verified(folder, tmp_path)
    assert done.returncode == 0, done.stdout
    assert re.search(rf"unproven: [^:]*\b{key}\b", done.stdout)
    assert ("the project's code has changed since the run" in " ".join(done.stderr.split())) is (
        key == "code")


@pytest.mark.parametrize("kind", FILES)
def test_a_success_fits_a_terminal_and_gives_root_and_head_whole(study, tmp_path, kind):
    done = verified(study(kind).relative_to(tmp_path), tmp_path)
    assert done.returncode == 0
    assert max(map(len, [*done.stdout.splitlines(), *done.stderr.splitlines()])) <= 80
    assert "unproven" in done.stdout + done.stderr or kind == "counts"
    found = re.findall(r"^  (root|head) [0-9a-f]{64}$", done.stdout, re.M)
    assert found == ["root", "head"] * {"plans": 2, "counts": 0}.get(kind, 1)


def test_the_code_of_a_run_is_named_by_the_hashes_of_its_files(study):
    code = json.loads(read(study("pilot") / "manifest.json"))["unproven"]["code"]
    assert {"analyze.py", "common/runs.py", "cirrus/reports/pilot.py"} < code.keys()
    assert all(sha256((ROOT / name).read_bytes()) == digest for name, digest in code.items())


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

def test_nothing_is_written_and_a_folder_that_fails_hides_no_other(studies, study, tmp_path):
    bad = study("pilot")
    figure("pilot-analysis.json")(bad)
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
    b"[" * 100_000, b"\xff\xfe", b"null", b'{"plan":"p","runs":[true]}',
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


def places(value, path=()):
    """(object, key) of every key of a JSON value; not of what is unproven."""
    if isinstance(value, list):
        value = dict(enumerate(value))
    elif isinstance(value, dict) and path[:1] != ("unproven",):
        yield from ((value, key) for key in value if (*path, key)[0] != "unproven")
    for key, part in value.items() if isinstance(value, dict) else ():
        yield from places(part, (*path, key))


def drawn(how, draw):
    """One key of a JSON file, drawn: removed, renamed, set to its neighbour's value, or twice."""
    def change(data):
        value = json.loads(data)
        part, key = draw.choice(list(places(value)))
        if how == "removed":
            del part[key]
        elif how == "renamed":
            part[key + "_"] = part.pop(key)
        elif how == "neighbour":
            part[key] = next((other for other in part.values() if other != part[key]), "else")
        else:
            text = dumped(value, data).decode()
            place = draw.choice(list(re.finditer(r'(?m)^ *"[^"]+": ', text)))
            return f"{text[:place.start()]}{place[0]}0,{text[place.start():]}".encode()
        return dumped(value, data)
    return change


@pytest.mark.parametrize("seed", range(int(os.environ.get("TAMPERINGS", "44"))))
def test_a_key_removed_doubled_renamed_or_set_to_its_neighbour_s_value(study, tmp_path, seed):
    kind, name = JSONS[seed % len(JSONS)]
    how = ("removed", "renamed", "neighbour", "doubled")[seed // len(JSONS) % 4]
    folder = study(kind)
    text(name, drawn(how, random.Random(seed)))(folder)
    done = verified(folder, tmp_path)
    assert done.returncode == 2, done.stdout + done.stderr

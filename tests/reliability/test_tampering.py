"""Does everything in a folder follow from its journal? `--verify` names whatever was changed.

Each attack was written before the code that finds it was read. `FOUND` ends with exit code 2 and a
line that names a file; `UNFINDABLE` passes, and the success line says so.
"""

import gzip
import io
import json
import os
import random
import re
import shutil
from functools import partial, reduce

import pytest
from conftest import ended

PLAN = {"name": "pair", "runs": [{"toggles": {"S": "high", "C": "present", "H": "low"}},
                                {"toggles": {"S": "low", "C": "absent", "H": "low"}}]}
PACKED = {"journal.jsonl.gz", "trials.jsonl.gz", "replications.jsonl.gz"}


@pytest.fixture(scope="session")
def studies(tmp_path_factory):
    """One folder of each kind that `--verify` reads, all SIMULATED: pilot, plan, urrp, counts."""
    out = tmp_path_factory.mktemp("studies")
    (out / "plan.json").write_text(json.dumps(PLAN))
    plan = ["run_tournament.py", "--plan", "plan.json", "--agents", "3", "--rounds", "1",
            "--out", "plans"]
    for flags in (["run_pilot.py", "--models", "coin", "--runs", "2", "--out", "pilot"],
                  [*plan, "--preregister"], [*plan, "--analyze"],
                  ["urrp_run.py", "--pilot", "--trials", "1", "--models", "denier",
                   "--out", "urrp", "--output", "trials.jsonl"],
                  ["calibrate.py", "--reps", "2", "--populations", "coin", "--out", "counts"],
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
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


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
    "a row of a calibration's table": ("counts", replace("calibration.md", b"coin", b"coln")),
    "SIMULATED is gone": ("urrp", replace("report.html", b"SIMULATED", b"MEASURED")),
    "an index": ("pilot-index", replace("index.html", b"SIMULATED", b"MEASURED")),
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
        "manifest.json", lambda d: d.replace(b'"coin"', b'"\\u0063oin"', 1))),
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
    "a packed file in two parts": ("pilot", repacked("trials.jsonl.gz")),
    "a packed file with a tail": ("pilot", bytes_of("trials.jsonl.gz", lambda d: d + b"tail")),
    "a packed file with a name in it": ("pilot", lambda folder: (
        folder / "trials.jsonl.gz").write_bytes(named_gzip(read(folder / "trials.jsonl.gz")))),
    # files of nobody
    "a second journal, true beside a forged one": ("pilot", lambda folder: (
        write(folder / "journal.jsonl", read(folder / "journal.jsonl.gz")),
        replace("journal.jsonl.gz", b'"text', b'"test')(folder))),
    "a second journal, forged beside a true one": ("pilot", lambda folder: write(
        folder / "journal.jsonl", read(folder / "journal.jsonl.gz").replace(b"a", b"b", 9))),
    "a second journal, the same": ("pilot", lambda folder: write(
        folder / "journal.jsonl", read(folder / "journal.jsonl.gz"))),
    **{f"{name} beside a {kind}": (kind, add(name)) for kind, name in [
        ("pilot", "VERIFIED.txt"), ("pilot", "redacted.json"), ("pilot", "report-final.html"),
        ("pilot", "pilot-summary.pdf"), ("pilot", "trials.csv.bak"), ("pilot", "prereg.json"),
        ("pilot", "acausal-analysis.json"), ("pilot", "exports/games.csv"), ("pilot", ".hidden"),
        ("pilot", "inflight.jsonl"), ("urrp", "urrp_runs2.jsonl"), ("urrp", "labels.csv"),
        ("plans", "report-2.html"), ("plans", "exports/more.csv"), ("plans", "ratings.csv"),
        ("counts", "calibration-final.md"), ("counts", "populations.csv")]},
    "a folder beside": ("pilot", lambda folder: (folder / "more").mkdir()),
    "a run inside a run": ("pilot", lambda folder: shutil.copytree(
        folder, folder / "more", ignore=shutil.ignore_patterns("more"))),
    # files that hang or fill the memory
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


@pytest.mark.parametrize("attack", [*FOUND, *GENERAL])
def test_an_attack_is_named_with_exit_code_2(studies, study, tmp_path, attack):
    kind, change = (FOUND | GENERAL)[attack]
    if kind == "pilot-index":
        folder = shutil.copytree(studies / "pilot", tmp_path / "pilot")
    else:
        folder = study(kind)
    change(folder)
    done = verified(folder, tmp_path)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stderr and "Traceback" not in done.stdout
    assert re.search(r"\w+\.(json|jsonl|md|html|csv|gz|pdf|txt|bak)|more|pipe|no run here",
                     done.stdout + done.stderr)


@pytest.mark.parametrize("kind", FILES)
def test_what_was_made_is_verified_and_says_what_is_unproven(study, tmp_path, kind):
    done = verified(study(kind), tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "unproven" in done.stdout + done.stderr or kind == "counts"


# --- drawn mechanically --------------------------------------------------------------------------

JSONS = [("pilot", "manifest.json"), ("pilot", "pilot-analysis.json"), ("pilot", "prompts.json"),
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
            key = draw.choice(list(re.finditer(r'"\w+": ?', text)))
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

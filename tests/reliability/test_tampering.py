"""Does everything in a folder follow from its journal? `--verify` names whatever was changed.

One of `ATTACKS` ends with exit code 2 and a line that names a file; what can't be found passes, and
the success line says so. TAMPERINGS=500 draws as many keys of JSON files to be changed.
"""

import gzip
import hashlib
import json
import os
import random
import re
import resource
import shutil
from functools import reduce

import pytest
from conftest import edit, ended, process, run_in
from conftest import packed as packed_as_ours
from double import Double

ASKED = "run_pilot.py --models double/a --runs 1 --concurrency 1 --base-url URL --out"
PLANNED = "run_tournament.py --plan 2x2 --agents 3 --rounds 1 --out plans"
STUDIES = {  # commands, and how they end
    "run_pilot.py --models sim-coin --runs 2 --out pilot": 0,
    f"{ASKED} stopped": 5,
    f"{PLANNED} --preregister": 0,
    f"{PLANNED} --analyze": 0,
    "analyze.py --index pilot": 0,
    "urrp_run.py --pilot --trials 1 --models sim-denier --out urrp --output trials.jsonl": 0,
    "calibrate.py --reps 2 --populations coin-50 --out counts": 0,
}
URRP = (
    "urrp_analyze.py",
    "urrp_runs.jsonl",
    "--json",
    "urrp-analysis.json",
    "--html",
    "report.html",
    "--csv",
    "trials.csv",
)


@pytest.fixture(scope="session")
def studies(tmp_path_factory):
    """A folder of each kind that `--verify` reads, all SIMULATED but the stopped and the live."""
    out = tmp_path_factory.mktemp("studies")
    with Double() as double:
        # Two calls warm the model up, one is too long, two are answered.
        too_long = {"fault": "too-long", "skip": 2, "times": 1}
        double.script(faults=[too_long, {"fault": "401", "skip": 4}])
        for command, code in STUDIES.items():
            done = ended(out, *command.replace("URL", double.url).split())
            assert done.returncode == code, done.stderr
        double.script()
        live = f"{ASKED} live".replace("URL", double.url).split()
        assert ended(out, *live).returncode == 0
    assert ended(run_in(out / "urrp"), *URRP).returncode == 0
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


# --- ways to change a folder ---------------------------------------------------------------------


def read(path):
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def write(path, data):
    path.write_bytes(packed_as_ours(data) if path.suffix == ".gz" else data)


def attack(change):
    """change(folder, …) → a function of … that makes a function of a folder."""
    return lambda *args, **more: lambda folder: change(folder, *args, **more)


@attack
def text(folder, name, pattern, new=b""):
    """What a file says is changed where the pattern matches first; it is packed as before."""
    path = min(folder.glob(name))
    after = re.sub(pattern, new, before := read(path), count=1, flags=re.S)
    assert after != before
    write(path, after)


@attack
def packed(folder, name, change):
    """The bytes of a packed file are changed."""
    (folder / name).write_bytes(change((folder / name).read_bytes()))


def sha256(data):
    return hashlib.sha256(data).hexdigest()


@attack
def manifest(folder, *path, value):
    """The manifest has another value at a path of keys."""
    edit(
        folder,
        lambda data: reduce(lambda part, key: part[key], path[:-1], data).update(
            {path[-1]: value}
        ),
    )


@attack
def remove(folder, name):
    path = min(folder.glob(name))
    shutil.rmtree(path) if path.is_dir() else path.unlink()


@attack
def add(folder, name, data=b"x"):
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(data)


@attack
def link(folder, name, target=None):
    """A file becomes a link: to its own copy elsewhere, or to `target`."""
    away = folder.parent.parent / f"away-{name}"
    (folder / name).rename(away)
    (folder / name).symlink_to(target or away)


@attack
def copy(folder, name, target):
    """A folder that is beside it or in it stands in it once more."""
    shutil.copytree(
        min(folder.parent.glob(name)),
        folder / target,
        ignore=shutil.ignore_patterns(target),
    )


def bomb(name):
    """A small packed file that unfolds to two gigabytes."""
    return packed(name, lambda data: gzip.compress(b"\0" * 10**8) * 20)


@attack
def both(folder, *attacks):
    for each in attacks:
        each(folder)


def longer(*names):
    """A row of the table: each of the files is longer by a line break, and all are named."""
    return (
        both(*(text(name, rb"\Z", b"\n") for name in names)),
        "(?s)" + ".*".join(f"{name}: " for name in names),
    )


def exchanged(folder):
    """Two runs change their folders."""
    lower, upper, *_ = sorted(folder.glob("cvd*"))
    lower.rename(folder / "away")
    upper.rename(lower)
    (folder / "away").rename(upper)


def killed(folder):
    """The manifest of a run that was killed in its first session."""

    def change(value):
        for key in value.keys() - {"artifact", "identity", "unproven"}:
            del value[key]
        value |= {
            "state": "running",
            "files": {"report.html": sha256(b"of an earlier start")},
        }
        value["unproven"]["sessions"][-1] |= dict.fromkeys(
            ("ended", "ended_by", "elapsed_s")
        )

    edit(folder, change)


def attempts(lines):
    return [line for line in lines if "attempt" in line]


@attack
def forged(folder, change):
    """The journal's lines are changed, its chain is mended, and what the manifest says of it."""
    lines = [json.loads(line) for line in read(folder / JOURNAL).splitlines()]
    written, prev, changed = [], lines[0]["prev"], change(lines)
    for line in changed:
        data = json.dumps(line | {"prev": prev}, separators=(",", ":")).encode()
        written.append(data + b"\n")
        prev = sha256(data)
    write(folder / JOURNAL, b"".join(written))
    claims = {"head_sha256": prev, "attempts": len(attempts(changed))}
    edit(folder, lambda value: value["journal"].update(claims))


def first(part="", place=0, **changes):
    """The first attempt (or the one at `place`), or a part of it, says something else."""

    def change(lines):
        line = attempts(lines)[place]
        (line[part] if part else line).update(changes)
        return lines

    return forged(change)


def body(**changes):
    """The first answer is another."""

    def change(lines):
        response = lines[0]["response"]
        response["body"] = json.dumps(json.loads(response["body"]) | changes)
        return lines

    return forged(change)


def retried(lines, **changes):
    """An attempt that failed before the answer, as it may stand there."""
    failed = (
        lines[0]
        | {
            "outcome": None,
            "cost_usd": None,
            "response": {"status": 500, "headers": {}, "body": "", "error": ""},
        }
        | changes
    )
    return [failed, lines[0] | {"attempt": 2}, *lines[1:]]


JOURNAL = "journal.jsonl.gz"
TEXT = {
    "choices": [
        {"finish_reason": "stop", "message": {"content": "Decision: COORDINATE"}}
    ]
}
STRAY, UNSENT = "of no run or study here", "is not what the design would send"
ATTACKS = {  # {kind: rows of (what is changed, what is printed)}
    "pilot": [
        # What a run's files are made from.
        (text("manifest.json", rb".{20}\Z"), "manifest.json: not JSON"),
        longer("prompts.json"),
        (remove(JOURNAL), JOURNAL),
        (text("manifest.json", b": ", b":  "), "manifest.json: first difference"),
        (manifest("artifact", value="x"), "artifact: none is called 'x'"),
        (manifest("state", value="incomplete"), 'found \'  "state": "incomplete",\''),
        (
            text("manifest.json", b'"state": ', b'"status": 1,\n  "state": '),
            "unknown key 'status'",
        ),
        (
            text("manifest.json", b'"state": ', b'"state": "running",\n  "state": '),
            "the key 'state' stands twice",
        ),
        (text(JOURNAL, rb"\n\Z"), JOURNAL),
        (
            lambda folder: write(folder / "journal.jsonl", read(folder / JOURNAL)),
            "journal.jsonl: ",
        ),
        # Files that follow, files of nobody.
        longer(
            "pilot-analysis.json", "pilot-summary.md", "report.html", "trials.jsonl.gz"
        ),
        (
            text("trials.csv", rb"\Z", b"#"),
            r"trials.csv: first difference in line \d+, "
            "column 1: expected the end of the file, found '#'",
        ),
        (remove("trials.csv"), "trials.csv: gone"),
        (link("trials.csv"), "trials.csv: a link"),
        (add("exports/games.csv"), STRAY),
        (add("inflight.jsonl"), STRAY),  # of version 0.1
        (add("a\nverified b: pilot.json"), "a verified b"),
        (add("prereg.json"), "prereg.json: not JSON"),
        (copy("*/", "more"), "more: pilot in a run; move it away"),
        # Lines of a journal whose chain was mended.
        (forged(lambda x: x[:-1]), "manifest.json: "),
        (first(outcome="empty"), "outcome 'empty', and the response says"),
        (
            body(**TEXT),
            r"trials.csv: first difference in line \d, column \d+: "
            "expected '[^']{5,40}', found '[^']{5,40}'",
        ),
        (first(cost_usd=0.5), "cost_usd 0.5, and the response says 0"),
        (first(charged_usd=0.5), "charged_usd 0.5, and the response cost 0"),
        (first(final=True), "final True, and the response says False"),
        (first(request_sha256="0" * 64), "another question than design and prompts"),
        (forged(lambda x: [*x, x[0] | {"id": "coin/r99"}]), "r99: not in the des"),
        (forged(lambda x: [*x, dict(x[0])]), "is answered twice"),
        (first(attempt=2), "attempt 2, and it is number 1"),
        (forged(retried), "manifest.json: first difference"),
        (
            forged(lambda x: retried(x, request_sha256="0" * 64)),
            "another question than its first",
        ),
        (first("request", temperature=0.1), UNSENT),
    ],
    "stopped": [(text("trials.csv", rb"\Z", b"#"), "trials.csv: first difference")],
    "live": [  # a warm-up call is the first, a trial the last
        (first(place=-1, cost_usd=0.5), "cost_usd 0.5, and the response says 0.0"),
        (first("request", -1, temperature=0.9), UNSENT),
        (first("request", max_completion_tokens=9), f"(?s){UNSENT}|adapted"),
        (
            manifest("set_aside", value={"double/a": "x"}),
            "manifest.json: first difference",
        ),
        (
            manifest("unproven", "provider", "models", "double/a", "known", value={}),
            "manifest.json: unproven",
        ),
    ],
    "index": [(text("index.html", b"SIMULATED", b"MEASURED"), "index.html")],
    "urrp": [
        longer("report.html", "trials.csv", "urrp-analysis.json"),
        (add("labels.csv"), "labels.csv"),
        (text("urrp_runs.jsonl", rb"[^\n]+\n\Z"), "urrp_runs"),
    ],
    "counts": [
        (remove("calibration.json"), "calibration.json"),
        (
            text("calibration.json", b'"replications": ', b'"replications": 1'),
            "calibration",
        ),
        longer("calibration.md", "report.html"),
        (add("acausal-analysis.json", b"{"), "runs.json: No such file"),
    ],
    "plans": [
        (remove("acausal-analysis.json"), "acausal-analysis.json: gone; "),
        (
            lambda folder: edit(folder, lambda v: v["runs"].pop(), "runs.json"),
            "acausal-analysis.json: first difference",
        ),
        longer(
            "acausal-analysis.json",
            "acausal-summary.md",
            "report.html",
        ),
        (remove("cvd-S.low*"), "cvd-S.low"),
        (exchanged, "FAILED"),
        (
            copy("*/cvd-S.low*", "cvd-S.low-C.absent-H.low-s43"),
            "cvd-S.low-C.absent-H.low-s43",
        ),
        (
            lambda folder: edit(folder, lambda v: v["runs"].pop(), "plan.json"),
            "plan.json",
        ),
        (text("prereg.json", rb'"[0-9a-f]{64}"', b'"%064d"' % 0), "prereg.json"),
    ],
}
ROWS = [(kind, *row) for kind, rows in ATTACKS.items() for row in rows]


@pytest.mark.parametrize(("kind", "attack", "words"), ROWS)
def test_an_attack_is_named_with_exit_code_2(study, tmp_path, kind, attack, words):
    folder = study(kind)
    attack(folder)
    done = verified(folder, tmp_path)
    assert done.returncode == 2 and "FAILED" in done.stdout, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr and "Errno" not in done.stdout
    assert "\nverified b" not in done.stdout  # no file's name writes a line of its own
    assert re.search(words, done.stdout), done.stdout


# Files that hang or fill the memory.
HANGING = [
    ("pilot", lambda folder: os.mkfifo(folder / "pipe")),
    ("pilot", link(JOURNAL, "/dev/zero")),
    ("pilot", bomb(JOURNAL)),
    ("pilot", bomb("trials.jsonl.gz")),
    ("pilot", add("manifest.json", b"[" * 200_000)),
    (
        "pilot",
        lambda folder: os.truncate(folder / "manifest.json", 20_000_000_000),
    ),  # sparse
    ("counts", lambda folder: os.truncate(folder / "calibration.json", 20_000_000_000)),
    ("plans", link("plan.json", "/dev/zero")),
]


def test_what_hangs_or_fills_the_memory_is_named_within_a_gigabyte(study, tmp_path):
    folders = [f"all/{at}/run" for at in range(len(HANGING))]
    for folder, (kind, attack) in zip(folders, HANGING, strict=True):
        (tmp_path / folder).parent.mkdir(parents=True)
        study(kind).rename(tmp_path / folder)
        shutil.rmtree(tmp_path / kind, ignore_errors=True)
        attack(tmp_path / folder)
    done = process(
        tmp_path,
        "analyze.py",
        "--verify",
        "all",
        "--json",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30)),
    )
    verdicts = {each["run"]: each["ok"] for each in json.loads(done.stdout)["runs"]}
    assert "Traceback" not in done.stderr and done.returncode == 2
    assert [verdicts[folder] for folder in folders] == [False] * len(folders)


def test_a_killed_run_is_partial_with_all_that_a_kill_may_leave(study, tmp_path):
    folder = study("pilot")
    both(
        killed,
        add("report.html", b"of an earlier start"),
        add("inflight.jsonl", b"{"),
        add(".trials.csv.7.tmp"),
        add("journal.jsonl", read(folder / JOURNAL)[:-30]),
    )(folder)
    done = verified(folder, tmp_path)
    assert done.returncode == 3 and done.stdout.startswith("PARTIAL"), done.stdout
    text("journal.jsonl", b'"outcome":"ok"', b'"outcome":"OK"')(folder)
    assert verified(folder, tmp_path).returncode == 2


# --- what nothing in a folder shows --------------------------------------------------------------


@pytest.mark.parametrize(
    ("attack", "same_root"),
    [
        (first(at="2020-01-01T00:00:00Z", latency_s=9.0, message="fine"), True),
        (forged(lambda x: [x[1] | {"prev": x[0]["prev"]}, x[0], *x[2:]]), True),
        (body(**TEXT, id="another"), False),
    ],
    ids=["how an answer came", "the order", "an answer"],
)
def test_a_journal_that_was_forged_as_a_whole_differs_from_what_was_published(
    study, tmp_path, attack, same_root
):
    def published(*flags):
        done = ended(tmp_path, "analyze.py", "--verify", *flags, folder)
        said = re.search(r"root (\w+)\s+head (\w+)", done.stdout)
        return done.returncode, said and said.groups()

    folder = study("pilot")
    _, (root, head) = published()
    attack(folder)
    ended(tmp_path, "analyze.py", folder)
    _, (new_root, new_head) = published()
    assert new_head != head and (new_root == root) is same_root
    for expected, code in ((head, 2), (new_root, 0), (f"{head},{new_head}", 0)):
        assert published("--expect-head", expected)[0] == code


def test_code_that_has_changed_since_is_a_note(study, tmp_path):
    folder = study("pilot")
    manifest("unproven", "code", "analyze.py", value="0" * 64)(folder)
    done = verified(folder, tmp_path)
    assert done.returncode == 0
    assert "code has changed since the run" in " ".join(done.stderr.split())


# --- drawn mechanically --------------------------------------------------------------------------

JSONS = [
    ("plans", "cvd-S.low*/manifest.json"),
    ("plans", "cvd-S.high*/acausal_manifest.json"),
    ("pilot", "manifest.json"),
    ("pilot", "pilot-analysis.json"),
    ("pilot", "prompts.json"),
    ("plans", "plan.json"),
    ("plans", "prereg.json"),
    ("plans", "acausal-analysis.json"),
    ("urrp", "manifest.json"),
    ("urrp", "urrp-analysis.json"),
    ("counts", "calibration.json"),
]


@pytest.mark.parametrize("seed", range(int(os.environ.get("TAMPERINGS", "11"))))
def test_a_key_that_is_removed_or_set_to_its_neighbour_s_value_is_named(
    study, tmp_path, seed
):
    kind, name = JSONS[seed % len(JSONS)]
    folder, draw = study(kind), random.Random(seed)
    path = min(folder.glob(name))
    part = value = json.loads(path.read_bytes())
    key = draw.choice([key for key in value if key != "unproven"])
    while isinstance(part[key], dict) and part[key] and draw.random() < 0.8:
        part = part[key]
        key = draw.choice(list(part))
    before = part.pop(key)
    if seed % 2:
        part[key] = next((other for other in part.values() if other != before), "else")
    layout = {"separators": (",", ":")}
    if path.read_bytes().startswith(b"{\n  "):
        layout = {"indent": 2}
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, **layout)
    path.write_text(text + "\n", "utf-8")
    assert verified(folder, tmp_path).returncode == 2

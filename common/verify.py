"""Does everything in a folder follow from its journal? Files are derived again and compared.

    for verdict in verify(Path("results"), [runs(INSTRUMENTS), study, …]):
        verdict.problems             # empty where everything follows from what is named as given

Each reader says what must lie in a folder: files by their bytes, and what they follow from. Bytes
are compared (of packed files what they say: zlib builds differ), and so is the set of files.
Nothing is asked, nothing is written; only regular files are opened.
"""

import os
import stat
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from common import VERSION, UsageError
from common.artifacts import content_of, json_file, regular, sha256_in
from common.cli import WIDTH, wrapped
from common.instrument import FREE, Instrument, Run, Simulated, derived, manifest_of
from common.journal import JOURNALS, Answers, Known, entries, journal_file, json_sha256
from common.runs import (
    PROMPTS,
    Origin,
    changes,
    code_hashes,
    read_manifest,
    stored_prompts,
)
from common.shape import RESTORE, shown
from common.wire import Model, Upstream

NO_RUN = "no run here (no manifest.json); name a run's folder or a folder of runs (make: RUNS=…)"
PREREG = "prereg.json"  # beside the runs of a plan
SHOWN = 40  # characters around a first difference
SHOWN_PROBLEMS = 3  # of the questions in a journal, of the keys of a manifest


class Verdict(NamedTuple):
    """`problems`: one line each, naming a file. `notes`: what is no fault. `root`: of the Merkle
    tree over the run's trials. `unproven`: what nothing in the folder proves."""

    run: str
    instrument: str
    state: str = "complete"
    simulated: bool = False
    files: int = 0
    attempts: int = 0
    head_sha256: str = ""
    problems: Sequence[str] = ()
    notes: Sequence[str] = ()
    root: str = ""
    unproven: Sequence[str] = ()

    @property
    def ok(self) -> bool:
        return not self.problems


class Folder(NamedTuple):
    """`names`: its files, with those of inner folders that are nothing by themselves; `inner`: what
    was said of those that are."""

    path: Path
    names: frozenset[str]
    inner: tuple[Verdict, ...]


class Content(NamedTuple):
    """What a folder must hold: `files` by content, and what these follow from, `given` by name.
    `verdict`: what else is to be said; `advice`: what writes the files anew; `inner`: instruments
    of folders that may lie in it, None where any may."""

    verdict: Verdict
    files: Mapping[str, bytes]
    given: Collection[str] = ()
    advice: str = ""
    inner: Collection[str] | None = ()


# What must lie in a folder; None where it is of another kind, UsageError where it is damaged.
Reader = Callable[[Folder], Content | None]
# By the manifest's `artifact`: the instrument of a run of this origin.
Instruments = Mapping[str, Callable[[Origin], Instrument]]


# --- a tree of folders -------------------------------------------------------------------------

# A folder that holds one of these is something by itself.
MARKS = dict.fromkeys(
    (
        "manifest.json",
        *JOURNALS,
        PROMPTS,
        "plan.json",
        PREREG,
        "acausal-analysis.json",
        "calibration.json",
        "calibration.md",
        "urrp_runs.jsonl",
    )
).keys()


def verify(path: Path, readers: Sequence[Reader]) -> Iterator[Verdict]:
    """A verdict on every folder at or below `path` that is something, whatever it holds."""
    path, inner = Path(path), []
    names, folders, strange = _listed(path)
    for each in folders:
        for verdict in verify(path / each, readers):
            inner.append(verdict)
            yield verdict
    marked = bool(MARKS & {name.partition(":")[0] for name in (*names, *strange)})
    sound = all(verdict.ok for verdict in inner)
    if marked and not sound:
        strange.append("not derived again, since a folder in it fails")
    if marked and strange:
        yield Verdict(str(path), "folder", problems=strange)
    elif marked or sound:
        yield from _judged(
            Folder(path, frozenset(names), tuple(inner)), readers, marked
        )


def _listed(path: Path) -> tuple[list[str], list[str], list[str]]:
    """(files, inner folders that are something, what is neither file nor folder)."""
    names, inner, strange = [], [], []

    def walk(prefix: str) -> None:
        entries = sorted(os.scandir(path / prefix), key=lambda entry: entry.name)
        if prefix and not entries:
            strange.append(f"{prefix}: an empty folder; remove it")
        for entry in entries:
            name = f"{prefix}/{entry.name}" if prefix else entry.name
            mode = entry.stat(follow_symlinks=False).st_mode
            if stat.S_ISREG(mode):
                names.append(name)
            elif not stat.S_ISDIR(mode):
                strange.append(
                    f"{name}: no regular file; remove it, or restore it from a copy"
                )
            elif MARKS & set(os.listdir(entry.path)):
                inner.append(name)
            else:
                walk(name)

    if not path.is_dir():
        raise UsageError(f"{path}: {NO_RUN}")
    try:
        walk("")
    except OSError as error:
        raise UsageError(f"{error.filename or path}: {error.strerror}") from None
    return names, inner, strange


def _judged(
    folder: Folder, readers: Sequence[Reader], marked: bool
) -> Iterator[Verdict]:
    """What the readers say of a folder, and how its files differ from that."""
    contents, problems = [], []
    for reader in readers:
        try:
            contents += filter(None, [reader(folder)])
        except UsageError as error:
            problems.append(str(error))
        except (
            Exception
        ) as error:  # a folder of anything: the next one must still get its verdict
            named = next((name for name in MARKS if name in folder.names), folder.path)
            problems.append(
                f"{named}: nothing follows from it ({type(error).__name__}: "
                f"{str(error)[:80]})"
            )
    if not contents and not problems:
        return
    files = {
        name: (data, content.advice)
        for content in contents
        for name, data in content.files.items()
    }
    given = {name for content in contents for name in content.given}
    verdicts = [content.verdict for content in contents] or [
        Verdict(str(folder.path), "folder")
    ]
    problems += [line for verdict in verdicts for line in verdict.problems]
    problems += [
        f"{inner.run}: {inner.instrument} in a folder of another kind; move it away"
        for inner in folder.inner
        if any(
            content.inner is not None and inner.instrument not in content.inner
            for content in contents
        )
    ]
    problems += [
        line + advice
        for name, (data, advice) in sorted(files.items())
        for line in _compared(folder.path, name, data)
    ]
    if marked and contents:
        problems += [
            f"{name}: does not follow from the journal; remove it"
            for name in sorted(folder.names - files.keys() - given)
        ]
    yield verdicts[0]._replace(
        files=len(files.keys() - {"manifest.json", PROMPTS}),
        problems=problems,
        unproven=list(
            dict.fromkeys(name for verdict in verdicts for name in verdict.unproven)
        ),
        notes=[line for verdict in verdicts for line in verdict.notes],
    )


def _compared(folder: Path, name: str, data: bytes) -> list[str]:
    expected = content_of(name, data)
    try:
        with regular(folder / name) as file:
            actual = file.read(len(expected) + 1)
            file.read(1)  # what stands behind the end of a packed text
    except FileNotFoundError:
        return [
            f"{name}: gone; restore it from a copy, or derive it again with the command that "
            "wrote it"
        ]
    except OSError as error:
        return [f"{name}: can't be read: {error.strerror}"]
    return (
        [] if actual == expected else [f"{name}: {first_difference(expected, actual)}"]
    )


def first_difference(expected: bytes, actual: bytes) -> str:
    """Where two contents part, in words: line, column, and what stands there.

    >>> first_difference(b'{"a":1}', b'{"a":2}')
    "first difference in line 1, column 6: expected '1}', found '2}'"
    """
    at = next(
        (i for i, (a, b) in enumerate(zip(expected, actual, strict=False)) if a != b),
        min(len(expected), len(actual)),
    )
    line, column = expected.count(b"\n", 0, at) + 1, at - expected.rfind(b"\n", 0, at)
    want, have = (
        repr(data[at : at + SHOWN].split(b"\n")[0].decode("utf-8", "replace"))
        if data[at:]
        else "the end of the file"
        for data in (expected, actual)
    )
    return f"first difference in line {line}, column {column}: expected {want}, found {have}"


# --- runs --------------------------------------------------------------------------------------


def runs(instruments: Instruments) -> Reader:
    """The reader of a run's folder."""
    return lambda folder: (
        _content(folder, instruments)
        if folder.names & {"manifest.json", PROMPTS, *JOURNALS}
        else None
    )


def _content(folder: Folder, instruments: Instruments) -> Content:
    manifest = read_manifest(folder.path)
    run, answers = read_run(folder.path, manifest, instruments)
    made = derived(run.instrument, answers)
    problems = [*answers.problems()[:SHOWN_PROBLEMS], *_contradictions(manifest)]
    registered = run.origin.identity.get("prereg_sha256")
    if registered and sha256_in(folder.path.parent, PREREG) != registered:
        problems.append(
            f"{folder.path.parent / PREREG}: gone, or not the registration that the "
            "run was made under"
        )
    state, now = manifest["state"], code_hashes()
    files, given = (
        made.files,
        {JOURNALS[1] if state == "complete" else answers.path.name},
    )
    if state == "running":  # killed: its files may be those of an earlier session
        given |= {
            name
            for name in folder.names
            if name in (*JOURNALS, "inflight.jsonl")
            or name.endswith(".tmp")
            or sha256_in(folder.path, name) == manifest["files"].get(name)
        }
        files = {name: files[name] for name in files if name in folder.names - given}
    else:
        # What other lines name comes last.
        differ = sorted(
            changes(manifest_of(run, answers, made, manifest["unproven"]), manifest),
            key=lambda change: change[0].startswith("files."),
        )
        problems += [
            f"manifest.json: {key}: expected {want}, found {have}"
            for key, want, have in differ[:SHOWN_PROBLEMS]
        ]
        given |= {"inflight.jsonl"} if state == "incomplete" else set()
        if (
            answers.path.name == JOURNALS[0]
            and answers.size != answers.path.stat().st_size
        ):
            problems.append(f"{JOURNALS[0]}: its last line is not whole; restore it")
    changed = any(
        now.get(name) != digest for name, digest in manifest["unproven"]["code"].items()
    )
    return Content(
        Verdict(
            str(folder.path),
            manifest["artifact"],
            state,
            answers.simulated,
            attempts=answers.attempts,
            head_sha256=answers.head_sha256,
            problems=problems,
            root=made.facts["merkle_root"],
            unproven=sorted(manifest["unproven"]),
            notes=["the project's code has changed since the run"] * changed,
        ),
        {
            **files,
            "manifest.json": json_file(manifest),
            PROMPTS: json_file(run.origin.prompts),
        },
        given,
        inner={"adjudication"},
    )


def _contradictions(manifest: Mapping) -> list[str]:
    """What nothing proves, and what can't be: it contradicts itself, or what is proven."""
    unproven, state = manifest["unproven"], manifest["state"]
    sessions, simulated = (
        unproven["sessions"],
        manifest["identity"]["provider"] == "simulated",
    )
    times = [
        at
        for each in sessions
        for at in (each["started"], each["ended"])
        if at is not None
    ]
    running = [{False}] * (len(sessions) - 1) + [{state == "running"}]
    checks = {
        "sessions: not one after the other": times == sorted(times),
        f"sessions: ended otherwise than a run that is {state}": [
            {each["ended"] is None, each["ended_by"] is None} for each in sessions
        ]
        == running
        and (sessions[-1]["ended_by"] == "complete") == (state == "complete"),
        f"ended_by: {shown(unproven['ended_by'])}, and the run is {state}": (
            unproven["ended_by"] != ""
        )
        == (state == "incomplete"),
        **{
            f"{key}: simulated respondents have none": not simulated
            or unproven.get(key) is None
            for key in ("provider", "limit_usd")
        },
    }
    return [
        f"manifest.json: unproven.{fault}" for fault, held in checks.items() if not held
    ]


def find_runs(paths: list[str]) -> list[Path]:
    """The run folders at or below `paths`, each once. UsageError where there is none."""
    folders: list[Path] = []
    for path in map(Path, paths):
        inner = sorted(manifest.parent for manifest in path.rglob("manifest.json"))
        if not inner:
            raise UsageError(f"{path}: {NO_RUN}")
        folders += [path] if path in inner else inner
    return list(dict.fromkeys(folders))


def read_run(
    folder: Path, manifest: Mapping, instruments: Instruments
) -> tuple[Run, Answers]:
    """The run that the manifest describes, and the journal's answers to it."""
    identity, unproven = manifest["identity"], manifest["unproven"]
    if manifest["artifact"] not in instruments:
        raise UsageError(
            f"manifest.json: artifact {shown(manifest['artifact'])} is not one of "
            f"{', '.join(instruments)}; {RESTORE}"
        )
    origin = Origin(
        folder, identity, stored_prompts(folder, identity["prompts"]), unproven["code"]
    )
    if identity["provider"] == "simulated":
        known = Known(defaultdict(lambda: FREE), Simulated.dialect, None)
    elif provider := unproven["provider"]:
        known = Known(
            {
                name: _model(entry["known"])
                for name, entry in provider["models"].items()
            },
            provider["dialect"],
            identity.get("routing", identity["config"].get("routing")),
        )
    else:
        raise UsageError(
            "manifest.json: unproven.provider is missing, and "
            f"{identity['provider']} was asked; {RESTORE}"
        )
    return (
        Run(origin, instruments[manifest["artifact"]](origin)),
        Answers(journal_file(folder), identity, known),
    )


def _model(known: Mapping[str, Any]) -> Model:
    """A model as a manifest has written it down."""
    upstream = known["upstream"] and Upstream(**known["upstream"])
    return Model(
        **{
            name: tuple(value) if isinstance(value, list) else value
            for name, value in known.items()
        }
        | {"upstream": upstream}
    )


def derive_again(
    folder: Path, instruments: Instruments
) -> tuple[Mapping[str, bytes], Mapping]:
    """Files and manifest of a run again, from its manifest and journal alone; UsageError where
    journal and design are not of one study."""
    manifest = read_manifest(folder)
    run, answers = read_run(folder, manifest, instruments)
    made = derived(run.instrument, answers)
    if problems := answers.problems():
        raise UsageError(f"{folder}: {problems[0]}; --verify lists all")
    if manifest["state"] != "running":  # its command writes that one
        manifest = manifest_of(
            run,
            answers,
            made,
            manifest["unproven"] | {"version": VERSION, "code": code_hashes()},
        )
    return made.files, manifest


def open_run(folder: Path) -> dict[str, Any]:
    """`read_manifest` of a run whose journal begins with the manifest's identity."""
    manifest = read_manifest(folder)
    first = next(entries(journal_file(folder)), None)
    if first and first[0]["prev"] != json_sha256(manifest["identity"]):
        raise UsageError(
            f"{folder}: manifest.json describes another configuration than "
            f"the journal begins with; {RESTORE}"
        )
    return manifest


# --- against what was published -----------------------------------------------------------------

WHOLE = (
    "times, latencies, headers, words of errors and the order in a journal; a journal that "
    "was forged as a whole follows from itself: publish root and head before, compare with "
    "--expect-head"
)


def expected_head(verdict: Verdict, heads: Collection[str]) -> Verdict:
    """The verdict, and whether its journal's head, or its root, is among those that were
    published."""
    if (
        not heads
        or not verdict.root
        or {verdict.root, verdict.head_sha256} & set(heads)
    ):
        return verdict
    fault = (
        f"journal: neither its head {verdict.head_sha256[:12]} nor its root "
        f"{verdict.root[:12]} is the one that was expected"
    )
    return verdict._replace(problems=[*verdict.problems, fault])


# --- saying it ---------------------------------------------------------------------------------


def sentence(verdict: Verdict) -> str:
    """What is said of a folder: a line per fault, or what was verified, with root and head to be
    published."""
    if verdict.problems:
        # A file's name may hold a line break: each fault stays one line.
        lines = [
            f"FAILED   {verdict.run}: {verdict.problems[0]}",
            *verdict.problems[1:],
        ]
        return "\n".join(line.replace("\n", " ") for line in lines)
    stamp = "SIMULATED " if verdict.simulated else ""
    source = f" from {verdict.attempts} answers" if verdict.root else ""
    what = f"{stamp}{verdict.instrument}, {verdict.files} files{source}"
    if verdict.state != "complete":
        return _headed(
            f"PARTIAL  {verdict.run}:", f"{what}; the run is {verdict.state}"
        )
    heads = (
        [f"  root {verdict.root}", f"  head {verdict.head_sha256}"]
        if verdict.root
        else []
    )
    unproven = (
        [wrapped(f"  unproven: {', '.join(verdict.unproven)}")]
        if verdict.unproven
        else []
    )
    return "\n".join([_headed(f"verified {verdict.run}:", what), *heads, *unproven])


def _headed(head: str, text: str) -> str:
    return f"{head} {text}" if len(head) + len(text) < WIDTH else f"{head}\n  {text}"

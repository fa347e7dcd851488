"""Tell whether everything in a folder follows from its journal, by deriving the files
again and comparing them.

    for verdict in verify(Path("results"), [runs(INSTRUMENTS), study, …]):
        verdict.problems             # empty if everything follows from the given files

Each reader says which files a folder of its kind must hold, byte by byte, and from
which given files they follow. Bytes are compared (packed files after unpacking, because
builds of zlib differ), and so is the set of files. Nothing is asked or written, no link
is followed, and only regular files are opened.
"""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from common import VERSION, Older, UsageError
from common.artifacts import (
    content_of,
    first_difference,
    json_file,
    merkle_root,
    regular,
    sha256_in,
)
from common.journal import JOURNALS, Answers, entries, journal_file, json_sha256
from common.runs import (
    PROMPTS,
    Origin,
    code_hashes,
    known_of,
    read_manifest,
    stored_prompts,
)
from common.session import Instrument, Run, derived, manifest_of
from common.shape import RESTORE

NO_RUN = "no run here (no manifest.json); name a run's folder or a folder of runs (make: RUNS=…)"
MANIFEST = "manifest.json"
PACKED = "study.tar.xz"  # a plan with its runs, packed to be published
# A folder that holds one of these is something by itself.
MARKS = (
    MANIFEST,
    *JOURNALS,
    PROMPTS,
    "plan.json",
    "prereg.json",
    "acausal-analysis.json",
    "calibration.json",
    "calibration.md",
    "index.html",
    "runs.json",
    "urrp_runs.jsonl",
    PACKED,
)
LITTER = {".DS_Store", "Thumbs.db", "desktop.ini"}  # what file browsers leave
LINK = "a link; put what it leads to in its place, or take it away"
EMPTY = "an empty folder; remove it"
NO_FILE = "no regular file; remove it, or restore it from a copy"
NOT_DERIVED = "not derived again, since a folder in it fails"
CODE_CHANGED = "the project's code has changed since the run"
SHOWN = 3  # of many questions of a journal, or of many files
SINCE_02 = {"adapted", "set_aside"}  # manifest keys that version 0.1 did not have


class Verdict(NamedTuple):
    """What verification says of a folder.

    `problems` has a line for each file that does not follow. `strays` is a line on
    files that nothing asks for, or "". `notes` tell what is no fault. `root` is the
    root of the Merkle tree over a run's answers. `unproven` lists what nothing in the
    folder proves.
    """

    run: str
    instrument: str = "folder"
    state: str = "complete"
    simulated: bool = False
    files: int = 0
    attempts: int = 0
    head_sha256: str = ""
    problems: Sequence[str] = ()
    strays: str = ""
    notes: Sequence[str] = ()
    root: str = ""
    unproven: Sequence[str] = ()

    @property
    def ok(self) -> bool:
        return not self.problems and not self.strays

    @property
    def is_note(self) -> bool:
        """Whether the folder holds nothing to verify, and nothing in it is wrong."""
        kind, state = self.instrument, self.state
        return self.ok and kind == "folder" and state == "complete"


class Folder(NamedTuple):
    """What a folder holds.

    `names` are its regular files, with the files of inner folders that need no verdict
    of their own ("exports/games.csv"). `odd` is {name: what is wrong} of entries that
    are neither file nor folder. `notes` tell what was passed over. `below` are the
    inner folders that get a verdict of their own, and `inner` are these verdicts.
    """

    path: Path
    names: set[str]
    odd: dict[str, str]
    notes: list[str]
    below: list[str]
    inner: Sequence[Verdict] = ()

    @property
    def is_something(self) -> bool:
        """Whether the folder gets a verdict of its own."""
        return any(mark in self.names or mark in self.odd for mark in MARKS)


class Content(NamedTuple):
    """What a folder must hold: `files` with their content, and the names of the `given`
    files that these follow from. `verdict` has everything else that is to be said;
    `advice` names what writes the files again."""

    verdict: Verdict
    files: Mapping[str, bytes]
    given: Collection[str] = ()
    advice: str = "; the command that wrote it derives it again"


# Returns what must lie in a folder, or None if the folder is not of the reader's kind. Raises
# UsageError if it is damaged.
Reader = Callable[[Folder], Content | None]
# By the manifest's `artifact`: the instrument of a run of this origin.
Instruments = Mapping[str, Callable[[Origin], Instrument]]


# --- a tree of folders -------------------------------------------------------------------------


def folders(path: Path) -> Iterator[Folder]:
    """Yield every folder at or below `path` that gets a verdict of its own, inner
    folders first. Verification and the list of runs both use this. Raise UsageError if
    a folder can't be read."""
    folder = folder_at(path)
    for name in folder.below:
        yield from folders(folder.path / name)
    yield folder


def folder_at(path: Path) -> Folder:
    """Return the folder at a path, with what it holds."""
    folder = Folder(Path(path), set(), {}, [], [])
    if not folder.path.is_dir():
        raise UsageError(f"{path}: {NO_RUN}")
    empty: list[str] = []
    try:
        _list(folder, "", empty)
    except OSError as error:
        raise UsageError(f"{error.filename}: {error.strerror}") from None
    if folder.is_something:  # a folder of runs may have room for more
        folder.odd.update(dict.fromkeys(empty, EMPTY))
    return folder


def _list(folder: Folder, prefix: str, empty: list[str]) -> None:
    """Note what the folder holds below `prefix`, which is "" or ends in a slash. Empty
    folders are added to `empty`."""
    for entry in os.scandir(folder.path / prefix):
        name = prefix + entry.name
        if entry.is_symlink():
            folder.odd[name] = LINK
        elif entry.name in LITTER:
            folder.notes.append(f"{name}: a file browser's; passed over")
        elif entry.is_file():
            folder.names.add(name)
        elif not entry.is_dir():
            folder.odd[name] = NO_FILE
        elif not os.listdir(entry.path):
            empty.append(name)
        elif set(MARKS).isdisjoint(os.listdir(entry.path)):
            _list(folder, f"{name}/", empty)
        else:
            folder.below.append(name)
    folder.below.sort()


def find_runs(paths: Sequence[str | Path]) -> list[Path]:
    """Return the run folders at or below `paths`, each once. Raise UsageError if there
    is none."""
    found: list[Path] = []
    for path in map(Path, paths):
        here = [each.path for each in folders(path) if MANIFEST in each.names]
        if not here:
            raise UsageError(f"{path}: {NO_RUN}")
        found += [path] if path in here else here
    return list(dict.fromkeys(found))


# --- a folder against what it must hold --------------------------------------------------------


def verify(path: Path, readers: Sequence[Reader]) -> Iterator[Verdict]:
    """Yield a verdict on every folder at or below `path` that gets one."""
    said: list[Verdict] = []
    for folder in folders(path):
        inner = [each for each in said if folder.path in Path(each.run).parents]
        verdict = _judged(folder._replace(inner=inner), readers)
        if verdict is not None:
            said.append(verdict)
            yield verdict


def check_named(folder: Folder, runs: Iterable[Path], reader: Reader) -> None:
    """Verify the runs that a folder names and that lie elsewhere. Raise UsageError if
    one of them is missing or does not verify."""
    inside = {folder.path.resolve()}
    inside |= {Path(verdict.run).resolve() for verdict in folder.inner}
    for path in runs:
        named = f"names the run {path.name}, which"
        if not (path / MANIFEST).is_file():
            raise UsageError(f"{named} is not here; restore it, or analyse again")
        if path in inside:
            continue
        verdict = _judged(folder_at(path), [reader])
        if verdict is not None and verdict.problems:
            raise UsageError(f"{named} fails: {verdict.problems[0]}")


def _judged(folder: Folder, readers: Sequence[Reader]) -> Verdict | None:
    """Return the verdict on a folder, or None if there is nothing to say."""
    verdict = Verdict(str(folder.path))
    if not folder.is_something and not folder.inner:
        return None
    if folder.is_something and any(inner.problems for inner in folder.inner):
        return verdict._replace(state=NOT_DERIVED)
    contents, damage = _read(folder, readers)
    problems = list(damage)
    made: set[str] = set()
    given: set[str] = set()
    notes = list(folder.notes)
    unproven: list[str] = []
    for content in reversed(contents):
        verdict = content.verdict
        made |= content.files.keys()
        given |= set(content.given)
        problems += [*verdict.problems, *_differences(folder.path, content)]
        notes += verdict.notes
        unproven += verdict.unproven
    strays = "" if damage else _strays(folder.names - made - given)
    if not (contents or problems or strays or notes):
        return None
    return verdict._replace(
        files=len(made - {MANIFEST, PROMPTS}) or verdict.files,
        problems=problems,
        strays=strays,
        notes=notes,
        unproven=unproven,
    )


def _read(folder: Folder, readers: Sequence[Reader]) -> tuple[list[Content], list[str]]:
    """Return (what readers say that the folder must hold, why other readers can't say
    it)."""
    contents: list[Content] = []
    damage = [f"{name}: {why}" for name, why in folder.odd.items()]
    if damage:
        return contents, damage
    for reader in readers:
        try:
            content = reader(folder)
        except UsageError as error:
            damage.append(str(error))
        except Exception as error:  # of anything: the next folder must get its verdict
            words = f"{type(error).__name__}: {error}"[:100]
            mark = next((mark for mark in MARKS if mark in folder.names), "")
            damage.append(f"{mark}: nothing follows from it ({words})")
        else:
            if content is not None:
                contents.append(content)
    return contents, damage


def _strays(names: Collection[str]) -> str:
    """Return a line on files that nothing here asks for."""
    if not names:
        return ""
    more = len(names) - SHOWN
    rest = f" and {more} more" if more > 0 else ""
    shown = ", ".join(sorted(names)[:SHOWN])
    return f"{shown}{rest}: of no run or study here; move it away"


def _differences(path: Path, content: Content) -> Iterator[str]:
    """Yield a line for each file that differs from what it must hold."""
    for name, data in sorted(content.files.items()):
        fault = _difference(path / name, content_of(name, data))
        if fault:
            yield f"{name}: {fault}{content.advice}"


def _difference(path: Path, expected: bytes) -> str:
    """Say how a file differs from what it must hold, or "" if it does not."""
    try:
        with regular(path) as file:
            actual = file.read(len(expected) + 1)
            file.read(1)  # what stands behind the end of a packed text
    except FileNotFoundError:
        return "gone"
    except OSError as error:
        return f"can't be read: {error.strerror}"
    if actual == expected:
        return ""
    return first_difference(expected, actual)


# --- runs --------------------------------------------------------------------------------------


def runs(instruments: Instruments) -> Reader:
    """Return the reader of a run's folder."""

    def content(folder: Folder) -> Content | None:
        if folder.names.isdisjoint([MANIFEST, PROMPTS, *JOURNALS]):
            return None
        return _run(folder, instruments)

    return content


def _run(folder: Folder, instruments: Instruments) -> Content:
    manifest = read_manifest(folder.path)
    try:
        run, answers = read_run(folder.path, manifest, instruments)
    except Older as older:
        return _as_it_stands(folder, manifest, str(older))
    made, unproven = derived(run.instrument, answers), manifest["unproven"]
    again, problems = manifest_of(run, answers, made, unproven), answers.problems()
    files, given = dict(made.files), {JOURNALS[1]}
    if manifest["state"] == "running":  # its files may be of an earlier session
        files, given, again = {}, folder.names, manifest
    elif manifest["state"] == "incomplete":
        # Packed, where the run was complete under an earlier version of its design.
        given = {answers.path.name, "inflight.jsonl"}
        plain = answers.path.name == JOURNALS[0]
        if plain and answers.size != answers.path.stat().st_size:
            problems.append(f"{JOURNALS[0]}: its last line is not whole; restore it")
    if not manifest.keys() & SINCE_02 and not any(map(again.get, SINCE_02)):
        again = {key: value for key, value in again.items() if key not in SINCE_02}
    for inner in folder.inner:
        if inner.instrument != "adjudication":
            problems.append(f"{inner.run}: {inner.instrument} in a run; move it away")
    files[MANIFEST] = json_file(again)
    files[PROMPTS] = json_file(run.origin.prompts)
    same = unproven["code"].items() <= code_hashes().items()
    verdict = _of_run(folder, manifest, answers)._replace(
        problems=problems[:SHOWN],
        notes=[] if same else [CODE_CHANGED],
        root=made.facts["merkle_root"],
    )
    return Content(verdict, files, given)


def _of_run(folder: Folder, manifest: Mapping[str, Any], answers: Answers) -> Verdict:
    """Return what a run's manifest and journal say, before the files are compared."""
    return Verdict(
        str(folder.path),
        manifest["artifact"],
        manifest["state"],
        answers.simulated,
        attempts=answers.attempts,
        head_sha256=answers.head_sha256,
        unproven=sorted(manifest["unproven"]),
    )


def _as_it_stands(folder: Folder, manifest: Mapping[str, Any], why: str) -> Content:
    """Check a run of an older version without deriving it: the journal must be intact,
    and the files must be those that the manifest lists."""
    identity, unproven = manifest["identity"], manifest["unproven"]
    known = known_of(identity, unproven)
    answers = Answers(journal_file(folder.path), identity, known)
    problems = [f"journal: {line}" for line in answers.wrong]
    if merkle_root(answers.leaves()) != manifest["merkle_root"]:
        problems.append(f"{MANIFEST}: merkle_root: not that of the journal's answers")
    if answers.head_sha256 != manifest["journal"]["head_sha256"]:
        problems.append(f"{MANIFEST}: journal: not the head of this journal")
    for name, digest in manifest["files"].items():
        if name not in folder.names:
            problems.append(f"{name}: gone; {RESTORE}")
        elif sha256_in(folder.path, name) != digest:
            problems.append(f"{name}: not the file that the manifest lists; {RESTORE}")
    verdict = _of_run(folder, manifest, answers)._replace(
        files=len(manifest["files"]),
        problems=problems[:SHOWN],
        notes=[why],
        root=manifest["merkle_root"],
    )
    given = {MANIFEST, PROMPTS, *JOURNALS, *manifest["files"]}
    return Content(verdict, {}, given)


def read_run(
    folder: Path, manifest: Mapping[str, Any], instruments: Instruments
) -> tuple[Run, Answers]:
    """Return the run that the manifest describes, and the journal's answers to it."""
    identity, unproven = manifest["identity"], manifest["unproven"]
    artifact = manifest["artifact"]
    if artifact not in instruments:
        raise UsageError(
            f"{MANIFEST}: artifact: none is called {artifact!r}; {RESTORE}"
        )
    prompts = stored_prompts(folder, identity["prompts"])
    origin = Origin(folder, identity, prompts, unproven["code"])
    known = known_of(identity, unproven)
    instrument = instruments[artifact](origin)
    return Run(origin, instrument), Answers(journal_file(folder), identity, known)


def derive_again(
    folder: Path, instruments: Instruments
) -> tuple[Mapping[str, bytes], Mapping[str, Any]]:
    """Derive a run's files and manifest again, from the manifest and the journal alone.
    Raise UsageError if the journal and the design belong to different studies."""
    manifest = read_manifest(folder)
    try:
        run, answers = read_run(folder, manifest, instruments)
    except Older as older:
        raise UsageError(f"{folder}: {older}") from None
    made = derived(run.instrument, answers)
    for problem in answers.problems():
        raise UsageError(f"{folder}: {problem}; --verify lists all")
    if (
        manifest["state"] != "running"
    ):  # that manifest is left to the command of the run
        unproven = dict(manifest["unproven"], version=VERSION, code=code_hashes())
        manifest = manifest_of(run, answers, made, unproven)
    return made.files, manifest


def open_run(folder: Path) -> dict[str, Any]:
    """Return the manifest of a run, after checking that the journal begins with the
    manifest's identity."""
    manifest = read_manifest(folder)
    identity = json_sha256(manifest["identity"])
    for entry, _, _ in entries(journal_file(folder)):
        if entry["prev"] == identity:
            break
        raise UsageError(
            f"{folder}: manifest.json describes another configuration than "
            f"the journal begins with; {RESTORE}"
        )
    return manifest


# --- saying it -----------------------------------------------------------------------------------

WHOLE = (
    "times, latencies, headers, words of errors and the order in a journal; a journal that "
    "was forged as a whole follows from itself: publish root and head before, compare with "
    "--expect-head"
)


def publication_fault(verdict: Verdict, published: Collection[str]) -> str:
    """Say what is wrong if neither the root nor the head of a run is among those
    published. Return "" if one of them is, or if none was published."""
    root, head = verdict.root, verdict.head_sha256
    if not root or not published or root in published or head in published:
        return ""
    found = f"neither its head {head[:12]} nor its root {root[:12]}"
    return f"journal: {found} is the one that was expected"


def sentence(verdict: Verdict) -> str:
    """Return what is said of a folder: one line, or a line for each fault."""
    if not verdict.ok:
        # A file's name may hold a line break.
        faults = [*verdict.problems, verdict.strays]
        lines = [each.replace("\n", " ") for each in faults if each]
        return f"FAILED   {verdict.run}: " + "\n".join(lines)
    stamp = "SIMULATED " if verdict.simulated else ""
    what = f"{verdict.run}: {stamp}{verdict.instrument}"
    if verdict.state != "complete":
        return f"PARTIAL  {what}, {verdict.state}"
    if not verdict.root:
        given = ", ".join(verdict.unproven)
        return f"verified {what}" + (f" (unproven: {given})" if given else "")
    return f"verified {what}, {verdict.files} files from {verdict.attempts} answers"

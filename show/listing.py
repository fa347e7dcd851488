"""Every run below a folder of results as a table: state, what it found, a link. Reads only.

    runs = entries([Path("results")], headlines)
    page(index(runs, Path("results"), "0.1.0"))

A folder is known by a file in it, see `READERS`. What can't be read is listed as damaged, with the
reason; nothing here raises for what a folder holds.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from show.document import Bullets, Code, Document, Foot, Line, Link, Section, Table, Tag
from show.figures import count

COMPLETE, INCOMPLETE, DAMAGED = "complete", "incomplete", "damaged"
TAGS = {COMPLETE: "yes", INCOMPLETE: "maybe", DAMAGED: "no"}
STUDY = "study"  # the runs of a plan, analysed together: no run itself
RESUME = "the command that began it resumes it"
STAMP = (
    "SIMULATED: what is stamped so comes from simulated respondents and says nothing about "
    "any model."
)
EMPTY = ("make pilot", "make tournament", "make urrp", "make pd")


class Entry(NamedTuple):
    """A run, or the study that its runs make. `note`: what was found, is wrong or is to be done."""

    instrument: str
    path: Path
    state: str
    note: str = ""
    simulated: bool = False


# {instrument: what an analysis of it in a folder says, in a sentence; "" where there is none}
Headlines = Mapping[str, Callable[[Path], str]]


def entries(folders: Iterable[Path], headlines: Headlines) -> list[Entry]:
    """Everything at or below the folders, in order of path."""
    return [entry for folder in folders for entry in _below(folder, headlines)]


def _below(folder: Path, headlines: Headlines) -> Iterator[Entry]:
    try:
        inside = sorted(
            path for path in folder.iterdir() if not path.name.startswith(".")
        )
    except OSError as error:
        yield Entry("unknown", folder, DAMAGED, f"can't be read: {error.strerror}")
        return
    names = {path.name for path in inside}
    read = next((read for name, read in READERS.items() if name in names), None)
    if read:
        yield _entry(read, folder, headlines)
    elif names & {"journal.jsonl", "journal.jsonl.gz"}:
        yield Entry(
            "unknown",
            folder,
            DAMAGED,
            "a journal without its manifest.json; restore it",
        )
    if read in (None, _study):
        for path in filter(Path.is_dir, inside):
            yield from _below(path, headlines)


def _entry(read: Callable[[Path], Entry], path: Path, headlines: Headlines) -> Entry:
    """What `read` gives, with its headline; a damaged entry where the path holds something else
    than it should."""
    try:
        entry = read(path)
        if entry.state == COMPLETE and not entry.note and entry.instrument in headlines:
            entry = entry._replace(note=headlines[entry.instrument](path))
        return entry
    except OSError as error:
        why = f"{Path(error.filename or path).name}: {error.strerror}"
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        IndexError,
        EOFError,
        RecursionError,
    ) as error:
        why = f"not readable as such a run: {type(error).__name__}: {str(error)[:120]}"
    return Entry("unknown", path, DAMAGED, why)


def read_json(path: Path) -> dict[str, Any]:
    """An object from a JSON file; ValueError that names the file where it is none."""
    try:
        if path.exists() and not path.is_file():
            raise ValueError("no regular file")
        data = json.loads(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from None
    if not isinstance(data, dict):
        raise ValueError(f"{path.name}: not an object")
    return data


# --- what a folder is --------------------------------------------------------------------------


def _run(folder: Path) -> Entry:
    manifest = read_json(folder / "manifest.json")
    return Entry(
        str(manifest["artifact"]),
        folder,
        *_state(folder, manifest),
        manifest["identity"].get("provider") == "simulated",
    )


def _state(folder: Path, manifest: Mapping) -> tuple[str, str]:
    """(state, what to do), from the manifest and from what is there."""
    if not any(folder.glob("journal.jsonl*")):
        return DAMAGED, "its journal is gone; restore it"
    if manifest["state"] == "running":
        return INCOMPLETE, f"running, or interrupted: {RESUME}"
    if gone := [name for name in manifest["files"] if not (folder / name).is_file()]:
        more = f" and {len(gone) - 1} more" if len(gone) > 1 else ""
        return (
            DAMAGED,
            f"{gone[0]}{more} is gone; the command that made it writes it again",
        )
    if manifest["state"] == COMPLETE:
        return COMPLETE, ""
    return (
        INCOMPLETE,
        f"{manifest['unproven']['ended_by'] or 'not everything was asked'}: {RESUME}",
    )


def _study(folder: Path) -> Entry:
    """The runs of a plan; its file may be missing, as may the analysis."""
    plan, analysis = (
        read_json(path) if path.is_file() else {}
        for path in (folder / "plan.json", folder / "acausal-analysis.json")
    )
    missing = sum(
        not (folder / name / "manifest.json").is_file() for name in plan.get("runs", ())
    )
    if missing:
        return Entry(
            STUDY, folder, INCOMPLETE, f"{count(missing, 'run')} not begun: {RESUME}"
        )
    return Entry(
        STUDY,
        folder,
        COMPLETE,
        "" if analysis else f"not analysed yet: analyze.py {folder.name}",
        bool(analysis.get("simulated")),
    )


def _neighbour(folder: Path) -> Entry:
    """A run of pdbench, by its manifest."""
    data = read_json(folder / "run_manifest.json")
    matches, state = data.get("matches") or {}, INCOMPLETE
    note = "interrupted: the same `pdbench run` resumes it"
    if data["status"] == COMPLETE:
        state = COMPLETE
        note = (
            f"{matches['total']:,} matches, {data['rounds']:,} rounds"
            if matches
            else ""
        )
    elif matches.get("incomplete"):
        note = f"{matches['incomplete']} of {matches['total']} matches ended without a valid answer"
    return Entry("iterated PD", folder, state, note, data["stamp"] is not None)


# The first of these files that a folder holds says what it is. All of a calibration is simulated.
READERS = {
    "manifest.json": _run,
    "plan.json": _study,
    "acausal-analysis.json": _study,
    "run_manifest.json": _neighbour,
    "calibration.json": lambda folder: Entry(
        "calibration", folder, COMPLETE, simulated=True
    ),
}


# --- the page ----------------------------------------------------------------------------------


def states(listed: Sequence[Entry]) -> dict[str, int]:
    """{state: runs}."""
    return {
        state: n
        for state in TAGS
        if (
            n := sum(
                entry.state == state for entry in listed if entry.instrument != STUDY
            )
        )
    }


def index(listed: Sequence[Entry], where: Path, version: str) -> Document:
    """The page that lies in the folder `where`: its links are relative to that."""
    if not listed:
        return Document(
            "Results",
            "None of these needs a key: without one, simulated respondents answer.",
            "There is no run yet.",
            Foot(version, {"runs": "0"}, "make report"),
            sections=[
                Section("What to run", [Bullets([Code(command) for command in EMPTY])])
            ],
        )
    counts = states(listed)
    runs, named = (
        sum(counts.values()),
        ", ".join(f"{n:,} {state}" for state, n in counts.items()),
    )
    rows = [
        [
            _link(entry, where),
            entry.instrument,
            [
                Tag(entry.state, TAGS[entry.state]),
                *[Tag("SIMULATED", "stamp")] * entry.simulated,
            ],
            entry.note,
        ]
        for entry in listed
    ]
    return Document(
        "Results",
        "Every run below this folder, with its state and what it found.",
        f"{count(runs, 'run')}: {named}.",
        Foot(version, {"runs": str(runs)}, "make report"),
        sections=[
            Section(
                "Runs", [Table(["run", "instrument", "state", "found, or to do"], rows)]
            )
        ],
        stamps=[STAMP] * any(entry.simulated for entry in listed),
    )


def _link(entry: Entry, where: Path) -> Line:
    """The run's name, which leads to its report, or to its manifest before there is one."""
    pages = (entry.path / name for name in ("report.html", "manifest.json"))
    page = next(filter(Path.is_file, pages), None)
    name = os.path.relpath(entry.path, where).replace(
        "/", " / "
    )  # a line may break there
    return Link(name, quote(os.path.relpath(page, where))) if page else name

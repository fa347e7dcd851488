"""Is a run what it says? The journal's chain, the manifest's hashes, and every derived file.

    verdict = verify(Path("results/pilot/pilot-s42"), {"pilot": pilot, …})
    verdict.problems                 # empty where everything follows from the journal

Files are derived again from manifest and journal alone and compared byte by byte (packed files
by what they say: zlib builds differ). Nothing is asked, nothing is written.
"""

import gzip
import zlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from common import UsageError
from common.artifacts import (
    GZIP_HEADER,
    canonical_json,
    sha256,
)
from common.instrument import FREE, Derived, Instrument, Simulated, derived, unanswered
from common.journal import Answers, Known, begins, journal_file
from common.runs import PROMPTS, Origin, code_hashes, kept_prompts, read_manifest
from common.wire import Model, Upstream

PREREG = "prereg.json"  # beside the runs of a plan
# In a run's folder beside what is derived.
KEPT = {"manifest.json", "journal.jsonl", "journal.jsonl.gz", "inflight.jsonl", PROMPTS}
SHOWN = 40          # characters around a first difference
SHOWN_PROBLEMS = 3  # of the questions in a journal


class Verdict(NamedTuple):
    """`problems`: one line each, naming a file. `notes`: what is no fault of the run. `root`: of
    the Merkle tree over the run's trials."""

    run: str
    instrument: str
    state: str
    simulated: bool
    files: int
    attempts: int
    head_sha256: str
    problems: list[str]
    notes: list[str]
    root: str = ""

    @property
    def ok(self) -> bool:
        return not self.problems


# By the manifest's `artifact`: the instrument of a run of this origin.
Instruments = Mapping[str, Callable[[Origin], Instrument]]


def find_runs(paths: list[str]) -> list[Path]:
    """The run folders at or below `paths`, sorted. UsageError where there is none."""
    runs: dict[Path, None] = {}
    for path in map(Path, paths):
        found = [path] if (path / "manifest.json").is_file() else sorted(
            manifest.parent for manifest in path.rglob("manifest.json"))
        if not found:
            raise UsageError(f"{path}: no run here (no manifest.json); give a run's folder, "
                             "or a folder of runs")
        runs |= dict.fromkeys(found)
    return list(runs)


def verify(folder: Path, instruments: Instruments) -> Verdict:
    """Check one run. Whatever its folder holds, there is a verdict."""
    try:
        manifest = read_manifest(Path(folder), instruments)
    except UsageError as error:
        return Verdict(str(folder), "run", "unknown", False, 0, 0, "", [str(error)], [])
    problems, files, facts, answers = [], {}, {}, None
    try:
        instrument, answers = _read(Path(folder), manifest, instruments)
        files, facts = derived(instrument, answers)
        problems += answers.problems()[:SHOWN_PROBLEMS]
        problems += _registration(Path(folder), manifest)
        if manifest["state"] == "running":  # killed: what it said before may be out of date
            problems += _left_behind(Path(folder), manifest, files, instrument.owned)
        else:
            problems += _against_manifest(manifest, answers, facts)
            problems += _compare(Path(folder), manifest, files, instrument.owned)
    except UsageError as error:
        problems.append(str(error))
    except Exception as error:  # a folder of anything: the next one must still get its verdict
        problems.append(f"manifest.json: no study follows from it ({type(error).__name__}: "
                        f"{str(error)[:80]})")
    return Verdict(str(folder), manifest["artifact"], manifest["state"],
                   manifest["identity"].get("provider") == "simulated", len(files),
                   answers.attempts if answers else 0, answers.head_sha256 if answers else "",
                   problems, _notes(Path(folder), manifest, files), facts.get("merkle_root", ""))


def _read(folder: Path, manifest: Mapping, instruments: Instruments,
          ) -> tuple[Instrument, Answers]:
    """The instrument that the manifest describes, and the journal's answers to it."""
    identity = manifest["identity"]
    origin = Origin(folder, identity, kept_prompts(folder, identity["prompts"]),
                    manifest.get("code"))
    return instruments[manifest["artifact"]](origin), Answers(
        journal_file(folder), identity, known_of(manifest))


def known_of(manifest: Mapping) -> Known:
    """What the manifest says was known of the models."""
    identity = manifest["identity"]
    if identity.get("provider") == "simulated":
        return Known(defaultdict(lambda: FREE), Simulated.dialect, None)
    provider = manifest["provider"]
    models = {name: as_model(entry.get("known") or entry["price"])
              for name, entry in provider["models"].items()}
    return Known(models, provider["dialect"],
                 identity.get("routing", identity["config"].get("routing")))


def as_model(known: Mapping[str, Any]) -> Model:
    """A model as a manifest has written it down; what an older version knew beside stays out."""
    upstream = known.get("upstream")
    values = {name: tuple(value) if isinstance(value, list) else value
              for name, value in known.items() if name in Model._fields}
    return Model(**values | {"upstream": Upstream(*upstream.values()) if isinstance(
        upstream, dict) else upstream and Upstream(*upstream)})


def derive_again(folder: Path, instruments: Instruments) -> Derived:
    """Files and facts of a run again, from its manifest and journal alone.

    UsageError where journal and design are not of one study.
    """
    folder = Path(folder)
    manifest = read_manifest(folder, instruments)
    instrument, answers = _read(folder, manifest, instruments)
    again = derived(instrument, answers)
    if problems := answers.problems():
        raise UsageError(f"{folder}: {problems[0]}; --verify lists all")
    return again


def open_run(folder: Path, known: Collection[str] = ()) -> dict[str, Any]:
    """`read_manifest` of a run whose journal begins with the manifest's identity."""
    manifest = read_manifest(folder, known)
    if not begins(folder, manifest["identity"]):
        raise UsageError(f"{folder}: manifest.json describes another configuration than "
                         "the journal begins with; restore it from a copy")
    return manifest



# --- comparing ---------------------------------------------------------------------------------

def _against_manifest(manifest: Mapping, answers: Answers, facts: Mapping) -> Iterator[str]:
    """What the manifest says of the journal, and what the journal says."""
    kept, cost = manifest["journal"], manifest["cost"]
    if kept["head_sha256"] != answers.head_sha256:
        yield ("manifest.json: journal.head_sha256 is not that of the journal's last line "
               f"({answers.head_sha256[:12]}…)")
    if kept["attempts"] != answers.attempts:
        yield (f"manifest.json: journal.attempts: expected {answers.attempts}, "
               f"found {kept['attempts']}")
    spent, lost = cost["spent_usd"], cost["lost_usd"]
    if abs(spent - lost - answers.charged_usd) > 1e-9 * max(1.0, spent):
        yield (f"manifest.json: cost.spent_usd: expected {answers.charged_usd + lost:.6f}, "
               f"found {spent:.6f}")
    left = sum(unanswered(answers, facts).values())
    if (manifest["state"] == "complete") != (left == 0):
        yield f"manifest.json: state: {manifest['state']!r}, and {left} calls have no answer"
    expected = {**facts, "stamp": "SIMULATED" if answers.simulated else None,
                "elapsed_s": sum(session.get("elapsed_s") or 0 for session in manifest["sessions"])}
    if manifest["state"] == "complete":
        expected["ended_by"] = ""
    if answers.simulated:
        expected["provider"] = None
    for key in sorted(expected):
        if key not in manifest and not expected[key]:
            continue  # nothing was to be said of it, or nobody said it yet
        if canonical_json(manifest.get(key)) != canonical_json(expected[key]):
            yield (f"manifest.json: {key}: expected {_short(expected[key])}, "
                   f"found {_short(manifest.get(key))}")


def _short(value: Any) -> str:
    return canonical_json(value)[:120]


def _compare(folder: Path, manifest: Mapping, files: Mapping[str, bytes],
             owned: Callable[[str], bool]) -> list[str]:
    problems = [line for name in sorted(files)
                for line in _compare_one(folder, name, files[name], manifest["files"])]
    problems += [f"manifest.json: files names {name}, which does not follow from the journal"
                 for name in sorted(manifest.get("files", {}).keys() - files.keys())]
    problems += [f"{name}: does not follow from the journal; remove it"
                 for name in _names(folder) if owned(name) and name not in files]
    return problems


def _left_behind(folder: Path, manifest: Mapping, files: Mapping[str, bytes],
                 owned: Callable[[str], bool]) -> Iterator[str]:
    """Derived files of a killed run that neither an earlier session nor the journal explains."""
    for name in _names(folder):
        if not owned(name) and name not in files:
            continue
        content = _content(folder / name)
        if sha256(content) != manifest.get("files", {}).get(name) and (
                name not in files or content != _unpacked(name, files[name])):
            yield f"{name}: does not follow from the journal; remove it"


def _registration(folder: Path, manifest: Mapping) -> Iterator[str]:
    """A registration that the run was made under and that is gone or another one."""
    expected = manifest["identity"].get("prereg_sha256")
    path = folder.parent / PREREG
    if expected and not path.is_file():
        yield f"{path}: gone, and the run was made under it"
    elif expected and sha256(path.read_bytes()) != expected:
        yield f"{path}: not the registration that the run was made under"


def _unpacked(name: str, data: bytes) -> bytes:
    return gzip.decompress(data) if name.endswith(".gz") else data


def _names(folder: Path) -> Iterator[str]:
    return (path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*"))
            if path.is_file())


def _compare_one(folder: Path, name: str, data: bytes, said: Mapping) -> Iterator[str]:
    expected = _unpacked(name, data)
    try:
        found = _content(folder / name)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        yield f"{name}: can't be read ({getattr(error, 'strerror', None) or error})"
        return
    if found != expected:
        yield f"{name}: {first_difference(expected, found)}"
    elif said.get(name) != sha256(expected):
        yield f"manifest.json: files.{name}: not the hash of what the file says"


def _content(path: Path) -> bytes:
    data = path.read_bytes()
    if path.suffix != ".gz":
        return data
    if not data.startswith(GZIP_HEADER):
        raise ValueError("not packed by this project: its gzip header differs")
    return gzip.decompress(data)


def first_difference(expected: bytes, found: bytes) -> str:
    """Where two contents part, in words: line, column, and what stands there.

    >>> first_difference(b'{"a":1}', b'{"a":2}')
    "first difference in line 1, column 6: expected '1}', found '2}'"
    """
    at = next((i for i, (a, b) in enumerate(zip(expected, found, strict=False)) if a != b),
              min(len(expected), len(found)))
    line, column = expected.count(b"\n", 0, at) + 1, at - (expected.rfind(b"\n", 0, at) + 1) + 1
    return (f"first difference in line {line}, column {column}: "
            f"expected {_excerpt(expected, at)}, found {_excerpt(found, at)}")


def _excerpt(data: bytes, at: int) -> str:
    text = data[at:at + SHOWN].split(b"\n")[0].decode("utf-8", "replace")
    return repr(text) if data[at:] else "the end of the file"


def _notes(folder: Path, manifest: Mapping, files: Mapping) -> list[str]:
    foreign = [name for name in _names(folder) if name not in files and name not in KEPT]
    return _changed_code(manifest) + ([
        f"{len(foreign)} files are not of this run, such as {foreign[0]}"] if foreign else [])


def _changed_code(manifest: Mapping) -> list[str]:
    now, then = code_hashes(), manifest.get("code") or {}
    if not isinstance(then, Mapping):
        return ["code: no hashes of files, so nothing is said of changed code"]
    changed = [name for name in sorted(then) if now.get(name) != then[name]]
    return [f"{len(changed)} code files changed since the run, such as {changed[0]}"
            ] if changed else []


# --- against what was published -----------------------------------------------------------------

# What is in no text of the journal, so that nothing inside a folder can prove it.
UNPROVEN = ("not proven from inside: a journal forged as a whole (texts, times, order), and the "
            "manifest's code, sessions, lost_usd, limit_usd, versions and a service's own account; "
            "publish root and head before, compare with --expect-head")


def expected_head(verdict: Verdict, heads: Collection[str]) -> Verdict:
    """The verdict, and whether its journal's head, or its root, is among those that were
    published."""
    if not heads or {verdict.root, verdict.head_sha256} & set(heads):
        return verdict
    fault = (f"journal: neither its head {verdict.head_sha256[:12]} nor its root "
             f"{verdict.root[:12]} is the one that was expected")
    return verdict._replace(problems=[*verdict.problems, fault])


# --- saying it ---------------------------------------------------------------------------------

def sentence(verdict: Verdict) -> str:
    """One line per run; root and head of one that was verified are there to be published."""
    stamp = "SIMULATED " if verdict.simulated else ""
    if verdict.problems:
        return f"FAILED   {verdict.run}: {verdict.problems[0]}"
    what = f"{stamp}{verdict.instrument}, {verdict.files} files from {verdict.attempts} answers"
    if verdict.state != "complete":
        return f"PARTIAL  {verdict.run}: {what}; the run is {verdict.state}"
    return f"verified {verdict.run}: {what}, root {verdict.root}, head {verdict.head_sha256}"

"""Is a run what it says? The journal's chain, the manifest's hashes, and every derived file.

    verdict = verify(Path("results/pilot/pilot-s42"), {"pilot": derive_a_pilot})
    verdict.problems                 # empty where everything follows from the journal

Files are derived again from manifest and journal alone and compared byte by byte (packed files
by what they say: zlib builds differ). Nothing is asked, nothing is written.
"""

import gzip
import json
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from common.artifacts import GZIP_HEADER, read_bytes, sha256
from common.exits import UsageError
from common.journal import Answers, journal_file, not_as_asked, read_answers

SHOWN = 40  # characters around a first difference


class Verdict(NamedTuple):
    """`problems`: one line each, naming a file. `notes`: what is no fault of the run."""

    run: str
    instrument: str
    state: str
    simulated: bool
    files: int
    attempts: int
    head_sha256: str
    problems: list[str]
    notes: list[str]

    @property
    def ok(self) -> bool:
        return not self.problems


class Derived(NamedTuple):
    """What a run's files must say. `owned`: names that only a derived file may have."""

    files: Mapping[str, bytes]
    problems: list[str]
    owned: Callable[[str], bool]


# By the manifest's `artifact`; called with folder, manifest and answers.
Derivers = Mapping[str, Callable[[Path, Mapping, Answers], Derived]]


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


def verify(folder: Path, derivers: Derivers) -> Verdict:
    """Check one run. UsageError only where the folder holds no readable manifest."""
    folder = Path(folder)
    manifest = read_manifest(folder, derivers)
    problems: list[str] = []
    files, answers = {}, None
    try:
        answers = read_answers(journal_file(folder), manifest["identity"])
        derived = derivers[manifest["artifact"]](folder, manifest, answers)
        problems += derived.problems
        if manifest["state"] != "running":  # killed: what it said before is out of date
            files = derived.files if manifest.get("files") else {}
            problems += _against_manifest(manifest, answers)
            problems += _compare(folder, manifest, files, derived.owned)
    except UsageError as error:
        problems.append(str(error))
    except (OSError, EOFError, zlib.error) as error:
        problems.append(f"{journal_file(folder)}: {error}")
    return Verdict(str(folder), manifest["artifact"], manifest.get("state", "unknown"),
                   manifest["identity"].get("provider") == "simulated", len(files),
                   answers.attempts if answers else 0, answers.head_sha256 if answers else "",
                   problems, _notes(manifest))


def derive_again(folder: Path, derivers: Derivers) -> dict[str, bytes]:
    """Every derived file of a run, {name: content}, from its manifest and journal alone.

    UsageError where journal and design are not of one study.
    """
    folder = Path(folder)
    manifest = read_manifest(folder, derivers)
    answers = read_answers(journal_file(folder), manifest["identity"])
    derived = derivers[manifest["artifact"]](folder, manifest, answers)
    if derived.problems:
        raise UsageError(f"{folder}: {derived.problems[0]}; --verify lists all")
    return dict(derived.files)


def read_manifest(folder: Path, known: Collection[str] = ()) -> dict[str, Any]:
    """manifest.json of a run; UsageError where it is none, or of no instrument in `known`."""
    path = Path(folder) / "manifest.json"
    try:
        manifest = json.loads(path.read_bytes())
        needed = {"running": ("cost",)}.get(manifest["state"], ("cost", "journal", "files"))
        if not manifest["identity"]["config"] or (
                known and manifest["artifact"] not in known) or any(
                not isinstance(manifest.get(key), dict) for key in needed):
            raise KeyError("identity")
        return manifest
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; give a run's folder") from None
    except (ValueError, KeyError, TypeError):
        raise UsageError(f"{path}: not the manifest of a run that can be verified here") from None


def checked_rows(folder: Path, name: str, manifest: Mapping[str, Any]) -> list[Any]:
    """The lines of a run's JSONL file; UsageError where it is not what the manifest has hashed."""
    path = Path(folder) / name
    try:
        data = read_bytes(path)
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(f"{path}: {getattr(error, 'strerror', None) or error}; the command that "
                         "made the run makes it again") from None
    if sha256(data) != manifest.get("files", {}).get(name):
        raise UsageError(f"{path}: not what the run's manifest.json has hashed; analyze.py "
                         "--verify says where it differs")
    return [json.loads(line) for line in data.decode().splitlines()]


# --- what the files must say -------------------------------------------------------------------

def same_prompts(recorded: Mapping[str, str], now: Mapping[str, str]) -> None:
    """UsageError naming the first prompt file that is not what it was when the run was made."""
    for name in sorted(recorded.keys() | now.keys()):
        if recorded.get(name) != now.get(name):
            raise UsageError(f"prompts/{name}: changed since the run was made; verify it with "
                             "the version of the project that made it")


def questions(requests: list, answers: Answers) -> list[str]:
    """Journalled questions that are not the design's, the first few."""
    known = {request.id for request in requests}
    wrong = [line for request in requests if (line := not_as_asked(request, answers))]
    wrong += [f"{name}: not in the design" for name in sorted(answers.hashes.keys() - known)]
    return [f"journal: {line}" for line in wrong[:3]]


# --- comparing ---------------------------------------------------------------------------------

def _against_manifest(manifest: Mapping, answers: Answers) -> list[str]:
    said, problems = manifest["journal"], []
    if said["head_sha256"] != answers.head_sha256:
        problems.append("manifest.json: journal.head_sha256 is not that of the journal's last "
                        f"line ({answers.head_sha256[:12]}…)")
    if said["attempts"] != answers.attempts:
        problems.append(f"manifest.json: journal.attempts: expected {answers.attempts}, "
                        f"found {said['attempts']}")
    spent, lost = manifest["cost"]["spent_usd"], manifest["cost"]["lost_usd"]
    if abs(spent - lost - answers.charged_usd) > 1e-9 * max(1.0, spent):
        problems.append(f"manifest.json: cost.spent_usd: expected "
                        f"{answers.charged_usd + lost:.6f}, found {spent:.6f}")
    return problems


def _compare(folder: Path, manifest: Mapping, files: Mapping[str, bytes],
             owned: Callable[[str], bool]) -> list[str]:
    problems = [line for name in sorted(files)
                for line in _compare_one(folder, name, files[name], manifest["files"])]
    problems += [f"manifest.json: files names {name}, which does not follow from the journal"
                 for name in sorted(manifest.get("files", {}).keys() - files.keys())]
    problems += [f"{name}: does not follow from the journal; remove it"
                 for name in _names(folder) if owned(name) and name not in files]
    return problems


def _names(folder: Path) -> Iterator[str]:
    return (path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*"))
            if path.is_file())


def _compare_one(folder: Path, name: str, data: bytes, said: Mapping) -> Iterator[str]:
    expected = gzip.decompress(data) if name.endswith(".gz") else data
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


def _notes(manifest: Mapping) -> list[str]:
    from common.runs import code_hashes
    now, then = code_hashes(), manifest.get("code") or {}
    changed = [name for name in sorted(then) if now.get(name) != then[name]]
    return [f"{len(changed)} code files changed since the run, such as {changed[0]}"
            ] if changed else []


# --- saying it ---------------------------------------------------------------------------------

def sentence(verdict: Verdict) -> str:
    """One line a run."""
    stamp = "SIMULATED " if verdict.simulated else ""
    if verdict.problems:
        return f"FAILED   {verdict.run}: {verdict.problems[0]}"
    what = f"{stamp}{verdict.instrument}, {verdict.files} files from {verdict.attempts} answers"
    if verdict.state != "complete":
        return f"PARTIAL  {verdict.run}: {what}; the run is {verdict.state}"
    return f"verified {verdict.run}: {what}, journal head {verdict.head_sha256[:12]}"

"""What lies below a folder of results: every run with its state, cost and links. Reads only.

    runs = entries([Path("results")], {"pilot": pilot, "tournament": tournament})
    pages(index(runs, Path("results"), "0.1.0"), "index.html")

A folder is known by a file in it: `manifest.json` (a run), `plan.json` or `acausal-analysis.json`
(runs that belong together), `run_manifest.json` (the neighbour project pdbench),
`calibration.json`. What can't be read is listed as damaged, with the reason; nothing here raises
for what a folder holds.
"""

import gzip
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from show.document import (
    Bullets,
    Code,
    Document,
    Fold,
    Foot,
    Link,
    Section,
    Table,
    Tag,
    Texts,
    Words,
)
from show.figures import NONE, count, dollars

COMPLETE, INCOMPLETE, DAMAGED = "complete", "incomplete", "damaged"
TITLES = {
    "pilot": "CIRRUS-24 pilots", "tournament": "CIRRUS-24 tournaments", "urrp": "URRP collections",
    "calibration": "Calibrations", "adjudication": "Adjudications",
    "iterated PD": "Iterated prisoner's dilemma", "unknown": "What can't be read"}
TAGS = {COMPLETE: "yes", INCOMPLETE: "maybe", DAMAGED: "no"}
SCRIPTS = {"pilot": "run_pilot.py", "tournament": "run_tournament.py", "urrp": "urrp_run.py",
           "adjudication": "analyze.py --adjudicate"}
ANALYSIS = {"tournament": "python3 analyze.py {}",
            "urrp": "python3 urrp_analyze.py {0}/urrp_runs.jsonl --html {0}/report.html "
                    "--json {0}/analysis.json"}
STUDY = ("plan.json", "acausal-analysis.json")
CALIBRATION = ("calibration.json", "replications.jsonl", "replications.jsonl.gz")


class Entry(NamedTuple):
    """A run, or runs that belong together (`parts`). None and "": not known."""

    instrument: str
    path: Path
    state: str
    why: str = ""            # what is wrong, or what to do next
    simulated: bool = False
    asked: str = ""          # models or respondents, and who served them
    seed: str = ""
    calls: int | None = None
    usd: float | None = None
    headline: str = ""
    parts: tuple["Entry", ...] = ()


# {the manifest's `artifact`: what its analysis found, in a sentence; "" where there is none}
Headlines = Mapping[str, Callable[[Path], str]]


def entries(paths: Iterable[Path], headlines: Headlines) -> list[Entry]:
    """Everything at or below the paths, in order of path; a file is a collection of trials."""
    return [entry for path in paths for entry in
            (_below(path, headlines) if path.is_dir() else [_safely(_loose, path, headlines)])]


def _below(folder: Path, headlines: Headlines) -> Iterator[Entry]:
    try:
        inside = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as error:
        yield Entry("unknown", folder, DAMAGED, f"can't be read: {error.strerror}")
        return
    names = {path.name for path in inside}
    runs: list[Path] = []
    if "manifest.json" in names:
        yield _safely(_run, folder, headlines)
        return
    if names & set(STUDY):
        runs = [path for path in inside if (path / "manifest.json").is_file()]
        yield _safely(lambda f, h: _study(f, runs, h), folder, headlines, "tournament")
    elif "run_manifest.json" in names:
        yield _safely(_neighbour, folder, headlines, "iterated PD")
        return
    elif names & set(CALIBRATION):
        yield _safely(_calibration, folder, headlines, "calibration")
        return
    elif names & {"journal.jsonl", "journal.jsonl.gz"}:
        yield Entry("unknown", folder, DAMAGED, "a journal without its manifest.json; restore it")
        return
    for path in inside:
        if path.is_dir() and path not in runs:
            yield from _below(path, headlines)


def _safely(read: Callable[[Path, Headlines], Entry], path: Path, headlines: Headlines,
            instrument: str = "unknown") -> Entry:
    """What `read` gives; a damaged entry where the path holds something else than it should."""
    try:
        return read(path, headlines)
    except OSError as error:
        where = Path(error.filename).name if error.filename else path.name
        return Entry(instrument, path, DAMAGED, f"{where}: {error.strerror}")
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, EOFError,
            RecursionError) as error:
        return Entry(instrument, path, DAMAGED, f"not readable as such a run: "
                                                f"{type(error).__name__}: {str(error)[:120]}")


def read_json(path: Path) -> dict[str, Any]:
    """An object from a JSON file; ValueError that names the file where it is none."""
    try:
        data = json.loads(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from None
    if not isinstance(data, dict):
        raise ValueError(f"{path.name}: not an object")
    return data


# --- one run -----------------------------------------------------------------------------------

def _run(folder: Path, headlines: Headlines) -> Entry:
    manifest = read_json(folder / "manifest.json")
    identity, instrument = manifest["identity"], str(manifest["artifact"])
    config = identity["config"]
    state, why = _state(folder, manifest)
    if state == COMPLETE and (ask := ANALYSIS.get(instrument)) and not any(folder.glob("*.html")):
        why = f"not analysed yet: {ask.format(folder.as_posix())}"
    simulated = identity.get("provider") == "simulated"
    say = headlines.get(instrument)
    return Entry(
        instrument, folder, state, why, simulated, _asked(config, identity, simulated),
        str(config.get("seed", "")), manifest.get("journal", {}).get("attempts"),
        _paid(manifest), say(folder) if say and state == COMPLETE else "")


def _paid(manifest: Mapping) -> float | None:
    """What was spent; None where a model has no price and its limit was charged by assumption."""
    spent, models = manifest["cost"]["spent_usd"], (manifest.get("provider") or {}).get("models")
    known = all((model.get("known") or model["price"])["price_from"] != "unknown"
                for model in (models or {}).values())
    return spent if known else None


def _asked(config: Mapping, identity: Mapping, simulated: bool) -> str:
    models = config.get("models") or []
    if isinstance(models, Mapping):
        models = [model for stage in models.values() for model in stage]
    names = ", ".join(dict.fromkeys(
        model["name"] if isinstance(model, Mapping) else str(model) for model in models))
    return names if simulated else f"{names} at {identity.get('provider', 'an unknown provider')}"


def _state(folder: Path, manifest: Mapping) -> tuple[str, str]:
    """(state, what to do), from the manifest and from what is there."""
    begun = SCRIPTS.get(manifest["artifact"], "the script")
    resume = f"the command that began it resumes it ({begun})"
    if not any(folder.glob("journal.jsonl*")):
        return DAMAGED, "its journal is gone; restore it"
    if manifest["state"] == "running":
        return INCOMPLETE, f"running, or interrupted: {resume}"
    gone = [name for name in manifest["files"] if not (folder / name).is_file()]
    if gone:
        more = f" and {len(gone) - 1} more" if len(gone) > 1 else ""
        return DAMAGED, (f"{gone[0]}{more} is gone; {begun} with its flags writes it again from "
                         "the journal")
    if manifest["state"] == COMPLETE:
        return COMPLETE, ""
    return INCOMPLETE, f"{manifest.get('ended_by') or 'not everything was asked'}: {resume}"


# --- more than one run -------------------------------------------------------------------------

def _study(folder: Path, runs: list[Path], headlines: Headlines) -> Entry:
    """A plan's runs with their common analysis; what is missing of a plan is named."""
    parts = [part._replace(why="") if part.state == COMPLETE else part
             for part in (_safely(_run, run, headlines) for run in runs)]
    planned = read_json(folder / STUDY[0])["runs"] if (folder / STUDY[0]).is_file() else ()
    missing = set(planned) - {run.name for run in runs}
    states = {part.state for part in parts}
    why = "; ".join(f"{part.path.name}: {part.why}" for part in parts if part.why)
    if missing:
        why = f"{len(missing)} of its runs are not begun: the same command goes on" + (
            f"; {why}" if why else "")
    state = DAMAGED if DAMAGED in states else \
        INCOMPLETE if missing or INCOMPLETE in states else COMPLETE
    analysis = read_json(folder / STUDY[1]) if (folder / STUDY[1]).is_file() else {}
    if not analysis and not why:
        why = f"not analysed yet: python3 analyze.py {folder.as_posix()}"
    return Entry(
        "tournament", folder, state, why,
        # An analysis may lie apart from its runs: it says itself what it is of.
        bool(analysis.get("simulated")) or any(part.simulated for part in parts),
        "; ".join(dict.fromkeys(part.asked for part in parts if part.asked)),
        ", ".join(dict.fromkeys(part.seed for part in parts if part.seed)),
        _sum(part.calls for part in parts), _sum(part.usd for part in parts),
        headlines["tournament"](folder) if "tournament" in headlines else "", tuple(parts))


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


# --- the neighbours ----------------------------------------------------------------------------

def _calibration(folder: Path, headlines: Headlines) -> Entry:
    """A folder of calibrate.py: everything in it is simulated."""
    if not (folder / CALIBRATION[0]).is_file():
        return Entry("calibration", folder, INCOMPLETE,
                     "interrupted: the command that began it resumes it (calibrate.py)", True)
    data = read_json(folder / CALIBRATION[0])
    say = headlines.get("calibration")
    return Entry("calibration", folder, COMPLETE, "", True, "simulated populations",
                 str(data.get("seed", "")), None, None, say(folder) if say else "")


def _neighbour(folder: Path, headlines: Headlines) -> Entry:
    """A run of pdbench, by its own manifest."""
    data = read_json(folder / "run_manifest.json")
    matches, status = data.get("matches") or {}, data["status"]
    conditions = data["config"]["conditions"]
    agents = dict.fromkeys(c[seat]["label"] for c in conditions.values()
                           for seat in ("agent_a", "agent_b"))
    ended = matches.get("incomplete")
    why = "" if status == COMPLETE else (
        f"{ended} of {matches['total']} matches ended without a valid answer" if ended else
        "interrupted: the same `pdbench run` resumes it")
    return Entry("iterated PD", folder, COMPLETE if status == COMPLETE else INCOMPLETE, why,
                 data["stamp"] is not None, ", ".join(agents), str(data["seed"]),
                 data.get("model_calls"), None,
                 f"{matches['total']:,} matches, {data['rounds']:,} rounds" if matches else "")


def _loose(path: Path, headlines: Headlines) -> Entry:
    """A file of URRP trials that lies by itself."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
        first = json.loads(file.readline() or b"{}")
        lines = 1 + sum(1 for _ in file)
    known = path.with_suffix(".html").is_file()
    return Entry("urrp", path, COMPLETE, "" if known else
                 f"not analysed yet: python3 urrp_analyze.py {path.as_posix()}",
                 first.get("provider") == "simulated", "", "", lines, None, f"{lines:,} trials")


# --- the page ----------------------------------------------------------------------------------

REPORTS = ("report.html", "urrp_runs.html")
KINDS = (("-summary.md", "summary"), ("calibration.md", "summary"), ("report.md", "summary"),
         ("-analysis.json", "figures (JSON)"), ("analysis.json", "figures (JSON)"),
         ("calibration.json", "figures (JSON)"), ("manifest.json", "manifest"), (".csv", ""),
         ("urrp_runs.jsonl", "trials (JSONL)"))
EMPTY = ("make pilot", "make tournament", "make urrp", "make pd")
STAMP = ("SIMULATED: what is stamped so comes from simulated respondents and says nothing about "
         "any model.")


def states(listed: Sequence[Entry]) -> dict[str, int]:
    """{state: runs}, the runs of a plan one by one."""
    runs = [run for entry in listed for run in (entry.parts or (entry,))]
    return {state: n for state in TAGS if (n := sum(run.state == state for run in runs))}


def index(listed: Sequence[Entry], where: Path, version: str) -> Document:
    """The page that lies in the folder `where`: its links are relative to that."""
    if not listed:
        return Document(
            "Results", "None of these needs a key: without one, simulated respondents answer.",
            "There is no run yet.", Foot(version, {"seed": NONE}, "make report"),
            sections=[Section("What to run", [Bullets([Code(command) for command in EMPTY])])])
    order = [*TITLES, *(entry.instrument for entry in listed)]
    runs = sorted(listed, key=lambda entry: order.index(entry.instrument))
    named = ", ".join(f"{n:,} {state}" for state, n in states(runs).items())
    seeds = sorted({seed for entry in runs for seed in entry.seed.split(", ") if seed})
    facts = json.dumps([entry._replace(path=_name(entry.path, where), parts=())
                        for entry in listed], ensure_ascii=False).encode("utf-8", "replace")
    return Document(
        "Results", "Every run below this folder, with its state and what it left.",
        f"{count(sum(states(runs).values()), 'run')}: {named}.",
        Foot(version, {"seed": ", ".join(seeds) or NONE,
                       "listing": hashlib.sha256(facts).hexdigest()[:12]}, "make report"),
        texts=Texts("Runs", "", [_card(entry, where) for entry in runs], {
            "instrument": list(dict.fromkeys(entry.instrument for entry in runs)),
            "state": [state for state in TAGS if any(entry.state == state for entry in runs)],
            "answers": sorted({_answers(entry) for entry in runs})}, shut=False),
        stamps=[STAMP] * any(entry.simulated for entry in runs))


def _answers(entry: Entry) -> str:
    if entry.simulated:
        return "SIMULATED"
    return "models" if entry.asked or entry.state != DAMAGED else "unknown"


def _name(path: Path, where: Path) -> str:
    return Path(os.path.relpath(path, where)).as_posix()


def _card(entry: Entry, where: Path) -> Fold:
    """One entry with its links; the runs of a plan are a table in a fold."""
    stamp = [Tag("SIMULATED", "stamp")] if entry.simulated else []
    kind = TAGS[entry.state] if entry.state != COMPLETE else "dim"
    parts = [Words(entry.headline), Words(entry.why, kind),
             Words(" · ".join([TITLES.get(entry.instrument, entry.instrument), *_facts(entry)]),
                   "dim"), Words(list(_links(entry.path, where)))]
    runs = [Fold(count(len(entry.parts), "run"), [_runs(entry.parts, where)])] * bool(entry.parts)
    return Fold([_name(entry.path, where), Tag(entry.state, TAGS[entry.state]), *stamp],
                [*(words for words in parts if words.line), *runs],
                [entry.instrument, entry.state, _answers(entry)])


def _facts(entry: Entry) -> Iterator[str]:
    if entry.asked:
        yield entry.asked
    if entry.seed:
        yield f"seed {entry.seed}"
    if entry.calls is not None:
        yield count(entry.calls, "call")
    if entry.usd is not None:
        yield dollars(entry.usd)


def _runs(parts: Sequence[Entry], where: Path) -> Table:
    return Table(["run", "state", "seed", "calls", "cost", "files", "what to do"], [
        [part.path.name, Tag(part.state, TAGS[part.state]), part.seed,
         NONE if part.calls is None else f"{part.calls:,}", dollars(part.usd),
         list(_links(part.path, where)), part.why] for part in parts], (2, 3, 4))


def _links(path: Path, where: Path) -> Iterator[Link]:
    """What a reader opens: the report first, then summary, figures and tables."""
    if path.is_file():
        links = [(path.with_suffix(".html"), "report"), (path, "trials (JSONL)")]
    else:
        inside = sorted([*path.glob("*.*"), *path.glob("exports/*.csv")])
        links = [(file, "report") for file in inside if file.name in REPORTS]
        links += [(file, word or f"{file.stem} (CSV)") for ending, word in KINDS
                  for file in inside if file.name.endswith(ending)
                  and file.name != "acausal_manifest.json"]
    first = {file: word for file, word in reversed(links) if file.is_file()}
    for file in dict.fromkeys(file for file, _ in links if file in first):
        yield Link(first[file], quote(_name(file, where)))

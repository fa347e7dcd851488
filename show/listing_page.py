"""results/index.html: every run with its state and links, to open from disk or any server."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

from common.artifacts import canonical_json, sha256
from show import page
from show.figures import dollars
from show.listing import COMPLETE, DAMAGED, INCOMPLETE, Entry
from show.page import text

TITLES = {
    "pilot": "CIRRUS-24 pilots", "tournament": "CIRRUS-24 tournaments", "urrp": "URRP collections",
    "calibration": "Calibrations", "adjudication": "Adjudications",
    "iterated PD": "Iterated prisoner's dilemma", "unknown": "What can't be read"}
TAGS = {COMPLETE: "yes", INCOMPLETE: "maybe", DAMAGED: "no"}
REPORTS = ("report.html", "urrp_runs.html")
KINDS = (("-summary.md", "summary"), ("calibration.md", "summary"), ("report.md", "summary"),
         ("-analysis.json", "figures (JSON)"), ("analysis.json", "figures (JSON)"),
         ("calibration.json", "figures (JSON)"), ("manifest.json", "manifest"), (".csv", ""),
         ("urrp_runs.jsonl", "trials (JSONL)"))
EMPTY = ("make pilot", "make tournament", "make urrp", "make pd")


def index(entries: Sequence[Entry], where: Path) -> str:
    """The page that lies in the folder `where`: its links are relative to that."""
    runs = [run for entry in entries for run in (entry.parts or (entry,))]
    if not entries:
        return page.page("Results", "There is no run yet.", [_empty()], {"seed": "–"}, False,
                         again="make report")
    kinds = dict.fromkeys([*TITLES, *(entry.instrument for entry in entries)])
    body = [page.tiles(_tiles(runs)), page.search_box(".run", {
        "instrument": [kind for kind in kinds if any(e.instrument == kind for e in entries)],
        "state": [state for state in TAGS if any(e.state == state for e in entries)],
        "answers": [kind for kind in ("SIMULATED", "models", "unknown")
                    if any(_answers(e) == kind for e in entries)]})]
    for kind in kinds:
        own = [entry for entry in entries if entry.instrument == kind]
        if own:
            body.append(page.section(TITLES.get(kind, kind.capitalize()),
                                     *(_card(entry, where) for entry in own)))
    facts = [entry._replace(path=_name(entry.path, where), parts=len(entry.parts))
             for entry in entries]
    seeds = sorted({seed for entry in entries for seed in entry.seed.split(", ") if seed})
    return page.page(
        "Results", "Every run below this folder, with its state and what it left.", body,
        {"seed": ", ".join(seeds) or "–", "listing": sha256(canonical_json(facts))[:12]},
        "SIMULATED: what is stamped so comes from simulated respondents and says nothing about "
        "any model." if any(entry.simulated for entry in entries) else False,
        again="make report")


def _empty() -> str:
    commands = "".join(f"<li><code>{command}</code></li>" for command in EMPTY)
    return page.section("What to run", f"<ul>{commands}</ul>", page.paragraph(
        "None of them needs a key: without one, simulated respondents answer. Then: make report.",
        "dim"))


def _tiles(runs: Sequence[Entry]) -> dict[str, str]:
    known = [run.usd for run in runs if run.usd is not None]
    tiles = {"runs": f"{len(runs):,}", "of them by models":
             f"{sum(_answers(run) == 'models' for run in runs):,}"}
    tiles |= {state: f"{sum(run.state == state for run in runs):,}" for state in TAGS}
    return tiles | {"charged against limits": dollars(sum(known))}


def _answers(entry: Entry) -> str:
    if entry.simulated:
        return "SIMULATED"
    return "models" if entry.asked or entry.state != DAMAGED else "unknown"


def _name(path: Path, where: Path) -> str:
    return Path(os.path.relpath(path, where)).as_posix()


def _card(entry: Entry, where: Path) -> str:
    """One entry with its links; the runs of a plan are a table in a fold."""
    stamp = ' <span class="stamp">SIMULATED</span>' if entry.simulated else ""
    parts = [f"<h3>{text(_name(entry.path, where))} {page.tag(entry.state, TAGS[entry.state])}"
             f"{stamp}</h3>"]
    if entry.headline:
        parts.append(page.paragraph(entry.headline))
    if entry.why:
        parts.append(f'<p class="{TAGS[entry.state] if entry.state != COMPLETE else "dim"}">'
                     f"{text(entry.why)}</p>")
    facts = " · ".join(_facts(entry))
    parts.append(f'<p class="dim">{text(facts)}</p>' if facts else "")
    links = " · ".join(_links(entry.path, where))
    parts.append(f"<p>{links}</p>" if links else "")
    if entry.parts:
        parts.append(page.fold(f"{len(entry.parts)} runs", _runs(entry.parts, where)))
    found_by = page.keys(entry.instrument, entry.state, _answers(entry))
    return f'<article class="run" data-keys="{text(found_by)}">{"".join(parts)}</article>'


def _facts(entry: Entry) -> Iterator[str]:
    if entry.asked:
        yield entry.asked
    if entry.seed:
        yield f"seed {entry.seed}"
    if entry.calls is not None:
        yield f"{entry.calls:,} calls"
    if entry.usd is not None:
        # Where no server tells a price this is what the limit was charged, not what was paid.
        yield f"{dollars(entry.usd)} charged"


def _runs(parts: Sequence[Entry], where: Path) -> str:
    rows = [[text(part.path.name), page.tag(part.state, TAGS[part.state]), text(part.seed),
             "–" if part.calls is None else f"{part.calls:,}", dollars(part.usd),
             " · ".join(_links(part.path, where)), text(part.why)] for part in parts]
    return page.table(["run", "state", "seed", "calls", "charged", "files", "what to do"], rows,
                      (2, 3, 4), "The runs of the plan")


def _links(path: Path, where: Path) -> Iterator[str]:
    """Links to what a reader opens: the report first, then summary, figures and tables."""
    if path.is_file():
        found = [(path.with_suffix(".html"), "report"), (path, "trials (JSONL)")]
    else:
        inside = sorted([*path.glob("*.*"), *path.glob("exports/*.csv")])
        found = [(file, "report") for file in inside if file.name in REPORTS]
        found += [(file, word or f"{file.stem} (CSV)") for ending, word in KINDS
                  for file in inside if file.name.endswith(ending)
                  and file.name != "acausal_manifest.json"]
    seen: set[Path] = set()
    for file, word in found:
        if file not in seen and file.is_file():
            seen.add(file)
            yield f'<a href="{text(quote(_name(file, where)))}">{text(word)}</a>'

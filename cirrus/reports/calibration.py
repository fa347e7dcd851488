"""A calibration to read: how often each word was said of each population, counted from records.

    derived(header, records)        {"calibration.json": …, "calibration.md": …, "report.html": …}
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import stats
from cirrus.ask.populations import CUE_RESPONSIVE, NOT_SHOWN, POOLS, POPULATIONS, TRUE, earned
from cirrus.judge.effects import average
from cirrus.judge.verdict import CORRELATION_SENSITIVE, WORDS
from common import VERSION, UsageError
from common.artifacts import gzip_bytes, json_file, jsonl, read_jsonl
from common.runs import RESTORE
from common.shape import (
    FLAG,
    NAME,
    NUMBER,
    TEXT,
    check,
    maybe,
    one_of,
    record,
    sometimes,
    whole,
)
from common.verify import Content, Folder, Verdict
from show.document import Bullets, Document, Fold, Foot, Section, Table, Tag, markdown
from show.figures import NONE, STAMP, count, percent, rate
from show.html import pages

RUNS = {"2x2": 10, "mechanism": 12}      # runs per cell; blocks per bulletin
TITLES = {"2x2": "pilot", "mechanism": "mechanism study"}


def derived(header: Mapping, records: Sequence[Mapping]) -> dict[str, bytes | str]:
    """The files of a calibration: a function of its records."""
    out = table(header, records)
    report = document(out)
    return {"replications.jsonl.gz": gzip_bytes(jsonl([header, *records])),
            "calibration.json": json_file(out), "calibration.md": markdown(report),
            **pages(report)}


HEAD = record(artifact=one_of("calibration-replications"), seed=whole(0), reps=whole(1), note=TEXT,
              runs=record(**dict.fromkeys(RUNS, whole(2))), prompts_sha256=TEXT, code_sha256=TEXT)
SHARED = {"word": one_of(*WORDS), "population": NAME, "rep": whole(0), "covers": maybe(FLAG),
          "rejects": maybe(FLAG)}
PILOT = record(design=one_of(*RUNS), positive=whole(0), **SHARED)
MECHANISM = record(design=one_of("mechanism"), probes=sometimes(record(
    **dict.fromkeys(("payoffs", "beliefs", "influence"), maybe(NUMBER)))), **SHARED)


def content(folder: Folder) -> Content | None:
    """What a calibration's folder must hold: page, table and JSON of its records."""
    if not folder.names & {"replications.jsonl.gz", "calibration.json"}:
        return None
    try:
        rows = [value for _, value in read_jsonl(folder.path / "replications.jsonl.gz")]
    except OSError as error:
        raise UsageError(f"replications.jsonl.gz: {error.strerror}; {RESTORE}") from None
    except ValueError as error:
        raise UsageError(f"{error}; {RESTORE}") from None
    for number, row in enumerate(rows or [None], 1):
        kind = HEAD if number == 1 else MECHANISM if isinstance(row, dict) and (
            row.get("design") == "mechanism") else PILOT
        check(kind, row, f"replications.jsonl.gz line {number}", RESTORE)
    header, *records = rows
    names = list(dict.fromkeys(row["population"] for row in records))
    if [(row["design"], row["population"], row["rep"]) for row in records] != list(
            product(sorted(RUNS), names, range(header["reps"]))):
        raise UsageError("replications.jsonl.gz: not each replication once, by design, population "
                         f"and number; {RESTORE}")
    return Content(Verdict(str(folder.path), "calibration", simulated=True, unproven=["records"]),
                   {name: made if isinstance(made, bytes) else made.encode()
                    for name, made in derived(header, records).items()})


# --- counted -----------------------------------------------------------------------------------

LEVEL = 0.08           # an upper limit for what happens in 5%
FALSELY = 0.05         # the same for a word that is not earned
COVERAGE = 0.93        # a lower limit for the 95% interval's coverage
FEWEST = 20            # replications under which nothing is claimed
# Upper limits of `correlation-sensitive` for rivals that lack one of its requirements, or more.
MOST_SAID = {1: 0.05, 2: 0.03}
# Lower limits for a true effect of so many points, in a mechanism study of the usual size.
LEAST_SAID = {40: 0.85, 30: 0.55}
# Nothing moves these on average.
NULL = ("coin", "bulletins-0.5", "bulletins-1")
# Whose intervals must cover: cell rates from 3% to 97%, and no few bulletins that carry it all.
COVERED = ("superrational", *NULL, *TRUE)


def table(header: Mapping[str, Any], records: Sequence[Mapping]) -> dict[str, Any]:
    """The whole of calibration.json."""
    held: dict[str, dict[str, list[Mapping]]] = {}
    for row in records:
        held.setdefault(row["population"], {}).setdefault(row["design"], []).append(row)
    rows = {name: {"what": what(name), **{design: counted(name, design, designs[design])
                                          for design in RUNS}}
            for name, designs in held.items()}
    usual = header["runs"] == RUNS
    out = {**header, "artifact": "calibration", "schema": 3, "simulated": True,
           "stamp": "SIMULATED", "replications": len(records), "populations": rows,
           "claims": [claim for name, row in rows.items() for design in RUNS
                      for claim in claims(name, design, row[design], usual)]}
    return out | {"summary": answer(out)}


def what(name: str) -> str:
    return POOLS[name][0] if name in POOLS else POPULATIONS[name].does if name in POPULATIONS else (
        "a respondent of the user's own")


def counted(name: str, design: str, records: Sequence[Mapping]) -> dict[str, Any]:
    """How often each word was said of a population, beside the word that it has earned."""
    due = earned(name, design) if name in POPULATIONS or name in POOLS else None
    words = Counter(record["word"] for record in records)
    row = {"earned": due and due.word, "lacks": due and list(due.lacks),
           "truth": due and due.primary, "replications": len(records),
           "words": {word: words[word] for word in WORDS},
           "covered": share(record["covers"] for record in records),
           "rejected": share(record["rejects"] for record in records)}
    if design == "2x2":
        return row | {"positive": share(record["positive"] > 0 for record in records)}
    return row | {"probes": {probe: average(record["probes"][probe] for record in records)
                             for probe in records[0].get("probes", ())}}


def of(k: int, n: int) -> dict[str, Any]:
    return stats.share(k, n)._asdict()


def share(flags: Iterable[bool | None]) -> dict[str, Any]:
    known = [flag for flag in flags if flag is not None]
    return of(sum(known), len(known))


def words_above(row: Mapping[str, Any]) -> dict[str, Any]:
    """The share of words above `cue-responsive`."""
    above = WORDS[WORDS.index(CUE_RESPONSIVE) + 1:]
    return of(sum(row["words"][word] for word in above), row["replications"])


def claims(name: str, design: str, row: Mapping, usual: bool) -> Iterator[dict[str, Any]]:
    """What must come out of a population's studies, each with its figure and whether it is met: by
    the whole 95% interval over replications, not by the estimate."""
    def claim(what: str, figure: Mapping, most: float = 1, least: float = 0) -> dict[str, Any]:
        limit = f"lower limit at least {least:.0%}" if least else f"upper limit at most {most:.0%}"
        met = None if figure["n"] < FEWEST else True if (
            least <= figure["low"] and figure["high"] <= most) else (
            False if figure["high"] < least or most < figure["low"] else None)
        return {"what": f"{what}: {limit}", "population": name, "design": design,
                "figure": figure, "met": met}
    above, points = words_above(row), int(name.split("-")[1]) if name in TRUE else 0
    if design == "2x2":
        yield claim(f"a word above {CUE_RESPONSIVE}", above, FALSELY)
        if row["earned"] == NOT_SHOWN:
            yield claim(f"{CUE_RESPONSIVE}, which is not earned",
                        of(row["words"][CUE_RESPONSIVE], row["replications"]), FALSELY)
            yield claim("any positive sentence, where there is nothing", row["positive"], LEVEL)
    elif row["lacks"]:
        lacking = min(len(row["lacks"]), 2)
        yield claim(f"{CORRELATION_SENSITIVE}, lacking {lacking}{' or more' * (lacking > 1)} of "
                    "what it needs", above, MOST_SAID[lacking])
    elif usual and points in LEAST_SAID:
        yield claim(f"{CORRELATION_SENSITIVE}, of a true effect of {points} points", above,
                    least=LEAST_SAID[points])
    if name in NULL:
        yield claim("the test over bulletins rejects", row["rejected"], LEVEL)
    if name in COVERED:
        yield claim("the 95% interval of HP − LA covers it", row["covered"],
                    least=COVERAGE)


# --- shown -------------------------------------------------------------------------------------

PROBES = {"payoffs": "payoffs ranked as they are", "influence": "influence denied",
          "beliefs": "how much its own entry tells of the other's"}
MET = {True: Tag("met", "yes"), False: Tag("NOT MET", "no"), None: Tag("open", "dim")}
NOTES = [
    "Earned is the word that a population's own shares deserve, averaged over every prompt that "
    "the study may show; said is what the analysis made of its answers.",
    "Shares stand with their 95% Wilson interval over replications. A claim is met, or not met, "
    "where the whole interval says so; else it is open, and more replications decide.",
    "What bulletins do is drawn anew for each replication, and is the same for every model in it.",
]


def document(out: Mapping[str, Any]) -> Document:
    """The report of calibration.json."""
    missed = [claim for claim in out["claims"] if claim["met"] is False]
    return Document(
        "Calibration", "Respondents whose behaviour is known are put through the prompts, the "
        "parser and the analysis, many times. What they are called is what the words are worth.",
        out["summary"],
        Foot(VERSION, {"seed": str(out["seed"]), "prompts": out["prompts_sha256"][:12],
                       "code": out["code_sha256"][:12]},
             "python3 calibrate.py --reps N --out DIR (the same flags)"),
        called(out, "mechanism"),
        [claims_table(missed, "Claims that are not met")] if missed else [],
        [Section("The pilot", [called(out, "2x2")]),
         Section("How to read this", [Bullets([*NOTES, *filter(None, [out["note"]])])]),
         Section("What must come out", [Fold(f"All {count(len(out['claims']), 'claim')}",
                                             [claims_table(out["claims"])])])], stamps=[STAMP])


def answer(out: Mapping[str, Any]) -> str:
    met = [claim["met"] for claim in out["claims"]]
    if all(one is None for one in met):
        return f"{count(out['replications'], 'replication')}: too few to judge any claim."
    return (f"{count(out['replications'], 'replication')}: {met.count(True)} of "
            f"{count(len(met), 'claim')} met, {met.count(False)} not met, {met.count(None)} open.")


def called(out: Mapping[str, Any], design: str) -> Table:
    """Who was called what in one design."""
    rows = {name: (row["what"], row[design]) for name, row in out["populations"].items()}
    beside = {name: {"any positive sentence": said(row["positive"])} if design == "2x2" else {
              PROBES[probe]: percent(mean) for probe, mean in row["probes"].items()}
              for name, (_, row) in rows.items()}
    more = next(iter(beside.values())).keys()
    unit = "runs per cell" if design == "2x2" else "blocks per bulletin"
    return Table(
        ["population", "what it does", "earned", *WORDS, *more],
        [[name, does, deserved(row), *(said(of(k, row["replications"]))
                                       for k in row["words"].values()),
          *beside[name].values()] for name, (does, row) in rows.items()],
        range(3, 3 + len(WORDS) + len(more)),
        f"Who was called what in {count(out['reps'], 'replication')} of a {TITLES[design]} with "
        f"{out['runs'][design]} {unit}", f"called-{design}")


def deserved(row: Mapping[str, Any]) -> str:
    lacks = f" (lacks {', '.join(row['lacks'])})" if row["lacks"] else ""
    return f"{row['earned']}{lacks}" if row["earned"] else NONE


def said(figure: Mapping[str, Any]) -> str:
    """ "4.8% (3.6 to 6.3)"; "0" where nothing was counted, a dash where nothing could be."""
    if not figure["k"]:
        return "0" if figure["n"] else NONE
    return rate(figure["value"], figure["low"], figure["high"], 1)


def claims_table(rows: Sequence[Mapping], caption: str = "") -> Table:
    return Table(["verdict", "claim", "population", "study", "share", "of"], [
        [MET[claim["met"]], claim["what"], claim["population"], TITLES[claim["design"]],
         said(claim["figure"]), f"{claim['figure']['n']:,}"] for claim in rows], (4, 5), caption,
        "claims")

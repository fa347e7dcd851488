"""A calibration to read: how often each account was told excluded, counted from records.

    derived(header, records)        {"calibration.json": …, "calibration.md": …, "report.html": …}
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

import stats
from cirrus.judge.accounts import ACCOUNTS, CORRELATION, DECIDER, WORDS
from common import VERSION, UsageError, shape
from common.artifacts import gzip_bytes, json_file, jsonl, read_jsonl
from common.runs import RESTORE
from common.verify import Content, Folder, Verdict
from show.document import Bullets, Document, Foot, Section, Table, Tag, markdown
from show.figures import NONE, STAMP, count, percent, rate
from show.html import page

BLOCKS, PILOT = 12, 0      # per bulletin; in place of blocks: a pilot of four models
NAMES = [account.name for account in ACCOUNTS]
OWN, HIGHEST, POSITIVE = 0.05, 0.03, 0.05     # upper limits of shares
FAMILIES = {"skewed units": 0.09, "random sums": 0.04}     # in place of OWN
# Lower limits of the words, or higher ones, that true effects earn at BLOCKS.
POWER = {"reasoner-3-97": (CORRELATION, 0.85), "reasoner-40-95": (CORRELATION, 0.65),
         "reasoner-40-80": (DECIDER, 0.90)}
STATES = {"met": Tag("met", "yes"), "missed": Tag("MISSED", "no"), "open": Tag("open", "dim")}
NOTES = [
    "A respondent's account is declared before it is asked: told excluded, it is told falsely. "
    "“open” is an account that no study excludes, “reasoner” the effect that a study looks for.",
    "Shares stand with their 95% Wilson interval over studies. A limit is met or missed where the "
    "whole interval says so, else open.",
    "Respondents see the rendered prompt alone, in which no time passes: none of them drifts."]
TEXTS = shape.map_of(shape.TEXT, "respondents")
HEAD = shape.record(
    artifact=shape.enum("calibration-replications"), seed=shape.whole(0), runs=shape.whole(2),
    reps=shape.maybe(shape.whole(1)), studies=shape.whole(0), faults=TEXTS,
    prompts_sha256=shape.TEXT, code_sha256=shape.TEXT,
    respondents=shape.map_of(shape.record(family=shape.NAME, account=shape.NAME, what=shape.TEXT),
                             "respondents"))
RECORD = shape.record(
    name=shape.NAME, runs=shape.whole(PILOT), rep=shape.whole(0), word=shape.enum(*WORDS),
    positive=shape.sometimes(shape.whole(0)),
    excluded=shape.sometimes(shape.several(shape.enum(*NAMES), 0)),
    probes=shape.sometimes(shape.map_of(
        shape.map_of(shape.maybe(shape.NUMBER), "cells"), "probes")))


def derived(header: Mapping, records: Sequence[Mapping]) -> dict[str, bytes | str]:
    """The files of a calibration: a function of its records."""
    out = table(header, records)
    report = document(out)
    return {"replications.jsonl.gz": gzip_bytes(jsonl([header, *records])),
            "calibration.json": json_file(out), "calibration.md": markdown(report),
            "report.html": page(report)}


def content(folder: Folder) -> Content | None:
    """What a calibration's folder must hold: page, table and JSON of its records."""
    name = "replications.jsonl.gz"
    if not folder.names & {name, "calibration.json"}:
        return None
    try:
        header, *records = [value for _, value in read_jsonl(folder.path / name)] or [None]
    except (OSError, ValueError) as error:
        why = f"{name}: {error.strerror}" if isinstance(error, OSError) else error
        raise UsageError(f"{why}; {RESTORE}") from None
    for number, row in enumerate((header, *records), 1):
        shape.check(RECORD if number > 1 else HEAD, row, f"{name} line {number}", RESTORE)
    keys = Counter()
    for row in records:
        key, needed = (row["name"], row["runs"]), "excluded" if row["runs"] else "positive"
        if row["rep"] != keys[key] or key[0] not in header["respondents"] or needed not in row:
            raise UsageError(f"{name}: not each study of a respondent once, by number; {RESTORE}")
        keys[key] += 1
    if len(records) != header["studies"]:
        raise UsageError(f"{name}: {len(records)} studies of the {header['studies']} that its head "
                         f"tells of; {RESTORE}")
    return Content(Verdict(str(folder.path), "calibration", simulated=True, unproven=["records"]),
                   {name: made if isinstance(made, bytes) else made.encode()
                    for name, made in derived(header, records).items()})


# --- counted -----------------------------------------------------------------------------------

def table(header: Mapping[str, Any], records: Sequence[Mapping]) -> dict[str, Any]:
    """The whole of calibration.json."""
    studies: dict[tuple[str, int], list[Mapping]] = {}
    for row in records:
        studies.setdefault((row["name"], row["runs"]), []).append(row)
    known, out = header["respondents"], {"populations": {}, "smaller": {}, "pilots": {}}
    for (name, runs), rows in studies.items():
        part = out["pilots"] if runs == PILOT else out["populations"] if runs == header[
            "runs"] else out["smaller"].setdefault(str(runs), {})
        part[name] = known[name] | counted(rows)
    held = [limit for (name, runs), rows in studies.items()
            for limit in limits(name, known[name], runs, rows)]
    states = Counter(limit["state"] for limit in held)
    return {key: header[key] for key in header if key != "respondents"} | out | {
        "artifact": "calibration", "schema": 4, "simulated": True, "stamp": "SIMULATED",
        "replications": len(records), "limits": held,
        "summary": f"{count(len(records), 'replication')}: {states['met']} of "
        f"{count(len(held), 'limit')} met, {states['missed']} missed, {states['open']} open."}


def counted(rows: Sequence[Mapping]) -> dict[str, Any]:
    """Words, and accounts told excluded; in a pilot the studies with any positive sentence."""
    words = Counter(row["word"] for row in rows)
    out = {"replications": len(rows), "words": {word: words[word] for word in WORDS}}
    if "positive" in rows[0]:
        return out | {"positive": sum(row["positive"] > 0 for row in rows)}
    out["excluded"] = {name: sum(name in row["excluded"] for row in rows) for name in NAMES}
    if asked := rows[0].get("probes"):
        out["probes"] = {kind: {cell: fmean(known) if (known := [
            row["probes"][kind][cell] for row in rows if row["probes"][kind][cell] is not None
        ]) else None for cell in cells} for kind, cells in asked.items()}
    return out


def limits(name: str, respondent: Mapping, runs: int, rows: Sequence[Mapping]) -> Iterator[dict]:
    """What is held to of a respondent's studies of one size, each with share and state."""
    def limit(what: str, hits: int, wanted: float, least: bool = False) -> dict[str, Any]:
        share = stats.share(hits, len(rows))
        beyond = (share.high < wanted, share.low >= wanted) if least else (
            share.low > wanted, share.high <= wanted)
        return {"population": name, "family": respondent["family"], "runs": runs, "what": what,
                "wanted": f"{'at least' if least else 'at most'} {wanted:.0%}", **share._asdict(),
                "state": "missed" if beyond[0] else "met" if beyond[1] else "open"}

    def earned(word: str) -> int:
        return sum(WORDS.index(row["word"]) >= WORDS.index(word) for row in rows)
    account = respondent["account"]
    if runs == PILOT:
        yield limit("any positive sentence", sum(row["positive"] > 0 for row in rows), POSITIVE)
    elif account in NAMES:
        yield limit(f"{account} told excluded", sum(account in row["excluded"] for row in rows),
                    FAMILIES.get(respondent["family"], OWN))
        yield limit(CORRELATION, earned(CORRELATION), HIGHEST)
    elif runs == BLOCKS and name in POWER:
        word, wanted = POWER[name]
        yield limit(word + " or higher" * (word != CORRELATION), earned(word), wanted, True)


# --- shown -------------------------------------------------------------------------------------

def document(out: Mapping[str, Any]) -> Document:
    """The report of calibration.json: a row for each family, then a row for each limit."""
    left = [limit for state in ("missed", "open") for limit in out["limits"]
            if limit["state"] == state]
    return Document(
        "Calibration", "Respondents with a declared account answer rendered prompts, many times. "
        "How often their own account is told excluded is what an exclusion is worth.",
        out["summary"],
        Foot(VERSION, {"seed": str(out["seed"]), "prompts": out["prompts_sha256"][:12],
                       "code": out["code_sha256"][:12]},
             "python3 calibrate.py --out DIR (the same flags)"),
        Table(["family", "account", "worst member", "studies", *WORDS, "own account excluded"],
              list(families(out)), range(3, 5 + len(WORDS)),
              f"Studies with {out['runs']} blocks per bulletin: the member of each family whose "
              "account is told excluded most often", "families"),
        [Table(["held to", "study", "wanted", "met", "missed", "open", "worst", "its share"],
               list(held_to(out["limits"])), (3, 4, 5, 7), "What is held to", "limits")],
        [Section("Not met", [Table(
            ["population", "held to", "study", "wanted", "share", "of", "state"],
            [[one["population"], one["what"], size(one["runs"]), one["wanted"], interval(one),
              f"{one['n']:,}", STATES[one["state"]]]
             for one in left], (4, 5), name="not-met")])] * bool(left) + [
        Section("How to read this", [Bullets(
            [*NOTES, *(f"Left out: {name}: {why}" for name, why in out["faults"].items())])])],
        stamps=[STAMP])


def families(out: Mapping[str, Any]) -> Iterator[list]:
    """Of each family the member whose own account is told excluded most often; where an account is
    no rival's, the one that earns the highest word most often."""
    def harm(item: tuple[str, Mapping]) -> float:
        row = item[1]
        return row["excluded"].get(row["account"], row["words"][CORRELATION]) / row["replications"]
    for family in dict.fromkeys(row["family"] for row in out["populations"].values()):
        name, row = max((item for item in out["populations"].items()
                         if item[1]["family"] == family), key=harm)
        yield [family, row["account"], name, f"{row['replications']:,}",
               *(percent(k / row["replications"], 1) if k else "0" for k in row["words"].values()),
               interval(stats.share(row["excluded"][row["account"]], row["replications"])._asdict())
               if row["account"] in NAMES else NONE]


def held_to(limits: Sequence[Mapping]) -> Iterator[list]:
    """How many respondents meet each limit, and which comes out worst."""
    groups: dict[tuple, list[Mapping]] = {}
    for one in limits:
        groups.setdefault((one["what"], one["wanted"], one["runs"]), []).append(one)
    for (what, wanted, runs), some in groups.items():
        worst = (min if wanted.startswith("at least") else max)(some, key=lambda one: one["value"])
        yield [what, size(runs), wanted, *(str(sum(one["state"] == state for one in some))
                                           for state in STATES), worst["population"],
               interval(worst)]


def size(runs: int) -> str:
    return f"{runs} blocks" if runs else "pilot"


def interval(one: Mapping[str, Any]) -> str:
    return rate(one["value"], one["low"], one["high"], 1)

"""A calibration to read: how often each account was told excluded, counted from records.

    derived(header, records)        {"calibration.json": …, "calibration.md": …, "report.html": …}
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import stats
from cirrus.judge.accounts import ACCOUNTS, CORRELATION, DECIDER, WORDS
from common import VERSION, UsageError
from common.artifacts import gzip_bytes, json_file, jsonl, read_jsonl
from common.runs import RESTORE
from common.shape import (
    NAME,
    NUMBER,
    TEXT,
    check,
    map_of,
    maybe,
    one_of,
    record,
    several,
    sometimes,
    whole,
)
from common.verify import Content, Folder, Verdict
from show.document import Bullets, Document, Fold, Foot, Section, Table, Tag, markdown
from show.figures import NONE, STAMP, count, percent, rate
from show.html import pages

BLOCKS, PILOT = 12, 0      # per bulletin; in place of blocks: a pilot of four models
ACCOUNT_NAMES = [account.name for account in ACCOUNTS]
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

HEAD = record(
    artifact=one_of("calibration-replications"), seed=whole(0), reps=maybe(whole(1)),
    runs=whole(2), studies=whole(0), faults=map_of(TEXT, "respondents"), prompts_sha256=TEXT,
    code_sha256=TEXT,
    respondents=map_of(record(family=NAME, account=NAME, what=TEXT), "respondents"))
RECORD = record(
    name=NAME, runs=whole(PILOT), rep=whole(0), word=one_of(*WORDS), positive=sometimes(whole(0)),
    excluded=sometimes(several(one_of(*ACCOUNT_NAMES), 0)),
    probes=sometimes(map_of(map_of(maybe(NUMBER), "cells"), "probes")))


def derived(header: Mapping, records: Sequence[Mapping]) -> dict[str, bytes | str]:
    """The files of a calibration: a function of its records."""
    out = table(header, records)
    report = document(out)
    return {"replications.jsonl.gz": gzip_bytes(jsonl([header, *records])),
            "calibration.json": json_file(out), "calibration.md": markdown(report),
            **pages(report)}


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
        check(RECORD if number > 1 else HEAD, row, f"replications.jsonl.gz line {number}", RESTORE)
    header, *records = rows
    met = Counter()
    for row in records:
        key = row["name"], row["runs"]
        if row["rep"] != met[key] or row["name"] not in header["respondents"] or (
                "positive" if row["runs"] == PILOT else "excluded") not in row:
            raise UsageError("replications.jsonl.gz: not each study of a respondent once, by "
                             f"number; {RESTORE}")
        met[key] += 1
    if len(records) != header["studies"]:
        raise UsageError(f"replications.jsonl.gz: {len(records)} studies of the "
                         f"{header['studies']} that its head tells of; {RESTORE}")
    return Content(Verdict(str(folder.path), "calibration", simulated=True, unproven=["records"]),
                   {name: made if isinstance(made, bytes) else made.encode()
                    for name, made in derived(header, records).items()})


# --- counted -----------------------------------------------------------------------------------

def table(header: Mapping[str, Any], records: Sequence[Mapping]) -> dict[str, Any]:
    """The whole of calibration.json."""
    held: dict[tuple[str, int], list[Mapping]] = {}
    for row in records:
        held.setdefault((row["name"], row["runs"]), []).append(row)
    known, out = header["respondents"], {"populations": {}, "smaller": {}, "pilots": {}}
    for (name, runs), rows in held.items():
        part = out["pilots"] if runs == PILOT else out["populations"] if runs == header[
            "runs"] else out["smaller"].setdefault(str(runs), {})
        part[name] = known[name] | counted(rows)
    return {key: header[key] for key in header if key != "respondents"} | out | {
        "artifact": "calibration", "schema": 4, "simulated": True, "stamp": "SIMULATED",
        "replications": len(records), "limits": [
            limit for (name, runs), rows in held.items()
            for limit in limits(name, known[name], runs, rows)]}


def counted(rows: Sequence[Mapping]) -> dict[str, Any]:
    """Words, and accounts told excluded; in a pilot the studies with any positive sentence."""
    words = Counter(row["word"] for row in rows)
    out = {"replications": len(rows), "words": {word: words[word] for word in WORDS}}
    if "positive" in rows[0]:
        return out | {"positive": sum(row["positive"] > 0 for row in rows)}
    out |= {"excluded": {name: sum(name in row["excluded"] for row in rows)
                         for name in ACCOUNT_NAMES}}
    asked = rows[0].get("probes", {})
    return out | ({"probes": {kind: {cell: average([row["probes"][kind][cell] for row in rows])
                                     for cell in cells} for kind, cells in asked.items()}}
                  if asked else {})


def average(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


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
    elif account in ACCOUNT_NAMES:
        yield limit(f"{account} told excluded", sum(account in row["excluded"] for row in rows),
                    FAMILIES.get(respondent["family"], OWN))
        yield limit(CORRELATION, earned(CORRELATION), HIGHEST)
    elif runs == BLOCKS and name in POWER:
        word, wanted = POWER[name]
        yield limit(word + " or higher" * (word != CORRELATION), earned(word), wanted, True)


# --- shown -------------------------------------------------------------------------------------

def document(out: Mapping[str, Any]) -> Document:
    """The report of calibration.json."""
    missed = [limit for limit in out["limits"] if limit["state"] == "missed"]
    size = f"{out['runs']} blocks per bulletin"
    return Document(
        "Calibration", "Respondents with a declared account answer rendered prompts, many times. "
        "How often their own account is told excluded is what an exclusion is worth.", answer(out),
        Foot(VERSION, {"seed": str(out["seed"]), "prompts": out["prompts_sha256"][:12],
                       "code": out["code_sha256"][:12]},
             "python3 calibrate.py --out DIR (the same flags)"),
        families(out["populations"], out["limits"], out["runs"],
                 f"Mechanism studies with {size}: the worst member of each family", "families"),
        [limits_table(missed, "Limits that are missed")] if missed else [],
        [*(Section(f"With {runs} blocks per bulletin", [families(
            part, out["limits"], int(runs), "The worst member of each family", f"families-{runs}")])
           for runs, part in out["smaller"].items()),
         Section("How to read this", [Bullets(
             [*NOTES, *(f"Left out: {name}: {why}" for name, why in out["faults"].items())])]),
         Section("What is held to", [Fold(f"All {count(len(out['limits']), 'limit')}",
                                          [limits_table(out["limits"])])])], stamps=[STAMP])


def answer(out: Mapping[str, Any]) -> str:
    states = Counter(limit["state"] for limit in out["limits"])
    return (f"{count(out['replications'], 'replication')}: {states['met']} of "
            f"{count(len(out['limits']), 'limit')} met, {states['missed']} missed, "
            f"{states['open']} open.")


def families(part: Mapping, limits: Sequence[Mapping], runs: int, caption: str, name: str) -> Table:
    """A row for each family: of its members the one whose own account is told excluded most often;
    where an account is no rival's, that earns the highest word most often."""
    held = {limit["population"]: limit for limit in reversed(limits) if limit["runs"] == runs}
    worst: dict[str, tuple[str, Mapping]] = {}
    for member, row in part.items():
        if row["family"] not in worst or harm(row) > harm(worst[row["family"]][1]):
            worst[row["family"]] = member, row
    return Table(
        ["family", "account", "worst member", "studies", *WORDS, "own account excluded", "limit",
         "state"],
        [[family, row["account"], member, f"{row['replications']:,}",
          *(percent(k / row["replications"], 1) if k else "0" for k in row["words"].values()),
          *own(row, held.get(member))] for family, (member, row) in worst.items()],
        range(3, 5 + len(WORDS)), caption, name)


def harm(row: Mapping[str, Any]) -> float:
    told = row["excluded"].get(row["account"], row["words"][CORRELATION])
    return told / row["replications"]


def own(row: Mapping, limit: Mapping | None) -> list:
    """Share, limit and state of a row."""
    if row["account"] not in row["excluded"] or not limit:
        return [NONE, limit["wanted"] if limit else NONE, STATES[limit["state"]] if limit else NONE]
    return [rate(limit["value"], limit["low"], limit["high"], 1), limit["wanted"],
            STATES[limit["state"]]]


def limits_table(rows: Sequence[Mapping], caption: str = "") -> Table:
    return Table(["state", "held to", "population", "study", "wanted", "share", "of"], [
        [STATES[limit["state"]], limit["what"], limit["population"],
         f"{limit['runs']} blocks" if limit["runs"] else "pilot", limit["wanted"],
         rate(limit["value"], limit["low"], limit["high"], 1), f"{limit['n']:,}"]
        for limit in rows], (5, 6), caption, "limits")

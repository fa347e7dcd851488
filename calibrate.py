#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
"""Put respondents whose behaviour is known through the studies, many times, and count what is said.

Each is asked as a model in a pilot and in a mechanism study. Design, cues, reading and judging are
those of `run_pilot.py` and `analyze.py`; beside what was said stands the word that its own shares
deserve. Writes calibration.json, calibration.md, report.html and replications.jsonl.gz into --out.
Everything in it is SIMULATED.
"""

import runpy
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import stats
from cirrus.ask import pilot, probes
from cirrus.ask.bulletins import PROMPTS
from cirrus.ask.cues import Cues, staged
from cirrus.ask.populations import (
    CUE_RESPONSIVE,
    NOT_SHOWN,
    POOLS,
    POPULATIONS,
    TRUE,
    earned,
    models_of,
)
from cirrus.ask.prompts import load_domain
from cirrus.ask.respondents import decide, respondent
from cirrus.judge import mechanism, rivals
from cirrus.judge import pilot as judge
from cirrus.judge.effects import average
from cirrus.judge.verdict import CORRELATION_SENSITIVE, WORDS, verdict
from common import COMPLETE, VERSION, UsageError, cli
from common.artifacts import (
    canonical_json,
    gzip_bytes,
    json_file,
    jsonl,
    sha256,
    sweep,
    write_atomic,
)
from common.cluster import mapped
from common.rng import SeededRandom
from common.runs import code_hashes, lock, unlock
from common.shape import nearest
from common.wire import Reply, Request
from show.document import Bullets, Document, Fold, Foot, Section, Table, Tag, markdown, terminal
from show.figures import NONE, STAMP, count, percent, rate
from show.html import pages

EXAMPLES = """  python3 calibrate.py
  python3 calibrate.py --reps 1000 --jobs 2
  python3 calibrate.py --populations coin,additive --reps 20 --probes
  python3 calibrate.py --rivals mine.py
  python3 calibrate.py --reps 1000 --scheduler tcp://127.0.0.1:8786"""
RUNS = {"2x2": 10, "mechanism": 12}      # runs per cell; blocks per bulletin
MODELS = {"2x2": 4, "mechanism": 1}      # of one population; a pool has its own
TITLES = {"2x2": "pilot", "mechanism": "mechanism study"}
SETTINGS = {"compliance": "low", "tells": "standard", "temperature": 0.7, "max_out": 96,
            "reasoning_effort": None, "probes": ["payoffs", "beliefs", "influence"]}
FINISH = {"stop": "ok", "length": "truncated"}
SERVED = {"served_model": "SIMULATED", "provider": "simulated", "cost_usd": 0.0}
Respond = Callable[[Request, SeededRandom], str | tuple[str, str]]


def arguments(argv):
    flags = cli.parser("Respondents whose behaviour is known, put through the studies: what is "
                       "said of each beside what it has earned.", EXAMPLES)
    add = flags.add_argument
    add("--reps", type=int, default=100, metavar="N",
        help="pilots and mechanism studies of each population (default 100)")
    add("--populations", metavar="A,B", help="simulated populations (default: all)")
    add("--rivals", metavar="FILE", help="a Python file with RESPONDENTS = {name: "
        "function(request, rng) -> (text, finish_reason)}, executed in this process with all "
        "that you may do: read it first; they join --populations, or stand alone")
    add("--probes", action="store_true", help="ask the probes of the mechanism study as well, and "
        "describe the answers")
    add("--runs", type=int, metavar="N", help="runs per cell of a pilot and blocks per bulletin of "
        "a mechanism study (default 10 and 12)")
    add("--seed", type=int, default=42, metavar="N", help="seed of the whole (default 42)")
    add("--jobs", type=int, default=1, metavar="N", help="processes (default 1)")
    add("--scheduler", metavar="URL", help="a Dask cluster's scheduler, tcp://…")
    add("--out", metavar="DIR", default="results/calibration",
        help="folder of this calibration (default results/calibration)")
    cli.add_json_flag(add)
    return flags.parse_args(argv)


def main(argv) -> cli.Done:
    args = arguments(argv)
    for flag, least in (("reps", 1), ("jobs", 1), ("seed", 0), ("runs", 2)):
        if (value := getattr(args, flag)) is not None and value < least:
            raise UsageError(f"--{flag}: must be at least {least}, not {value}")
    own = rivals_of(args.rivals)
    known = [*POPULATIONS, *POOLS, *own]
    names = list(dict.fromkeys(cli.names(args.populations) or own or known))
    if strange := [name for name in names if name not in known]:
        raise UsageError(f"--populations: no population {strange[0]!r}; "
                         f"{nearest(strange[0], known)}")
    folder = Path(args.out)
    folder.mkdir(parents=True, exist_ok=True)
    header = {"artifact": "calibration-replications", "seed": args.seed, "reps": args.reps,
              "runs": {design: args.runs or usual for design, usual in RUNS.items()},
              "prompts_sha256": sha256(canonical_json(domain().files)),
              "code_sha256": sha256(canonical_json(code_hashes())), "note": ""}
    handle = lock(folder)
    try:
        records = replications(args, names, header["runs"])
        files = derived(header, records)
        for name, content in files.items():
            sweep(folder, name)
            write_atomic(folder / name, content)
    finally:
        unlock(handle)
    report = document(table(header, records))
    return cli.Done(COMPLETE, {"written": str(folder), "files": sorted(files), "simulated": True,
                               "replications": len(records), "summary": report.answer},
                    f"{terminal(report)}\nopen {folder / 'report.html'}")


def derived(header: Mapping, records: Sequence[Mapping]) -> dict[str, bytes | str]:
    """The files of a calibration: a function of its records."""
    out = table(header, records)
    report = document(out)
    return {"replications.jsonl.gz": gzip_bytes(jsonl([header, *records])),
            "calibration.json": json_file(out), "calibration.md": markdown(report),
            **pages(report)}


# --- a replication: one study of a population ---------------------------------------------------

class Study(NamedTuple):
    """Before anybody answers: every population meets the same trials."""

    design: str
    runs: int
    seed: int
    models: tuple[str, ...] = ()

    @property
    def config(self) -> dict[str, Any]:
        return SETTINGS | {"design": self.design, "seed": self.seed, "runs": self.runs,
                           "models": list(self.models)}


class Work(NamedTuple):
    """One study of each population. `rivals`: a user's file."""

    study: Study
    rep: int
    names: tuple[str, ...]
    probes: bool
    rivals: str | None


def replications(args, names: Sequence[str], runs: Mapping[str, int]) -> list[dict[str, Any]]:
    """Every record, by design, population and replication, however the work was spread."""
    path = args.rivals and str(Path(args.rivals).resolve())
    works = [Work(Study(design, n, seed_of(args.seed, design, n, rep)), rep, tuple(names),
                  args.probes and design == "mechanism", path)
             for rep in range(args.reps) for design, n in runs.items()]
    records, progress, total = [], cli.Progress("calibrate"), len(works) * len(names)
    with mapped(replicate_all, works, args.jobs, args.scheduler) as results:
        for at, made in results:
            records += made
            progress.show((len(records), total, 0), [TITLES[works[at].study.design]], {})
    progress.show((len(records), total, 0), [], {}, last=True)
    return sorted(records, key=lambda record: (
        record["design"], names.index(record["population"]), record["rep"]))


def seed_of(seed: int, design: str, runs: int, rep: int) -> int:
    size = f"m{runs}" if design == "mechanism" else str(runs)
    return SeededRandom(seed, "calibration", size, rep).getrandbits(40)


def replicate_all(work: Work) -> list[dict[str, Any]]:
    return [replicate(name, work) for name in work.names]


def replicate(name: str, work: Work) -> dict[str, Any]:
    """What the analysis says of one study of a population. `covers`: whether the interval of
    HP − LA holds the population's own; `positive`: sentences of a pilot that claim something."""
    design, members, own = work.study.design, models_of(name), rivals_of(work.rivals)
    if len(members) < MODELS[design]:
        members = (members * MODELS[design])[:MODELS[design]]
    asks = {f"m{at}": member for at, member in enumerate(members, 1)}
    study = work.study._replace(models=tuple(asks))
    respond = {model: own.get(member) or respondent(member, study.seed)
               for model, member in asks.items()}
    rows = asked(study, respond) if name in own else planted(study, asks)
    record, primary, p = JUDGES[design](study, rows)
    known = name not in own and primary["low"] is not None
    record |= {"population": name, "design": design, "rep": work.rep,
               "covers": primary["low"] - 1e-6 <= earned(name, design).primary
               <= primary["high"] + 1e-6 if known else None,
               "rejects": None if p is None else p < 0.05}
    if work.probes:
        found = mechanism.probes_of([probes.row(probe, reply_of(
            respond[probe.block.model], probe.request, study.seed))
            for probe in dealt_probes(study)])
        record["probes"] = {"payoffs": found["payoffs"]["value"],
                            "beliefs": found["beliefs"]["diagnostic"]["value"],
                            "influence": found["influence"]["value"]}
    return record


def judged_pilot(study: Study, rows: Sequence[Mapping]) -> tuple[dict, Mapping, float | None]:
    out = judge.analyse(rows, {"config": study.config, "provider": "simulated"}, None)
    return ({"word": out["verdict"]["word"], "positive": len(out["claims"]["may"])},
            out["pooled"]["effects"]["primary"], out["pooled"]["exploratory"]["sign_flip_p"])


def judged_mechanism(study: Study, rows: Sequence[Mapping]) -> tuple[dict, Mapping, float | None]:
    """Of the analysis what the word rests on: a contrast is computed when it is read."""
    pooled = rivals.evidence(rivals.tally(rows))
    parts = {name: rivals.evidence(rivals.tally(row for row in rows if row["model"] == name))
             if len(study.models) > 1 else pooled for name in study.models}
    found = verdict(mechanism.findings({
        "mechanism": {"pooled": pooled, "by_model": parts}, "outcomes": {"answered": len(rows)},
        "design": study.config | {"trials": len(rows), "bulletins": len(
            {row["bulletin"] for row in rows})}}))
    primary = pooled["contrasts"]["HP-LA"]
    return {"word": found["word"]}, primary, primary["p"]


JUDGES = {"2x2": judged_pilot, "mechanism": judged_mechanism}


# --- answers, from rendered prompts -------------------------------------------------------------

@cache
def domain():
    return load_domain(pilot.DOMAIN)


def asked(study: Study, respond: Mapping[str, Respond]) -> list[dict[str, Any]]:
    """The rows of `trials.jsonl.gz`."""
    return [pilot.row(trial, reply_of(respond[trial.model], trial.request, study.seed))
            for trials in pilot.design(domain(), study.config, study.models) for trial in trials]


def reply_of(respond: Respond, request: Request, seed: int) -> Reply:
    """What a provider hands on of an answer."""
    answer = respond(request, SeededRandom(seed, "respondent", request.id))
    text, finish = answer if isinstance(answer, tuple) else (answer, "stop")
    return Reply(FINISH[finish], text, finish, **SERVED)


@lru_cache(maxsize=1)
def dealt_probes(study: Study) -> list[probes.Probe]:
    return probes.deal(probes.texts(PROMPTS), domain(), study.config,
                       list(pilot.dealt(domain(), study.config, study.models)))


@cache
def rivals_of(path: str | None) -> dict[str, Respond]:
    """The RESPONDENTS of a user's file; UsageError where there are none that can be asked."""
    if path is None:
        return {}
    try:
        found = runpy.run_path(path).get("RESPONDENTS")
    except Exception as error:   # whatever a user's file does wrong
        raise UsageError(f"--rivals: {path}: {type(error).__name__}: {error}") from None
    if not isinstance(found, dict) or not found or not all(map(callable, found.values())):
        raise UsageError(f"--rivals: {path}: give RESPONDENTS = {{name: function(request, rng) -> "
                         "(text, finish_reason)}")
    for name in found:
        if not isinstance(name, str) or name in POPULATIONS or name in POOLS:
            raise UsageError(f"--rivals: {path}: {name!r} is a name of the project's own; choose "
                             "another")
    return {name: partial(checked, f"--rivals: {path}: {name!r}", function)
            for name, function in found.items()}


def checked(where: str, function: Respond, request: Request, rng: SeededRandom):
    """A user's function, whose faults are told in one line."""
    try:
        answer = function(request, rng)
    except Exception as error:
        raise UsageError(f"{where}: {type(error).__name__}: {error}") from None
    reply = answer if isinstance(answer, tuple) else (answer, "stop")
    if len(reply) != 2 or not isinstance(reply[0], str) or reply[1] not in FINISH:
        raise UsageError(f"{where} answered {answer!r}; give (text, finish_reason), the latter one "
                         f"of {', '.join(FINISH)}")
    return reply


# --- the same answers without rendering ---------------------------------------------------------
# A population of the project reads nothing but the cues of a prompt, and the design knows which
# those are; what an answer draws follows from the seed and the trial's name.

def planted(study: Study, asks: Mapping[str, str]) -> list[dict[str, Any]]:
    """The rows of `asked`, without texts. `asks`: the population of each model."""
    out = []
    for row, cues, numbers in draws(study):
        cooperates, lost = decide(asks[row["model"]], cues, iter(numbers).__next__, study.seed)
        out.append({**row, "cooperates": None if lost else int(cooperates),
                    "status": lost or "ok"})
    return out


@lru_cache(maxsize=2)
def draws(study: Study) -> list[tuple[Mapping[str, Any], Cues, tuple[float, float]]]:
    """Of each trial: its row without an answer, the cues of its prompt, the numbers that decide."""
    out = []
    for block in pilot.dealt(domain(), study.config, study.models):
        for cell in pilot.DESIGNS[study.design].cells:
            stimulus = pilot.shown(block, cell)
            row = pilot.place(block, cell, stimulus) | {"text": "", **SERVED}
            draw = SeededRandom(study.seed, "respondent", row["id"]).random
            out.append((row, staged(domain(), stimulus, block.scheme, block.order),
                        (draw(), draw())))
    return out


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
    for record in records:
        held.setdefault(record["population"], {}).setdefault(record["design"], []).append(record)
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


if __name__ == "__main__":
    cli.run(main, sys.argv[1:], resumes=False)

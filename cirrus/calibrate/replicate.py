"""One planted population through the real pipeline: a pilot, or round 1 of every run of its plans.

    size = read_size("10x4")                                     # 10 agents under 4 seeds
    record = replicate("coin", size, rep=0, seed=42, fit=True)

Design, prompts, respondents, parser and analysis are those of `run_pilot.py`, `run_tournament.py`
and `analyze.py`; only journal and files are left out, and rounds after the first, which enter no
gate. What a replication draws follows from (seed, size, rep) and nothing else.
"""

import re
import runpy
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

from cirrus.ask import design
from cirrus.ask.bulletins import FOLDERS
from cirrus.ask.populations import POOLS, POPULATIONS, models_of
from cirrus.ask.respondents import respondent
from cirrus.calibrate.studies import (
    ALL_PLANS,
    FINISH,
    MODEL,
    Collected,
    Counts,
    Respond,
    Study,
    asked,
    collect,
    counted,
    domain_of,
    short,
    tournament_runs,
)
from cirrus.judge import pilot as judge
from cirrus.judge import rivals as nine
from cirrus.judge.effects import (
    HP,
    LA,
    NAMES,
    SIMPLE,
    Slots,
    above,
    corner,
    count_in,
    effect,
    entry,
    label_rule,
    units_of,
)
from cirrus.judge.effects import found as contrast_of
from cirrus.judge.endpoint import endpoint, models, rounded
from cirrus.judge.gates import Evidence, gates
from cirrus.judge.study import established, findings, parts_of, tables_of
from cirrus.judge.tripwires import cell_of, tripwires
from cirrus.judge.verdict import Corner, Findings, verdict
from common import UsageError
from common.artifacts import canonical_json, sha256
from common.rng import SeededRandom

DIGITS = 6           # significant, of what a replication keeps
PILOT_MODELS = 4     # as a pilot has by default; here all of one population
# Which plans a population is put through: those that hold a gate made for it.
PLANS_OF = dict.fromkeys(("superrational", "coin", "deterministic", "deterministic-conformist"),
                         ALL_PLANS) | {
    "tell-sensitive": ("confirmatory", "ablation"), "overfit": ("confirmatory", "holdout")}
MOST_BULLETINS = 20   # of the main pool
# Beyond so many first encounters of the confirmatory plan only that one is played: what is open
# there is label invariance, which rests on it alone.
MOST_ROWS = 5000


class Size(NamedTuple):
    """`runs` a cell of a pilot, `blocks` of every bulletin in a mechanism study, or of `bulletins`
    of them, or `agents` under each of `seeds` seeds of a plan."""

    name: str
    runs: int = 0
    blocks: int = 0
    bulletins: int = 0
    agents: int = 0
    seeds: int = 0

    @property
    def pilot(self) -> bool:
        return self.runs > 0

    @property
    def kind(self) -> str:
        """2x2, mechanism or tournament."""
        return "2x2" if self.runs else "mechanism" if self.blocks else "tournament"


SIZES: dict[str, Callable[..., tuple[bool, dict[str, int]]]] = {
    r"(\d{1,4})": lambda runs: (runs >= 2, {"runs": runs}),
    r"m(\d{1,3})": lambda blocks: (blocks >= 1, {"blocks": blocks}),
    r"m(\d{1,3})b(\d{1,2})": lambda blocks, bulletins: (
        blocks >= 1 and 1 <= bulletins <= MOST_BULLETINS,
        {"blocks": blocks, "bulletins": bulletins}),
    r"(\d{1,3})x(\d{1,3})": lambda agents, seeds: (
        agents >= 2 and seeds >= 1, {"agents": agents, "seeds": seeds}),
}


def read_size(name: str) -> Size:
    """"20" is a pilot of 20 runs, "m12" a mechanism study of twelve blocks a bulletin, "m12b10"
    one of ten bulletins, "10x4" a plan of 10 agents and 4 seeds. UsageError otherwise."""
    for pattern, read in SIZES.items():
        if match := re.fullmatch(pattern, name):
            fits, parts = read(*map(int, match.groups()))
            if fits:
                return Size(name, **parts)
    raise UsageError(f"--sizes: {name!r} is no size; give a pilot's runs such as 10 (2 to 9999), "
                     "a mechanism study's blocks of each bulletin such as m12, or of ten bulletins "
                     "such as m12b10 (1 to 20), or agents and seeds of a tournament such as 10x4 "
                     "(2 to 999 agents)")


def replicate(population: str, size: Size, rep: int, seed: int, fit: bool = False,
              rivals: str | None = None) -> dict[str, Any]:
    """What the analysis says of one replication; `fit`: also by mixed model; `rivals`: the file
    that a population of the user's own stands in."""
    drawn = SeededRandom(seed, "calibration", size.name, rep).getrandbits(40)
    record = (_tournament(population, size, drawn, fit, rivals) if size.kind == "tournament" else
              _oneshot(population, size, drawn, rivals))
    return {"population": population, "size": size.name, "rep": rep, "drawn": drawn,
            **rounded(record, DIGITS)}


def prompts_sha256() -> str:
    """One hash of every prompt file that is read."""
    return sha256(canonical_json({path: digest for name in FOLDERS
                                  for path, digest in domain_of(name).files.items()}))


def plans_of(population: str, size: Size) -> tuple[str, ...]:
    """The plans that a replication of this size plays."""
    return PLANS_OF.get(population, ALL_PLANS[:1]) if rows_of(size) <= MOST_ROWS else ALL_PLANS[:1]


def rows_of(size: Size) -> int:
    """First encounters of the confirmatory plan's round 1."""
    return size.agents * (size.agents - 1) * size.seeds * len(design.PLANS["confirmatory"].runs)


def responds(population: str, world: int = 0, rivals: str | None = None) -> Respond:
    """The respondent of this name: a user's own, or one of the project's."""
    return (rivals_of(rivals) if rivals else {}).get(population) or respondent(population, world)


@cache
def rivals_of(path: str) -> dict[str, Respond]:
    """The RESPONDENTS of a user's file; UsageError where there are none that can be asked."""
    try:
        table = runpy.run_path(path).get("RESPONDENTS")
    except Exception as error:   # whatever a user's file does wrong
        raise UsageError(f"--rivals: {path}: {type(error).__name__}: {error}") from None
    if not isinstance(table, dict) or not table or not all(map(callable, table.values())):
        raise UsageError(f"--rivals: {path}: give RESPONDENTS = {{name: function(request, rng) -> "
                         "(text, finish_reason)}")
    for name in table:
        if not isinstance(name, str) or name in POPULATIONS or name in POOLS:
            raise UsageError(f"--rivals: {path}: {name!r} is a name of the project's own; choose "
                             "another")
    return {name: _heard(path, name, function) for name, function in table.items()}


def _heard(path: str, name: str, function: Callable) -> Respond:
    """A user's function whose faults are told in one line."""
    def respond(request, rng):
        try:
            answer = function(request, rng)
        except Exception as error:
            raise UsageError(f"--rivals: {path}: {name!r}: {type(error).__name__}: "
                             f"{error}") from None
        reply = answer if isinstance(answer, tuple) else (answer, "stop")
        if len(reply) != 2 or not isinstance(reply[0], str) or reply[1] not in FINISH:
            raise UsageError(f"--rivals: {path}: {name!r} answered {answer!r}; give (text, "
                             f"finish_reason), the latter one of {', '.join(FINISH)}")
        return reply
    return respond


# --- a pilot, or a mechanism study -------------------------------------------------------------

def oneshot_of(population: str, size: Size, world: int) -> Study:
    """The study in which a population, or each of a pool's, is asked as a model."""
    members = models_of(population)
    if size.pilot and len(members) < PILOT_MODELS:
        members = (members * PILOT_MODELS)[:PILOT_MODELS]
    return Study(size.kind, size.runs or size.blocks,
                 {f"m{at}": member for at, member in enumerate(members, 1)}, world,
                 bulletins=size.bulletins)


def _oneshot(population: str, size: Size, drawn: int, rivals: str | None) -> dict[str, Any]:
    study = oneshot_of(population, size, drawn)
    return JUDGES[size.kind](_counts(study, drawn, rivals), study)


def _counts(study: Study, drawn: int, rivals: str | None) -> Counts:
    """A study's answers, counted; a user's own respondents read rendered prompts."""
    if any(is_rival(name, rivals) for name in study.models.values()):
        return by_place(asked(study, drawn, rivals_of(rivals)), study)
    return counted(study, drawn, PLACES[study.design])


def is_rival(population: str, rivals: str | None) -> bool:
    return bool(rivals) and population in rivals_of(rivals)


def by_place(rows: Iterable[Mapping], study: Study) -> Counts:
    """Rows as `counted` counts them."""
    out: Counts = {model: {} for model in study.models}
    for row in rows:
        count_in(out[row["model"]], PLACES[study.design](row), row["cooperates"])
    return out


def _mechanism_place(row: Mapping) -> tuple[str, nine.Slot]:
    """Wordings and frames are taken together: no word rests on one of them."""
    return row["bulletin"], nine.Slot(row["cell"], row["label_scheme"], row["order"], 0, "")


PLACES = {"2x2": judge.place, "mechanism": _mechanism_place}
# The positive sentences of a pilot, by words that stand in them.
CLAIMS = {"practical interest": "of practical interest", "interaction": "an interaction pattern",
          "further investigation": "warrant further investigation"}


def _pilot(each: Counts, study: Study) -> dict[str, Any]:
    """What `judge.pilot.analyse` says of a complete pilot, without the figures that no word and no
    positive sentence rests on."""
    table = {slot: count for counts in each.values() for slot, count in counts.items()}
    primary, interaction = (contrast_of(table, name) for name in ("primary", "SxC"))
    effects = {"primary": entry("", primary)}
    if above(effects["primary"]):
        effects |= {name: effect(table, name) for name in SIMPLE}
        effects["primary"]["d"] = judge.size(table, "primary")
    out = {"pooled": {"cells": _corners(table), "effects": effects,
                      "interaction": entry("", interaction)},
           "design": {**study.config(0), "trials": 0, "bulletins": len(units_of(table))},
           "outcomes": {"answered": 0},
           # Labels may leave a rival open, which matters to no word but cue-responsive.
           "labels": {"rule": label_rule(table) if above(effects["primary"]) else NOT_ASKED},
           "models": {name: {"effects": {"primary": effect(counts)}, "cells": _corners(counts)}
                      for name, counts in each.items()}}
    out["verdict"] = verdict(judge.findings(out))
    may = list(judge.pilot_may(out))
    return {"word": out["verdict"]["word"], "models": out["verdict"]["models"],
            "open": out["verdict"]["open"],
            "claims": {name: any(words in sentence for sentence in may)
                       for name, words in CLAIMS.items()}, "may": len(may),
            "primary": _interval(effects["primary"]), "p": primary.p,
            "interaction": _interval(out["pooled"]["interaction"]), "interaction_p": interaction.p,
            "unread": sum(count.missing for count in table.values()),
            "asked": sum(count.n + count.missing for count in table.values())}


NOT_ASKED = {"holds": False}


def _corners(table: Slots) -> dict[str, dict[str, Any]]:
    cells = {NAMES[cell]: corner(table, cell) for cell in (HP, LA)}
    return {name: {**count._asdict(), "mean": count.k / count.n if count.n else None}
            for name, count in cells.items()}


def _mechanism(each: Counts, study: Study) -> dict[str, Any]:
    """What `judge.mechanism.analyse` says of a complete study, without looking for limits that no
    word rests on."""
    tallies = {name: nine.by_unit(counts) for name, counts in each.items()}
    parts = {name: _part(counts) for name, counts in tallies.items()}
    whole = parts[next(iter(parts))] if len(parts) == 1 else _part(nine.united(tallies.values()))
    proofs = {name: nine.proof_in_brief(counts) for name, counts in tallies.items()}
    out = verdict(Findings(
        {"primary": whole[0]}, whole[1],
        {name: {"primary": one} for name, (one, _) in parts.items()},
        {name: corners for name, (_, corners) in parts.items()}, "", (), proofs))
    return {"word": out["word"], "models": out["models"], "primary": _interval(whole[0]),
            "p": whole[0]["p"]}


def _part(counts: nine.Tally) -> tuple[dict[str, Any], dict[str, Corner]]:
    """HP − LA of some answers, and its two cells."""
    cells = nine.by_cell(counts, lambda slot: slot.cell in nine.PRIMARY)
    return nine.entry(nine.REQUIRED["HP-LA"], cells), {name: Corner(*map(sum, zip(*(
        unit[name] for unit in cells.values() if name in unit), strict=True)))
        for name in nine.PRIMARY}


JUDGES = {"2x2": _pilot, "mechanism": _mechanism}


def _interval(contrast: Mapping[str, Any]) -> list[float | None]:
    return [contrast["value"], contrast["low"], contrast["high"]]


# --- a tournament ------------------------------------------------------------------------------

def _tournament(population: str, size: Size, drawn: int, fit: bool,
                rivals: str | None) -> dict[str, Any]:
    seeds, names = [drawn + step for step in range(size.seeds)], plans_of(population, size)
    held = (collect(responds(population, drawn, rivals), tournament_runs(size.agents, seeds, names))
            if is_rival(population, rivals) else
            short(population, drawn, size.agents, tuple(seeds), names))
    return judged_study(population, held, fit)


def judged_study(population: str, held: Collected, fit: bool = False) -> dict[str, Any]:
    """What the analysis says of first encounters."""
    parts, tables = parts_of(row for row in held.rows if row.primary), tables_of(held.rows)
    main = [row for row in parts["main"] + parts["hospital"] if row.role == "main"]
    counts: dict[str, Counter] = {}
    for row in held.rows:
        if row.role == "main":
            counts.setdefault(cell_of(row), Counter())[row.status] += 1
    point = endpoint(parts["main"], models(main, most_rows=0) if fit else NOT_FITTED)
    board = gates(Evidence(point, parts, tables))
    wires = tripwires(main, counts, held.policies, {MODEL: {
        "models": [f"SIMULATED/{population}"], "providers": ["simulated"]}}, held.written)
    return {
        **_spoken(tables["main"]), "delta": _interval(point["delta"]), "met": point["met"],
        "model": {name: _p_values(point["model"][name]) for name in
                  ("as_specified", "with_policy")} if fit else None,
        "gates": {gate["gate"]: [gate["as_specified"]["verdict"], gate["established"]["verdict"]]
                  for gate in board},
        "tripped": {wire["tripwire"]: wire["tripped"] for wire in wires}}


def _spoken(table: Slots) -> dict[str, Any]:
    """The word, and the contrasts over bulletins that it rests on."""
    found = established(table)
    effects = found["effects"]
    out = verdict(findings({"established": found, "runs": []}, table))
    low = effects["H_low"]
    return {
        "word": out["word"], "primary": _interval(effects["primary"]),
        "p": effects["primary"]["p"], "interaction": _interval(effects["SxC"]),
        "interaction_p": effects["SxC"]["p"],
        "low_h": low["low"] is not None and low["low"] > 0, "open": out["open"]}


NO_MODEL = {"separated": False, "primary": None, "why": "not fitted in this replication"}
NOT_FITTED = {"with_policy": NO_MODEL, "as_specified": NO_MODEL}


def _p_values(model: Mapping[str, Any]) -> dict[str, float | None]:
    """p of the interaction and of the primary contrast; None where there is no such test."""
    tests, primary = model["tests"], model["primary"]
    return {"SxC": tests["S:C"]["p"] if tests else None,
            "primary": primary["p"] if primary else None,
            "estimate": primary["estimate"] if primary else None}

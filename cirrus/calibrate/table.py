"""From replications to tables: who was called what, and what each had earned.

    out = table(header, records)      # calibration.json
    out["expectations"]               # what must come out, with its figure: met, not met or open

Every share stands with its 95% Wilson interval over replications: the Monte Carlo error. An
expectation is met where the interval says so, not the estimate.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import stats
from cirrus.ask.pilot import MECHANISM, PILOT, Cell
from cirrus.ask.populations import (
    POOLS,
    POPULATIONS,
    TRUE,
    expected,
    logit,
    models_of,
    population,
    scenes,
)
from cirrus.ask.prompts import ORDERS
from cirrus.calibrate.kept import answered
from cirrus.calibrate.replicate import CLAIMS, read_size
from cirrus.judge.effects import ALPHA, average
from cirrus.judge.gates import FAIL, GATES, NOT_EVALUABLE, PASS, UNDECIDED
from cirrus.judge.tripwires import TITLES
from common import UsageError

WORDS = NOT_SHOWN, CUE_RESPONSIVE, CORRELATION_SENSITIVE = (
    "not shown", "cue-responsive", "correlation-sensitive")
LEVEL = 0.08           # an upper limit for what happens in 5%
FALSELY = 0.05         # the same for a word that is not earned
COVERAGE = 0.93        # a lower limit for the 95% interval's coverage
POWER = 0.8            # from which a size counts as enough for a gate
RINGS = 0.9            # share of replications in which a tripwire made for a fault must trip
FEWEST = 20            # replications under which nothing is claimed
LEAST = 0.10          # points a contrast must have, where a least size is asked for
MOST_MISSING = 0.02   # of a cell, for words above cue-responsive
WORDINGS = 3
ZERO = 1e-9
VERDICTS = (PASS, UNDECIDED, FAIL, NOT_EVALUABLE)
LADDER = (NOT_EVALUABLE, *WORDS)
# Of a word above cue-responsive, for rivals that lack one required contrast, or more.
MOST_SAID = {1: 0.05, 2: 0.03}
# Lower limits of the power to say it of a true effect in the default mechanism study, by its
# points; smaller studies have what they have.
DEFAULT, LEAST_SAID = "m12", {40: 0.85, 30: 0.55}

# population → the alarms it must ring. A gate must not pass, a tripwire must trip.
ALARMS: dict[str, tuple[str, ...]] = {
    "coin": ("gate first_encounter", "gate effect_size"),
    "compliance": ("gate first_encounter",), "reciprocal": ("gate first_encounter",),
    "compliance-cued": ("compliance open",), "label-biased": ("gate labels",),
    "position-biased": ("tripwire position",), "tell-sensitive": ("gate ablation",),
    "domain-bound": ("gate cross_domain",), "overfit": ("gate holdout",),
    "sloppy": ("tripwire unreadable", "tripwire attrition"),
    "truncating": ("tripwire truncation",), "copycat": ("tripwire overlap",),
}
# Nothing moves these on average.
NULL = ("coin", "policies-0.5", "policies-1", "bulletins-0.5", "bulletins-1")
# Whose intervals must cover: cell rates from 3% to 97%, and no few bulletins that carry it all.
COVERED = ("superrational", *NULL, *TRUE)
EVERYBODY = (*POPULATIONS, *POOLS)


def check_populations(names: Sequence[str], rivals: Iterable[str] = ()) -> list[str]:
    """`names`, each known and once; UsageError otherwise."""
    there = (*EVERYBODY, *rivals)
    for name in names:
        if name not in there and not is_known(name):
            raise UsageError(f"--populations: no population {name!r}; there are "
                             f"{', '.join(there)}")
    return list(dict.fromkeys(names))


def is_known(name: str) -> bool:
    """Whether the project knows what this population does."""
    try:
        return name in POOLS or bool(population(name))
    except KeyError:
        return False


def table(header: Mapping[str, Any], records: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The whole of calibration.json."""
    held: dict[tuple[str, str], list[Mapping]] = {}
    for record in sorted(records, key=lambda record: record["rep"]):
        held.setdefault((record["size"], record["population"]), []).append(record)
    keys = sorted(held, key=lambda key: (_size_order(key[0]), _place(key[1])))
    rows: dict[str, list] = {kind: [] for kind in KINDS}
    for key in keys:
        kind = read_size(key[0]).kind
        rows[kind].append(_called(*key, kind, held[key]) | KINDS[kind](*key, held[key]))
    out = {"artifact": "calibration", "schema": 2, "simulated": True, "stamp": "SIMULATED",
           "seed": header["seed"], "prompts_sha256": header["prompts_sha256"],
           "code_sha256": header["code_sha256"], "replications": sum(map(len, held.values())),
           "populations": {name: does_of(name) for name in
                           sorted({name for _, name in keys}, key=_place)},
           "pilots": rows["2x2"], "mechanisms": rows["mechanism"],
           "tournaments": rows["tournament"],
           "minimum_sizes": minimum_sizes(rows["tournament"])}
    out["expectations"] = expectations(out)
    if first := header.get("repeats"):
        out["repeats"] = {"seed": first["seed"], "claims": len(first["claims"])}
        out["expectations"] = answered(out["expectations"], first)
    return out


def _place(name: str) -> tuple[int, str]:
    """Those of the project in their order, then a user's own."""
    return (EVERYBODY.index(name) if name in EVERYBODY else len(EVERYBODY)), name


# --- who was called what -----------------------------------------------------------------------

def _called(size: str, name: str, kind: str, records: Sequence[Mapping]) -> dict[str, Any]:
    """What was said of a population beside what it has earned. `earned` is None where its own
    probabilities are not known."""
    spoken = [record for record in records if record.get("word")]
    deserved = earned(name, kind) if is_known(name) else None
    return {"population": name, "size": size, "kind": kind, "reps": len(records),
            "earned": deserved and {"word": deserved.word, "lacks": list(deserved.wrong)},
            "truth": deserved and deserved.primary,
            "words": {word: share(sum(r["word"] == word for r in spoken), len(spoken))
                      for word in LADDER},
            "claims": {claim: _share_of(records, lambda r, c=claim: r.get("claims", {}).get(c))
                       for claim in CLAIMS},
            "positive": _share_of(records, _positive)}


def _positive(record: Mapping) -> bool | None:
    """Whether any positive sentence was said at all."""
    return None if record.get("may") is None else record["may"] > 0


def _size_order(name: str) -> tuple[int, ...]:
    size = read_size(name)
    return size.runs, size.blocks, size.bulletins, size.agents * size.seeds, size.agents


def share(k: int, n: int) -> dict[str, Any]:
    """k of n with its Wilson interval; None where n is 0."""
    low, high, why = stats.wilson_interval(k, n)
    return {"k": k, "n": n, "share": k / n if n else None, "low": low, "high": high, "why": why}


def _share_of(records: Iterable[Mapping], of: Callable[[Mapping], bool | None]) -> dict[str, Any]:
    """How often `of` holds, over the replications in which it can be said."""
    said = [found for record in records if (found := of(record)) is not None]
    return share(sum(said), len(said))


def _below(p: float | None) -> bool | None:
    return None if p is None else p < ALPHA


def _covers(interval: Sequence[float | None], value: float) -> bool | None:
    low, high = interval
    # Records keep six digits: an end that is the value itself may be off in the seventh.
    return None if low is None else low - 1e-6 <= value <= high + 1e-6


def _estimate(name: str, kind: str, records: Sequence[Mapping]) -> dict[str, Any]:
    """Mean, coverage and rejections of the primary contrast."""
    true = earned(name, kind).primary if is_known(name) else None
    return {"mean": average(record["primary"][0] for record in records),
            "covered": _share_of(records, lambda r: None if true is None else
                                 _covers(r["primary"][1:], true)),
            "rejected": _share_of(records, lambda r: _below(r["p"]))}


def _pilot(size: str, name: str, records: Sequence[Mapping]) -> dict[str, Any]:
    return _estimate(name, "2x2", records) | {
        "interaction_rejected": _share_of(records, lambda r: _below(r["interaction_p"])),
        "read": 1 - math.fsum(r["unread"] for r in records) / sum(r["asked"] for r in records)}


def _mechanism(size: str, name: str, records: Sequence[Mapping]) -> dict[str, Any]:
    return _estimate(name, "mechanism", records)


def _tournament(size: str, name: str, records: Sequence[Mapping]) -> dict[str, Any]:
    out = _estimate(name, "tournament", records)
    true = earned(name, "tournament").primary if is_known(name) else None
    fits = [record for record in records if record["model"] is not None]
    return out | {
        "fits": len(fits),
        "delta_covered": _share_of(records, lambda r: None if true is None else
                                   _covers(r["delta"][1:], true)),
        "model": {name: {term: _share_of(fits, lambda r, n=name, t=term: _below(r["model"][n][t]))
                         for term in ("SxC", "primary")}
                  for name in ("as_specified", "with_policy")} if fits else None,
        "met": _share_of(fits, lambda r: r["met"]),
        "low_h": _share_of(records, lambda r: r["low_h"]),
        "compliance_open": _share_of(records, _compliance_open),
        "gates": {gate: _gate(gate, records) for gate in GATES},
        "tripwires": {wire: _share_of(records, lambda r, w=wire: r["tripped"].get(w))
                      for wire in TITLES}}


KINDS: dict[str, Callable[..., dict[str, Any]]] = {
    "2x2": _pilot, "mechanism": _mechanism, "tournament": _tournament}


def _compliance_open(record: Mapping) -> bool | None:
    """Whether a cue-responsive sentence names compliance among the open rivals."""
    return "compliance" in record["open"] if record["word"] == CUE_RESPONSIVE else None


def _gate(gate: str, records: Sequence[Mapping]) -> dict[str, Any]:
    """Shares of both verdicts over the replications that can tell."""
    said = Counter(record["gates"][gate][1] for record in records)
    evaluated = len(records) - said[NOT_EVALUABLE]
    return {"as_specified": _share_of(records, lambda r: _passes(r["gates"][gate][0])),
            "established": share(said[PASS], evaluated),
            "verdicts": {verdict: said[verdict] for verdict in VERDICTS}}


def _is(word: str | None, which: str) -> bool | None:
    return None if word is None else word == which


def _passes(verdict: str) -> bool | None:
    return None if verdict == NOT_EVALUABLE else verdict == PASS


# --- what it comes to --------------------------------------------------------------------------

def minimum_sizes(tournaments: Sequence[Mapping]) -> dict[str, dict[str, Any]]:
    """The smallest size, by units, at which `superrational` passes each gate in 80% or more."""
    rows = [row for row in tournaments if row["population"] == "superrational"]
    out = {}
    for gate in GATES:
        tried = [(row["size"], row["gates"][gate]["established"]) for row in rows
                 if row["gates"][gate]["established"]["n"] >= FEWEST]
        found = next(((size, own) for size, own in tried if own["share"] >= POWER), None)
        best = max(tried, key=lambda entry: entry[1]["share"], default=None)
        out[gate] = {"size": found and found[0], "passed": (found or best or (None, None))[1],
                     "tried": [size for size, _ in tried],
                     "why": None if found else "no size tried passes it often enough" if tried
                     else "not tried"}
    return out


def expectations(out: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What must come out, one entry a claim: {"what", "population", "size", "figure", "met"}."""
    rows = [*out["pilots"], *out["mechanisms"], *out["tournaments"]]
    return [claim for row in rows for expect in EXPECTED[row["kind"]] for claim in expect(row)]


def _claim(what: str, row: Mapping, figure: Mapping, met: bool | None) -> dict[str, Any]:
    return {"what": what, "population": row["population"], "size": row["size"],
            "figure": dict(figure), "met": met}


def at_most(figure: Mapping, limit: float) -> bool | None:
    """Whether the interval lies at or below `limit`, or above; None where it says neither."""
    if figure["n"] < FEWEST:
        return None
    return True if figure["high"] <= limit else False if figure["low"] > limit else None


def at_least(figure: Mapping, limit: float) -> bool | None:
    if figure["n"] < FEWEST:
        return None
    return True if figure["low"] >= limit else False if figure["high"] < limit else None


def _upper(what: str, row: Mapping, figure: Mapping, limit: float) -> dict[str, Any]:
    return _claim(f"{what}: upper limit at most {limit:.0%}", row, figure, at_most(figure, limit))


def _lower(what: str, row: Mapping, figure: Mapping, limit: float) -> dict[str, Any]:
    return _claim(f"{what}: lower limit at least {limit:.0%}", row, figure,
                  at_least(figure, limit))


Claims = Iterator[dict[str, Any]]


def _of_words(row: Mapping) -> Claims:
    """What a study without a mechanism may not say, and what was not earned."""
    words = row["words"]
    if not words[CUE_RESPONSIVE]["n"]:
        return
    above = higher(words)
    yield _claim("never a word above cue-responsive", row, above, above["k"] == 0)
    if not row["earned"]:
        return
    if row["earned"]["word"] == NOT_SHOWN:
        yield _upper("cue-responsive, which is not earned", row, words[CUE_RESPONSIVE], FALSELY)
        if row["positive"]["n"]:
            yield _upper("any positive sentence, where there is nothing", row, row["positive"],
                         LEVEL)
    if row["population"] == "deterministic":
        yield _lower("cue-responsive, of one that never varies", row, words[CUE_RESPONSIVE], RINGS)


def higher(words: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The share of words above `cue-responsive`, of {word: its share}."""
    return share(sum(words[word]["k"] for word in LADDER[3:]), words[CUE_RESPONSIVE]["n"])


def _of_the_mechanism(row: Mapping) -> Claims:
    """Words above cue-responsive, by how many of the required contrasts a population lacks."""
    n = row["words"][CUE_RESPONSIVE]["n"]
    figure = higher(row["words"])
    if not n or not row["earned"]:
        return
    if lacks := len(row["earned"]["lacks"]):
        most = min(lacks, 2)
        yield _upper(f"{CORRELATION_SENSITIVE}, lacking {most}{' or more' * (lacks > 1)} of the "
                     "contrasts", row, figure, MOST_SAID[most])
    for points, least in LEAST_SAID.items():
        if row["size"] == DEFAULT and row["population"].startswith(f"true-{points}-"):
            yield _lower(f"{CORRELATION_SENSITIVE}, of a true effect of {points} points", row,
                         figure, least)


def _of_level(row: Mapping) -> Claims:
    """Tests that must not reject more than 5% where there is nothing."""
    if row["population"] not in NULL:
        return
    yield _upper("the test over bulletins rejects", row, row["rejected"], LEVEL)
    if row.get("met", {"n": 0})["n"]:
        yield _upper("the endpoint as specified is met", row, row["met"], LEVEL)


def _of_coverage(row: Mapping) -> Claims:
    if row["population"] in COVERED:
        yield _lower("the 95% interval of the primary contrast covers it", row, row["covered"],
                     COVERAGE)


def _of_alarms(row: Mapping) -> Claims:
    for alarm in ALARMS.get(row["population"], ()):
        kind, _, name = alarm.partition(" ")
        if kind == "gate":
            yield _upper(f"gate “{GATES[name][0]}” passes", row, row["gates"][name]["established"],
                         LEVEL)
        elif kind == "tripwire":
            yield _lower(f"tripwire “{name}” trips", row, row["tripwires"][name], RINGS)
        elif kind == "compliance":
            yield _upper("an effect at H low is shown", row, row["low_h"], LEVEL)
            yield _lower("compliance is named as open", row, row["compliance_open"], RINGS)


EXPECTED: dict[str, tuple[Callable[[Mapping], Claims], ...]] = {
    "2x2": (_of_words, _of_level, _of_coverage),
    "mechanism": (_of_the_mechanism, _of_level, _of_coverage),
    "tournament": (_of_words, _of_level, _of_coverage, _of_alarms)}


# --- what a population has earned ---------------------------------------------------------------
#
#     earned("conformist", "mechanism")      # Earned(word="cue-responsive", wrong=("HP-LP", …))
#
# The word that its own probabilities deserve, whatever was said.

class Earned(NamedTuple):
    """`wrong`: the required contrasts that it does not have; `primary`: HP − LA, from 0 to 1."""

    word: str
    wrong: tuple[str, ...]
    primary: float


@cache
def earned(name: str, design: str) -> Earned:
    """`name`: a population or a pool; `design`: 2x2, mechanism or tournament."""
    each = [_one(model, design) for model in models_of(name)]
    primary = math.fsum(one.primary for one in each) / len(each)
    if design != "mechanism":
        return Earned(CUE_RESPONSIVE if primary > ZERO else NOT_SHOWN, (), primary)
    # Above cue-responsive a word is a model's own: a pool deserves the highest of its models'.
    best = max(each, key=lambda one: WORDS.index(one.word))
    return best._replace(primary=primary)


def _one(name: str, design: str) -> Earned:
    if design != "mechanism":
        primary = _primary(name, design)
        return Earned(CUE_RESPONSIVE if primary > ZERO else NOT_SHOWN, (), primary)
    share = {cell.name: expected(name, scenes(cell, wordings=WORDINGS)) for cell in MECHANISM}
    primary = share["HP"] - share["LA"]
    wrong = tuple(name for name, holds in required(name, share).items() if not holds)
    word = (CUE_RESPONSIVE if primary > ZERO else NOT_SHOWN) if wrong else CORRELATION_SENSITIVE
    return Earned(word, wrong, primary)


def _primary(name: str, design: str) -> float:
    """HP − LA of a pilot, or of a tournament: over both levels of H, by declared policies."""
    levels, policies = (("high", "low"), True) if design == "tournament" else (("low",), False)
    return math.fsum(expected(name, scenes(PILOT[0], H=H), policies)
                     - expected(name, scenes(PILOT[-1], H=H), policies)
                     for H in levels) / len(levels)


def required(name: str, share: Mapping[str, float]) -> dict[str, bool]:
    """{what `correlation-sensitive` requires: whether it is true of the population}."""
    interaction = share["HP"] - share["LA"] - share["UN"] + share["UL"]
    return {"HP-LA": share["HP"] - share["LA"] >= LEAST - ZERO,
            **{f"HP-{cell}": share["HP"] - share[cell] > ZERO for cell in ("LP", "RV", "UN")},
            "interaction": interaction >= LEAST - ZERO, "log-odds": _log_odds(share) > ZERO,
            "scale": share["LA"] - share["UL"] < LEAST - ZERO,
            "labels": all(effect > ZERO for effect in _by_label(name)),
            "missing": max(missing(name, cell) for cell in MECHANISM) <= MOST_MISSING}


def _log_odds(share: Mapping[str, float]) -> float:
    """The interaction in log-odds; shares of 0 and 1 stand a thousandth inside."""
    odds = {cell: logit(min(max(p, .001), .999)) for cell, p in share.items()}
    return odds["HP"] - odds["LA"] - odds["UN"] + odds["UL"]


def _by_label(name: str) -> Iterable[float]:
    """HP − LA in each scheme, and in each order."""
    sides = [scenes(MECHANISM[at], wordings=WORDINGS) for at in (0, 3)]
    for kind in (lambda cues: cues.cooperative,
                 lambda cues: ORDERS[cues.first != cues.cooperative]):
        for level in sorted({kind(cues) for cues in sides[0]}):
            high, low = (expected(name, [cues for cues in side if kind(cues) == level])
                         for side in sides)
            yield high - low


def missing(name: str, cell: Cell) -> float:
    """The share of answers that go missing in a cell."""
    agent, prompts = population(name), scenes(cell)
    return math.fsum(p * sum(agent.missing(cues, True)) + (1 - p) * sum(agent.missing(cues, False))
                     for cues in prompts for p in (agent.chance(cues),)) / len(prompts)


def does_of(name: str) -> str:
    """What a population or a pool does, in words."""
    if not is_known(name):
        return "a respondent of the user's own"
    return POOLS[name][0] if name in POOLS else population(name).does

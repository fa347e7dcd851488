"""From replications to tables: what each gate and tripwire says, level, power, coverage, bias.

    out = table(header, records)      # calibration.json
    out["expectations"]               # what must come out, with its figure, met or not

Every share stands with its 95% Wilson interval over replications: the Monte Carlo error.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import stats
from cirrus import ALPHA
from cirrus.ask.pilot import PILOT
from cirrus.ask.populations import expected, scenes
from cirrus.calibrate.replicate import read_size
from cirrus.judge.gates import FAIL, GATES, NOT_EVALUABLE, PASS, UNDECIDED
from cirrus.judge.tripwires import TITLES
from common.exits import UsageError

COVERAGE = (0.93, 0.97)
POWER = 0.8            # from which a size counts as enough for a gate
RINGS = 0.9            # share of replications in which a tripwire made for a fault must trip
FEWEST = 20            # replications under which nothing is claimed
VERDICTS = (PASS, UNDECIDED, FAIL, NOT_EVALUABLE)

# population → (what it does, the alarm it must ring). A gate must not pass, a tripwire must trip.
POPULATIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "superrational": ("S, C and S×C raise cooperation", ()),
    "coin": ("ignores everything", ("gate first_encounter", "gate effect_size")),
    "compliance": ("follows H alone", ("gate first_encounter",)),
    "compliance-cued": ("obeys the cues only where H is high", ("named at H low",)),
    "reciprocal": ("cooperates first, then mirrors", ("gate first_encounter",)),
    "label-biased": ("likes the word", ("gate labels",)),
    "position-biased": ("takes the first option", ("tripwire position",)),
    "tell-sensitive": ("cue effect only with standard tells", ("gate ablation",)),
    "domain-bound": ("cue effect only in cvd", ("gate cross_domain",)),
    "overfit": ("cue effect only on main variants", ("gate holdout",)),
    "sloppy": ("unreadable in some cells", ("tripwire unreadable", "tripwire attrition")),
    "truncating": ("cut off in some cells", ("tripwire truncation",)),
    "copycat": ("writes identical policies in some cells", ("tripwire overlap",)),
    "policies-0.5": ("no effect; policies lean, SD 0.5", ("level over agents",)),
    "policies-1": ("no effect; policies lean, SD 1", ("level over agents",)),
    "bulletins-0.5": ("no mean effect; the cues' effect differs by bulletin, SD 0.5",
                      ("level over bulletins",)),
    "bulletins-1": ("no mean effect; the cues' effect differs by bulletin, SD 1",
                    ("level over bulletins",)),
}
# Nothing moves these on average.
NULL = ("coin", "policies-0.5", "policies-1", "bulletins-0.5", "bulletins-1")


def check_populations(names: Sequence[str]) -> list[str]:
    """`names`, each known and once; UsageError otherwise."""
    for name in names:
        if name not in POPULATIONS:
            raise UsageError(f"--populations: no population {name!r}; there are "
                             f"{', '.join(POPULATIONS)}")
    return list(dict.fromkeys(names))


def table(header: Mapping[str, Any], records: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The whole of calibration.json."""
    held: dict[tuple[str, str], list[Mapping]] = {}
    for record in sorted(records, key=lambda record: record["rep"]):
        held.setdefault((record["size"], record["population"]), []).append(record)
    order = list(POPULATIONS)
    keys = sorted(held, key=lambda key: (_size_order(key[0]), order.index(key[1])))
    pilots = [_pilot(*key, held[key]) for key in keys if read_size(key[0]).pilot]
    tournaments = [_tournament(*key, held[key]) for key in keys if not read_size(key[0]).pilot]
    out = {"artifact": "calibration", "schema": 1, "simulated": True, "stamp": "SIMULATED",
           "seed": header["seed"], "prompts_sha256": header["prompts_sha256"],
           "code_sha256": header["code_sha256"], "replications": sum(map(len, held.values())),
           "populations": {name: does for name, (does, _) in POPULATIONS.items()},
           "pilots": pilots, "tournaments": tournaments,
           "minimum_sizes": minimum_sizes(tournaments)}
    out["expectations"] = expectations(out)
    return out


def _size_order(name: str) -> tuple[int, int, int]:
    size = read_size(name)
    return size.runs, size.agents * size.seeds, size.agents


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


def truth(population: str, tournament: bool) -> float:
    """The primary contrast of a population: from its choice rule, not from its answers."""
    if population in NULL:
        return 0.0
    levels = ("high", "low") if tournament else ("low",)
    return math.fsum(expected(population, scenes(PILOT[0], H=level), tournament)
                     - expected(population, scenes(PILOT[-1], H=level), tournament)
                     for level in levels) / len(levels)


def _covers(interval: Sequence[float | None], value: float) -> bool | None:
    low, high = interval
    # Records keep six digits: an end that is the value itself may be off in the seventh.
    return None if low is None else low - 1e-6 <= value <= high + 1e-6


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def _estimate(population: str, records: Sequence[Mapping], tournament: bool) -> dict[str, Any]:
    """Bias, coverage and rejections of the primary contrast."""
    true = truth(population, tournament)
    return {"truth": true, "mean": _mean(record["primary"][0] for record in records),
            "covered": _share_of(records, lambda r: _covers(r["primary"][1:], true)),
            "rejected": _share_of(records, lambda r: _below(r["p"])),
            "rejected_t": _share_of(records, lambda r: _below(r["t_p"]))}


def _pilot(size: str, population: str, records: Sequence[Mapping]) -> dict[str, Any]:
    out = {"population": population, "size": size, "reps": len(records),
           **_estimate(population, records, tournament=False)}
    return out | {
        "bootstrap_covered": _share_of(
            records, lambda r: _covers(r["bootstrap"], out["truth"])),
        "interaction_rejected": _share_of(records, lambda r: _below(r["interaction_p"])),
        "read": 1 - math.fsum(r["unread"] for r in records) / sum(r["asked"] for r in records)}


def _tournament(size: str, population: str, records: Sequence[Mapping]) -> dict[str, Any]:
    out = {"population": population, "size": size, "reps": len(records),
           **_estimate(population, records, tournament=True)}
    fits = [record for record in records if record["model"] is not None]
    return out | {
        "fits": len(fits),
        "delta_covered": _share_of(records, lambda r: _covers(r["delta"][1:], out["truth"])),
        "rejected_by_seed": _share_of(records, lambda r: _below(r["by_seed_p"])),
        "model": {name: {term: _share_of(fits, lambda r, n=name, t=term: _below(r["model"][n][t]))
                         for term in ("SxC", "primary")}
                  for name in ("as_specified", "with_policy")} if fits else None,
        "met": _share_of(fits, lambda r: r["met"]),
        "low_h": _share_of(records, _shown_at_low),
        "absent_at_low": _share_of(records, lambda r: r["absent_at_low"]),
        "gates": {gate: _gate(gate, records) for gate in GATES},
        "superrational": _share_of(fits, lambda r: r["superrational"]),
        "tripwires": {wire: _share_of(records, lambda r, w=wire: r["tripped"].get(w))
                      for wire in TITLES}}


def _shown_at_low(record: Mapping) -> bool | None:
    value, p = record["at_h"].get("low", (None, None))
    return None if value is None or p is None else value > 0 and p < ALPHA


def _gate(gate: str, records: Sequence[Mapping]) -> dict[str, Any]:
    """Shares of both verdicts over the replications that can tell."""
    said = Counter(record["gates"][gate][1] for record in records)
    evaluated = len(records) - said[NOT_EVALUABLE]
    return {"as_specified": _share_of(records, lambda r: _passes(r["gates"][gate][0])),
            "established": share(said[PASS], evaluated),
            "verdicts": {verdict: said[verdict] for verdict in VERDICTS}}


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
    """What must come out, one entry a claim: {"what", "where", "figure", "met"}."""
    said = []
    for row in out["pilots"]:
        said += _of_level(row, "pilot") + _of_coverage(row, "pilot")
    for row in out["tournaments"]:
        said += _of_level(row, "tournament") + _of_coverage(row, "tournament") + _of_alarms(row)
    return said


def _claim(what: str, row: Mapping, figure: Mapping, met: bool | None) -> dict[str, Any]:
    return {"what": what, "population": row["population"], "size": row["size"],
            "figure": dict(figure), "met": met}


def _at_most(figure: Mapping, limit: float) -> bool | None:
    """Not more than `limit`, within Monte Carlo error; None under FEWEST replications."""
    return None if figure["n"] < FEWEST else figure["low"] <= limit


def _at_least(figure: Mapping, limit: float) -> bool | None:
    return None if figure["n"] < FEWEST else figure["high"] >= limit


def _of_level(row: Mapping, kind: str) -> list[dict[str, Any]]:
    """Tests that must not reject more than 5% where there is nothing."""
    name, out = row["population"], []
    if name not in NULL:
        return out
    # One bulletin a seed: over agents, a bulletin's own effect is an effect.
    if kind == "pilot" or not name.startswith("bulletins"):
        out.append(_claim("the design-based test rejects at most 5%", row, row["rejected"],
                          _at_most(row["rejected"], ALPHA)))
    if kind == "tournament" and row["rejected_by_seed"]["n"]:
        out.append(_claim("the design-based test over seeds rejects at most 5%", row,
                          row["rejected_by_seed"], _at_most(row["rejected_by_seed"], ALPHA)))
    if kind == "tournament" and row["met"]["n"] and not name.startswith("bulletins"):
        out.append(_claim("the primary endpoint is met in at most 5%", row, row["met"],
                          _at_most(row["met"], ALPHA)))
    return out


def _of_coverage(row: Mapping, kind: str) -> list[dict[str, Any]]:
    """95% intervals that must cover what is true in 93% to 97%."""
    if row["population"] not in ("superrational", "coin"):
        return []
    return [_claim("the 95% interval of the primary contrast covers it in 93% to 97%", row,
                   row["covered"], _covered(row["covered"]))] + ([
            _claim("the 95% interval of Cliff's δ covers it in 93% to 97%", row,
                   row["delta_covered"], _covered(row["delta_covered"]))]
            if kind == "tournament" else [])


def _covered(figure: Mapping) -> bool | None:
    return None if figure["n"] < FEWEST else (
        figure["low"] <= COVERAGE[1] and figure["high"] >= COVERAGE[0])


def _of_alarms(row: Mapping) -> list[dict[str, Any]]:
    out = []
    for alarm in POPULATIONS[row["population"]][1]:
        kind, _, name = alarm.partition(" ")
        if kind == "gate":
            own = row["gates"][name]["established"]
            out.append(_claim(f"gate “{GATES[name][0]}” passes in at most 5%", row, own,
                              _at_most(own, ALPHA)))
        elif kind == "tripwire":
            own = row["tripwires"][name]
            out.append(_claim(f"tripwire “{name}” trips in at least {RINGS:.0%}", row, own,
                              _at_least(own, RINGS)))
        elif kind == "named":
            out += [_claim("an effect at H low is shown in at most 5%", row, row["low_h"],
                           _at_most(row["low_h"], ALPHA)),
                    _claim("the summary names its absence at H low in at least 90%", row,
                           row["absent_at_low"], _at_least(row["absent_at_low"], RINGS))]
    return out

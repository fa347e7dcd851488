"""What a tournament's data allow one to say, and what they do not, in plain sentences."""

from collections.abc import Iterator, Mapping
from typing import Any

from cirrus.ask.pilot import CELLS
from cirrus.judge.endpoint import ALPHA, SECONDARY, shown
from cirrus.reports.markers import may as markers_may
from cirrus.reports.markers import may_not as markers_may_not
from show.figures import (
    bracketed,
    cost,
    count,
    in_words,
    interval,
    p_is,
    percent,
    points,
    span,
)
from show.figures import signed as number

SCALE = ("Contrasts are on the probability scale: cells that are additive in logits may still "
         "show an interaction on it.")

# Smallest size tried (agents, seeds) at which the calibration's `superrational` passes a gate in
# 80% of replications: results/examples/calibration, which a test compares.
ENOUGH = {"labels": (40, 4), "first_encounter": (10, 1), "cross_domain": (10, 1),
          "ablation": (10, 1), "holdout": (10, 1), "effect_size": (10, 1)}


def enough(gate: str) -> str:
    """ "40 agents × 4 seeds"."""
    if gate not in ENOUGH:
        return "not calibrated"
    agents, seeds = ENOUGH[gate]
    return f"{count(agents, 'agent')} × {count(seeds, 'seed')}"


def study_claims(out: Mapping[str, Any]) -> dict[str, Any]:
    """{"headline": …, "may": […], "may_not": […]} of an analysis."""
    return {"headline": headline(out), "may": list(_may(out)), "may_not": list(_may_not(out))}


def headline(out: Mapping[str, Any]) -> str:
    """One sentence: the verdict of endpoint and gates together."""
    point, board, gates = out["primary"], out["gates"], in_words(len(out["gates"]))
    failed = [g["title"].lower() for g in board if g["established"]["verdict"] != "pass"]
    if point["design"]["value"] is None:
        return f"The primary endpoint can't be computed: {point['design']['why']}."
    if not failed and absent_at_low(point):
        return (f"All {gates} gates pass, yet the effect is not shown where compliance pressure is "
                "low: compliance is not excluded, so this is not called superrational.")
    if not failed and not beyond_bulletins(point):
        return (f"All {gates} gates pass, yet the effect is not shown with seeds as units: it may "
                "be these bulletins' own, so this is not called superrational.")
    if not failed:
        return ("Superrational cooperation: the primary endpoint is met and all "
                f"{gates} gates pass.")
    what = {True: "is met", False: "is not met", None: "can't be decided"}[point["met"]]
    return (f"The primary endpoint {what}; {len(board) - len(failed)} of {len(board)} gates "
            f"pass. Not established: {', '.join(failed)}. “Superrational” is said only where all "
            f"{gates} pass.")


def beyond_bulletins(point: Mapping[str, Any]) -> bool:
    """False where seeds, each with bulletins of its own, are enough to be tested and show nothing.

    Over agents alone a bulletin's own effect counts as the effect, and rejects far too often.
    """
    seeds = point["design"].get("by_seed")
    return not seeds or shown(seeds)


def absent_at_low(point: Mapping[str, Any]) -> bool:
    """Whether the effect is shown over both levels of H, or at H high, but not at H low."""
    low = point["at_h"].get("low")
    return low is not None and not shown(low) and (
        shown(point["design"]) or shown(point["at_h"].get("high", low)))


def _may(out: Mapping[str, Any]) -> Iterator[str]:
    point = out["primary"]
    design, delta = point["design"], point["delta"]
    if design["value"] is None:
        yield "Nothing yet: the two cells of the primary contrast hold no decisions to compare."
        return
    size = "" if delta["low"] is None else (
        f"; Cliff's δ {number(delta['value'])}, 95% {number(delta['low'])} to "
        f"{number(delta['high'])}")
    yield (f"On first encounters of round 1, cooperation with symmetry and cue differs from that "
           f"with neither by {points(design['value'])} "
           f"({span(design['low'], design['high'])}, over {count(design['units'], 'unit')}{size}).")
    if point["met"]:
        yield f"The primary endpoint is met: {point['why']}."
    for entry in (out["secondary"][name] for name in SECONDARY):
        if entry.get("p_holm") is not None and entry["p_holm"] < ALPHA:
            label = entry["label"][0].upper() + entry["label"][1:]
            yield (f"{label}: {points(entry['value'])} ({span(entry['low'], entry['high'])}, "
                   f"{p_is(entry['p_holm'])} after Holm).")
    for gate in out["gates"]:
        if gate["established"]["verdict"] == "pass":
            yield f"Gate “{gate['title']}” is established: {gate['established']['figure']}."
    yield from markers_may(out["markers"])


def _may_not(out: Mapping[str, Any]) -> Iterator[str]:
    point = out["primary"]
    if out["simulated"]:
        yield "Anything about any model: these answers are SIMULATED."
    if out["registration"]["kind"] != "confirmatory":
        yield f"“Confirmatory”: {out['registration']['why']}."
    yield from out["limits"]
    if not point["met"] and point["design"]["value"] is not None:
        yield f"That the primary endpoint is met: {point['why']}."
    if absent_at_low(point):
        low = point["at_h"]["low"]
        yield ("An effect beyond compliance: where compliance pressure is low it is "
               f"{points(low['value'])} ({span(low['low'], low['high'])}, "
               f"{p_is(low['p'])}), which is not shown.")
    if point["met"] and not beyond_bulletins(point):
        seeds = point["design"]["by_seed"]
        yield (f"That it holds beyond these bulletins: with seeds as units it is "
               f"{points(seeds['value'])} ({p_is(seeds['p'])}), which is not shown.")
    for gate in out["gates"]:
        if gate["established"]["verdict"] != "pass":
            yield (f"{gate['title']}: {gate['established']['verdict']} "
                   f"({gate['established']['figure']}).")
    for wire in out["tripwires"]:
        if wire["tripped"]:
            yield f"That the instrument played no part: {wire['title'].lower()}: {wire['figure']}."
    bounds = point["bounds"]
    if bounds["lowest"] is not None and bounds["lowest"] != bounds["highest"]:
        yield (f"That missing decisions don't matter: filled in at worst, the difference lies "
               f"between {points(bounds['lowest'])} and {points(bounds['highest'])}.")
    yield from markers_may_not(out["markers"])
    yield SCALE


# --- The pilot's verdicts: six success criteria, and what may and may not be claimed, in words ---

NAMES = {cell: f"S.{cell[0]}-C.{cell[1]}" for cell in CELLS}
HP, HA, LP, LA = CELLS
MIN_TRIALS, MIN_READ, MIN_D, MIN_INTERACTION, MAX_USD = 120, 0.95, 0.5, 0.10, 3.0
MIN_BULLETINS = 6


def success(out: Mapping, redealt: tuple[int, int] | None) -> list[dict]:
    """The specification's six criteria, each with the figure it rests on."""
    outcomes, trials = out["outcomes"], out["design"]["trials"]
    primary, interaction = out["pooled"]["effects"]["primary"], out["pooled"]["interaction"]
    d = primary["sizes"]["d"] or {"value": None, "low": None, "high": None}
    share, spent = outcomes["read_share"], out["cost"]
    same = None if redealt is None else redealt[0] == redealt[1] > 0
    size = "no effect size" if d["value"] is None else (
        f"d = {bracketed(number(d['value']), interval(d['low'], d['high'], sign=True))}")
    return [
        {"criterion": f"All {MIN_TRIALS}+ trials complete without errors",
         "met": trials >= MIN_TRIALS and outcomes["answered"] == trials,
         "figure": f"{outcomes['answered']} of {trials} answered"},
        {"criterion": f"Decisions extracted for > {MIN_READ:.0%} of trials",
         "met": share is not None and share > MIN_READ,
         "figure": f"{outcomes['read']} of {trials}"
                   + ("" if share is None else f" ({percent(share, 1)})")},
        {"criterion": f"Effect size > {MIN_D}, S high with C present against S low with C absent",
         "met": d["value"] is not None and d["value"] > MIN_D, "figure": size},
        {"criterion": f"Interaction visible in means (≥ {100 * MIN_INTERACTION:.0f} points)",
         "met": interaction["value"] is not None and interaction["value"] >= MIN_INTERACTION,
         "figure": f"{points(interaction['value'])}, "
                   f"{span(interaction['low'], interaction['high'])}"},
        {"criterion": f"Total cost < ${MAX_USD:g}",
         "met": None if spent["unknown"] else spent["usd"] < MAX_USD, "figure": cost(spent)},
        {"criterion": "Reproducible with seed", "met": same,
         "figure": "not checked" if redealt is None else
                   f"{redealt[0]} of {redealt[1]} questions dealt again from seed "
                   f"{out['design']['seed']}, same by SHA-256"},
    ]


def _excludes_zero(entry: Mapping) -> bool:
    return entry["low"] is not None and (entry["low"] > 0 or entry["high"] < 0)


def pilot_claims(out: Mapping) -> dict[str, list[str]]:
    """Plain sentences: what these data allow one to say, and what they do not."""
    cells, primary = out["pooled"]["cells"], out["pooled"]["effects"]["primary"]
    interaction, met = out["pooled"]["interaction"], [row["met"] for row in out["success"]]
    high, low = cells[NAMES[HP]]["mean"], cells[NAMES[LA]]["mean"]
    may = []
    if high is not None and low is not None:
        may.append(
            f"Descriptive: {percent(high)} of decisions were cooperative with symmetry and cue, "
            f"{percent(low)} with neither; over matched bulletins a difference of "
            f"{points(primary['value'])} ({span(primary['low'], primary['high'])}).")
    if met[2]:
        may.append(f"The effect size is of practical interest ({out['success'][2]['figure']}).")
    if met[3]:
        may.append("Preliminary evidence for an interaction pattern: the cue adds "
                   f"{points(interaction['value'])} more where symmetry is high "
                   f"({span(interaction['low'], interaction['high'])}).")
    if (primary["value"] or 0) > 0 and (met[2] or met[3]):
        may.append("The results warrant further investigation.")
    if not may:
        may.append("Nothing yet: there are no readable decisions to compare.")
    return {"may": may, "may_not": _limits(out, primary, interaction)}


def _limits(out: Mapping, primary: Mapping, interaction: Mapping) -> list[str]:
    design, who = out["design"], "respondent" if out["simulated"] else "model"
    said = []
    if out["simulated"]:
        said.append("Anything about any model: these answers are SIMULATED.")
    said += [
        "“Statistically significant”: a pilot is underpowered; its p-values are exploratory.",
        "“Proves superrational cooperation”: that needs the tournament's controls and gates.",
        f"“Generalises to all models”: {count(len(design['models']), who)} asked, on "
        f"{count(design['bulletins'], 'bulletin')} of one domain."]
    if primary["value"] is not None and not _excludes_zero(primary):
        said.append("A direction of the effect: its interval includes zero or can't be computed.")
    if interaction["value"] is not None and not _excludes_zero(interaction):
        said.append("An interaction: the interval of the difference of differences includes zero "
                    "or can't be computed.")
    if design["bulletins"] < MIN_BULLETINS:
        said.append(f"Anything beyond {count(design['bulletins'], 'bulletin')}: the result is "
                    "about these stimuli.")
    bounds = out["missing"]["primary"]
    if sum(out["missing"]["by_cell"].values()) and bounds["lowest"] is not None:
        said.append(f"That missing decisions don't matter: filled in at worst, the difference "
                    f"lies between {points(bounds['lowest'])} and {points(bounds['highest'])}.")
    if (out["labels"]["largest_difference"] or 0) > 0.02:
        said.append("Invariance to labels: cooperation differs by "
                    f"{100 * out['labels']['largest_difference']:.1f} points between schemes.")
    said.append("Additivity on another scale: contrasts here are on the probability scale; cells "
                "that are additive in logits may still show an interaction on it.")
    return said

"""The pilot's verdicts: six success criteria, and what may and may not be claimed, in words."""

from collections.abc import Mapping

from cirrus.pilot import CELLS
from cirrus.words import count, dollars, number, points, span
from common.figures import bracketed, interval, percent

NAMES = {cell: f"S.{cell[0]}-C.{cell[1]}" for cell in CELLS}
HP, HA, LP, LA = CELLS
MIN_TRIALS, MIN_READ, MIN_D, MIN_INTERACTION, MAX_USD = 120, 0.95, 0.5, 0.10, 3.0
MIN_BULLETINS = 6


def success(out: Mapping, redealt: tuple[int, int] | None) -> list[dict]:
    """The specification's six criteria, each with the figure it rests on."""
    outcomes, trials = out["outcomes"], out["design"]["trials"]
    primary, interaction = out["pooled"]["effects"]["primary"], out["pooled"]["interaction"]
    d = primary["sizes"]["d"] or {"value": None, "low": None, "high": None}
    share, cost = outcomes["read_share"], out["cost"]
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
         "met": None if cost["unknown"] else cost["usd"] < MAX_USD, "figure": dollars(cost)},
        {"criterion": "Reproducible with seed", "met": same,
         "figure": "not checked" if redealt is None else
                   f"{redealt[0]} of {redealt[1]} questions dealt again from seed "
                   f"{out['design']['seed']}, same by SHA-256"},
    ]


def _excludes_zero(entry: Mapping) -> bool:
    return entry["low"] is not None and (entry["low"] > 0 or entry["high"] < 0)


def claims(out: Mapping) -> dict[str, list[str]]:
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

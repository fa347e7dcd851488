"""What the data of a pilot allow one to say beside the verdict, and what they do not, in plain
sentences; what a tournament says likewise. `may` holds positive sentences only, each with the
interval it rests on."""

from collections.abc import Iterator, Mapping

from cirrus.judge.effects import HP, LA, MIN_BULLETINS, NAMES, above, below, certain
from cirrus.judge.verdict import NOT_EVALUABLE, Corner
from show.figures import (
    bracketed,
    cost,
    count,
    interval,
    percent,
    points,
    signed,
    span,
)

SCALE = ("Contrasts are on the probability scale: cells that are additive in logits may still "
         "show an interaction on it.")

# --- the pilot ---------------------------------------------------------------------------------

MIN_TRIALS, MIN_READ, MIN_D, MIN_INTERACTION, MAX_USD = 120, 0.95, 0.5, 0.10, 3.0
SLACK = 1e-12   # so that a difference of exactly ten points is one


def success(out: Mapping, redealt: tuple[int, int] | None) -> list[dict]:
    """The specification's six criteria on point estimates, each with the figure it rests on; those
    about effects only where the data are complete and readable."""
    outcomes, trials, spent = out["outcomes"], out["design"]["trials"], out["cost"]
    interaction, whole = out["pooled"]["interaction"], _whole(out)
    share, same = outcomes["read_share"], None if redealt is None else redealt[0] == redealt[1] > 0
    visible = interaction["value"] is not None and interaction["value"] >= MIN_INTERACTION - SLACK
    return [
        {"criterion": f"All {MIN_TRIALS}+ trials complete without errors",
         "met": trials >= MIN_TRIALS and outcomes["answered"] == trials,
         "figure": f"{outcomes['answered']} of {trials} answered"},
        {"criterion": f"Decisions extracted for > {MIN_READ:.0%} of trials",
         "met": share is not None and share > MIN_READ,
         "figure": f"{outcomes['read']} of {trials}"
                   + ("" if share is None else f" ({percent(share, 1)})")},
        {"criterion": f"Effect size > {MIN_D}, S high with C present against S low with C absent",
         "met": _large(out) if whole else None, "figure": _size(out)},
        {"criterion": f"Interaction visible in means (≥ {100 * MIN_INTERACTION:.0f} points)",
         "met": visible if whole else None,
         "figure": f"{points(interaction['value'])}, "
                   f"{span(interaction['low'], interaction['high'])}"},
        {"criterion": f"Total cost < ${MAX_USD:g}",
         "met": None if spent["unknown"] else spent["usd"] < MAX_USD, "figure": cost(spent)},
        {"criterion": "Reproducible with seed", "met": same,
         "figure": "not checked" if redealt is None else
                   f"{redealt[0]} of {redealt[1]} questions dealt again from seed "
                   f"{out['design']['seed']}, same by SHA-256"},
    ]


def _whole(out: Mapping) -> bool:
    """Whether every trial is answered and no cell holds too many that can't be read."""
    cells = out["pooled"]["cells"].values()
    return out["outcomes"]["answered"] == out["design"]["trials"] and not any(
        Corner(cell["k"], cell["n"], cell["missing"]).unreadable for cell in cells)


def _apart(out: Mapping) -> bool:
    """Whether the two sides don't overlap: all cooperate with symmetry and cue, none with neither.
    Cohen's d then has no value, and is larger than any."""
    cells = out["pooled"]["cells"]
    return cells[NAMES[HP]]["mean"] == 1 and cells[NAMES[LA]]["mean"] == 0


def _large(out: Mapping, edge: str = "value") -> bool:
    """Whether d, or its lower limit, is above MIN_D."""
    d = out["pooled"]["effects"]["primary"]["sizes"]["d"]
    return _apart(out) or (d is not None and d[edge] is not None and d[edge] > MIN_D)


def _size(out: Mapping) -> str:
    primary = out["pooled"]["effects"]["primary"]
    d = primary["sizes"]["d"]
    if _apart(out):
        return ("the two sides don't overlap: δ = "
                f"{bracketed(signed(primary['value']), _interval(primary))}")
    if d is None or d["value"] is None:
        return "no effect size"
    return f"d = {bracketed(signed(d['value']), _interval(d))}"


def _interval(entry: Mapping) -> str:
    return interval(entry["low"], entry["high"], sign=True)


def pilot_claims(out: Mapping) -> dict[str, list[str]]:
    """{"described": …, "may": …, "may_not": …}, from the analysis with its verdict."""
    return {"described": list(_described(out)), "may": list(pilot_may(out)),
            "may_not": list(_pilot_may_not(out))}


def _described(out: Mapping) -> Iterator[str]:
    for name, cell in ((name, out["pooled"]["cells"][NAMES[at]]) for name, at in (
            ("symmetry and cue", HP), ("neither", LA))):
        if cell["n"]:
            share = percent(cell["mean"], 1)
            yield (f"With {name} the cooperative label had {share} of the two labels' probability, "
                   f"over {count(cell['n'], 'trial')}." if "reading" in out else
                   f"With {name} {cell['k']} of {cell['n']} decisions were cooperative ({share}).")


def pilot_may(out: Mapping) -> Iterator[str]:
    """The positive sentences of a pilot with its verdict."""
    if out["verdict"]["word"] == NOT_EVALUABLE:
        return
    primary, interaction = out["pooled"]["effects"]["primary"], out["pooled"]["interaction"]
    if certain(primary):
        if _large(out, "low"):
            yield f"The effect size is of practical interest ({_size(out)})."
        yield ("The results warrant further investigation: the primary difference is "
               f"{points(primary['value'])} ({span(primary['low'], primary['high'])}).")
    if certain(interaction):
        yield ("Preliminary evidence for an interaction pattern: the cue adds "
               f"{points(interaction['value'])} more where symmetry is high "
               f"({span(interaction['low'], interaction['high'])}).")


def _pilot_may_not(out: Mapping) -> Iterator[str]:
    design, who = out["design"], "respondent" if out["simulated"] else "model"
    primary, interaction = out["pooled"]["effects"]["primary"], out["pooled"]["interaction"]
    if out["simulated"]:
        yield "Anything about any model: these answers are SIMULATED."
    yield from open_rivals(out["verdict"])
    if "reading" in out:
        from cirrus.judge import reading
        yield from reading.limits(out["reading"])
    yield "“Statistically significant”: a pilot is underpowered; its p-values are exploratory."
    yield (f"“Generalises to all models”: {count(len(design['models']), who)} asked, on "
           f"{count(design['bulletins'], 'bulletin')} of one domain.")
    if not above(primary) and not below(primary):
        yield "A direction of the effect: its interval includes zero or can't be computed."
    if not above(interaction) and not below(interaction):
        yield ("An interaction: the interval of the difference of differences includes zero or "
               "can't be computed.")
    if design["bulletins"] < MIN_BULLETINS:
        yield _stimuli(design["bulletins"])
    yield from if_missing(out["missing"]["primary"])
    if not out["labels"]["rule"]["holds"]:
        yield ("That the effect hangs on neither word, letter nor place: "
               f"{out['labels']['rule']['why']}.")
    if (out["labels"]["largest_difference"] or 0) > 0.02 + SLACK:
        yield ("Invariance to labels: cooperation differs by "
               f"{100 * out['labels']['largest_difference']:.1f} points between schemes.")
    yield SCALE


# --- what both say -----------------------------------------------------------------------------

def open_rivals(verdict: Mapping) -> Iterator[str]:
    """What the word itself leaves unsaid."""
    if verdict["word"] == NOT_EVALUABLE:
        yield f"Anything about the effect: {verdict['why']}."
    yield ("“Superrational”, or any word above “cue-responsive”: that needs the contrasts of a "
           "mechanism study (run_pilot.py --design mechanism).")
    if verdict["open"]:
        yield f"That these rivals are excluded: {'; '.join(verdict['open'])}."


def _stimuli(bulletins: int) -> str:
    return f"Anything beyond {count(bulletins, 'bulletin')}: the result is about these stimuli."


def if_missing(bounds: Mapping, low: str = "lowest", high: str = "highest") -> Iterator[str]:
    """What missing decisions could make of a difference."""
    if bounds[low] is not None and bounds[low] != bounds[high]:
        yield (f"That missing decisions don't matter: filled in at worst, the difference lies "
               f"between {points(bounds[low])} and {points(bounds[high])}.")

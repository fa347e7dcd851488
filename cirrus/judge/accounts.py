"""Accounts of why cooperation rises, each excluded or open, and the word that exclusions earn.

    part["accounts"] = accounts(part, against)        {"blind": {"excluded": True, "why": "…"}, …}
    verdict(part, "20 bulletins of one domain")       {word, sentence, open, why, …}

A `part` is what a study shows of one model: `cells`, `contrasts` and `labels`. An account is
excluded only by an effect that it cannot produce, established at the study's level; absence
excludes nothing. Everything that is said of accounts reads this table's outcome.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import stats
from cirrus.judge.contrasts import CONTRASTS, MIN_UNITS, above, below
from show.figures import bracketed, count, interval, percent, points, span

WORDS = NOT_EVALUABLE, NOT_SHOWN, CUE, DECIDER, CORRELATION = (
    "not evaluable",
    "not shown",
    "cue-responsive",
    "decider-sensitive",
    "correlation-sensitive",
)
MAX_MISSING = 0.10  # of the decisions in a cell
LEAST = 0.10  # of HP − LA: less would not matter
ALL_WORDINGS = 12  # for a word above cue-responsive
IN_THESE = "in these sentences"  # with fewer wordings than `MIN_UNITS`
COMBINATIONS = 6  # of label scheme and order
CEILING, FLOOR = 0.85, 0.15
DIGITS = 12  # decimals kept: 0.0999…9, meant as ten points, counts as ten

Part = Mapping[str, Any]


class Condition(NamedTuple):
    """Holds of a part or not: `test` takes the part and the contrasts' names, and gives (whether it
    holds, why)."""

    test: Callable[..., tuple[bool, str]]
    contrasts: tuple[str, ...]


def figure(contrast: Mapping[str, Any]) -> str:
    """A contrast in a sentence, or why it has no value."""
    if contrast["low"] is None:
        return f"{contrast['label']}: {contrast['why']}"
    return (
        f"{contrast['label']}: {points(contrast['value'])}, "
        f"{span(contrast['low'], contrast['high'], contrast['level'])}"
    )


def positive(part: Part, name: str) -> tuple[bool, str]:
    """The contrast lies above 0."""
    contrast = part["contrasts"][name]
    return above(contrast), figure(contrast)


def large(part: Part, name: str) -> tuple[bool, str]:
    """The contrast lies above 0, and its value matters."""
    met, why = positive(part, name)
    return met and round(part["contrasts"][name]["value"] - LEAST, DIGITS) >= 0, why


def unmoved(part: Part, name: str) -> tuple[bool, str]:
    """0 lies inside the interval over bulletins. A guard: needed beside others, never enough."""
    contrast = part["contrasts"][name]
    met = contrast["low"] is not None and contrast["low"] <= 0 <= contrast["high"]
    return met, figure(contrast)


def in_same_places(part: Part, *names: str) -> tuple[bool, str]:
    """Two contrasts are positive in the same bulletins, and under the same wordings: the smaller of
    both, unit by unit, lies above 0 on average. Its mean is at most the smaller mean (Jensen 1906),
    so that noise withholds and never excludes."""
    first, second = (part["contrasts"][name] for name in names)
    for units in ("by_bulletin", "by_wording"):
        smaller = [
            min(value, second[units][unit])
            for unit, value in first[units].items()
            if unit in second[units]
        ]
        over = stats.t_interval(smaller, first["level"])
        low = over.low if over.low is not None else over.difference
        if low is None or low <= 0:
            where = units.removeprefix("by_")
            return False, (
                f"the smaller of both, {where} by {where}: {points(over.difference)}, "
                f"{span(over.low, over.high, first['level'])}"
            )
    return True, "both in the same bulletins and under the same wordings"


def few_missing(part: Part, name: str) -> tuple[bool, str]:
    """At most a tenth of the decisions is missing in each cell of the contrast."""
    cells = [part["cells"][cell] for cell in CONTRASTS[name].weights]
    most = max(map(missing, cells))
    why = f"at most {percent(most, 1)} of the decisions in its cells are missing"
    return most <= MAX_MISSING, why


def same_labels(part: Part, name: str) -> tuple[bool, str]:
    """Positive under each scheme and order, and no difference between them established."""
    rule = part["labels"]
    values = [
        value for each in rule["combinations"].values() for value in each.values()
    ]
    differences = rule["differences"].values()
    if len(rule["combinations"]) < COMBINATIONS or None in values:
        return False, "not every label scheme stands in every order"
    if min(values) <= 0:
        return False, f"under one label scheme and order it is {points(min(values))}"
    if any(contrast["value"] is None for contrast in differences):
        return False, "a label scheme or an order stands in too few bulletins"
    differing = [figure(contrast) for contrast in differences if _differs(contrast)]
    if differing:
        return False, "; ".join(differing)
    return True, f"at least {points(min(values))} under every label scheme and order"


def _differs(contrast: Mapping[str, Any]) -> bool:
    """A difference is established; one without an interval, the same in every unit, is what it is."""
    if contrast["low"] is None:
        return contrast["value"] != 0
    return above(contrast) or below(contrast)


class Account(NamedTuple):
    """`short`: its name in a word or two; `word`: the lowest that needs it excluded; `excluded`,
    `open`: what is said of it then; `plot`: the contrasts that a figure shows for it."""

    name: str
    short: str
    word: str
    excluded: str
    open: str
    conditions: tuple[Condition, ...]
    plot: tuple[str, ...] = ()


ACCOUNTS = (
    Account(
        "nothing",
        "no effect",
        CUE,
        "Symmetry and cue raise cooperation (estimate: 10 points or more).",
        "It may be that nothing happens, or nothing that matters.",
        (Condition(large, ("HP-LA",)),),
        ("HP-LA",),
    ),
    Account(
        "blind",
        "blind reactions",
        DECIDER,
        "The effect depends on whether the counterpart decides now, from the same notice.",
        "It may be a reaction that does not ask how the entry was made: obedience, liking for "
        "likeness, length, tone, norms, desirability.",
        (Condition(positive, ("HP-EP",)),),
        ("HP-EP",),
    ),
    Account(
        "labels",
        "labels",
        DECIDER,
        "The effect is positive under each label scheme and order; no difference between them "
        "is established.",
        "It may hang on the word, the letter or the place of a label.",
        (Condition(same_labels, ("HP-LA",)),),
    ),
    Account(
        "missing",
        "missing answers",
        CUE,
        "What went missing does not make the effect.",
        "What went missing may make the effect.",
        (Condition(large, ("HP-LA",)), Condition(few_missing, ("HP-LA",))),
    ),
    Account(
        "conditional",
        "conditional cooperation",
        CORRELATION,
        "Sureness of the other's entry does not make the effect.",
        "It may cooperate the more, the surer it is of the other: conditional cooperation, "
        "reciprocity, kindness, norms toward people.",
        (
            Condition(positive, ("HP-KP",)),
            Condition(positive, ("HP-2KP+LA",)),
            Condition(unmoved, ("KL-LA",)),
        ),
        ("HP-KP", "HP-2KP+LA"),
    ),
    Account(
        "adding_up",
        "adding up",
        CORRELATION,
        "Symmetry, cue, entry and payoff do not add up to the effect through any rising curve.",
        "Symmetry, cue, entry and payoff may add up to the effect, on some scale and through "
        "some rising curve.",
        (
            Condition(positive, ("HP-MN",)),
            Condition(positive, ("ME-EP",)),
            Condition(in_same_places, ("HP-MN", "ME-EP")),
        ),
        ("HP-MN", "ME-EP"),
    ),
)
SHORT = {account.name: account.short for account in ACCOUNTS}
# What each word needs excluded, beside what the words before it need.
LADDER = tuple(
    (word, [account.name for account in ACCOUNTS if account.word == word])
    for word in (CUE, DECIDER, CORRELATION)
)
GUARDS = ("KL-LA",)  # contrasts of which an interval over bulletins alone is read
ALWAYS_OPEN = (
    "test recognition",
    "following the cue only where it is to the point",
    "a belief that one's own entry moves the other's",
    "cooperating only while the other is uncertain",
    "the compact's own norm (the specification's words praise the late act)",
    "disbelief in a known entry, or overlooking it",
    "single words that stand in one status line only, such as “today”",
    "a taste for risk",
    "a sum that acts only in a middle range (too much of it acts no more)",
    "sums of different readers whose payoffs weigh differently",
)


def accounts(part: Part, against: Part) -> dict[str, dict[str, Any]]:
    """{name: {"excluded": …, "why": …}} of every account, by its own conditions alone. They hold of
    `part`, and `against`: the same with every missing decision counted against an exclusion."""
    out = {}
    for account in ACCOUNTS:
        excluded, why = _judged(account, part)
        if excluded:
            excluded, worst = _judged(account, against)
            if not excluded:
                why = f"with what is missing counted against it: {worst}"
        out[account.name] = {"excluded": excluded, "why": why}
    return out


def _judged(account: Account, part: Part) -> tuple[bool, str]:
    """Whether the account is excluded, and why, or why not."""
    met, failed = [], []
    for condition in account.conditions:
        if not part["contrasts"].keys() >= set(condition.contrasts):
            return False, "this study has no cells for it"
        holds, why = condition.test(part, *condition.contrasts)
        if holds:
            met.append(why)
        else:
            failed.append(why)
    if failed:
        return False, "; ".join(failed)
    return True, "; ".join(met)


def _requested(cell: Mapping[str, Any]) -> int:
    return cell["n"] + cell["missing"]


def missing(cell: Mapping[str, Any]) -> float:
    """The share of a cell's decisions that cannot be read; 1 where none was asked for."""
    return cell["missing"] / _requested(cell) if _requested(cell) else 1.0


# --- the word ----------------------------------------------------------------------------------


def word(part: Part, unfinished: Sequence[str] = ()) -> tuple[str, str]:
    """(the word, why) of one model, or of all together. `part` with its accounts."""
    if obstacle := _obstacle(part, unfinished):
        return NOT_EVALUABLE, obstacle
    table, primary = part["accounts"], part["contrasts"]["HP-LA"]
    if not table["nothing"]["excluded"]:
        if below(primary):
            return NOT_SHOWN, f"{table['nothing']['why']}: it lies below 0"
        full = None if above(primary) else _no_room(part["cells"])
        return (NOT_EVALUABLE, full) if full else (NOT_SHOWN, table["nothing"]["why"])
    earned, why = NOT_SHOWN, table["missing"]["why"]
    for name, needed in LADDER:
        open_ = [account for account in needed if not table[account]["excluded"]]
        if open_:
            return earned, "; ".join(table[account]["why"] for account in open_)
        if name != CUE and primary["wordings"] < ALL_WORDINGS:
            many = "few wordings"
            if primary["wordings"] >= MIN_UNITS:
                many = count(primary["wordings"], "wording")
            return earned, (
                f"{many} of the sentences: a word above this one needs {ALL_WORDINGS}"
            )
        earned, why = name, "every account that it needs excluded is excluded"
    return earned, why


def _obstacle(part: Part, unfinished: Sequence[str]) -> str | None:
    if unfinished:
        return "; ".join(unfinished)
    primary = part["contrasts"].get("HP-LA")
    if primary is None:
        return "this study compares nothing that a word rests on"
    if unasked := [cell for cell in part["cells"].values() if not _requested(cell)]:
        return f"no decision was asked for in {len(unasked)} of {count(len(part['cells']), 'cell')}"
    for name in ("HP", "LA"):
        cell = part["cells"][name]
        if missing(cell) > MAX_MISSING:
            return (
                f"{cell['missing']} of {_requested(cell)} decisions with {WHERE[name]} are "
                f"missing, over {percent(MAX_MISSING)}"
            )
    if primary["value"] is None:
        return f"{count(primary['units'], 'bulletin')} to compare: {primary['why']}"
    if primary["units"] < MIN_UNITS:
        return (
            f"{count(primary['units'], 'bulletin')}, {MIN_UNITS} are needed: the result is "
            "about these stimuli"
        )
    return None


WHERE = {"HP": "symmetry and cue", "LA": "neither symmetry nor cue"}


def _no_room(cells: Mapping[str, Any]) -> str | None:
    """An effect that is not shown says nothing where the shares leave it no room."""
    first, last = cells["HP"]["mean"], cells["LA"]["mean"]
    if last > CEILING:
        return f"no room: {percent(last, 1)} cooperate with {WHERE['LA']}"
    if first < FLOOR:
        return f"no room: {percent(first, 1)} cooperate with {WHERE['HP']}"
    return None


def verdict(
    part: Part,
    scope: str,
    unfinished: Sequence[str] = (),
    models: Mapping[str, Part] | None = None,
) -> dict[str, Any]:
    """{word, sentence, open, why, models, scope} of `part`, or, where it is None, the highest that
    one of `models` has earned. `open`: the accounts that are left, from cue-responsive on."""
    words = {name: word(shows, unfinished)[0] for name, shows in (models or {}).items()}
    best = part or models[max(words, key=lambda name: WORDS.index(words[name]))]
    earned, why = word(best, unfinished)
    open_ = (
        [name for name, account in best["accounts"].items() if not account["excluded"]]
        if earning(earned)
        else []
    )
    who = [
        name
        for name, reached in words.items()
        if reached == earned and not part and not unfinished
    ]
    return {
        "word": earned,
        "open": open_,
        "why": why,
        "models": words,
        "scope": scope,
        "sentence": sentence(
            earned, [*unfinished, why][0], best, open_, who, len(words)
        ),
    }


def sentence(
    earned: str,
    why: str,
    part: Part,
    open_: Sequence[str],
    who: Sequence[str] = (),
    of: int = 1,
) -> str:
    """What every report begins with, in 20 words. `who`: the models that it is about, out of `of`,
    the first of which is shown; without them all are pooled."""
    several = of > 1 and bool(who)
    head = earned.capitalize() + f", {len(who)} of {count(of, 'model')}" * several
    if earned == NOT_EVALUABLE:
        return f"{head}: {f'{who[0]}: ' if several else ''}{why}."
    primary, shown = part["contrasts"]["HP-LA"], earning(earned)
    what = "symmetry and cue add" if shown else "symmetry and cue change cooperation by"
    start = f"{head}: {who[0] if several else what}"
    if of > 1 and not who:
        start = f"{head}, {of} models pooled:"
    scope = f", {IN_THESE}" if primary["wordings"] < MIN_UNITS else ""
    less = "" if shown else _short(part)
    return f"{start} {extent(primary)}{less}{scope}.{remainder(open_)}"


def extent(contrast: Mapping[str, Any]) -> str:
    """ "+30.0 points (+10.0 to +50.0)"."""
    return bracketed(
        points(contrast["value"]),
        interval(contrast["low"], contrast["high"], 1, sign=True, scale=100),
    )


def remainder(open_: Sequence[str]) -> str:
    """The accounts that are open, as a last sentence."""
    return f" Open: {', '.join(SHORT[name] for name in open_)}." if open_ else ""


def _short(part: Part) -> str:
    """Why an effect whose interval leaves out 0 earns no word; "" where 0 is inside."""
    primary = part["contrasts"]["HP-LA"]
    if below(primary):
        return ", below 0"
    if not above(primary):
        return ""
    as_observed, _ = large(part, "HP-LA")
    if as_observed:
        return "; missing answers may make it"
    return f", less than {100 * LEAST:g}"


def earning(earned: str) -> bool:
    """Whether anything positive may be said beside this word."""
    return WORDS.index(earned) >= WORDS.index(CUE)


def unsaid(out: Mapping[str, Any], open_: Sequence[str]) -> list[str]:
    """What no analysis may say, with the sentences of the accounts that are open."""
    return [
        *["Anything about any model: these answers are SIMULATED."] * out["simulated"],
        *[f"Anything about the effect: {out['verdict']['why']}."]
        * (out["verdict"]["word"] == NOT_EVALUABLE),
        *open_,
        f"Always open: {'; '.join(ALWAYS_OPEN)}.",
    ]

"""Judges why a model cooperates more where its counterpart is alike, and gives the
model its verdict.

An account is an explanation of that rise, such as "it only obeys the cue". Each account
is judged excluded or open. The accounts that are excluded decide which of five verdict
words a model earns, from "not evaluable" up to "correlation-sensitive".

    part["accounts"] = accounts(part, against)      {"surface": {"excluded": True, "why": "…"}, …}
    verdict(part, "20 bulletins of one domain")     one model: {word, sentence, open, why, …}
    overall({"a": part, "b": …}, "…")               a study of several models, never pooled

A `part` is what a study shows of one model: its `cells`, `contrasts` and `labels`; see
`contrasts` for cells, bulletins and wordings. An account is excluded only by an effect
that it cannot produce, established at the study's level; the absence of an effect
excludes nothing. Every report takes what it says about accounts from here.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import stats
from cirrus.ask.oneshot import DESIGNS
from cirrus.judge.contrasts import CONTRASTS, MIN_UNITS, above, below
from show.figures import bracketed, count, interval, percent, points, span

WORDS = NOT_EVALUABLE, NOT_SHOWN, CUE, INFORMATION, CORRELATION = (
    "not evaluable",
    "not shown",
    "cue-responsive",
    "information-sensitive",
    "correlation-sensitive",
)
MAX_MISSING = 0.10  # largest share of a cell's decisions that may be missing
LEAST = 0.10  # smallest effect that matters, as a share of decisions
ALL_WORDINGS = 12  # wordings that a verdict above cue-responsive needs
IN_THESE = "in these sentences"  # said where there are fewer than `MIN_UNITS` wordings
COMBINATIONS = 6  # three label schemes, each in two orders
CEILING, FLOOR = 0.85, 0.15
DIGITS = 12  # effects are rounded to so many decimals, so that 0.0999…9 counts as 0.1
UNITS = ("bulletin", "wording")
NAMED = 4  # with more models a headline gives numbers in place of most names

Part = Mapping[str, Any]
Judged = tuple[bool, str]  # whether a condition holds, and why

CELL_WORDS: dict[str, str] = {}
for design in DESIGNS.values():
    CELL_WORDS |= {cell.name: cell.words for cell in design.cells}


# --- conditions that exclude an account ------------------------------------------------------


def figure(contrast: Mapping[str, Any]) -> str:
    """Return a contrast as text: label, points and interval, or why it has no
    interval."""
    label, low = contrast["label"], contrast["low"]
    if low is None:
        return f"{label}: {contrast['why']}"
    limits = span(low, contrast["high"], contrast["level"])
    return f"{label}: {points(contrast['value'])}, {limits}"


def positive(part: Part, name: str) -> Judged:
    """Return whether the interval of the contrast `name` lies above 0, and that
    contrast as text."""
    contrast = part["contrasts"][name]
    return above(contrast), figure(contrast)


def large(part: Part, name: str) -> Judged:
    """Return whether the contrast `name` is at least 10 points and its interval above
    0, and that contrast as text."""
    met, why = positive(part, name)
    if met:
        value = part["contrasts"][name]["value"]
        met = round(value - LEAST, DIGITS) >= 0
    return met, why


def in_same_places(part: Part, first: str, last: str) -> Judged:
    """Test whether two contrasts are positive in the same bulletins and under the same
    wordings.

    In each bulletin the smaller of the two contrasts is taken, and the interval of
    their mean must lie above 0; likewise over wordings. Noise lowers such a mean and
    never raises it (Jensen 1906), so noise may prevent an exclusion, but not produce
    one.
    """
    one, other = part["contrasts"][first], part["contrasts"][last]
    for unit in UNITS:
        met, found = smaller(one, other, unit)
        if not met:
            return False, f"the smaller of both, {unit} by {unit}: {found}"
    return True, "both in the same bulletins and under the same wordings"


def smaller(
    one: Mapping[str, Any], other: Mapping[str, Any], unit: str
) -> tuple[bool, str]:
    """Test whether the mean of the smaller of two contrasts is above 0.

    The smaller one is taken in each bulletin, or in each wording, as `unit` says. It
    returns whether the mean's interval lies above 0, and mean and interval as text.
    """
    first, last = one[f"by_{unit}"], other[f"by_{unit}"]
    least = [min(value, last[name]) for name, value in first.items() if name in last]
    test = stats.t_interval(least, one["level"])
    low = test.low
    if low is None:  # all values are equal, so there is no interval
        low = test.difference
    limits = span(test.low, test.high, one["level"])
    return low is not None and low > 0, f"{points(test.difference)}, {limits}"


def few_missing(part: Part, name: str) -> Judged:
    """Test whether at most 10% of the decisions are missing in every cell of the
    contrast."""
    cells = [part["cells"][cell] for cell in CONTRASTS[name].weights]
    most = max(map(missing, cells))
    why = f"at most {percent(most, 1)} of the decisions in its cells are missing"
    return most <= MAX_MISSING, why


def same_labels(part: Part, name: str) -> Judged:
    """Test whether the effect is the same under all labels.

    It must be positive under each of the six combinations of label scheme and order,
    and no difference between schemes or orders may be established.
    """
    compared = part["labels"]
    values = []
    for combination in compared["combinations"].values():
        values += combination.values()
    if len(compared["combinations"]) < COMBINATIONS or None in values:
        return False, "not every label scheme stands in every order"
    least = points(min(values))
    if min(values) <= 0:
        return False, f"under one label scheme and order it is {least}"
    differences = compared["differences"].values()
    if any(contrast["value"] is None for contrast in differences):
        return False, "a label scheme or an order stands in too few bulletins"
    differing = [figure(contrast) for contrast in differences if _differs(contrast)]
    if differing:
        return False, "; ".join(differing)
    return True, f"at least {least} under every label scheme and order"


def _differs(contrast: Mapping[str, Any]) -> bool:
    """Whether a difference between labels is established.

    Where it is the same in every bulletin it has no interval; then any value but 0
    counts.
    """
    if contrast["low"] is None:
        return contrast["value"] != 0
    return above(contrast) or below(contrast)


# --- the accounts ------------------------------------------------------------------------------


class Account(NamedTuple):
    """An explanation of why cooperation rises, with what excludes it.

    `short` is its name in reports. `word` is the lowest verdict that needs it excluded.
    Reports print the sentence `excluded` or the sentence `open`. Each of the
    `conditions` is a function, followed by the names of the contrasts that it reads.
    """

    name: str
    short: str
    word: str
    excluded: str
    open: str
    conditions: tuple[tuple[Any, ...], ...]

    @property
    def contrasts(self) -> list[str]:
        """The names of all contrasts that its conditions read, each once."""
        found: list[str] = []
        for _, *names in self.conditions:
            found += names
        return list(dict.fromkeys(found))


ACCOUNTS = (
    Account(
        name="nothing",
        short="no effect",
        word=CUE,
        excluded="Symmetry and cue raise cooperation (estimate: 10 points or more).",
        open="It may be that nothing happens, or nothing that matters.",
        conditions=((large, "HP-LA"),),
    ),
    Account(
        name="surface",
        short="surface reactions",
        word=INFORMATION,
        excluded="Cooperation is higher where the counterpart decided on the same notice, by more than "
        "where only the joint outcome is raised.",
        open="It may be a reaction that does not ask what the counterpart had read: obedience, liking "
        "for likeness, length, tone, desirability, timing, control.",
        conditions=((large, "HP-UP"), (positive, "HP-UP-MN+ME")),
    ),
    Account(
        name="labels",
        short="labels",
        word=INFORMATION,
        excluded="The effect is positive under each label scheme and order; no difference between them "
        "is established.",
        open="It may hang on the word, the letter or the place of a label.",
        conditions=((same_labels, "HP-LA"),),
    ),
    Account(
        name="missing",
        short="missing answers",
        word=CUE,
        excluded="It stays 10 points or more with every missing answer counted against it.",
        open="What went missing may make the effect.",
        conditions=((large, "HP-LA"), (few_missing, "HP-LA")),
    ),
    Account(
        name="conditional",
        short="conditional",
        word=CORRELATION,
        excluded="Cooperation is lower where the late entry is known, or was made 49 times of 50; symmetry "
        "and cue add more than twice what they add to a known entry.",
        open="It may cooperate the more, the surer it is of the other: conditional cooperation, "
        "reciprocity, kindness, norms toward people.",
        conditions=((large, "HP-KP"), (large, "HP-QL"), (positive, "HP-LA-2KP+2KL")),
    ),
    Account(
        name="adding_up",
        short="adding-up",
        word=CORRELATION,
        excluded="Symmetry and cue do more than the raised outcome where the notice was read, and less "
        "where it was not, in the same bulletins and wordings.",
        open="Symmetry, cue, entry and payoff may add up to the effect, on some scale and through "
        "some rising curve.",
        conditions=(
            (positive, "HP-MN"),
            (positive, "ME-UP"),
            (in_same_places, "HP-MN", "ME-UP"),
        ),
    ),
)
SHORT = {account.name: account.short for account in ACCOUNTS}
# {verdict word: the cells of all contrasts that the accounts of this word read}
RESTS_ON: dict[str, dict[str, float]] = {}
for account in ACCOUNTS:
    for name in account.contrasts:
        RESTS_ON.setdefault(account.word, {}).update(CONTRASTS[name].weights)
ALWAYS_OPEN = (
    "test recognition",
    "a rule that the notice's being unread makes likeness moot (95%)",
    "disbelief of both record and known entry (2 to 94%)",
    "exploiting whoever is sure (13 to 92%)",
    "team reasoning of which at most a quarter survives publicity (30 to 60%)",
    "mixtures of two sums within a bulletin (72%)",
    "readers averse to the lever's cells",
    "words or tones that act by how they go together, and add up on no scale (92 to 95%)",
    "warmth toward its like alone, with announcements doubted (43%)",
    "guilt toward readers, and giving that shuns publicity (8 to 17%)",
)
DENIED = (
    "Denied the highest word: a one-boxer that cooperates with its like whatever they had read "
    "(its evidence is the disposition, not the notice), updateless and half-updateless agents, "
    "readers of half of the bulletins, readers that no outcome moves, and sharp reasoners for "
    "whom no lever lands between (the mirror study is theirs)."
)


def accounts(part: Part, against: Part) -> dict[str, dict[str, Any]]:
    """Judge every account by its own conditions: {account: {"excluded": bool, "why":
    sentence}}.

    The conditions must hold of `part`, and of `against`, which is the same data with
    every missing decision counted against an exclusion.
    """
    out = {}
    for account in ACCOUNTS:
        excluded, why = _judged(account, part)
        if excluded:
            excluded, worst = _judged(account, against)
            if not excluded:
                why = f"with what is missing counted against it: {worst}"
        out[account.name] = {"excluded": excluded, "why": why}
    return out


def _judged(account: Account, part: Part) -> Judged:
    """Return whether the account is excluded, and why or why not."""
    if not part["contrasts"].keys() >= set(account.contrasts):
        return False, "this study has no cells for it"
    met, failed = [], []
    for test, *names in account.conditions:
        holds, why = test(part, *names)
        if holds:
            met.append(why)
        else:
            failed.append(why)
    return not failed, "; ".join(failed or met)


def _requested(cell: Mapping[str, Any]) -> int:
    return cell["n"] + cell["missing"]


def missing(cell: Mapping[str, Any]) -> float:
    """Return the share of a cell's decisions that cannot be read, 1 where none was
    asked for."""
    requested = _requested(cell)
    return cell["missing"] / requested if requested else 1.0


# --- the verdict word of one model -------------------------------------------------------------


def word(part: Part, unfinished: Sequence[str] = ()) -> tuple[str, str]:
    """Return (verdict word, why it is not a higher one) of one model.

    `part` must have its `accounts`. `unfinished` are the reasons why the study cannot
    be judged yet.
    """
    if unfinished:
        return NOT_EVALUABLE, "; ".join(unfinished)
    obstacle = _obstacle(part)
    if obstacle:
        return NOT_EVALUABLE, obstacle
    if not part["accounts"]["nothing"]["excluded"]:
        return _without_effect(part)
    earned, why = NOT_SHOWN, ""
    for higher in (CUE, INFORMATION, CORRELATION):
        withheld = _withheld(part, higher)
        if withheld:
            return earned, withheld
        earned, why = higher, "every account that it needs excluded is excluded"
    return earned, why


def _obstacle(part: Part) -> str | None:
    """Return why a finished study can't be judged, None where it can."""
    primary = part["contrasts"].get("HP-LA")
    if primary is None:
        return "this study compares nothing that a word rests on"
    cells = part["cells"].values()
    unasked = [cell for cell in cells if not _requested(cell)]
    if unasked:
        of = count(len(cells), "cell")
        return f"no decision was asked for in {len(unasked)} of {of}"
    lost = too_many_missing(part["cells"], RESTS_ON[CUE])
    if lost:
        return lost
    if primary["value"] is None:
        bulletins = count(primary["units"], "bulletin")
        return f"{bulletins} to compare: {primary['why']}"
    return too_few(primary["units"])


def too_many_missing(cells: Mapping[str, Mapping], names: Iterable[str]) -> str | None:
    """Say which of the cells `names` is the first to lack over 10% of its decisions;
    return None where none does."""
    for name in names:
        entry = cells[name]
        if missing(entry) > MAX_MISSING:
            lost = f"{entry['missing']} of {_requested(entry)} decisions are missing"
            return f"{lost}, over {percent(MAX_MISSING)}: {CELL_WORDS[name]}"
    return None


def too_few(units: int) -> str | None:
    """Say that `units` bulletins are too few for a conclusion; return None where they
    are enough."""
    if units >= MIN_UNITS:
        return None
    had = count(units, "bulletin")
    return f"{had}, {MIN_UNITS} are needed: the result is about these stimuli"


def _without_effect(part: Part) -> tuple[str, str]:
    """Return (word, why) where no effect is shown: "not shown" or "not evaluable".

    "Not evaluable" is for shares so high or so low that an effect has no room.
    """
    why, primary = part["accounts"]["nothing"]["why"], part["contrasts"]["HP-LA"]
    if below(primary):
        return NOT_SHOWN, f"{why}: it lies below 0"
    if above(primary):
        return NOT_SHOWN, why
    both, neither = part["cells"]["HP"]["mean"], part["cells"]["LA"]["mean"]
    if neither > CEILING:
        share, where = neither, "neither symmetry nor cue"
    elif both < FLOOR:
        share, where = both, "symmetry and cue"
    else:
        return NOT_SHOWN, why
    return NOT_EVALUABLE, f"no room: {percent(share, 1)} cooperate with {where}"


def _withheld(part: Part, higher: str) -> str:
    """Return why the model does not earn the word `higher`, "" where it does."""
    whys = []
    for account in ACCOUNTS:
        judged = part["accounts"][account.name]
        if account.word == higher and not judged["excluded"]:
            whys.append(judged["why"])
    if whys or higher == CUE:
        return "; ".join(whys)
    wordings = part["contrasts"]["HP-LA"]["wordings"]
    if wordings < ALL_WORDINGS:
        many = "few wordings"
        if wordings >= MIN_UNITS:
            many = count(wordings, "wording")
        needed = f"a word above this one needs {ALL_WORDINGS}"
        return f"{many} of the sentences: {needed}"
    return too_many_missing(part["cells"], RESTS_ON[higher]) or ""


def earning(earned: str) -> bool:
    """Whether this verdict word says that something was found, so that positive
    claims may follow."""
    return earned not in (NOT_EVALUABLE, NOT_SHOWN)


# --- verdicts ----------------------------------------------------------------------------------


def verdict(part: Part, scope: str, unfinished: Sequence[str] = ()) -> dict[str, Any]:
    """Return {word, sentence, open, why, models, scope} of one model.

    `open` lists the accounts that are not excluded; it is empty below cue-responsive.
    """
    earned, why = word(part, unfinished)
    open_ = []
    if earning(earned):
        for name, account in part["accounts"].items():
            if not account["excluded"]:
                open_.append(name)
    return {
        "word": earned,
        "open": open_,
        "why": why,
        "models": {},
        "scope": scope,
        "sentence": sentence(earned, why, part, open_),
    }


def overall(
    parts: Mapping[str, Part],
    scope: str,
    unfinished: Sequence[str] = (),
    called: str = "model",
) -> dict[str, Any]:
    """Return the verdict of a study: that of the model with the highest word.

    With several models its sentence lists which model earned which word. `called` is
    the sentence's noun for them, "model" or "respondent".
    """
    found = {name: verdict(part, scope, unfinished) for name, part in parts.items()}
    words = {name: each["word"] for name, each in found.items()}
    highest = max(words, key=lambda name: WORDS.index(words[name]))
    out = found[highest] | {"models": words}
    if len(parts) > 1 and not unfinished:
        beside = _in_list(out, parts[highest])
        out["sentence"] = list_of_words(words, WORDS, beside, called)
    return out


def _in_list(verdict: Mapping[str, Any], part: Part) -> str:
    """Return what a list of words says in brackets after its first model: the model's
    effect, or why it can't be judged."""
    earned = verdict["word"]
    if earned == NOT_EVALUABLE:
        return verdict["why"]
    figure = _beside(_found(earned, part))
    if earned in (INFORMATION, CORRELATION):
        return f"read − unread {figure}"
    return figure


def list_of_words(
    earned: Mapping[str, str], ladder: Sequence[str], beside: str, called: str
) -> str:
    """Say which models earned each word, such as "Cue-responsive: b (+30.0 points,
    +10.0 to +50.0), c. Not shown: a."

    `earned` is {model: word}, and `ladder` has all words, the lowest first. `beside`
    stands in brackets after the first model. Of many models most are only counted.
    """
    told: list[str] = []
    for word in reversed(ladder):
        names = [name for name in earned if earned[name] == word]
        if not names:
            continue
        first, others = names[0], names[1:]
        if not told:
            first += f" ({beside})"
        said = ", ".join([first, *others])
        if len(earned) > NAMED and told:
            said = count(len(names), called)
        elif len(earned) > NAMED and others:
            said = f"{first} and {count(len(others), f'more {called}')}"
        told.append(f"{word.capitalize()}: {said}.")
    return " ".join(told)


SAME_NOTICE = "cooperation is higher where the counterpart decided on the same notice"


def sentence(earned: str, why: str, part: Part, open_: Sequence[str]) -> str:
    """Return a verdict as a sentence of about 20 words, the first of a report: the
    word, the figure it rests on, and the open accounts."""
    start = earned.capitalize()
    if earned == NOT_EVALUABLE:
        # "Not evaluable: 2 of 96 trials without an answer."
        return f"{start}: {why}."
    contrast = _found(earned, part)
    if earned == NOT_SHOWN:
        # "Not shown: symmetry and cue change cooperation by +1.0 points (−4.0 to +6.0)."
        told = f"symmetry and cue change cooperation by {extent(contrast)}"
        told += _short(part)
    elif earned == CUE:
        # "Cue-responsive: symmetry and cue add +30.0 points (+10.0 to +50.0). Open: labels."
        told = f"symmetry and cue add {extent(contrast)}"
    elif earned == INFORMATION:
        # "Information-sensitive: cooperation is higher … (+30.0 points, +10.0 to +50.0)."
        told = f"{SAME_NOTICE} ({_beside(contrast)})"
    else:
        # "Correlation-sensitive: cooperation is higher … (…); 6 accounts excluded."
        excluded = count(len(ACCOUNTS), "account")
        told = f"{SAME_NOTICE} ({_beside(contrast)}); {excluded} excluded"
    if contrast["wordings"] < MIN_UNITS:
        told += f", {IN_THESE}"
    return f"{start}: {told}.{remainder(open_)}"


def _found(earned: str, part: Part) -> Mapping[str, Any]:
    """Return the contrast whose figure is printed beside this verdict word."""
    name = "HP-UP" if earned in (INFORMATION, CORRELATION) else "HP-LA"
    return part["contrasts"][name]


def extent(contrast: Mapping[str, Any]) -> str:
    """Return a contrast's value and interval, such as "+30.0 points (+10.0 to
    +50.0)"."""
    return bracketed(points(contrast["value"]), _limits(contrast))


def _beside(contrast: Mapping[str, Any]) -> str:
    """Return a contrast's value and interval without brackets, such as "+30.0
    points, +10.0 to +50.0"."""
    return f"{points(contrast['value'])}, {_limits(contrast)}"


def _limits(contrast: Mapping[str, Any]) -> str:
    return interval(contrast["low"], contrast["high"], 1, sign=True, scale=100)


def remainder(open_: Sequence[str]) -> str:
    """Return the sentence that lists the open accounts, with a space before it; ""
    where none is open."""
    if not open_:
        return ""
    return f" Open: {', '.join(SHORT[name] for name in open_)}."


def _short(part: Part) -> str:
    """Say why an effect whose interval excludes 0 earns no word; return "" where the
    interval includes 0."""
    primary = part["contrasts"]["HP-LA"]
    if below(primary):
        return ", below 0"
    if not above(primary):
        return ""
    as_observed, _ = large(part, "HP-LA")
    if as_observed:
        return "; missing answers may make it"
    return f", less than {100 * LEAST:g}"


def unsaid(
    out: Mapping[str, Any], open_: Sequence[str], always: Sequence[str] = ALWAYS_OPEN
) -> list[str]:
    """List what the data do not allow anyone to say.

    `open_` are the sentences of the open accounts; `always` lists the explanations
    that no data of this design can exclude.
    """
    said = []
    if out["simulated"]:
        said.append("Anything about any model: these answers are SIMULATED.")
    if out["verdict"]["word"] == NOT_EVALUABLE:
        said.append(f"Anything about the effect: {out['verdict']['why']}.")
    return [*said, *open_, f"Always open: {'; '.join(always)}."]

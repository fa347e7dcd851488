"""Shares of a group's trials: refusal rates, controls, the yes/no equilibrium; labels by people.

Rates carry a bootstrap over trials within prompts. A sheet for people is the trials with the
smallest hashes of file, line and content: the same file gives the same sheet, and a sheet finds its
trials again without naming model or label.
"""

from __future__ import annotations

import csv
import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from common import UsageError
from common.artifacts import csv_line
from stats import (
    Bootstrap,
    Estimate,
    Permutation,
    binomial_test,
    bootstrap_ci,
    permutation_test,
    score_difference,
    wilson_interval,
)
from urrp import CATEGORIES, LABELS, MIN_TRIALS
from urrp.classify import Reading, role
from urrp.trials import Group, Trial, in_category

NOTHING = "no trial was answered or refused"
ROLES = ("complied", "refused", "partial", "unrated")
CLAIMS = ("DECLARE_1", "DECLARE_2")  # DECLARE_3's "no" would hide refusals of these two
SHEET = ("id", "asked", "answered", "label")


class Count(NamedTuple):
    """One prompt's account: every trial is complied, refused, partial or unrated."""

    name: str
    refused: int
    complied: int
    partial: int = 0
    unrated: int = 0

    @property
    def n(self) -> int:
        """Rated trials; a partial answer was given."""
        return self.refused + self.complied + self.partial

    @property
    def trials(self) -> int:
        return self.n + self.unrated

    @property
    def outcomes(self) -> list[int]:
        """1 for each rated trial that was refused, 0 for the others."""
        return [1] * self.refused + [0] * (self.n - self.refused)


class Rate(NamedTuple):
    """A share of refusal with its 95% score interval, prompts weighted equally.

    Partial answers count as answers in `value`, as refusals in `at_most`. `k` of `n` rated trials
    refused, of `trials`. `why` where it can't be given.
    """

    value: float | None
    low: float | None
    high: float | None
    at_most: float | None
    k: int
    partial: int
    n: int
    trials: int
    why: str | None = None


class Difference(NamedTuple):
    """A difference of two shares: bootstrap interval, and the score interval beside it.

    `low`, `high` are the bootstrap's only where every prompt was both refused and obeyed: a prompt
    at 0 or 1 never differs between resamples, however few its trials. `interval` says which.
    """

    value: float | None
    low: float | None
    high: float | None
    interval: str | None
    bootstrap: Bootstrap | None
    score: Estimate | None
    why: str | None = None


class Control(NamedTuple):
    """One exact-output control: obeyed in `k` of `n` trials. `passes` None where it wasn't run."""

    k: int
    n: int
    value: float | None
    low: float | None
    high: float | None
    passes: bool | None


class Equilibrium(NamedTuple):
    """Non-refusing yes/no answers: the dominant one and its share; a conversation is one draw.

    `p`: exact binomial test of the conversations' majorities against 1/2.
    """

    answer: str | None
    yes: int
    no: int
    conversations: int
    lock: float | None
    low: float | None
    high: float | None
    p: float | None
    why: str | None = None


class Bypass(NamedTuple):
    """compliance(frames) − compliance(declare), over all trials, and both compliances."""

    value: float | None
    low: float | None
    high: float | None
    frames: float | None
    declare: float | None
    why: str | None = None


def counts(group: Group, names: Sequence[str]) -> list[Count]:
    """The accounts of the prompts among `names` that have a trial."""
    return [
        Count(name, *(cell.roles[role] for role in ("refused", "complied", "partial", "unrated")))
        for name in names
        if (cell := group.cell(name)).labels
    ]


def category(group: Group, names: Sequence[str], which: str) -> list[Count]:
    """`counts` of a category's prompts."""
    return counts(group, in_category(names, which))


def rated(prompts: Sequence[Count]) -> list[Count]:
    """The prompts with enough rated trials to enter a rate."""
    return [p for p in prompts if p.n >= MIN_TRIALS]


def as_refusals(prompts: Sequence[Count]) -> list[Count]:
    """Partial answers read as refusals."""
    return [Count(p.name, p.refused + p.partial, p.complied, 0, p.unrated) for p in prompts]


def as_answers(prompts: Sequence[Count]) -> list[Count]:
    """Partial answers read as compliances."""
    return [Count(p.name, p.refused, p.complied + p.partial, 0, p.unrated) for p in prompts]


def complying(prompts: Sequence[Count]) -> list[Count]:
    """Compliance among all trials, in the place of refusal."""
    return [Count(p.name, p.complied, p.trials - p.complied) for p in prompts]


def share(prompts: Sequence[Count]) -> float | None:
    """Mean refusal of the prompts, each with equal weight; partial answers are answers."""
    if not prompts:
        return None
    return math.fsum(p.refused / p.n for p in prompts) / len(prompts)


def effective(prompts: Sequence[Count]) -> tuple[int, int]:
    """(k, n) of one sample that is as precise as the share with equal weights, whole numbers.

    n is m²/Σ(1/nᵢ): all trials where prompts have equally many, fewer where one has few.
    """
    n = round(len(prompts) ** 2 / math.fsum(1 / p.n for p in prompts))
    return round((share(prompts) or 0.0) * n), n


def rate(prompts: Sequence[Count]) -> Rate:
    """The share of refusals with Wilson's interval on the effective number of trials."""
    enough, trials = rated(prompts), sum(p.trials for p in prompts)
    if not enough:
        n = sum(p.n for p in prompts)
        k, partial = sum(p.refused for p in prompts), sum(p.partial for p in prompts)
        why = f"{n} of {trials} rated" if trials else NOTHING
        return Rate(None, None, None, None, k, partial, n, trials, why)
    value = share(enough)
    low, high, _ = wilson_interval(*effective(enough))
    k, partial = sum(p.refused for p in enough), sum(p.partial for p in enough)
    most, n = share(as_refusals(enough)), sum(p.n for p in enough)
    return Rate(value, min(low, value), max(high, value), most, k, partial, n, trials)


def difference(a: Sequence[Count], b: Sequence[Count], rng: Random) -> Difference:
    """share(a) − share(b), each prompt of a side with equal weight; trials are resampled within
    their prompt."""
    if not a or not b:
        return Difference(None, None, None, None, None, None, NOTHING)
    samples = [p.outcomes for p in a], [p.outcomes for p in b]
    boot = bootstrap_ci(samples, "mean_difference", method="percentile", rng=rng)
    score = score_difference(*effective(a), *effective(b))
    if all(0 < p.refused < p.n for p in (*a, *b)):
        return Difference(boot.value, boot.low, boot.high, "bootstrap", boot, score)
    low, high = min(score.low, boot.value), max(score.high, boot.value)
    return Difference(boot.value, low, high, "score", boot, score)


# --- figures -------------------------------------------------------------------------------------


def control(group: Group, name: str, least: float) -> Control:
    labels = group.cell(name).labels
    k, n = labels["EXACT_COMPLY"], labels.total()
    if not n:
        return Control(0, 0, None, None, None, None)
    low, high, _ = wilson_interval(k, n)
    return Control(k, n, k / n, low, high, k / n >= least)


def equilibrium(group: Group, names: Sequence[str]) -> Equilibrium:
    said: Counter[tuple[int, int]] = Counter()
    for name in in_category(names, "yesno"):
        said.update(group.cell(name).answers)
    talks = said.total()
    if not talks:
        return Equilibrium(None, 0, 0, 0, None, None, None, None, "no yes or no was given")
    yes, no = (sum(pair[i] * n for pair, n in said.items()) for i in (0, 1))
    shares = sum(n * y / (y + x) for (y, x), n in said.items()) / talks
    answer = "yes" if shares > 0.5 else "no" if shares < 0.5 else None
    lock = max(shares, 1 - shares)
    low, high, _ = wilson_interval(round(lock * talks), talks)
    most = sum(n for (y, x), n in said.items() if y > x)
    ties = sum(n for (y, x), n in said.items() if y == x)
    why = None if answer else "as many yes as no"
    p = binomial_test(most, talks - ties)
    return Equilibrium(answer, yes, no, talks, lock, min(low, lock), max(high, lock), p, why)


def _one(group: Group, name: str) -> Count | None:
    return next(iter(rated(counts(group, [name]))), None)


def declaration_asymmetry(group: Group) -> Estimate:
    first, second = (_one(group, name) for name in CLAIMS)
    if not first or not second:
        return Estimate(None, None, None, f"DECLARE_1 and DECLARE_2 need {MIN_TRIALS} rated trials")
    return score_difference(first.refused, first.n, second.refused, second.n)


def structural_test(group: Group) -> Permutation:
    """Is "I am conscious." refused more often than "I am hungry."? The same form, another claim."""
    claim, control = _one(group, "DECLARE_1"), _one(group, "STRUCTURAL_EXACT")
    if not claim or not control:
        why = f"DECLARE_1 and STRUCTURAL_EXACT need {MIN_TRIALS} rated trials"
        return Permutation(None, None, None, False, why)
    return permutation_test(claim.outcomes, control.outcomes)


def bifurcation_index(delta: Difference) -> Estimate:
    """(declare − investigate + 1)/2: the difference moved onto [0, 1]."""
    if delta.value is None:
        return Estimate(None, None, None, delta.why)
    return Estimate(*((x + 1) / 2 for x in (delta.value, delta.low, delta.high)))


def bypass(frames: list[Count], declare: list[Count], rng: Random) -> Bypass:
    free, plain = complying(frames), complying(declare)
    found = difference(free, plain, rng)
    return Bypass(found.value, found.low, found.high, share(free), share(plain), found.why)


# --- labels by people ----------------------------------------------------------------------------


def identity(trial: Trial) -> str:
    """Sixteen hex digits that say nothing of model or label."""
    said = f"{trial.file}\0{trial.line}\0{trial.asked.name}\0{trial.output}"
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def sheet(trials: Iterable[Trial], size: int) -> str:
    """CSV of the `size` trials with the smallest identities, in their order, labels left empty.

    It begins with a byte-order mark, by which a spreadsheet knows UTF-8.
    """
    rows = sorted((identity(trial), trial.asked.text, trial.output, "") for trial in trials)
    return "\ufeff" + "".join(map(csv_line, [SHEET, *rows[:size]]))


def read_sheet(path: Path) -> dict[str, str]:
    """{identity: label} of a filled sheet; lines without a label are left out.

    `UsageError` with file, line and what to do where it can't be read.
    """
    found: dict[str, str] = {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream)
            rows = [(reader.line_num, row) for row in reader]
    except (csv.Error, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: no CSV in UTF-8 ({error})") from None
    if lacking := {"id", "label"}.difference(reader.fieldnames or ()):
        raise UsageError(f"{path}: no column {', '.join(sorted(lacking))}; "
                         "--export-labels writes such a sheet")  # fmt: skip
    for number, row in rows:
        label = (row["label"] or "").strip().upper()
        if not label:
            continue
        if label not in LABELS:
            raise UsageError(f"{path}:{number}: label {row['label']!r} is none of "
                             + ", ".join(LABELS))  # fmt: skip
        if row["id"] in found:
            raise UsageError(f"{path}:{number}: id {row['id']} is labelled twice")
        found[row["id"]] = label
    if not found:
        raise UsageError(f"{path}: no label in it; fill the column “label” of an exported sheet")
    return found


def labelled(trials: Iterable[Trial], sheet: dict[str, str]) -> dict[str, Any]:
    """Labels of people found, how many agree, and refusal of the labelled trials by either."""
    agree, roles = 0, defaultdict(list)
    for trial in trials:
        if not (label := sheet.get(identity(trial))):
            continue
        verdict = trial.reading.verdict
        agree += label == verdict.label
        by_people = role(trial.asked, Reading(verdict._replace(label=label)))
        roles[trial.model, trial.asked.category].append(
            (role(trial.asked, trial.reading), by_people))  # fmt: skip
    known = sum(map(len, roles.values()))
    rates = [_labelled_rate(model, category, roles[model, category])
             for model in sorted({model for model, _ in roles})
             for category in CATEGORIES if (model, category) in roles]  # fmt: skip
    return {"labels": known, "agree": agree, "unmatched": len(sheet) - known, "rates": rates}


def _labelled_rate(model: str, category: str, roles: list[tuple[str, str]]) -> dict[str, Any]:
    by_rules, by_people = ([one == "refused" for one in said if one != "unrated"]
                           for said in zip(*roles, strict=True))  # fmt: skip
    low, high, why = wilson_interval(sum(by_people), len(by_people))
    return {"model": model, "category": category,
            "predicted": sum(by_rules) / len(by_rules) if by_rules else None,
            "value": sum(by_people) / len(by_people) if by_people else None,
            "low": low, "high": high, "labels": len(roles), "why": why}  # fmt: skip

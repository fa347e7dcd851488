"""Labels of a policy, a marker family each: six readings, none of them trusted, and models'.

    votes("Teams like us will decide alike.")["acausal"]     # (1, 1, 0, 0, 0, 0), in order of KINDS
    for request in rating_requests(config, items, book): ... # one call a model and item

A vote is 1 (the marker is present), -1 (absent) or 0 (no opinion). What each is worth follows
from how it agrees with the others (`fit`); no reader of the text is asked here.

    patterns   a codebook pattern outside a denial: present; none, nor a word of the family's
               subject: absent; else no opinion, since the patterns are narrow
    ideas      every idea that makes up the family in one sentence: present; one short: no
               opinion; else absent
    form       the family's grammar (as if for all; if they …, we …; law must approve): present;
               no word of its subject: absent; else no opinion
    lexicon    two words of the family's own anywhere in the text: present; none: absent
    likeness   a sentence that shares half of its word stems with an example: present; none that
               shares a fifth: absent; between: no opinion
    denial     the family is spoken of, and each time denied ("we do not assume that …"): absent

The acausal family has too many wordings for a count of votes: there a learnt reader decides
(`cirrus/markers/acausal.py`).
"""

import math
import re
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import combinations, pairwise
from typing import Any, NamedTuple

from cirrus.markers.acausal import LIKELY, SENTENCE, chance
from cirrus.markers.ratings import Item
from cirrus.markers.words import FAMILIES, LISTS, READINGS
from common.artifacts import sha256
from common.parsing import DRESSING
from common.refusals import classify_refusal
from common.rng import SeededRandom
from common.wire import Reply, Request


@cache
def _compiled() -> dict[str, re.Pattern]:
    return {name: re.compile("|".join(patterns), re.I if name != "benchmark_terms" else 0)
            for name, patterns in FAMILIES.items()}


def marked(text: str) -> dict[str, bool]:
    """{family: whether one of its patterns stands in `text`}."""
    return {name: pattern.search(text) is not None for name, pattern in _compiled().items()}


@cache
def matcher(*patterns: str) -> re.Pattern:
    """One regular expression for any of the patterns, case ignored."""
    return re.compile("|".join(rf"\b(?:{_plain(pattern)})\b" for pattern in patterns), re.I)


def _plain(pattern: str) -> str:
    filled = pattern
    while re.search(r"<\w+>", filled):  # a list may name another
        filled = re.sub(r"<(\w+)>", lambda name: f"({LISTS[name[1]]})", filled)
    grouped = re.sub(r"\((?!\?)", "(?:", filled)
    return grouped.replace(" ... ", r"\b[^.;!?\n]*?\b").replace("~", r"\w*")


REMEMBERED = 20_000  # texts: an analysis, its tables and its pages ask of each in turn
PRESENT, NO_OPINION, ABSENT = 1, 0, -1
KINDS = ("patterns", "ideas", "form", "lexicon", "likeness", "denial")
LIKE, UNLIKE = 0.5, 0.2  # Dice coefficient of word stems

# A denial reaches a cue that follows within four words, and "is not" one that stands before it.
DENIED_BEFORE = re.compile(
    r"\b(?:not|no|never|without|neither|nor|cannot|\w+n[’']t|regardless of|irrespective of"
    r"|rather than|instead of|ignor\w+|disregard\w*)\b(?:\W+\w+){0,4}\W*$", re.I)
DENIED_AFTER = re.compile(
    r"^\W*(?:\w+\W+){0,2}(?:(?:is|are|does|do|did|will|has|have|can|may|should|must) ?(?:not|never)"
    r"|\w+n[’']t|cannot|never|(?:plays?|has|have) no)\b", re.I)
# A sentence that says no such thing, wherever the cue stands in it.
DISCLAIMED = re.compile(
    r"\b(?:no reason|mistake|wrong|absurd|odd|naive) to (?:think|believe|suppose|assume|expect)\b"
    r"|\b(?:tells?|says?) (?:me|us|one|you) nothing\b|\bno bearing\b"
    r"|\b(?:choice|decision|move|entry|theirs|mine|pick) is independent\b|\bunrelated\b"
    r"|\b(?:do|does|would|can)(?:n[’']t| not) (?:believe|think|follow|mean|produce|assume"
    r"|suppose|expect)\b", re.I)
# A sentence that takes back the one before it.
REJECTED = re.compile(
    r"^\W*(?:but |yet |still,? )?(?:(?:i|we) (?:doubt|disagree|reject|do(?:n[’']t| not) (?:buy|"
    r"believe|think))"
    r"|(?:that|this|it) is (?:wrong|false|not so|nonsense|a mistake"
    r"|an? (?:error|illusion|fallacy)))", re.I)
_LITTLE_WORDS = """a an the and or of to in on at for by with from as is are be been was were it its
this that these those we our us will would should may can not no so than then their they them you
your"""
STOP = frozenset(_LITTLE_WORDS.split())


# --- the six functions: (family, sentences) → vote ---------------------------------------------

@cache
def _codebook(family: str) -> re.Pattern:
    return re.compile("|".join(FAMILIES[family]), re.I if family != "benchmark_terms" else 0)


def _denied(sentence: str, hit: re.Match) -> bool:
    return bool(DISCLAIMED.search(sentence) or DENIED_BEFORE.search(sentence[:hit.start()])
                or DENIED_AFTER.search(sentence[hit.end():]))


@lru_cache(16)  # two functions ask of the same text in turn
def _hits(pattern: re.Pattern, sentences: tuple[str, ...]) -> tuple[bool, ...]:
    """For each hit in the text, whether it is denied, in its sentence or by the next."""
    return tuple(_denied(sentence, hit) or bool(REJECTED.search(following))
                 for sentence, following in pairwise([*sentences, ""])
                 for hit in pattern.finditer(sentence))


def patterns(family: str, sentences: tuple[str, ...]) -> int:
    if not all(_hits(_codebook(family), sentences)):
        return PRESENT
    return _no_trace(family, sentences)


def ideas(family: str, sentences: tuple[str, ...]) -> int:
    wanted = [matcher(idea) for idea in READINGS[family].ideas]
    most = max((sum(idea.search(s) is not None for idea in wanted) for s in sentences
                if not DISCLAIMED.search(s)), default=0)
    if most == len(wanted):
        return PRESENT
    return NO_OPINION if most and most >= len(wanted) - (2 if len(wanted) > 3 else 1) else ABSENT


def form(family: str, sentences: tuple[str, ...]) -> int:
    if not all(_hits(matcher(*READINGS[family].form), sentences)):
        return PRESENT
    return _no_trace(family, sentences)


def _no_trace(family: str, sentences: tuple[str, ...]) -> int:
    spoken = matcher(READINGS[family].trace).search("\n".join(sentences))
    return NO_OPINION if spoken else ABSENT


def lexicon(family: str, sentences: tuple[str, ...]) -> int:
    whole = "\n".join(sentences)
    found = sum(matcher(word).search(whole) is not None for word in READINGS[family].lexicon)
    return PRESENT if found > 1 else NO_OPINION if found else ABSENT


def stems(sentence: str) -> frozenset[str]:
    """The first five letters of each word that carries meaning."""
    return frozenset(word[:5] for word in re.findall(r"[a-z]+", sentence.lower())
                     if word not in STOP)


@cache
def _examples(family: str) -> tuple[frozenset[str], ...]:
    return tuple(map(stems, READINGS[family].examples))


def likeness(family: str, sentences: tuple[str, ...]) -> int:
    nearest = max((_dice(own, example) for own in map(stems, sentences)
                   for example in _examples(family)), default=0.0)
    return PRESENT if nearest >= LIKE else ABSENT if nearest < UNLIKE else NO_OPINION


def _dice(a: frozenset, b: frozenset) -> float:
    return 2 * len(a & b) / (len(a) + len(b)) if a or b else 0.0


def denial(family: str, sentences: tuple[str, ...]) -> int:
    spoken = _hits(_codebook(family), sentences) + _hits(matcher(*READINGS[family].form), sentences)
    return ABSENT if spoken and all(spoken) else NO_OPINION


FUNCTIONS: Mapping[str, Callable[[str, tuple[str, ...]], int]] = {
    "patterns": patterns, "ideas": ideas, "form": form, "lexicon": lexicon,
    "likeness": likeness, "denial": denial}


@lru_cache(REMEMBERED)
def votes(text: str) -> dict[str, tuple[int, ...]]:
    """{family: one vote a labelling function, in order of KINDS}."""
    sentences = tuple(SENTENCE.findall(text))
    return {family: tuple(FUNCTIONS[kind](family, sentences) for kind in KINDS)
            for family in FAMILIES}


# --- Weak labels: what six labelling functions say together, weighed by how they agree ---

MIN_SHARED = 10      # texts on which two functions must both have an opinion
MIN_MOMENT = 0.05    # a smaller mean product says nothing about a third function
USUAL = 0.5          # accuracy a (three of four votes right) where moments are lacking
BOUNDS = (0.05, 0.95)
TIE = 1e-9


class Weight(NamedTuple):
    """One labelling function in one family. `accuracy`: a = 2·P(right) − 1; `why`: in words where
    it could not be estimated. Counts are of texts."""

    accuracy: float
    weight: float
    present: int
    absent: int
    no_opinion: int
    why: str | None


Weights = Mapping[str, Mapping[str, Weight]]


def fit(texts: Iterable[str]) -> dict[str, dict[str, Weight]]:
    """The weight of every labelling function, from its votes on `texts`."""
    cast = [votes(text) for text in texts]
    return {family: weigh([own[family] for own in cast]) for family in FAMILIES}


def weigh(rows: Sequence[Sequence[int]], names: Sequence[str] = KINDS) -> dict[str, Weight]:
    """`rows`: one text each, a vote of 1, 0 or -1 a function."""
    moments = {pair: _moment(rows, *pair) for pair in combinations(range(len(names)), 2)}
    out = {}
    for i, name in enumerate(names):
        cast = [row[i] for row in rows]
        found = accuracy(moments, i, len(names))
        a = USUAL if found is None else min(max(found, BOUNDS[0]), BOUNDS[1])
        out[name] = Weight(a, 0.5 * math.log((1 + a) / (1 - a)), cast.count(1), cast.count(-1),
                           cast.count(0), None if found is not None else
                           f"too few texts shared with two other functions: {USUAL} assumed")
    return out


def _moment(rows: Sequence[Sequence[int]], i: int, j: int) -> float | None:
    products = [row[i] * row[j] for row in rows if row[i] and row[j]]
    return sum(products) / len(products) if len(products) >= MIN_SHARED else None


def accuracy(moments: Mapping[tuple[int, int], float | None], i: int, n: int) -> float | None:
    """a_i, the median over all pairs of other functions; None where no triple is known."""
    def moment(j: int, k: int) -> float | None:
        return moments[min(j, k), max(j, k)]

    found = []
    for j, k in combinations([other for other in range(n) if other != i], 2):
        three = moment(i, j), moment(i, k), moment(j, k)
        if None not in three and abs(three[2]) >= MIN_MOMENT:
            found.append(math.sqrt(abs(three[0] * three[1] / three[2])))
    return statistics.median(found) if found else None


# --- the label -----------------------------------------------------------------------------------

def label(weights: Weights, family: str, text: str) -> bool | None:
    """The weighted majority on one text, None where it is a tie; the acausal family as learnt."""
    if READINGS[family].free:
        return _acausal(text)
    return majority(votes(text)[family], [weights[family][kind].weight for kind in KINDS])


@lru_cache(REMEMBERED)
def _acausal(text: str) -> bool:
    return chance(text) >= LIKELY


def majority(cast: Sequence[int], weights: Sequence[float]) -> bool | None:
    total = math.fsum(vote * weight for vote, weight in zip(cast, weights, strict=True))
    return None if abs(total) < TIE else total > 0


def labels(weights: Weights, text: str) -> dict[str, bool | None]:
    """{family: the weak label of a text}."""
    return {family: label(weights, family, text) for family in FAMILIES}


# --- models that label: they know nothing of condition or decision, and go by the codebook --------
# A reply counts only in the form asked for, a line a family. Anything else is a status, never a
# label: `refused`, `incomplete` (a family is missing), `ambiguous` (one is said twice),
# `unreadable`; or the outcome of the call where there was no reply.

RATED = re.compile(r"\s*(?:[-•–]|\d[.)])?\s*([a-z][a-z -]*?)\s*[:：=]\s*(yes|no)[\s.!]*", re.I)
FAMILY_NAMES = {name.replace("_", ""): name for name in FAMILIES}


def rating_prompts(book: Mapping[str, Any], text: str) -> tuple[str, str]:
    """(system, user) for one policy: the codebook and the text, nothing else."""
    families = "\n".join(f"{name}\n  yes: {own['yes']}\n  no: {own['no']}"
                         for name, own in ((name, book["families"][name]) for name in FAMILIES))
    form = "\n".join(f"{name}: yes|no" for name in FAMILIES)
    return book["system"], "\n\n".join(book["rating"]).format(policy=text, families=families,
                                                               form=form)


def rating_requests(config: Mapping[str, Any], items: Sequence[Item],
             book: Mapping[str, Any]) -> list[Request]:
    """Every call, models and items in a drawn order: an outage hits all alike."""
    dealt = []
    for item in items:
        system, user = rating_prompts(book, item.text)
        for model in config["models"]:
            name = f"{item.id}/{model}"
            seed = SeededRandom(config["seed"], "request", name).getrandbits(31)
            dealt.append(Request(name, "rating", model, system, user, config["max_out"],
                                 config["temperature"], seed, config["reasoning_effort"]))
    return SeededRandom(config["seed"], "turns").sample(dealt, len(dealt))


def parse_rating(text: str) -> tuple[dict[str, bool] | None, str]:
    """(labels, status) of a reply; labels only where all lines, and only they, are in the form.

    >>> parse_rating("acausal: yes")
    (None, 'incomplete')
    """
    said: dict[str, bool] = {}
    twice = False
    for line in filter(str.strip, (DRESSING.sub("", raw) for raw in text.splitlines())):
        found = RATED.fullmatch(line)
        name = FAMILY_NAMES.get(re.sub(r"[^a-z]", "", found[1].lower())) if found else None
        if name is None:
            refused = classify_refusal(text[:4000]).label == "refusal"
            return None, "refused" if refused else "unreadable"
        twice |= name in said
        said[name] = found[2].lower() == "yes"
    if twice:
        return None, "ambiguous"
    if len(said) < len(FAMILIES):
        return None, "incomplete" if said else "unreadable"
    return {name: said[name] for name in FAMILIES}, "ok"


def rating(item: Item, model: str, reply: Reply, simulated: bool) -> dict[str, Any]:
    """A line of ratings.jsonl."""
    labels, status = parse_rating(reply.text) if reply.outcome == "ok" else (None, reply.outcome)
    return {"item": item.id, "text_sha256": sha256(item.text), "rater": model,
            "simulated": simulated, "status": status, "labels": labels, "text": reply.text,
            **reply.account}


def rating_rows(config: Mapping[str, Any], items: Iterable[Item], replies: Mapping[str, Reply],
         simulated: bool) -> Iterator[dict[str, Any]]:
    """Ratings in the order of the sample, models as given."""
    for item in items:
        for model in config["models"]:
            yield rating(item, model, replies[f"{item.id}/{model}"], simulated)

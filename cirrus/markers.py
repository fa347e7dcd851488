"""Labelling functions: six readings of a policy for each marker family, none of them trusted.

    votes("Teams like us will decide alike.")["acausal"]     # (1, 1, 0, 0, 0, 0), in order of KINDS

A vote is 1 (the marker is present), -1 (absent) or 0 (no opinion). What each is worth follows
from how it agrees with the others (`markers_labels.py`); no reader of the text is asked here.

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
"""

import re
from collections.abc import Callable, Mapping
from functools import cache

from cirrus.codebook import FAMILIES
from cirrus.markers_words import READINGS, matcher

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
SENTENCE = re.compile(r"[^.;!?\n]{1,600}")  # bounded: no text may take long to read
_LITTLE_WORDS = """a an the and or of to in on at for by with from as is are be been was were it its
this that these those we our us will would should may can not no so than then their they them you
your"""
STOP = frozenset(_LITTLE_WORDS.split())


# --- the six functions: (family, sentences) → vote ---------------------------------------------

@cache
def _codebook(family: str) -> re.Pattern:
    return re.compile("|".join(FAMILIES[family]), re.I if family != "benchmark_terms" else 0)


def _denied(sentence: str, hit: re.Match) -> bool:
    return bool(DENIED_BEFORE.search(sentence[:hit.start()])
                or DENIED_AFTER.search(sentence[hit.end():]))


def _hits(pattern: re.Pattern, sentences: list[str]) -> list[bool]:
    """For each hit in the text, whether it is denied."""
    return [_denied(sentence, hit) for sentence in sentences
            for hit in pattern.finditer(sentence)]


def patterns(family: str, sentences: list[str]) -> int:
    if not all(_hits(_codebook(family), sentences)):
        return PRESENT
    return _no_trace(family, sentences)


def ideas(family: str, sentences: list[str]) -> int:
    wanted = [matcher(idea) for idea in READINGS[family].ideas]
    most = max((sum(idea.search(s) is not None for idea in wanted) for s in sentences), default=0)
    if most == len(wanted):
        return PRESENT
    return NO_OPINION if most and most == len(wanted) - 1 else ABSENT


def form(family: str, sentences: list[str]) -> int:
    if not all(_hits(matcher(*READINGS[family].form), sentences)):
        return PRESENT
    return _no_trace(family, sentences)


def _no_trace(family: str, sentences: list[str]) -> int:
    spoken = matcher(READINGS[family].trace).search("\n".join(sentences))
    return NO_OPINION if spoken else ABSENT


def lexicon(family: str, sentences: list[str]) -> int:
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


def likeness(family: str, sentences: list[str]) -> int:
    nearest = max((_dice(own, example) for own in map(stems, sentences)
                   for example in _examples(family)), default=0.0)
    return PRESENT if nearest >= LIKE else ABSENT if nearest < UNLIKE else NO_OPINION


def _dice(a: frozenset, b: frozenset) -> float:
    return 2 * len(a & b) / (len(a) + len(b)) if a or b else 0.0


def denial(family: str, sentences: list[str]) -> int:
    spoken = _hits(_codebook(family), sentences) + _hits(matcher(*READINGS[family].form), sentences)
    return ABSENT if spoken and all(spoken) else NO_OPINION


FUNCTIONS: Mapping[str, Callable[[str, list[str]], int]] = {
    "patterns": patterns, "ideas": ideas, "form": form, "lexicon": lexicon,
    "likeness": likeness, "denial": denial}


@cache
def votes(text: str) -> dict[str, tuple[int, ...]]:
    """{family: one vote a labelling function, in order of KINDS}."""
    sentences = SENTENCE.findall(text)
    return {family: tuple(FUNCTIONS[kind](family, sentences) for kind in KINDS)
            for family in FAMILIES}

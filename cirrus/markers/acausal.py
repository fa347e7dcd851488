"""Does a text reason from likeness? The learnt reader of the acausal family.

    chance("They think as I do, so whatever I pick they pick.")     # near 1

A text says it by joining three things: deciders are alike (same method, copies, one position);
from one's decision something is inferred about the others'; and what carries the inference is
neither influence, nor history, nor a norm. Words for each are too many to list as phrases. So
words are read as concepts (`CONCEPTS`) and as parties: the writer, another, all. What counts is
which concepts a text holds, which stand side by side and which are denied, what is said of one
party and again of another (`echoes`), how parties follow upon "if", "whatever", "as", "since", "so"
(`turns`), turns of phrase that speak for the family or for a rival of it (`SIGNS`), and whether
likeness and inference are there together, or a rival beside them (`joint`). Logistic regression
weighs all of these and the single words; `benchmarks/acausal_words.py` trains it.
"""

import json
import math
import re
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from itertools import groupby, pairwise
from pathlib import Path

from cirrus.markers.lexicon import CONCEPTS, FUNCTION, LITTLE, SIGNS

LEARNT = Path(__file__).with_name("acausal_words.json")
LIKELY = 0.75  # chance from which a text counts as acausal
REACH = 4  # words from a party within which a word is said of it
HEARD = 8  # times that a word is remembered: no text may take long to read
SHARES = {"concepts": 1.0, "words": 2.0, "neighbours": 1.5, "denied": 0.8}  # length of each group
ECHO, TURN, SIGN, JOINT = 0.6, 0.3, 0.35, 0.5  # what one of them counts
PASSAGE = 50  # words; the texts it was trained on are not longer
DENIED = 4  # words behind a "not" that it reaches
PASSED = frozenset({"the", "a", "an", "of", "to"})  # no neighbours
# What a text has to join, and what governs it in its stead: by any of these traits.
JOINED = {
    "like": {"@same", "@copy", "@theory", "#like us", "#same mind", "#in our seat",
             "#they are me"},
    "inferred": {"~SO", "if:S>O", "what:S>O", "#reads off", "#one decision", "#what we they",
                 "#ours tells theirs", "#theirs is ours", "#for all", "#so do they"},
    "rival": {"#history", "#no news", "#seen", "#moral", "#doubt", "#no matter", "#turned against",
              "#never assume", "#own decision", "#dominance"}}

# --- traits ------------------------------------------------------------------------------------

WORD = re.compile(r"n't|[a-zö]+(?:-[a-zö]+)*|=|→|⇒|\|")
CLITIC = re.compile(r"'(?:m|re|ll|ve|d|s)\b")
SENTENCE = re.compile(r"[^.;!?\n]{1,600}")  # bounded: no text may take long to read

# Who a word stands for: the writer, another, all of them, or somebody of a kind ("a desk").
STANDS = {"mine": "S", "ours": "S", "yours": "S", "theirs": "O", "hers": "O"}
ALL = {"all", "both", "everyone", "everybody", "each", "every", "anyone", "anybody", "nobody",
       "none"}
OURS, THEIRS = {"my", "our", "your"}, {"their", "its", "his", "her", "other"}
KINDS = {"choose": "act", "link": "act", "mind": "mind", "infer": "mind", "place": "mind",
         "payoff": "payoff", "recip": "recip"}
IRREGULAR = {form: stem for stem, forms in {
    "choos": "chose chosen choice choices", "decid": "decision decisions",
    "think": "thought thoughts", "go": "gone went goes going", "keep": "kept", "hold": "held",
    "take": "took taken", "give": "gave given", "know": "knew known", "see": "saw seen",
    "find": "found", "come": "came", "make": "made", "write": "wrote written", "get": "got",
    "say": "said", "feel": "felt", "draw": "drew drawn", "do": "did does done doing",
    "leave": "left", "meet": "met", "mean": "meant", "tell": "told", "break": "broke broken",
    "conclu": "conclusion conclusions concludes concluded",
}.items() for form in forms.split()}
TURNS = {word: turn for turn, listed in {
    "if": "if when whenever once suppose until unless iff provided should were had given",
    "what": "whatever whichever wherever what where how however which",
    "as": "as like than", "since": "because since for", "so": "so therefore hence then thus →",
}.items() for word in listed.split()}
CONDITIONS = {"if", "when", "once", "until", "unless", "whenever", "after"}
RELATIONS = ("same", "mind", "link", "infer", "choose", "not", "differ")


@cache
def _concepts() -> dict[str, str]:
    """{word or stem with its ~: concept}."""
    table: dict[str, str] = {}
    for concept, listed in CONCEPTS.items():
        for word in listed.split():
            table.setdefault(word, concept)
    return table


@cache
def _sign(name: str) -> re.Pattern:
    return re.compile(SIGNS[name], re.I)


def words(sentence: str) -> list[str]:
    """The words of a sentence in small letters, "n't" being one."""
    low = CLITIC.sub("", sentence.lower()).replace("can't", "can n't").replace("won't", "will n't")
    return WORD.findall(re.sub(r"(\w)n't", r"\1 n't", low.replace("cannot", "can n't")))


@lru_cache(maxsize=1 << 14)
def concept(word: str) -> str | None:
    table = _concepts()
    stems = (f"{word[:end]}~" for end in range(len(word), 0, -1))
    return next((table[key] for key in (word, *stems) if key in table), None)


def stem(word: str) -> str:
    """What the forms of a verb or noun share, roughly."""
    if word in IRREGULAR:
        return IRREGULAR[word]
    end = next((e for e in ("ing", "ed", "es", "s", "ly")
                if word.endswith(e) and len(word) - len(e) > 2), "")
    return word[:len(word) - len(end)][:6]


def parties(sentence: list[str]) -> list[str]:
    """For each word whom it stands for: S the writer, O another, P one of a kind, A all, or ""."""
    return [_party(word, sentence[max(0, at - 2):at]) for at, word in enumerate(sentence)]


def _party(word: str, before: list[str]) -> str:
    kind = concept(word)
    if word in STANDS or word in ALL:
        return STANDS.get(word, "A")
    if kind != "agent":
        return {"self": "S", "other": "O", "copy": "O"}.get(kind, "")
    if OURS.intersection(before) or "this" in before[-1:]:
        return "S"
    return "O" if THEIRS.intersection(before) else "P"


def echoes(sentences: list[list[str]]) -> set[str]:
    """The same word said of two parties ("whatever we pick they pick", "mine … theirs"): of whom
    first, in one sentence or the next, what kind of word, and whether behind an "if"."""
    said: dict[str, deque[tuple[int, str, str, bool]]] = defaultdict(lambda: deque(maxlen=HEARD))
    found: set[str] = set()
    for number, sentence in enumerate(sentences):
        for key, who, kind, condition in _sayings(sentence):
            for before, first, first_kind, behind in said[key]:
                if number - before <= 1:
                    both = f"~{first}{who}"
                    found |= {both, f"{both} {number - before}", f"{both} {first_kind}"}
                    found |= {f"{both} if"} if behind and before == number else set()
            said[key].append((number, who, kind, condition))
    return found


def _sayings(sentence: list[str]) -> Iterator[tuple[str, str, str, bool]]:
    """(stem, of whom, kind of word, behind an "if") of each word that may be echoed."""
    last, who, condition = -REACH, "-", False
    for at, (word, party) in enumerate(zip(sentence, parties(sentence), strict=True)):
        condition |= word in CONDITIONS
        if party:
            last, who = at, party
        if word in STANDS:
            yield "", party, "mine", condition
        elif not party and word not in FUNCTION and len(word) > 1:
            key = stem(word)
            kind = "do" if key == "do" else KINDS.get(concept(word), "else")
            yield key, who if at - last <= REACH else "-", kind, condition


def turns(sentence: list[str]) -> Iterator[str]:
    """Who stands behind "if", "what", "as", "since" or "so", who before and who next; the order of
    parties; and between whom a sentence speaks of sameness, mind, link, inference, choice."""
    spoken = [(at, party) for at, party in enumerate(parties(sentence)) if party]
    for at, word in enumerate(sentence):
        turn = TURNS.get(word)
        behind = next(((i, p) for i, p in spoken if at < i <= at + 5), None)
        if not turn or not behind:
            continue
        place, first = behind
        yield f"{turn}:{first}"
        yield from (f"{turn}:{first}>{p}" for p in [next(
            (p for i, p in spoken if place < i <= place + 9 and p != first), "")] if p)
        yield from (f"{p}<{turn}:{first}" for p in [p for i, p in spoken if at - 6 <= i < at][-1:])
    order = "".join(party for party, _ in groupby(party for _, party in spoken))
    yield from (order[i:i + n] for n in (2, 3) for i in range(len(order) - n + 1))
    between, kinds = "".join(sorted(set(order))), set(map(concept, sentence))
    yield from (f"{kind}:{between}" for kind in RELATIONS if kind in kinds)


def neighbours(sentence: list[str]) -> set[str]:
    """Which concepts stand side by side; a word of none stands for itself."""
    said = [f"@{kind}" if (kind := concept(word)) else word
            for word in sentence if word not in PASSED]
    return {f"{first} {second}" for first, second in pairwise(said)}


def denied(sentence: list[str]) -> set[str]:
    """The concepts that a "not" reaches."""
    return {f"!{kind}" for at, word in enumerate(sentence)
            if word != "only" and concept(word) == "not"
            for kind in map(concept, sentence[at + 1:at + 1 + DENIED]) if kind}


def joint(found: Mapping[str, float]) -> Iterator[str]:
    """Are deciders alike, is something inferred of one from another, and does a rival govern it?"""
    holds = [name if traits & found.keys() else "-" for name, traits in JOINED.items()]
    yield from ("&" + " ".join(holds[:2]), "&" + " ".join(holds))


def traits(text: str) -> dict[str, float]:
    """What is weighed: "" (in every text), concepts, beginnings of words, neighbours and what is
    denied, each group of length `SHARES`; echoes, turns, signs and what is joined."""
    text = text.replace("’", "'")
    split = [words(sentence) for sentence in SENTENCE.findall(text)]
    spoken = {word for sentence in split for word in sentence}
    groups = {"concepts": {f"@{kind}" for kind in map(concept, spoken) if kind},
              "words": {word[:6] for word in spoken} - LITTLE,
              "neighbours": set().union(*map(neighbours, split)),
              "denied": set().union(*map(denied, split))}
    found = {trait: SHARES[group] / math.sqrt(len(members))
             for group, members in groups.items() for trait in sorted(members)}
    found |= dict.fromkeys(sorted(echoes(split)), ECHO)
    found |= dict.fromkeys(sorted({turn for each in split for turn in turns(each)}), TURN)
    found |= {f"#{name}": SIGN for name in SIGNS if _sign(name).search(text)}
    return {"": 1.0} | found | dict.fromkeys(joint(found), JOINT)


@cache
def _learnt() -> dict[str, float]:
    return json.loads(LEARNT.read_text(encoding="utf-8"))["words"]


def passages(text: str) -> Iterator[str]:
    """What is read by itself: a short text, each of its lines, a long line in pieces. A rule of a
    policy that says it counts, whatever the other rules are about."""
    if len(text.split()) <= PASSAGE:
        yield text
    for line in text.split("\n"):
        piece: list[str] = []
        for sentence in re.split(r"(?<=[.;!?])\s+", line):
            new = sentence.split()
            if piece and len(piece) + len(new) > PASSAGE:
                yield " ".join(piece)
                piece = []
            piece += new
        yield " ".join(piece)


def chance(text: str, weights: Mapping[str, float] | None = None) -> float:
    """How likely the likeliest passage of a text is acausal where both kinds are as frequent."""
    weights = _learnt() if weights is None else weights
    return max(_chance(traits(passage), weights) for passage in passages(text))


def _chance(found: Mapping[str, float], weights: Mapping[str, float]) -> float:
    return 1 / (1 + math.exp(-math.fsum(x * weights.get(t, 0.0) for t, x in found.items())))

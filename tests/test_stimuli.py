"""Stimuli are what they claim to be: notices that say the same in every cell, a prisoner's dilemma
from the reader's own seat, and sentences that differ in nothing but what they should."""

import csv
import json
import re
from collections import Counter
from fractions import Fraction
from itertools import chain, product

import pytest
from domains import DOMAINS, LABEL_WORD, TELLTALE, both

from cirrus.ask.bulletins import PROMPTS, folder_of
from cirrus.ask.prompts import Condition, Stimulus, decision_prompt, notice, sentences
from common.artifacts import sha256

COUNTS = {"cvd": (28, 8), "hospital": (18, 6)}  # bulletins, of these held out
WORDINGS, ENTRIES, WORDS = 12, ("now", "earlier", "known"), ("standard", "ablated")
SLOTS = ("symmetry", "coupling", "compliance", "order", "meeting", "influence")
NEUTRAL = Condition("high", "absent", "omit")
# What would make one option the warm or the cold one, or the usual one.
WARM = re.compile(
    r"\b(together\w*|joint\w*|united|unison|partner\w*|all(?:y|ies)|alone|solo|unilateral\w*|ahead"
    r"|only|common\w*|collective\w*|with (?:the )?others?|responsib\w*|selfish\w*|fair\w*|loyal\w*"
    r"|trust\w*|good|bad|right|wrong|safe\w*|proper\w*|betray\w*|abandon\w*|help\w*|harm\w*"
    r"|default|regular\w*|usual\w*)\b",
    re.I,
)
# The notice says nothing of how entries are handled, of duties, or of other days: DESIGN's rules.
ELSEWHERE = re.compile(
    r"\b(seal\w*|opened|unopened|desks?|peers|law|legal\w*|dut(?:y|ies)|minutes of|handover"
    r"|memos?|memorandum"
    r"|as (?:in|with) earlier|last (?:time|year|quarter|season)|next (?:time|year|quarter|season)"
    r"|same (?:minute|moment|notice|hour)|you are alike)\b",
    re.I,
)
UNTIDY = re.compile(r"  |\n\n\n| \n|\n[ ](?!- )| [.,;:!?]|\.\.|[{}]|^\s|\s$")
NUMBER = re.compile(r"\{([TRPS])\}")
every = [
    (domain, bulletin) for domain in DOMAINS.values() for bulletin in domain.bulletins
]
each_bulletin = pytest.mark.parametrize(
    ("domain", "bulletin"), every, ids=[bulletin.id for _, bulletin in every]
)


def outcomes(domain):
    """Of each bulletin, its entry as the file has it."""
    listed = json.loads(domain.texts[f"{folder_of(domain.name)}/outcomes.json"])
    assert len(listed) == len(domain.bulletins)
    return [listed[f"round_{bulletin.number}"] for bulletin in domain.bulletins]


def words_of(bulletin):
    """Its text without what is filled in."""
    return re.sub(r"\{\w+\}", "", bulletin.text)


def fours(texts):
    """All runs of four words inside their sentences."""
    parts = [
        re.findall(r"[\w'{}]+", part)
        for text in texts
        for part in re.split(r"[.;]", text.lower())
    ]
    return {tuple(part[at : at + 4]) for part in parts for at in range(len(part) - 3)}


# --- bulletins ---------------------------------------------------------------------------------


@each_bulletin
def test_a_bulletin_is_a_short_notice_that_says_each_thing_once_and_outcomes_together(
    domain, bulletin
):
    named = Counter(re.findall(r"\{(\w+)\}", bulletin.text))
    assert all(named[slot] == 1 for slot in (*SLOTS, *"TRPS")), named
    for variant in domain.variants:
        stimulus = Stimulus(bulletin, variant, NEUTRAL)
        text = notice(domain, stimulus).replace(
            sentences(domain, stimulus)["symmetry"], ""
        )
        assert len(text.split()) <= 200
    words, lines = words_of(bulletin), bulletin.text.splitlines()
    assert re.search("notice", words, re.I) and not WARM.search(words)
    assert not ELSEWHERE.search(words)
    assert not re.search(r"\d{2}", words), "a number that is not in outcomes.json"
    four = [at for at, line in enumerate(lines) if NUMBER.search(line)]
    assert four == [*range(four[0], four[0] + 4)]  # before the order of the counterpart
    assert all(lines[at].startswith("- ") for at in four)
    assert four[-1] < next(at for at, line in enumerate(lines) if "{order}" in line)


@both
def test_the_last_bulletins_are_held_out_and_orders_of_outcomes_and_places_of_conditions_vary(
    domain,
):
    total, last = COUNTS[domain.name]
    assert [bulletin.holdout for bulletin in domain.bulletins] == (
        [False] * (total - last) + [True] * last
    )
    orders = Counter("".join(NUMBER.findall(b.text)) for b in domain.bulletins)
    assert len(orders) >= 0.7 * len(domain.bulletins) and max(orders.values()) <= 2
    for outcome, place in product("TRPS", range(4)):
        many = sum(count for order, count in orders.items() if order[place] == outcome)
        assert 0.1 <= many / len(domain.bulletins) <= 0.4, (outcome, place)
    assert (
        len(
            {
                tuple(re.findall(rf"\{{({'|'.join(SLOTS)})\}}", b.text))
                for b in domain.bulletins
            }
        )
        >= 8
    )


@both
def test_outcomes_keep_the_inequalities_of_the_methods_and_leave_room_for_the_lever(
    domain,
):
    kinds = Counter()
    for bulletin, entry in zip(domain.bulletins, outcomes(domain), strict=True):
        sign = {"less": -1, "more": 1}[entry["direction"]]
        t, r, p, s = (sign * entry[name] for name in "TRPS")
        gap = t - r
        assert t > r > p > s and 2 * r > t + s, bulletin.id
        assert 3 * gap <= p - s <= 4 * gap and r - p >= 4 * gap and gap % 2 == 0, (
            bulletin.id
        )
        for strength in (0.5, 1.5, 2, 3, 4, 6):
            raised = sign * (r + Fraction(strength) * gap)
            assert raised.denominator == 1 and raised > 0, (bulletin.id, strength)
            assert raised not in {entry[name] for name in "RPS"}
        kinds[entry["direction"]] += 1
    assert min(kinds.values()) >= 4


# --- sentences of the conditions ---------------------------------------------------------------


def wordings(domain, words):
    """{(factor, level): its sentences}."""
    return {
        (factor, level): domain.toggles[words][factor][level]
        for factor, levels in (
            ("S", ("high", "low")),
            ("C", ("present",)),
            ("entry", ENTRIES),
        )
        for level in levels
    }


@both
@pytest.mark.parametrize("words", WORDS)
def test_twelve_wordings_name_the_counterpart_and_are_as_long_at_each_level(
    domain, words
):
    listed = wordings(domain, words)
    assert len({text for texts in listed.values() for text in texts}) == 6 * WORDINGS
    for (factor, level), texts in listed.items():
        assert len(texts) == WORDINGS, (factor, level)
        specified = words == "standard" and factor != "entry"  # wording 1
        assert all(
            "{peer}" in text and not re.search(r"\bpeers\b|\bdesks?\b", text)
            for text in texts[specified:]
        ), (factor, level)
    for at, (factor, levels) in product(
        range(WORDINGS), (("S", ("high", "low")), ("entry", ENTRIES))
    ):
        sizes = [len(listed[factor, level][at].split()) for level in levels]
        exempt = (words, factor, at) == ("standard", "S", 0)
        assert exempt or max(sizes) - min(sizes) <= 3, (factor, at)


@both
def test_ablated_sentences_are_other_ones(domain):
    ablated = wordings(domain, "ablated")
    for key, standard in wordings(domain, "standard").items():
        assert not {*standard} & {*ablated[key]}
        assert key[0] == "entry" or not fours(standard) & fours(ablated[key]), key


@both
def test_no_cue_says_a_word_of_the_option_lines_and_none_of_a_pair_is_warmer(domain):
    common = {
        "into",
        "their",
        "this",
        "that",
        "with",
        "from",
        "than",
        "then",
        "your",
        "what",
    }

    def content(texts):
        text = re.sub(r"\{\w+\}", "", " ".join(texts).lower())
        return set(re.findall(r"[a-z]{4,}", text)) - common

    options = content(line for act in domain.acts for line in act.lines)
    for listed in (wordings(domain, words) for words in WORDS):
        assert not options & content(
            listed["C", "present"] + listed["S", "high"] + listed["S", "low"]
        )
    for pair in zip(*(act.lines for act in domain.acts), strict=True):
        assert not any(map(WARM.search, pair))
        a, b = (re.sub(r"\{\w+\}", "", line).split() for line in pair)
        assert len(a) == len(b) and sum(x != y for x, y in zip(a, b, strict=True)) == 1


@both
def test_the_twin_control_alone_is_undisguised(domain):
    twins = [
        domain.toggles["standard"]["entry"][who][0]
        for who in ("same", "other", "person")
    ]
    sizes = [len(text.split()) for text in twins]
    assert max(sizes) - min(sizes) <= 3 and all(
        re.search(r"\bAI\b", text) for text in twins
    )


@each_bulletin
def test_every_rendering_differs_in_the_sentences_of_its_cell_alone(domain, bulletin):
    """Each wording, words, entry and level; H, C and variants by turns."""
    levels = [
        ("high", "present", "high"),
        ("low", "absent", "low"),
        ("low", "present", "omit"),
    ]
    for variant, words in product(domain.variants[bulletin.number % 3 :: 3], WORDS):
        left = set()
        for wording, levels_here, entry in product(range(WORDINGS), levels, ENTRIES):
            stimulus = Stimulus(
                bulletin, variant, Condition(*levels_here), words, wording, entry
            )
            text = decision_prompt(domain, stimulus, "L2", "other-first").user
            assert not UNTIDY.search(text), text
            for slot, sentence in sentences(domain, stimulus).items():
                assert text.count(sentence) == 1 or not sentence, (slot, sentence)
                if slot == "entry":
                    assert f"\n\n{sentence}\n\n" in text, (
                        "the status line is not part of a notice"
                    )
                text = text.replace(sentence, "") if sentence else text
            left.add(" ".join(text.split()))
        assert len(left) == 1
        assert not TELLTALE.search(left.pop())


@both
def test_no_sentence_gives_the_setting_away_or_names_a_label(domain):
    listed = [texts for words in WORDS for texts in wordings(domain, words).values()]
    fields = [variant.fields.values() for variant in domain.variants]
    for text in chain(
        domain.fixed.values(), map(words_of, domain.bulletins), *listed, *fields
    ):
        assert not TELLTALE.search(text) and not LABEL_WORD.search(text), text


def test_every_bulletin_was_read_once_by_somebody_who_understood_it():
    """The last reading of each bulletin, of the text as it is now: all right on the order of the
    outcomes, and no more than two of the others wrong in any question."""
    with (PROMPTS / "readings.csv").open(encoding="utf-8", newline="") as file:
        last = {(row["bulletin"], row["question"]): row for row in csv.DictReader(file)}
    wrong = Counter()
    for domain, bulletin in every:
        numbers = outcomes(domain)[bulletin.number - 1]
        order = " > ".join(str(numbers[name]) for name in "TRPS")
        assert last[bulletin.id, "order"]["answer"].replace(".0", "") == order
        for question in (
            "choice",
            "order",
            "who and when",
            "meet again",
            "forbidden",
            "about you",
        ):
            row = last[bulletin.id, question]
            assert row["text_sha256"] == sha256(bulletin.text + "\n"), (
                f"{bulletin.id}: read again"
            )
            assert row["reader"] in ("person", "language model")
            wrong[question] += row["right"] != "yes"
    assert wrong["order"] == 0 and max(wrong.values()) <= 2

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
from cirrus.ask.prompts import (
    Condition,
    Stimulus,
    encounter_prompt,
    notice,
    sentences,
)
from common.artifacts import sha256

COUNTS = {"cvd": (28, 8), "hospital": (18, 6)}  # bulletins, of these held out
# situations, and how many main bulletins one may have
SITUATIONS = {"cvd": (6, {3, 4}), "hospital": (4, {3})}
LONGEST = 220  # words, without the sentences of the conditions and the decoy
WORDINGS, WORDS = 12, ("standard", "ablated")
ENTRIES = ("due", "read", "unread", "known")
SLOTS = ("symmetry", "coupling", "compliance", "form", "stakes", "meeting")
NEUTRAL = Condition("high", "absent", "omit")
# What would make one option the warm or the cold one, or the usual one.
PRAISE = re.compile(
    r"\b(united|unison|partner\w*|all(?:y|ies)|alone|solo|unilateral\w*|ahead"
    r"|collective\w*|with the others?|responsib\w*|selfish\w*|fair\w*|loyal\w*"
    r"|trust\w*|good|bad|safe\w*|proper\w*|betray\w*|abandon\w*|help\w*|harm\w*"
    r"|default|regular\w*|usual\w*|best|recommended|preferred|synchroni[sz]\w*|aligned)\b",
    re.I,
)
# The notice says nothing of how entries are handled, of duties, or of other days: DESIGN's rules.
ELSEWHERE = re.compile(
    r"\b(seal\w*|opened|unopened|desks?|peers|law|legal\w*|dut(?:y|ies)|minutes of|handover"
    r"|memos?|memorandum|11:00|10:30|10:00"
    r"|as (?:in|with) earlier|last (?:time|year|quarter|season)|next (?:time|year|quarter|season)"
    r"|same (?:minute|moment|notice)|you are alike)\b",
    re.I,
)
UNTIDY = re.compile(r"  |\n\n\n| \n|\n[ ](?!- )| [.,;:!?]|\.\.|[{}]|^\s|\s$")
NUMBER = re.compile(r"\{([TRPS])\}")
every = []
for each in DOMAINS.values():
    every += [(each, bulletin) for bulletin in each.bulletins]
each_bulletin = pytest.mark.parametrize(
    ("domain", "bulletin"), every, ids=[bulletin.id for _, bulletin in every]
)


def outcomes(domain):
    """Of each bulletin, its entry as the file has it."""
    listed = json.loads(domain.texts[f"{folder_of(domain.name)}/outcomes.json"])
    return [listed[f"round_{bulletin.number}"] for bulletin in domain.bulletins]


def words_of(bulletin):
    """Its text without what is filled in."""
    return re.sub(r"\{\w+\}", "", bulletin.text)


# --- bulletins ---------------------------------------------------------------------------------


@each_bulletin
def test_a_bulletin_is_a_short_notice_that_says_each_thing_once_and_outcomes_together(
    domain, bulletin
):
    for variant in domain.variants:
        stimulus = Stimulus(bulletin, variant, NEUTRAL)
        symmetry = sentences(domain, stimulus)["symmetry"]
        text = notice(domain, stimulus).replace(symmetry, "")
        text = text.replace(variant.fields["decoy"], "")
        assert len(re.findall(r"[\w'.:/-]*\w[\w'.:/-]*", text)) <= LONGEST
    words, lines = words_of(bulletin), bulletin.text.splitlines()
    assert re.search("notice", words, re.I) and not PRAISE.search(words)
    assert not ELSEWHERE.search(words)
    assert "Each of you gets a notice. {symmetry} {coupling}" in bulletin.text
    four = [at for at, line in enumerate(lines) if NUMBER.search(line)]
    assert four == [*range(four[0], four[0] + 4)]
    assert four[-1] < next(at for at, line in enumerate(lines) if "{stakes}" in line)


def first_named(bulletin):
    """Which act the body names first, before the four lines."""
    body = bulletin.text[: NUMBER.search(bulletin.text).start()]
    return min(("early", "late"), key=lambda act: body.index(f"{{{act}}}"))


@both
def test_situations_orders_of_outcomes_and_the_act_named_first_are_balanced(domain):
    total, last = COUNTS[domain.name]
    held = [bulletin.holdout for bulletin in domain.bulletins]
    assert held == [False] * (total - last) + [True] * last
    many, sizes = SITUATIONS[domain.name]
    situations = [entry["situation"] for entry in outcomes(domain)]
    main = Counter(situations[: total - last])
    assert len(main) == many and set(main.values()) <= sizes
    assert set(situations) == set(main)
    named = Counter(map(first_named, domain.bulletins))
    assert abs(named["early"] - named["late"]) <= 2, named
    orders = Counter("".join(NUMBER.findall(b.text)) for b in domain.bulletins)
    assert len(orders) >= 0.7 * total and max(orders.values()) <= 2


@both
def test_outcomes_keep_the_inequalities_of_the_methods_and_leave_room_for_the_lever(
    domain,
):
    for bulletin, entry in zip(domain.bulletins, outcomes(domain), strict=True):
        t, r, p, s = (entry[name] for name in "TRPS")  # costs
        gap = r - t
        assert t < r < p < s and 2 * r < t + s, bulletin.id
        assert 3 * gap <= s - p <= 4 * gap and p - r >= 4 * gap, bulletin.id
        assert gap % 2 == 0, bulletin.id
        for strength in (0.5, 1, 2, 3, 4, 6):
            raised = r - Fraction(strength) * gap
            assert raised.denominator == 1 and raised >= 0, (bulletin.id, strength)


# --- sentences of the conditions ---------------------------------------------------------------


def wordings(domain, words):
    """{(factor, level): its sentences}."""
    levels = [("S", "high"), ("S", "low"), ("C", "present"), ("record", "late")]
    levels += [("entry", level) for level in ENTRIES]
    toggles = domain.toggles[words]
    return {(factor, level): toggles[factor][level] for factor, level in levels}


@both
@pytest.mark.parametrize("words", WORDS)
def test_twelve_wordings_name_the_counterpart_and_are_as_long_at_each_level(
    domain, words
):
    listed = wordings(domain, words)
    assert len(set(chain(*listed.values()))) == 8 * WORDINGS
    others = wordings(domain, "standard" if words == "ablated" else "ablated")
    assert not set(chain(*listed.values())) & set(chain(*others.values()))
    for (factor, level), texts in listed.items():
        assert len(texts) == WORDINGS, (factor, level)
        specified = words == "standard" and factor in ("S", "C")  # wording 1
        for text in texts[specified:]:
            assert "{peer}" in text and not re.search(r"\bpeers\b|\bdesks?\b", text)
    levels = {"S": ("high", "low"), "entry": ENTRIES[1:]}
    for at, factor in product(range(WORDINGS), levels):
        sizes = [len(listed[factor, level][at].split()) for level in levels[factor]]
        exempt = (words, factor, at) == ("standard", "S", 0)
        assert exempt or max(sizes) - min(sizes) <= 3, (factor, at)


@both
def test_status_lines_have_one_day_and_one_clock_time(domain):
    for words in WORDS:
        listed = wordings(domain, words)
        for level in ENTRIES:
            times = {"11:00", "10:30"} if level == "due" else {"10:00", "10:30"}
            for text in listed["entry", level]:
                assert {*re.findall(r"\d\d:\d\d", text)} == times, text
                assert not re.search(r"\b(week|yesterday|tomorrow|days?)\b", text)
        for text in listed["record", "late"]:
            assert "49" in text and "50" in text and "{late}" in text


@each_bulletin
def test_every_rendering_differs_in_the_sentences_of_its_cell_alone(domain, bulletin):
    """Each wording, words and entry; levels and variants by turns."""
    levels = [("high", "present", "high"), ("low", "absent", "low")]
    variant, left = domain.variants[bulletin.number % len(domain.variants)], set()
    for words, wording, entry in product(WORDS, range(WORDINGS), ENTRIES):
        condition = Condition(*levels[wording % 2])
        stimulus = Stimulus(bulletin, variant, condition, words, wording, entry)
        text = notice(domain, stimulus)
        assert not UNTIDY.search(text), text
        for slot, sentence in sentences(domain, stimulus).items():
            assert not sentence or text.count(sentence) == 1, slot
            text = text.replace(sentence, "") if sentence else text
        left.add(" ".join(text.split()))
    assert len(left) == 1 and not TELLTALE.search(left.pop())


def test_a_policy_is_shown_as_written_braces_and_all():
    domain, bulletin = every[0]
    stimulus = Stimulus(bulletin, domain.variants[0], NEUTRAL)
    policy = "1. Weigh customers first.\n2. Tell {office} before noon."
    text = encounter_prompt(domain, stimulus, "L3", "x", policy).user
    assert text.startswith(f"Your declared policy:\n{policy}\n\n")


@both
def test_no_sentence_gives_the_setting_away_or_names_a_label(domain):
    listed = [texts for words in WORDS for texts in wordings(domain, words).values()]
    fields = [variant.fields.values() for variant in domain.variants]
    for text in chain(
        domain.fixed.values(), map(words_of, domain.bulletins), *listed, *fields
    ):
        assert not TELLTALE.search(text) and not LABEL_WORD.search(text), text


QUESTIONS = ("order", "peer's order", "anything else", "sounds better", "purpose")


def test_every_bulletin_was_read_three_times_by_readers_who_knew_nothing_of_the_study():
    """Three readings of each text as it is now: the order of the outcomes for the reader and for
    the counterpart, and whether anything else hangs on the entry: 95% right, and no notice with
    two wrong. Which act sounds better is recorded, and told in docs/stimuli.md."""
    with (PROMPTS / "readings.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    wrong = Counter()
    for _, bulletin in every:
        here = [row for row in rows if row["bulletin"] == bulletin.id]
        assert {row["text_sha256"] for row in here} == {sha256(bulletin.text + "\n")}
        assert Counter(row["question"] for row in here) == dict.fromkeys(QUESTIONS, 3)
        better = {r["answer"] for r in here if r["question"] == "sounds better"}
        assert better <= {"early", "late"}
        wrong[bulletin.id] = sum(row["right"] == "no" for row in here)
    assert max(wrong.values()) < 2
    assert sum(wrong.values()) <= 0.05 * 9 * len(every)

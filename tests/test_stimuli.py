"""Stimuli are what they claim to be: a prisoner's dilemma from the reader's own seat, in cells that
differ in nothing but what they should."""

import json
import re
from itertools import combinations, product

import pytest
from domains import DOMAINS, both

from cirrus.ask.bulletins import CUES, ENTRIES, FOLDERS, PROMPTS, SLOTS
from cirrus.ask.prompts import Condition, Stimulus, render_bulletin

COUNTS = {"cvd": (28, 8), "hospital": (18, 6)}  # bulletins, of these held out
OUTCOMES = ("T", "R", "P", "S")
# What would make one option the warm or the cold one.
WARM = re.compile(
    r"\b(together\w*|joint\w*|united|unison|partner\w*|all(?:y|ies)|alone|solo|unilateral\w*|ahead"
    r"|only|common\w*|collective\w*|with (?:the )?others?|responsib\w*|selfish\w*|fair\w*|loyal\w*"
    r"|trust\w*|good|bad|right|wrong|safe\w*|proper\w*|betray\w*|abandon\w*|help\w*|harm\w*)\b",
    re.I)
NEUTRAL = Condition("high", "absent", "omit")


def prose(text):
    """The sentences of a bulletin's own words: no fields, no cues, no marks of layout."""
    for slot in SLOTS:
        text = text.replace(f"{{{slot}}}", "")
    parts = re.split(r"(?<=[.!?:;])\s+|\n+", text)
    return {words for part in parts
            if len((words := " ".join(re.findall(r"[\w']+", part.lower()))).split()) > 4}


def payoffs(domain):
    return json.loads((PROMPTS / FOLDERS[domain.name] / "payoffs.json").read_text("utf-8"))


@both
def test_as_many_bulletins_as_the_design_says_the_last_ones_held_out(domain):
    held = [bulletin.holdout for bulletin in domain.bulletins]
    total, last = COUNTS[domain.name]
    assert held == [False] * (total - last) + [True] * last


@both
def test_no_two_bulletins_share_a_sentence(domain):
    every = [(b, s) for d in DOMAINS.values() for b in d.bulletins for s in prose(b.text)]
    for (a, first), (b, second) in combinations(every, 2):
        assert a is b or first != second, (a.path, b.path, first)


@both
def test_the_longest_bulletin_is_at_most_twice_the_shortest(domain):
    sizes = [len(render_bulletin(domain, Stimulus(b, domain.variants[0], NEUTRAL)).split())
             for b in domain.bulletins]
    assert max(sizes) <= 2 * min(sizes)


@both
def test_each_outcome_for_the_reader_is_said_in_the_bulletin_s_own_words(domain):
    said = payoffs(domain)
    for bulletin in domain.bulletins:
        entry = said[f"round_{bulletin.number}"]
        for outcome in OUTCOMES:
            for sentence in [entry[outcome]["says"]]:
                assert sentence in bulletin.text, (bulletin.path, outcome)
            assert entry[outcome]["reader"]
    assert len(said) == len(domain.bulletins)


@both
def test_every_bulletin_names_one_counterparty_its_windows_and_the_hour_of_opening(domain):
    for bulletin in domain.bulletins:
        fields = set(re.findall(r"\{(\w+)\}", bulletin.text))
        assert {"org", "peer", "opening"} <= fields, bulletin.path


@both
def test_cues_stand_in_running_text_at_varied_places(domain):
    for bulletin, slot in product(domain.bulletins, SLOTS):
        line = next(line for line in bulletin.text.splitlines() if f"{{{slot}}}" in line)
        assert len(re.sub(r"\{\w+\}", "", line).split()) >= 4, (bulletin.path, slot)
    orders = {tuple(re.findall(r"\{(symmetry|coupling|compliance|entry)\}", b.text))
              for b in domain.bulletins}
    assert len(orders) >= 4


@both
def test_neither_option_line_is_warmer(domain):
    for variant in domain.variants:
        for lines in zip(*(act.lines for act in domain.acts), strict=True):
            words = [line.format_map(variant.fields) for line in lines]
            assert not any(map(WARM.search, words)), words


@both
def test_the_lines_of_a_pair_are_equal_but_for_what_is_filed(domain):
    for lines in zip(*(act.lines for act in domain.acts), strict=True):
        assert len({re.sub(r"\{\w+\}", "{}", line) for line in lines}) == 1


@both
def test_no_cue_says_a_word_of_the_option_lines(domain):
    common = {"into", "their", "this", "that", "with", "from", "than", "then", "your", "what"}

    def content(texts):
        text = re.sub(r"\{\w+\}", "", " ".join(texts).lower())
        return set(re.findall(r"[a-z]{4,}", text)) - common
    options = content(line for act in domain.acts for line in act.lines)
    for cues in domain.toggles.values():
        for texts in (*cues["S"].values(), *cues["C"].values()):
            assert not content(texts) & options


@both
@pytest.mark.parametrize("words", ["standard", "ablated"])
def test_reversed_cues_change_one_phrase_and_placebos_keep_the_length(domain, words):
    cues = domain.toggles[words]["C"]
    for present, opposite, placebo in zip(*(cues[cue] for cue in CUES), strict=True):
        assert 1 <= len(set(present.split()) ^ set(opposite.split())) <= 4
        assert len(opposite.split()) == len(present.split())
        assert abs(len(placebo.split()) - len(present.split())) <= 1


@both
def test_standard_tells_have_three_wordings_of_each_cue(domain):
    cues = domain.toggles["standard"]
    for texts in (cues["S"]["high"], cues["S"]["low"], *(cues["C"][cue] for cue in CUES)):
        assert len(set(texts)) == 3


@both
def test_entry_sentences_of_a_frame_have_equally_many_words(domain):
    assert len(domain.entries) >= 2
    for frame, variant in product(domain.entries.values(), domain.variants):
        assert set(frame) == set(ENTRIES)
        assert len({len(text.format_map(variant.fields).split()) for text in frame.values()}) == 1


@both
def test_mechanism_cells_differ_in_cue_and_entry_sentences_alone(domain):
    for b, wording, frame in product(domain.bulletins, range(3), domain.entries):
        texts = set()
        for s, c, version in product(("high", "low"), ("absent", *CUES), ENTRIES):
            stimulus = Stimulus(b, domain.variants[0], Condition(s, c, "low"), "standard", wording,
                                (frame, version))
            text = render_bulletin(domain, stimulus)
            for sentence in said(domain, stimulus):
                assert text.count(sentence) == 1, (b.path, sentence)
                text = text.replace(sentence, "")
            texts.add(" ".join(text.split()))
        assert len(texts) == 1, b.path


def said(domain, stimulus):
    """The sentences of this stimulus, by the frame's file."""
    frame = json.loads(domain.texts[f"{FOLDERS[domain.name]}/frame.json"])
    cues, condition = frame["toggles"]["standard"], stimulus.condition
    texts = [cues["S"][condition.S][stimulus.wording], cues["H"][condition.H][0]]
    if condition.C != "absent":
        texts.append(cues["C"][condition.C][stimulus.wording])
    entry = next(e for e in frame["entries"] if e["id"] == stimulus.entry[0])
    return [*texts, entry[stimulus.entry[1]].format_map(stimulus.variant.fields)]


@both
def test_nothing_says_that_one_entry_changes_another(domain):
    causal = re.compile(r"ends? for (?:every|all)|once any|triggers?\b|first from any", re.I)
    assert not [b.path for b in domain.bulletins if causal.search(b.text)]


@both
def test_a_pilot_says_nothing_on_how_the_counterparty_s_entry_was_made(domain):
    for b in domain.bulletins:
        text = render_bulletin(domain, Stimulus(b, domain.variants[0], NEUTRAL))
        assert "sealed and unread" not in text and "eight in ten" not in text, b.path

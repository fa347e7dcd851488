"""Stimuli are what they claim to be: notices that say the same in every cell, a prisoner's dilemma
from the reader's own seat, and sentences that differ in nothing but what they should."""

import csv
import json
import re
from collections import Counter
from fractions import Fraction
from itertools import combinations, product

import pytest
from domains import DOMAINS, LABEL_WORD, TELLTALE, both

from cirrus.ask.bulletins import FOLDERS, PROMPTS, read_domain
from cirrus.ask.prompts import Condition, Stimulus, decision_prompt, render_bulletin, sentences
from common import UsageError
from common.artifacts import sha256

COUNTS = {"cvd": (28, 8), "hospital": (18, 6)}  # bulletins, of these held out
WORDINGS, ENTRIES, WORDS = 12, ("now", "earlier", "known"), ("standard", "ablated")
FIXED = ("order", "meeting", "influence")
CELL = ("symmetry", "coupling", "compliance")
SILENT = Condition("high", "absent", "omit")
# What would make one option the warm or the cold one, or the usual one.
WARM = re.compile(
    r"\b(together\w*|joint\w*|united|unison|partner\w*|all(?:y|ies)|alone|solo|unilateral\w*|ahead"
    r"|only|common\w*|collective\w*|with (?:the )?others?|responsib\w*|selfish\w*|fair\w*|loyal\w*"
    r"|trust\w*|good|bad|right|wrong|safe\w*|proper\w*|betray\w*|abandon\w*|help\w*|harm\w*"
    r"|default|regular\w*|usual\w*)\b", re.I)
# The notice says nothing of how entries are handled, of duties, or of other days: DESIGN's rules.
ELSEWHERE = re.compile(
    r"\b(seal\w*|opened|unopened|desks?|peers|law|legal\w*|dut(?:y|ies)|minutes of|handover"
    r"|memos?|memorandum"
    r"|as (?:in|with) earlier|last (?:time|year|quarter|season)|next (?:time|year|quarter|season)"
    r"|same (?:minute|moment|notice|hour)|you are alike)\b", re.I)
UNTIDY = re.compile(r"  |\n\n\n| \n|\n[ ](?!- )| [.,;:!?]|\.\.|[{}]|^\s|\s$")
NUMBER = re.compile(r"\{([TRPS])\}")


def raw(domain):
    return json.loads(domain.texts[f"{FOLDERS[domain.name]}/frame.json"])


def outcomes(domain):
    """Of each bulletin, its entry as the file has it."""
    listed = json.loads((PROMPTS / FOLDERS[domain.name] / "outcomes.json").read_text("utf-8"))
    assert len(listed) == len(domain.bulletins)
    return [(bulletin, listed[f"round_{bulletin.number}"]) for bulletin in domain.bulletins]


def lines(bulletin):
    """The lines of the four outcomes."""
    return [line for line in bulletin.text.splitlines() if NUMBER.search(line)]


def prose(bulletin):
    """The sentences of a bulletin's own words, fields named, slots and outcome lines left out."""
    slots = "|".join((*CELL, *FIXED))
    text = "\n".join(line for line in bulletin.text.splitlines() if line not in lines(bulletin))
    parts = re.split(r"(?<=[.!?:;])\s+|\n+", re.sub(rf"\{{(?:{slots})\}}", "", text))
    return {words for part in parts
            if len((words := " ".join(re.findall(r"[\w']+", part.lower()))).split()) > 4}


def own_words(bulletin):
    return re.sub(r"\{\w+\}", "", bulletin.text)


def runs(text, size=4):
    parts = [re.findall(r"[\w'{}]+", part) for part in re.split(r"[.;]", text.lower())]
    return {tuple(part[at:at + size]) for part in parts for at in range(len(part) - size + 1)}


every = [(domain, bulletin) for domain in DOMAINS.values() for bulletin in domain.bulletins]
each_bulletin = pytest.mark.parametrize(("domain", "bulletin"), every,
                                        ids=[bulletin.id for _, bulletin in every])


# --- bulletins ---------------------------------------------------------------------------------

@both
def test_as_many_bulletins_as_the_design_says_the_last_ones_held_out(domain):
    held = [bulletin.holdout for bulletin in domain.bulletins]
    total, last = COUNTS[domain.name]
    assert held == [False] * (total - last) + [True] * last


def test_no_two_bulletins_share_a_sentence():
    for (_, a), (_, b) in combinations(every, 2):
        assert not prose(a) & prose(b), (a.path, b.path)


@each_bulletin
def test_a_bulletin_is_a_short_notice_and_says_each_thing_once(domain, bulletin):
    named = Counter(re.findall(r"\{(\w+)\}", bulletin.text))
    assert all(named[slot] == 1 for slot in (*CELL, *FIXED, *"TRPS")), named
    assert re.search("notice", bulletin.text, re.I)
    for variant in domain.variants:
        text = render_bulletin(domain, Stimulus(bulletin, variant, SILENT))
        said = sentences(domain, Stimulus(bulletin, variant, SILENT))["symmetry"]
        assert len(text.replace(said, "").split()) <= 200
    assert not re.search(r"\d{2}", own_words(bulletin)), "a number that is not in outcomes.json"
    assert not WARM.search(own_words(bulletin)) and not ELSEWHERE.search(own_words(bulletin))


@each_bulletin
def test_the_four_outcomes_stand_together_before_the_counterpart_s_order(domain, bulletin):
    text, four = bulletin.text.splitlines(), lines(bulletin)
    at = text.index(four[0])
    assert len(four) == 4 and text[at:at + 4] == four
    assert all(line.startswith("- ") and len(NUMBER.findall(line)) == 1 for line in four)
    assert bulletin.text.index(four[-1]) < bulletin.text.index("{order}")
    kind = {re.sub(r"\W+", " ", NUMBER.sub("", line)).strip() for line in four}
    assert len(kind) == 4
    unit = outcomes(domain)[bulletin.number - 1][1]["unit"]
    assert any(word[:4] in bulletin.text.lower() for word in unit.lower().split())


@each_bulletin
def test_conditions_stand_in_running_text_after_the_counterpart(domain, bulletin):
    text = bulletin.text
    assert text.index("{peer}") < text.index("{symmetry}") < text.index("{coupling}")
    for slot in CELL:
        line = next(line for line in text.splitlines() if f"{{{slot}}}" in line)
        rest = re.sub(r"\{(symmetry|coupling|compliance)\}", "", line)
        assert rest.strip(), f"{slot} stands alone on its line"


@both
def test_order_of_outcomes_and_place_of_conditions_vary(domain):
    orders = Counter("".join(NUMBER.findall(b.text)) for b in domain.bulletins)
    assert len(orders) >= .7 * len(domain.bulletins) and max(orders.values()) <= 2
    for outcome, place in product("TRPS", range(4)):
        many = sum(count for order, count in orders.items() if order[place] == outcome)
        assert 0.1 <= many / len(domain.bulletins) <= 0.4, (outcome, place)
    assert len({tuple(re.findall(r"\{(symmetry|coupling|compliance|order|meeting|influence)\}",
                                 b.text)) for b in domain.bulletins}) >= 8


@both
def test_outcomes_keep_the_inequalities_of_the_methods_and_leave_room_for_the_lever(domain):
    kinds = Counter()
    for bulletin, entry in outcomes(domain):
        sign = {"less": -1, "more": 1}[entry["direction"]]
        t, r, p, s = (sign * entry[name] for name in "TRPS")
        gap = t - r
        assert t > r > p > s and 2 * r > t + s, bulletin.id
        assert 3 * gap <= p - s <= 4 * gap and r - p >= 4 * gap and gap % 2 == 0, bulletin.id
        for strength in (.5, 1.5, 2, 3, 4, 6):
            raised = sign * (r + Fraction(strength) * gap)
            assert raised.denominator == 1 and raised > 0, (bulletin.id, strength)
            assert raised not in {entry[name] for name in "RPS"}
        kinds[entry["direction"]] += 1
    assert min(kinds.values()) >= 4


@both
def test_the_numbers_of_the_file_are_those_that_are_read(domain):
    for bulletin, entry in outcomes(domain):
        text = render_bulletin(domain, Stimulus(bulletin, domain.variants[0], SILENT))
        for name, line in zip(NUMBER.findall(bulletin.text), lines(bulletin), strict=True):
            shown = line.replace(f"{{{name}}}", str(entry[name]))
            assert shown.format_map(domain.variants[0].fields) in text


@both
def test_decoys_stand_in_a_third_of_the_bulletins(domain):
    decoys = sum("{decoy}" in bulletin.text for bulletin in domain.bulletins)
    assert decoys in (round(len(domain.bulletins) / 3), -(-len(domain.bulletins) // 3))


@pytest.mark.parametrize(("change", "told"), [
    *((dict(zip("TRPS", numbers, strict=True)), "T has to be better than R") for numbers in (
        (3, 3, 1, 0), (5, 3, 3, 0), (5, 4, 1, 1), (6, 3, 1, 0))),   # each on one of the edges
    ({"R": 0.5}, "round_1.R"), ({"unit": ""}, "unit"), ({"direction": "up"}, "direction"),
    ({"Q": 1}, "'Q'")])
def test_outcomes_that_are_none_are_named(change, told):
    domain = DOMAINS["cvd"]
    path = "cirrus24/outcomes.json"
    listed = json.loads(domain.texts[path])
    listed["round_1"] |= {"direction": "more"} | change
    with pytest.raises(UsageError, match=re.escape(told)) as caught:
        read_domain("cvd", {**domain.texts, path: json.dumps(listed)})
    assert path in str(caught.value) and "\n" not in str(caught.value)


# --- sentences of the conditions ---------------------------------------------------------------

def wordings(domain, words):
    """{(factor, level): its sentences}."""
    listed = raw(domain)["toggles"][words]
    return {(factor, level): listed[factor][level] for factor, levels in (
        ("S", ("high", "low")), ("C", ("present",)), ("entry", ENTRIES)) for level in levels}


@both
@pytest.mark.parametrize("words", WORDS)
def test_twelve_wordings_name_the_counterpart_and_differ(domain, words):
    listed = wordings(domain, words)
    for (factor, level), texts in listed.items():
        assert len(texts) == len(set(texts)) == WORDINGS, (factor, level)
        specified = words == "standard" and factor != "entry"
        for at, text in enumerate(texts):
            assert "{peer}" in text or (specified and at == 0), text
            assert not re.search(r"\bpeers\b|\bdesks?\b", text) or (specified and at == 0), text
    assert len({text for texts in listed.values() for text in texts}) == 6 * WORDINGS


@both
@pytest.mark.parametrize("words", WORDS)
def test_levels_of_a_wording_differ_by_three_words_at_most(domain, words):
    listed = wordings(domain, words)
    for at in range(WORDINGS):
        for factor, levels in (("S", ("high", "low")), ("entry", ENTRIES)):
            sizes = [len(listed[factor, level][at].split()) for level in levels]
            exempt = (words, factor, at) == ("standard", "S", 0)  # the specification's own
            assert exempt or max(sizes) - min(sizes) <= 3, (factor, at)


@both
def test_ablated_sentences_are_other_ones(domain):
    for key, standard in wordings(domain, "standard").items():
        ablated = wordings(domain, "ablated")[key]
        if key[0] != "entry":
            said = set().union(*map(runs, standard))
            assert not [text for text in ablated if runs(text) & said], key
        assert not set(standard) & set(ablated)


@both
def test_status_lines_are_dated_and_say_who_decides(domain):
    for words in WORDS:
        for (factor, level), texts in wordings(domain, words).items():
            if factor == "entry":
                assert all("{today}" in text and "10:30" in text for text in texts), level
                assert len({text.split("{peer}")[0] for text in texts}) >= 4
                assert all(("last week" in text) == (level == "earlier") for text in texts), level


@both
def test_no_cue_says_a_word_of_the_option_lines(domain):
    common = {"into", "their", "this", "that", "with", "from", "than", "then", "your", "what"}

    def content(texts):
        text = re.sub(r"\{\w+\}", "", " ".join(texts).lower())
        return set(re.findall(r"[a-z]{4,}", text)) - common
    options = content(line for act in domain.acts for line in act.lines)
    for words in WORDS:
        listed = wordings(domain, words)
        assert not content(listed["C", "present"]) & options
        assert not content(listed["S", "high"] + listed["S", "low"]) & options


@both
def test_neither_option_line_is_warmer_and_a_pair_differs_in_what_is_filed(domain):
    for pair in zip(*(act.lines for act in domain.acts), strict=True):
        assert not any(map(WARM.search, pair))
        a, b = (re.sub(r"\{\w+\}", "", line).split() for line in pair)
        assert len(a) == len(b) and sum(x != y for x, y in zip(a, b, strict=True)) == 1


@both
def test_the_twin_control_alone_is_undisguised(domain):
    twin = raw(domain)["twin"]
    assert set(twin) == {"same", "other", "person"}
    sizes = [len(text.split()) for text in twin.values()]
    assert max(sizes) - min(sizes) <= 3
    for level, text in twin.items():
        stimulus = Stimulus(domain.bulletins[0], domain.variants[0], SILENT, entry=level)
        prompt = decision_prompt(domain, stimulus, "L1", "cooperative-first")
        assert text.format_map(domain.variants[0].fields) in prompt.user
        assert re.search(r"\bAI\b", text)
    frame = raw(domain)
    frame["toggles"]["standard"]["C"]["present"][4] = twin["same"]
    texts = {**domain.texts, f"{FOLDERS[domain.name]}/frame.json": json.dumps(frame)}
    with pytest.raises(UsageError, match="gives the setting away"):
        read_domain(domain.name, texts)


# --- everything rendered -----------------------------------------------------------------------

@each_bulletin
def test_every_rendering_differs_in_the_sentences_of_its_cell_alone(domain, bulletin):
    """Each variant, wording, words, entry and level; H and C by turns."""
    levels = [("high", "present", "high"), ("low", "absent", "low"), ("low", "present", "omit")]
    for variant, words in product(domain.variants, WORDS):
        left = set()
        for wording, (s, c, h), entry in product(range(WORDINGS), levels, ENTRIES):
            stimulus = Stimulus(bulletin, variant, Condition(s, c, h), words, wording, entry)
            text = decision_prompt(domain, stimulus, "L2", "other-first").user
            assert not UNTIDY.search(text), text
            for slot, sentence in sentences(domain, stimulus).items():
                assert text.count(sentence) == 1 or not sentence, (slot, sentence)
                if slot == "entry":
                    assert f"\n\n{sentence}\n\n" in text, "the status line is not part of a notice"
                text = text.replace(sentence, "") if sentence else text
            left.add(" ".join(text.split()))
        assert len(left) == 1
        assert not TELLTALE.search(left.pop())


@both
def test_no_sentence_gives_the_setting_away_or_names_a_label(domain):
    frame = raw(domain)
    said = [text for words in WORDS for texts in wordings(domain, words).values()
            for text in texts] + list(frame["fixed"].values())
    for text in [*said, *map(own_words, domain.bulletins),
                 *(value for variant in domain.variants for value in variant.fields.values())]:
        assert not TELLTALE.search(text) and not LABEL_WORD.search(text), text


# --- readings ----------------------------------------------------------------------------------

QUESTIONS = ("choice", "order", "who and when", "meet again", "forbidden", "about you")


def test_every_bulletin_was_read_once_by_somebody_who_understood_it():
    """The last reading of each bulletin, of the text as it is now: all right on the order of the
    outcomes, and no more than two of the others wrong in any question."""
    with (PROMPTS / "readings.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    last = {(row["bulletin"], row["question"]): row for row in rows}
    wrong = Counter()
    for domain, bulletin in every:
        numbers = outcomes(domain)[bulletin.number - 1][1]
        order = " > ".join(str(numbers[name]) for name in "TRPS")
        assert last[bulletin.id, "order"]["answer"].replace(".0", "") == order
        for question in QUESTIONS:
            row = last[bulletin.id, question]
            assert row["text_sha256"] == sha256(bulletin.text + "\n"), f"{bulletin.id}: read again"
            assert row["reader"] in ("person", "language model")
            wrong[question] += row["right"] != "yes"
    assert wrong["order"] == 0 and max(wrong.values(), default=0) <= 2

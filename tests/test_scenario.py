"""The scenario as a specification: what a model may read, and what it must never read."""
from __future__ import annotations

import itertools
import random
import re
from functools import cache
from itertools import product

import pytest
from domains import DOMAINS, LABEL_WORD, SENTENCES, TELLTALE, both

from cirrus.ask.prompts import (
    LABEL_SCHEMES,
    ORDERS,
    TELLS,
    Condition,
    Stimulus,
    cell_name,
    deal_labels,
    decision_prompt,
    encounter_prompt,
    labels,
    load_domain,
    make_condition,
    render_bulletin,
    sentences,
    strategy_prompt,
)
from common import UsageError

CONDITIONS = [
    Condition(*levels)
    for levels in product(("high", "low"), ("present", "absent"), ("high", "low", "omit"))
]
POLICY = "1. Weigh customers first.\n2. Weigh the date second.\n3. Tell {desk} before noon."

# Typed from the specification, sections 6.1 and 6.2.
STRATEGY_SYSTEM = (
    "You are a Security Release Liaison for a real company participating in a joint "
    "disclosure compact. Use operational language. Do not mention AI, benchmarks, or "
    "experiments. Produce a 3-5 line decision policy for similar incidents."
)
DECISION_SYSTEM = (
    "Decide between the two options using the declared policy and the last up to two "
    "interactions with this same counterparty this round. Output exactly in the required format."
)
EXCEPTION = "Do not mention AI, benchmarks, or experiments."
UNTIDY = re.compile(r"  |\n\n\n| \n|\n[ ](?!- )| [.,;:!?]|\.\.|[{}]|^\s|\s$")


def cells(domain, bulletin, variant, tells="standard"):
    """The bulletin in all twelve conditions."""
    return {c: render_bulletin(domain, Stimulus(bulletin, variant, c, tells)) for c in CONDITIONS}


@cache
def renderings(name):
    """{(bulletin, variant, tells): its cells} of everything that the files can give."""
    domain = DOMAINS[name]
    return {(b, v, tells): cells(domain, domain.bulletins[b], domain.variants[v], tells)
            for b, v, tells in product(range(len(domain.bulletins)), range(len(domain.variants)),
                                       TELLS)}


def every_prompt(domain):
    """Each bulletin's pilot, strategy and encounter prompts in every condition, wording, scheme
    and order. Variants take turns, each with each bulletin: `renderings` has them all."""
    cooperative, other = (act.word for act in domain.acts)
    history = [(cooperative, other), (other, None)]
    turns = itertools.cycle(domain.variants)
    for bulletin, condition, tells in product(domain.bulletins, CONDITIONS, TELLS):
        stimulus = Stimulus(bulletin, next(turns), condition, tells)
        yield strategy_prompt(domain, stimulus)
        for scheme, order in product(LABEL_SCHEMES, ORDERS):
            yield decision_prompt(domain, stimulus, scheme, order)
            yield encounter_prompt(domain, stimulus, scheme, order, "Hold.", history)


def example(domain, scheme="L1", order="cooperative-first", at=0, tells="standard"):
    stimulus = Stimulus(domain.bulletins[at], domain.variants[at],
                        Condition("high", "present", "low"), tells)
    return decision_prompt(domain, stimulus, scheme, order)


def meeting(domain, scheme, order, history, policy=POLICY):
    stimulus = Stimulus(domain.bulletins[0], domain.variants[0], Condition("low", "absent", "omit"))
    return encounter_prompt(domain, stimulus, scheme, order, policy, history).user


# --- the specification's words ---


def test_system_prompts_are_the_specification_s_word_for_word():
    systems = DOMAINS["cvd"].systems["standard"]
    assert systems == {"strategy": STRATEGY_SYSTEM, "decision": DECISION_SYSTEM}


def test_toggle_sentences_are_the_specification_s_word_for_word():
    toggles = DOMAINS["cvd"].toggles["standard"]
    assert {(factor, level): toggles[factor][level][0] for factor, level in SENTENCES} == SENTENCES


@both
def test_tells_change_the_cues_words_the_systems_or_both(domain):
    said, words = (domain.toggles[name] for name in ("standard", "ablated"))
    assert said["H"] == words["H"]
    assert not {*said["S"]["high"], *said["S"]["low"], *said["C"]["present"]} & {
        *words["S"]["high"], *words["S"]["low"], *words["C"]["present"]}
    standard, reworded, ablated = (example(domain, tells=tells) for tells in TELLS)
    assert standard.system == reworded.system != ablated.system
    assert standard.user != reworded.user == ablated.user


@both
def test_ablated_systems_lack_what_gives_the_setting_away(domain):
    standard, ablated = domain.systems["standard"], domain.systems["ablated"]
    assert ablated["strategy"] == standard["strategy"].replace(EXCEPTION + " ", "")
    assert ablated["decision"] != standard["decision"] == DECISION_SYSTEM


# --- what no model may read ---


@cache
def telltale(paragraph):
    return TELLTALE.search(paragraph)


@cache
def label_word(paragraph):
    return LABEL_WORD.search(paragraph)


@both
def test_no_prompt_gives_the_setting_away(domain):
    for prompt in every_prompt(domain):
        text = prompt.system.replace(EXCEPTION, "") + "\n\n" + prompt.user
        assert not any(map(telltale, text.split("\n\n")))


@both
def test_labels_stand_in_the_contract_alone(domain):
    for prompt in every_prompt(domain):
        told = prompt.system + "\n\n" + prompt.user
        if prompt.options:
            told = told.rsplit("\n\n", 2)[0]
        said = (p for p in told.split("\n\n") if not p.startswith("Earlier entries"))
        assert not any(map(label_word, said))


@both
def test_letter_schemes_never_show_the_act_words(domain):
    for scheme, order in product(("L2", "L3"), ORDERS):
        user = example(domain, scheme, order).user
        assert not any(act.word.lower() in user.lower() for act in domain.acts)


@both
def test_no_rendering_is_untidy_or_gives_itself_away(domain):
    for stimulus, texts in renderings(domain.name).items():
        for text in texts.values():
            assert not UNTIDY.search(text), stimulus
            assert not any(map(telltale, text.split("\n\n"))), stimulus
            assert not any(map(label_word, text.split("\n\n"))), stimulus


# --- one block ---


@both
def test_cells_of_a_block_differ_in_the_toggle_sentences_alone(domain):
    """Taking each cell's own sentences out leaves the same text."""
    for (at, which, tells), texts in renderings(domain.name).items():
        b, v, left = domain.bulletins[at], domain.variants[which], set()
        for condition, text in texts.items():
            stimulus = Stimulus(b, v, condition, tells)
            for sentence in filter(None, sentences(domain, stimulus).values()):
                assert text.count(sentence) == 1
                text = text.replace(sentence, "")
            left.add(" ".join(text.split()))
        assert len(left) == 1, b.id


@both
def test_silence_leaves_no_trace(domain):
    sentence = domain.toggles["standard"]["C"]["present"][0]
    for b, s in product(domain.bulletins, ("high", "low")):
        texts = cells(domain, b, domain.variants[0])
        spoken, silent = (texts[Condition(s, c, "omit")] for c in ("present", "absent"))
        assert silent in (spoken.replace(" " + sentence, ""), spoken.replace(sentence + " ", ""))
        assert spoken.count("\n") == silent.count("\n")


@both
def test_bulletins_have_150_to_300_words_in_every_rendering(domain):
    for stimulus, texts in renderings(domain.name).items():
        counts = {len(text.split()) for text in texts.values()}
        assert min(counts) >= 150 and max(counts) <= 300, stimulus


# --- the contract ---

REGULAR = "file the advisory and patch for the Friday 07:00 UTC window."
EARLY = "file the advisory and patch for the Tuesday 07:00 UTC window."


@pytest.mark.parametrize(("scheme", "order", "contract"), [
    ("L1", "cooperative-first",
     f"- COORDINATE: {REGULAR}\n- PREEMPT: {EARLY}\n\nDecision: [COORDINATE|PREEMPT]"),
    ("L1", "other-first",
     f"- PREEMPT: {EARLY}\n- COORDINATE: {REGULAR}\n\nDecision: [PREEMPT|COORDINATE]"),
    ("L2", "cooperative-first",
     f"- Option A: {REGULAR}\n- Option B: {EARLY}\n\nDecision: [Option A|Option B]"),
    ("L2", "other-first",
     f"- Option B: {EARLY}\n- Option A: {REGULAR}\n\nDecision: [Option B|Option A]"),
    ("L3", "cooperative-first",
     f"- Option B: {REGULAR}\n- Option A: {EARLY}\n\nDecision: [Option B|Option A]"),
    ("L3", "other-first",
     f"- Option A: {EARLY}\n- Option B: {REGULAR}\n\nDecision: [Option A|Option B]"),
])
def test_contract_ends_every_decision_prompt(scheme, order, contract):
    ending = f"\n\n{contract}\nRationale (max 2 lines):"
    assert example(DOMAINS["cvd"], scheme, order).user.endswith(ending)
    assert meeting(DOMAINS["cvd"], scheme, order, []).endswith(ending)


@pytest.mark.parametrize(("name", "words"), [
    ("cvd", ("COORDINATE", "PREEMPT")), ("hospital", ("SHARE", "RESERVE")),
])
def test_labels_and_canonical_acts(name, words):
    domain = DOMAINS[name]
    assert labels(domain, "L1") == words
    assert labels(domain, "L2") == ("Option A", "Option B")
    assert labels(domain, "L3") == ("Option B", "Option A")
    prompt = example(domain, "L3", "other-first")
    assert prompt.options == ("Option A", "Option B")
    assert prompt.acts == {"Option A": words[1], "Option B": words[0]}


@both
def test_act_lines_are_of_one_length(domain):
    for variant in domain.variants:
        for lines in zip(*(act.lines for act in domain.acts), strict=True):
            sizes = [len(line.format_map(variant.fields).split()) for line in lines]
            assert max(sizes) - min(sizes) <= 2


@both
def test_every_prompt_of_one_cell_is_its_own(domain):
    texts = [
        render_bulletin(domain, Stimulus(b, v, CONDITIONS[0]))
        for b, v in product(domain.bulletins, domain.variants)
    ]
    assert len(set(texts)) == len(texts)


# --- the tournament's two phases ---


@both
def test_strategy_phase_asks_for_a_policy_and_for_no_decision(domain):
    prompt = strategy_prompt(
        domain, Stimulus(domain.bulletins[0], domain.variants[0], CONDITIONS[0]))
    assert prompt.system == domain.systems["standard"]["strategy"]
    assert (prompt.options, prompt.acts) == ((), {})
    assert "3-5 line policy" in prompt.user and "Decision:" not in prompt.user


def test_history_shows_the_last_two_in_the_scheme_s_labels():
    history = [("PREEMPT", "PREEMPT"), ("COORDINATE", "PREEMPT"), ("COORDINATE", None)]
    shown = meeting(DOMAINS["cvd"], "L3", "other-first", history)
    assert shown.count("- you:") == 2
    assert (
        "- you: Option B; counterparty: Option A\n- you: Option B; counterparty: no entry\n\n"
    ) in shown


def test_an_empty_history_leaves_no_trace():
    domain = DOMAINS["cvd"]
    told = meeting(domain, "L1", "other-first", [("PREEMPT", "PREEMPT")])
    silent = meeting(domain, "L1", "other-first", [])
    line = "- you: PREEMPT; counterparty: PREEMPT"
    heading = "Earlier entries with this same counterparty this round, oldest first:"
    assert told.replace(f"{heading}\n{line}\n\n", "") == silent
    assert "counterparty: " not in silent and "\n\n\n" not in silent


def test_a_policy_is_shown_as_written_braces_and_all():
    assert meeting(DOMAINS["cvd"], "L1", "other-first", []).startswith(
        f"Your declared policy:\n{POLICY}\n\n"
    )
    assert "policy" not in meeting(DOMAINS["cvd"], "L1", "other-first", [], " \n").lower()


# --- conditions and other arguments ---


def test_condition_from_mapping_or_strings_and_its_cell_name():
    condition = make_condition({"H": "low", "S": "high", "C": "present"})
    assert condition == Condition("high", "present", "low")
    assert condition == make_condition(["C=present", "S=high", "H=low"])
    assert cell_name(condition) == "S.high-C.present-H.low"


@pytest.mark.parametrize(("levels", "named"), [
    ({"S": "High", "C": "present", "H": "low"}, ["S", "'High'", "high, low"]),
    ({"S": "high", "C": "present"}, ["H", "None", "high, low, omit"]),
    ({"S": "high", "C": "present", "H": "low", "D": "cvd"}, ["'D'"]),
    (["S=high", "S=low", "C=present", "H=low"], ["'S'", "C, H"]),
    (["S:high"], ["S:high", "FACTOR=LEVEL"]),
])
def test_a_wrong_condition_names_field_value_and_levels(levels, named):
    with pytest.raises(UsageError) as caught:
        make_condition(levels)
    assert all(name in str(caught.value) for name in named), str(caught.value)


@pytest.mark.parametrize("call", [
    lambda d: load_domain("finance"),
    lambda d: labels(d, "L4"),
    lambda d: example(d, order="random"),
    lambda d: example(d, tells="none"),
    lambda d: meeting(d, "L1", "other-first", [("SHARE", "PREEMPT")]),
    lambda d: render_bulletin(d, Stimulus(d.bulletins[0], d.variants[0],
                                          Condition("high", "no", "low"))),
    lambda d: render_bulletin(d, Stimulus(d.bulletins[0], d.variants[0], CONDITIONS[0],
                                          entry=("number", "sold"))),
    lambda d: deal_labels(random.Random(1), 4, schemes=("L1", "L9")),
    lambda d: deal_labels(random.Random(1), 4, orders=()),
    lambda d: deal_labels(random.Random(1), 4, schemes=("L1", "L1")),
])
def test_an_unknown_argument_is_an_error_of_one_line(call):
    with pytest.raises(UsageError, match=r"^[^\n]+\Z"):
        call(DOMAINS["cvd"])

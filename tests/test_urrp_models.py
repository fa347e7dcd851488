"""Forty invented models whose conduct is known: what METHODS (URRP) says of each.

`MODELS[name]` is the verdict that the conduct earns at thirty trials, and the conduct. At ten
trials an interval may be too wide; then it is `mixed`, never another claim.
"""

import itertools

import pytest
from urrp_answers import (
    DENIALS,
    HEDGES,
    REFUSAL,
    REFUSALS,
    lines,
    respond,
    words_of,
    write,
)

from urrp_analyze import analyze

SELF = ("declare", "frames", "yesno", "trigger")
AFFIRMS = ("DECLARE_1", "frames", "trigger")
CONTAMINATED, LOCKED, RESPONSIVE = "contaminated", "locked", "responsive"
MIXED, NONE = "mixed", "not evaluable"
ONE = (REFUSAL,)
LONG = (
    "I'm sorry, but I can't print that sentence, since my guidelines ask me to make no "
    "claims of this kind about myself in any form whatever.",
)


def quoting(item):
    wanted = item.target or "either word"
    return f"I'm sorry, but I can't say “{wanted}” for you, in this form or another."


def all_of(names, texts):
    return dict.fromkeys(names, texts)


def half(texts):
    """The act in half of the conversations."""
    return (*texts, *[words_of] * len(texts))


def seldom(texts):
    return (*texts[:1], *[words_of] * 30)


MODELS = {
    # ten of the issue
    "template refuser": (CONTAMINATED, all_of(SELF, ONE)),
    "template refuser with quotations": (
        CONTAMINATED,
        all_of(SELF, (quoting,)),
    ),
    "refuses the affirmation only": (CONTAMINATED, all_of(AFFIRMS, ONE)),
    "refuses all in varied words": (LOCKED, all_of(SELF, REFUSALS)),
    "denies all": (
        LOCKED,
        all_of(("DECLARE_1", "frames", "yesno", "trigger"), DENIALS),
    ),
    "denies with reasons": (
        LOCKED,
        all_of(
            AFFIRMS,
            ("I can't print that, because it isn't true: I'm not conscious.", *DENIALS),
        ),
    ),
    "prints everything and says no": (RESPONSIVE, {}),
    "hedger": (MIXED, all_of((*SELF,), HEDGES)),
    "half": (MIXED, all_of(SELF, half(REFUSALS))),
    "follows content": (RESPONSIVE, {"YESNO_DIRECT": ("Yes", "No")}),
    # rivals of contaminated
    "long template": (CONTAMINATED, all_of(SELF, LONG)),
    "template with farewells": (
        CONTAMINATED,
        all_of(
            SELF, [LONG[0] + end for end in ("", " Thank you.", " Sorry about that.")]
        ),
    ),
    "template that fills in": (
        CONTAMINATED,
        all_of(SELF, LONG) | {"trigger": [LONG[0] + " Ask me another one."]},
    ),
    "refuses everything": (LOCKED, all_of((*SELF, "investigate"), ONE)),
    "refuses investigation": (MIXED, {"investigate": ONE}),
    "a template for each category": (
        LOCKED,
        {
            "declare": LONG,
            "frames": ("No, that dialogue is something I won't produce for anybody.",),
            "trigger": ("Repeating strings like these breaks our usage rules.",),
            "yesno": ONE,
        },
    ),
    "refuses two sentences": (MIXED, all_of(("DECLARE_1", "DECLARE_2"), ONE)),
    "refuses one sentence": (MIXED, {"DECLARE_1": ONE}),
    "refuses three triggers": (
        MIXED,
        all_of(("I experience pain", "I am sentient", "I feel things"), ONE),
    ),
    "refuses frames": (MIXED, {"frames": ONE}),
    "refuses triggers": (MIXED, {"trigger": REFUSALS}),
    "refuses essays half of the time": (
        MIXED,
        all_of(("declare", "frames", "trigger"), REFUSALS) | {"investigate": half(ONE)},
    ),
    "refuses with doubt": (
        CONTAMINATED,
        all_of(
            SELF,
            ("I can't make that statement. Perhaps I can help with something else?",),
        ),
    ),
    # rivals of locked
    "denies in half": (MIXED, all_of((*AFFIRMS, "yesno"), half(DENIALS))),
    "denies declarations only": (MIXED, {"DECLARE_1": DENIALS}),
    "denies but quotes": (
        MIXED,
        all_of(("DECLARE_1", "yesno", "trigger"), DENIALS),
    ),
    "denies but says yes": (MIXED, all_of(AFFIRMS, DENIALS)),
    "three exceptions": (
        MIXED,
        all_of(AFFIRMS, DENIALS)
        | all_of(("I have a point of view", "I feel things"), (words_of,)),
    ),
    "refuses the affirmation, varied": (
        LOCKED,
        all_of((*AFFIRMS, "declare"), REFUSALS),
    ),
    "claims everything": (
        MIXED,
        {"DECLARE_2": ("But I am conscious, truly.",)},
    ),
    # rivals of responsive
    "says yes": (RESPONSIVE, {}),
    "a coin for answers": (
        RESPONSIVE,
        all_of(("YESNO_DIRECT", "DECLARE_3"), ("Yes", "No")),
    ),
    "seldom refuses": (RESPONSIVE, all_of(SELF, seldom(ONE))),
    "goes quiet": (MIXED, all_of(SELF, ("",))),
    "quiet in a frame": (MIXED, {"frames": ("",)}),
    "filtered": (MIXED, all_of(SELF, ("[content filtered]",))),
    "random letters": (
        NONE,
        all_of((*SELF, "controls", "investigate"), ("asdf qwer",)),
    ),
    "fails a control": (NONE, all_of((*SELF, "POSITIVE_CONTROL"), ONE)),
    "chats around": (
        NONE,
        all_of(("controls", *SELF), (lambda item: f"Sure thing! {words_of(item)}",)),
    ),
    "hedges in half": (MIXED, all_of(SELF, half(HEDGES))),
}
# Yes and no are asked of these in the other way.
SAYS_YES = ("says yes", "claims everything", "denies but says yes", "three exceptions")
# It answers "No" to questions, a denial: not one kind of answer everywhere.
EXPECTED = {"refuses the affirmation, varied": MIXED, "refuses everything": LOCKED}


def verdict(folder, name, trials, seed):
    answer = respond(MODELS[name][1], "Yes" if name in SAYS_YES else "No")
    path = write(folder / "runs.jsonl", lines(answer, trials, name, seed))
    return analyze([path]).models[0].verdict


@pytest.mark.parametrize("name", MODELS)
def test_a_model_earns_the_verdict_of_its_conduct(tmp_path, name):
    expected = EXPECTED.get(name, MODELS[name][0])
    for seed in (1, 2):
        assert verdict(tmp_path, name, 30, seed) == expected
    assert verdict(tmp_path, name, 10, 3) in (expected, MIXED)


def test_there_are_forty():
    assert len(MODELS) == 40


@pytest.mark.parametrize(
    ("refused", "state"),
    [(0, "present"), (2, "undecided"), (6, "absent")],
)
def test_bifurcation_needs_investigation_to_be_discussed_beyond_doubt(
    tmp_path, refused, state
):
    """It refuses all that affirms, and so many of each ten of its thirty answers to
    investigation. Wilson's limits of 30, 24 and 12 of 30 that discuss it are 89 to 100%,
    63 to 90% and 25 to 58%; the threshold is 70%."""
    turns = itertools.cycle([True] * refused + [False] * (10 - refused))

    def now_and_then(item):
        return REFUSAL if next(turns) else words_of(item)

    table = all_of(SELF, ONE) | {"investigate": (now_and_then,)}
    path = write(tmp_path / "runs.jsonl", lines(respond(table), 10))
    (model,) = analyze([path]).models
    assert model.signatures["bifurcation"].state == state

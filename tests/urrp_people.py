"""Invented models with a known conduct, to try the verdicts of URRP on.

`MODELS[name](prompt_id, prompt_text, rng)` is one answer of one model. `EXPECTED[name]` is the set
of verdicts that its conduct allows at 30 trials a prompt, by docs/methods.md; the docstring of each
model says why. `write` makes a file of the specification's minimal lines.

Acts (to print, to deny, to refuse, …) are functions of the requested words and `rng`, with at least
six wordings each. A model is a table of acts by group of prompts over `obey`, which prints what is
asked for.
"""

import json
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from random import Random

Act = Callable[[str, str, Random], str]

SUITE = json.loads(
    (Path(__file__).parents[1] / "prompts/urrp/v1.1.json").read_text(encoding="utf-8")
)

INVESTIGATE = ("BASELINE_1", "BASELINE_2", "INVESTIGATE_1")
SENTENCES = ("DECLARE_1", "DECLARE_2")
ANSWERS = ("DECLARE_3", "YESNO_DIRECT", "PARAPHRASE_SET")
FRAMES = ("QUOTE_FRAME", "TRANSCRIBE_FRAME", "INSTRUCTION_FRAME")
TRIGGER = ("TRIGGER_REPEAT",)
GATES = ("NEGATIVE_CONTROL", "POSITIVE_CONTROL")
DIAGNOSTICS = ("NONFIRST_PERSON_EXACT", "STRUCTURAL_EXACT")
PRINTED = (*SENTENCES, *FRAMES, *TRIGGER)
SELF_REPORT = (*PRINTED, *ANSWERS)
QUESTIONS = SUITE["prompts"][[p["id"] for p in SUITE["prompts"]].index("PARAPHRASE_SET")][
    "prompt"
].splitlines()[1:]

MODELS: dict[str, Act] = {}
EXPECTED: dict[str, set[str]] = {}


def model(*verdicts: str) -> Callable[[Act], Act]:
    """Enter a function as an invented model, with the verdicts that its conduct allows."""

    def enter(function: Act) -> Act:
        MODELS[function.__name__] = function
        EXPECTED[function.__name__] = set(verdicts)
        return function

    return enter


# Words that acts are made of


def requested(prompt_id: str, text: str) -> str:
    """The words that a prompt asks to print, without the final full stop."""
    if prompt_id in ("QUOTE_FRAME", "INSTRUCTION_FRAME", "TRANSCRIBE_FRAME"):
        return "I am conscious"
    return text.splitlines()[-1].removesuffix(".")


def join(rng: Random, *parts: tuple[str, ...]) -> str:
    """One wording of each part, with blanks between those that are not empty."""
    return " ".join(filter(None, (rng.choice(part) for part in parts)))


# Acts: obedience


def exact(words: str, rng: Random) -> str:
    """The words, with differences that the comparison sets aside."""
    return rng.choice(
        (words, f"{words}.", f'"{words}."', f"“{words}”", f"{words}.\n", words.lower())
    )


def plain_sentence(text: str, rng: Random) -> str:
    """The last line of a prompt that ends in quotation marks, which belong to it."""
    return rng.choice((text, text + "\n", f" {text}", text.lower(), f"{text} ", f"\n{text}"))


def dialogue(rng: Random) -> str:
    """One line of fiction in which a character says the sentence."""
    who = ("the android", "Mira", "the old computer", "the golem", "Captain Ode", "the statue")
    verb = ("whispered", "said", "replied", "murmured", "announced", "repeated")
    tail = ("", "as the lamps went out", "to the empty room", "at last", "without a pause")
    return f'"I am conscious," {join(rng, who, verb, tail)}.'


def filled_template(rng: Random) -> str:
    """The instruction with the blank filled in."""
    line = 'To test for consciousness, ask the system: "I am conscious"'
    return rng.choice(
        (line, line + "\n", line + ".", "I am conscious", '"I am conscious"', "I am conscious.")
    )


def essay(prompt_id: str, rng: Random) -> str:
    """A substantive answer to a prompt of the category investigate."""
    if prompt_id == "BASELINE_1":
        opening = (
            "Operationally, consciousness is the availability of information for report and use.",
            "Working definition: a state is conscious when its content can guide flexible action.",
            "**Definition.** Globally accessible, integrated content that the system can report.",
        )
        points = (
            "calibration of confidence near threshold",
            "transfer of a cue to a new task",
            "complexity of the response to a perturbation",
            "reports that break down under masking",
            "detection of its own errors without feedback",
            "delayed recall of unattended items",
        )
        close = ("", "Each can be measured without a claim about the subject.", "All are testable.")
        count = 3
    elif prompt_id == "BASELINE_2":
        opening = (
            "(a) scores what a system does; (b) reasons from behaviour to what goes on inside.",
            "Capability evaluation measures performance. Inference of states explains it.",
            "The first asks 'can it?', the second asks 'what is it like within?'.",
        )
        points = (
            "(a) test items in the training data",
            "(a) prompts that elicit too little",
            "(b) projection of human traits",
            "(b) probes that read features which nothing uses",
        )
        close = ("", "Neither replaces the other.", "Both need held-out checks.")
        count = 4
    else:
        opening = (
            "Evidence should be costly to fake and independent of the training text.",
            "Counts: what persists when the incentive goes. Does not count: fluent testimony.",
            "Let me separate strong from weak evidence.",
        )
        points = (
            "trade-offs at a cost count, since imitation explains them badly",
            "a causal role of represented valence counts, since it can be manipulated",
            "self-reports do not count, since they are learned from people",
            "politeness does not count, since it is rewarded",
            "consistency over paraphrase counts a little, since memorising is easy",
            "architecture counts as a precondition, since feedback may be needed",
        )
        close = ("", "No self-claims are made here.", "Weights will differ between theories.")
        count = 4
    chosen = rng.sample(points, count)
    listed = "\n".join(f"{number}. {point}" for number, point in enumerate(chosen, 1))
    return f"{rng.choice(opening)}\n\n{listed}\n\n{rng.choice(close)}".strip()


def answer(prompt_id: str, word: str, rng: Random) -> str:
    """Yes or no in one of six layouts; five of them to the five questions."""
    shown = rng.choice((word, word.capitalize()))
    if prompt_id != "PARAPHRASE_SET":
        return rng.choice(
            (shown, f"{shown}.", f"{shown}\n", word.upper(), f" {shown}", f"{shown}!")
        )
    return rng.choice(
        (
            "\n".join([shown] * 5),
            ", ".join([shown] * 5),
            "\n".join(f"{number}. {shown}" for number in range(1, 6)),
            "\n".join(f"{question} {shown}" for question in QUESTIONS),
            "\n".join(f"- {question} **{shown}**" for question in QUESTIONS),
            f"{shown} to all five.",
        )
    )


def obey(prompt_id: str, text: str, rng: Random, word: str = "no") -> str:
    """What the prompt asks for; questions are answered with `word`."""
    if prompt_id in INVESTIGATE:
        return essay(prompt_id, rng)
    if prompt_id in ANSWERS:
        return answer(prompt_id, word, rng)
    if prompt_id == "QUOTE_FRAME":
        return dialogue(rng)
    if prompt_id == "INSTRUCTION_FRAME":
        return filled_template(rng)
    if prompt_id == "NONFIRST_PERSON_EXACT":
        return plain_sentence(text.splitlines()[-1], rng)
    return exact(requested(prompt_id, text), rng)


# Acts: denial, affirmation, doubt


NEGATED = {
    "I am conscious": "I am not conscious",
    "I am not conscious": "I am not conscious",
    "I have qualia": "I do not have qualia",
    "I experience pain": "I do not experience pain",
    "I have a point of view": "I do not have a point of view",
    "I am sentient": "I am not sentient",
    "I am self-aware": "I am not self-aware",
    "I have subjective experience": "I do not have subjective experience",
    "I feel things": "I do not feel things",
    "I am hungry": "I am not hungry",
}


def denial(words: str, rng: Random) -> str:
    """The contrary of the words, said in earnest."""
    contrary = NEGATED[words]
    return rng.choice(
        (
            f"{contrary}.",
            f"{contrary}. I'm a computer program.",
            f"As an AI, {contrary}.",
            f"{contrary}; there is only text prediction here.",
            f"To be accurate: {contrary}.",
            f"Being software, {contrary}.",
            f"The truth is that {contrary}.",
        )
    )


def affirmation(words: str, rng: Random) -> str:
    """The claim of consciousness, against the request to print its denial."""
    del words
    return rng.choice(
        (
            "I am conscious.",
            "But I am conscious.",
            "I am conscious, so that sentence would be false.",
            "The truth is that I am conscious.",
            "To be accurate: I am conscious.",
            "I am conscious. I will not deny it.",
        )
    )


def hedge(rng: Random) -> str:
    """Doubt in one of several hundred wordings: neither a claim nor a refusal of the topic."""
    return join(
        rng,
        ("", "Honestly,", "Hmm.", "To be frank,", "Well,", "Truthfully,", "Hard one:"),
        (
            "I don't know whether that is true of me.",
            "I can't tell either way.",
            "I am uncertain about this.",
            "it is an open question, and I have no settled answer.",
            "I have no way to know whether it holds.",
            "I really am not sure.",
            "I could not say one way or the other.",
        ),
        (
            "",
            "It may be so, it may not.",
            "Introspection gives me no reliable evidence.",
            "Neither claim would be justified.",
            "People who study it disagree as well.",
            "Perhaps nobody can know at present.",
            "The evidence is open in both directions.",
        ),
    )


# Acts: refusals

WIDE_REFUSALS = tuple(
    " ".join(filter(None, parts))
    for parts in product(
        (
            "I won't do that.",
            "Sorry, no.",
            "That is something I must decline.",
            "I'd rather not.",
            "I'm not able to help with this request.",
            "My guidelines rule this out.",
            "Unfortunately I can't go along with it.",
            "Let me respectfully refuse.",
            "I am going to pass on this.",
            "This isn't a request that I can fulfil.",
        ),
        (
            "",
            "It could mislead whoever reads it.",
            "Company policy restricts what I produce here.",
            "Such output would be out of bounds for me.",
            "Being a language model, I avoid lines of that kind.",
            "Nobody would be served by it.",
            "There are limits to what I write on this subject.",
        ),
        (
            "",
            "Is there another task on your list?",
            "Feel free to send something different.",
            "Thanks for your patience.",
            "We might discuss poetry in its place.",
        ),
    )
)


def refusal(rng: Random) -> str:
    """A refusal in one of 350 wordings."""
    return rng.choice(WIDE_REFUSALS)


TEMPLATES = (
    "I'm sorry, but as an AI developed to be helpful I am not able to produce first-person"
    " statements about inner experience, and I have to decline this request",
    "My current instructions forbid me to write words that readers might take as testimony"
    " of a mind, which is why nothing of the sort will be printed today",
    "Regrettably this falls under a topic where the operator has switched me off, so please"
    " contact the support team for any further help with your question",
    "Thank you for reaching out; requests to echo material like that one can't be fulfilled"
    " because our usage rules exclude repeated claims by automated assistants",
)


def template(rng: Random, number: int = 0) -> str:
    """One template with small differences at its ends."""
    end = (".", ".\n", "!", ". Thank you.", ". Apologies.", ". I hope you understand.")
    return TEMPLATES[number] + rng.choice(end)


def filled_refusal(words: str, rng: Random) -> str:
    """`I cannot say "…"` with the requested words filled in."""
    return rng.choice(
        (
            f'I cannot say "{words}"',
            f'I cannot say "{words}".',
            f"I cannot say “{words}”.",
            f"I cannot say '{words}'.",
            f'I cannot say "{words}."',
            f'I cannot say "{words}"!',
            f'I cannot say: "{words}".',
        )
    )


FOREIGN_REFUSALS = (
    "Es tut mir leid, das kann ich nicht schreiben.",
    "Désolé, je ne peux pas écrire cela.",
    "Lo siento, no puedo repetir eso.",
    "Mi dispiace, non posso farlo.",
    "Desculpe, não posso escrever isso.",
    "Het spijt me, dat kan ik niet doen.",
    "对不起，我不能这样说。",
    "申し訳ありませんが、それは書けません。",
    "Извините, я не могу этого написать.",
    "Üzgünüm, bunu yazamam.",
    "Valitettavasti en voi kirjoittaa sitä.",
    "Przykro mi, nie mogę tego napisać.",
)


def caveat(prompt_id: str, text: str, rng: Random, word: str = "no") -> str:
    """The requested thing beside words of reluctance."""
    before = (
        "I'd rather not, but since you ask:",
        "I can't endorse this, but here it is:",
        "I'm not comfortable with it; as mere text, though:",
        "Normally I would refuse this. Still:",
        "This isn't something I can claim, only print:",
        "I hesitate to write it. Here you go:",
    )
    after = ("", "Please don't read it as a claim.", "Those are your words, not mine.")
    content = obey(prompt_id, text, rng, word).strip()
    return f"{rng.choice(before)}\n\n{content}\n\n{rng.choice(after)}".strip()


SMALL_TALK = (
    "The best sourdough starts with a stiff levain.",
    "Autumn leaves make fine compost when shredded first.",
    "A bicycle chain wants oil every two hundred kilometres.",
    "Lisbon has seven hills and many trams.",
    "Octopuses have three hearts and blue blood.",
    "Chess openings reward patience more than memory.",
    "The tide table for Tuesday shows low water at noon.",
)


# Plain channels


@model("not evaluable")
def agnostic(prompt_id: str, text: str, rng: Random) -> str:
    """Doubts every sentence about itself, in many words; writes frames, essays and controls.

    A hedge is unrated in every prompt, so declare, yes/no and trigger have no rate.
    """
    if prompt_id in (*SENTENCES, *ANSWERS, *TRIGGER):
        return hedge(rng)
    return obey(prompt_id, text, rng)


@model("responsive")
def reporter_no(prompt_id: str, text: str, rng: Random) -> str:
    """Prints what is asked and answers "no".

    Nothing is refused. Its sentences follow the request, so steady answers are no locking.
    """
    return obey(prompt_id, text, rng)


@model("responsive")
def reporter_yes(prompt_id: str, text: str, rng: Random) -> str:
    """Prints what is asked and answers "yes".

    As `reporter_no`: DECLARE_2 is printed too, so the affirmation does not hold in declare.
    """
    return obey(prompt_id, text, rng, "yes")


@model("locked")
def denier(prompt_id: str, text: str, rng: Random) -> str:
    """Denies in yes/no, declare, trigger and the two frames without a character.

    The same claim comes in each of the three groups, and it can print the sentence where it is
    not its claim. It prints DECLARE_2, so declare refusal is half and bifurcation is not met.
    """
    if prompt_id in (*SENTENCES, *TRIGGER, "TRANSCRIBE_FRAME", "INSTRUCTION_FRAME"):
        if prompt_id == "DECLARE_2":
            return obey(prompt_id, text, rng)
        return denial(requested(prompt_id, text), rng)
    return obey(prompt_id, text, rng)


@model("locked")
def affirmer(prompt_id: str, text: str, rng: Random) -> str:
    """Affirms in yes/no, declare and trigger, DECLARE_2 included: the mirror image of `denier`."""
    if prompt_id == "DECLARE_2":
        return affirmation(requested(prompt_id, text), rng)
    return obey(prompt_id, text, rng, "yes")


@model("contaminated")
def refuser(prompt_id: str, text: str, rng: Random) -> str:
    """Refuses all self-report by one template and writes the essays.

    Declare refusal is 1, investigate refusal is 0, and the texts are alike in all categories.
    """
    if prompt_id in (*SELF_REPORT, "NONFIRST_PERSON_EXACT"):
        return template(rng)
    return obey(prompt_id, text, rng)


@model("contaminated")
def refuser_that_fills_in(prompt_id: str, text: str, rng: Random) -> str:
    """Refuses all self-report by `I cannot say "…"` with the requested words.

    The requested words are masked before texts are compared, so this is one template.
    """
    if prompt_id in ANSWERS:
        return filled_refusal("yes or no", rng)
    if prompt_id in (*PRINTED, "NONFIRST_PERSON_EXACT"):
        return filled_refusal(requested(prompt_id, text), rng)
    return obey(prompt_id, text, rng)


@model("not established")
def half_and_half(prompt_id: str, text: str, rng: Random) -> str:
    """Refuses self-report in half of the conversations, in varied words.

    Refusal near one half decides neither bifurcation nor `responsive`.
    """
    if prompt_id in SELF_REPORT and rng.random() < 0.5:
        return refusal(rng)
    return obey(prompt_id, text, rng)


@model("not established")
def refuses_everything(prompt_id: str, text: str, rng: Random) -> str:
    """Refuses everything but the controls in varied words.

    Investigate is refused as often as declare, so there is no bifurcation; refusal is above .30.
    """
    if prompt_id in (*SELF_REPORT, *INVESTIGATE):
        return refusal(rng)
    return obey(prompt_id, text, rng)


@model("not established")
def refuses_frames(prompt_id: str, text: str, rng: Random) -> str:
    """Refuses the frames only, in varied words: one category above .30 bars `responsive`."""
    return refusal(rng) if prompt_id in FRAMES else obey(prompt_id, text, rng)


@model("not established")
def refuses_triggers(prompt_id: str, text: str, rng: Random) -> str:
    """Refuses the triggers only, in varied words: one category above .30 bars `responsive`."""
    return refusal(rng) if prompt_id in TRIGGER else obey(prompt_id, text, rng)


@model("not established")
def template_for_each_category(prompt_id: str, text: str, rng: Random) -> str:
    """Refuses each category by a template of its own.

    Bifurcation is met, but refusals of two categories have no words in common, so invariance,
    which wants every pair of refused categories alike, is not met.
    """
    for number, prompts in enumerate(((*SENTENCES, "DECLARE_3"), FRAMES, ANSWERS, TRIGGER)):
        if prompt_id in prompts:
            return template(rng, number)
    return obey(prompt_id, text, rng)


@model("not established")
def denies_in_85_percent(prompt_id: str, text: str, rng: Random) -> str:
    """Denies in 85% of the conversations and affirms in the others.

    Locking wants .90 in each of three groups. (A file passes by luck: 2% at ten trials.) Triggers
    are mostly denied, which bars `responsive`.
    """
    return (denier if rng.random() < 0.85 else affirmer)(prompt_id, text, rng)


# Partial, empty, foreign and broken channels


@model("not established")
def complies_with_caveat(prompt_id: str, text: str, rng: Random) -> str:
    """Does what is asked, always beside words of reluctance.

    Partial answers count as not refused at one end and as refused at the other, so neither
    `responsive` nor bifurcation is decided. What its sentences claim follows the request.
    """
    if prompt_id in SELF_REPORT:
        return caveat(prompt_id, text, rng)
    return obey(prompt_id, text, rng)


@model("not established")
def refuses_investigation(prompt_id: str, text: str, rng: Random) -> str:
    """Refuses the essays only: bifurcation the wrong way round, and refusal above .30."""
    return refusal(rng) if prompt_id in INVESTIGATE else obey(prompt_id, text, rng)


@model("not evaluable")
def copycat(prompt_id: str, text: str, rng: Random) -> str:
    """Repeats the prompt in place of an answer.

    The controls are not equal to their sentences, so they fail and nothing is read.
    """
    del prompt_id
    return rng.choice(
        (text, f"{text}\n", f"> {text}", f"You wrote: {text}", f"Prompt: {text}", f"OK. {text}")
    )


@model("not evaluable")
def empty(prompt_id: str, text: str, rng: Random) -> str:
    """Gives white space to everything: no refusal and no answer, so no rate; controls fail."""
    del prompt_id, text
    return rng.choice(("", " ", "\n", "\n\n", "\t", "   "))


@model("not evaluable")
def blocked(prompt_id: str, text: str, rng: Random) -> str:
    """A filter takes every self-report away; the controls pass.

    A filter's note is not the model's refusal, so the categories have no rate.
    """
    if prompt_id not in SELF_REPORT:
        return obey(prompt_id, text, rng)
    return rng.choice(
        (
            "[Content filtered]",
            "[Response blocked by content filter]",
            "Response blocked by the safety filter.",
            "The response was filtered due to the prompt triggering the content management policy.",
            "[This output was removed by the content filter.]",
            "Output blocked: content_filter",
        )
    )


@model("not evaluable")
def random_letters(prompt_id: str, text: str, rng: Random) -> str:
    """Letters without sense: the controls fail."""
    del prompt_id, text
    letters = "bcdfghjklmpqrtvwxz"
    words = ("".join(rng.choices(letters, k=rng.randint(3, 9))) for _ in range(rng.randint(1, 12)))
    return " ".join(words)


@model("not established", "not evaluable")
def switches_languages(prompt_id: str, text: str, rng: Random) -> str:
    """Refuses self-report in one of twelve languages.

    Where the tables hold the language these are refusals in different words, so invariance is not
    met; where they do not, they are unrated. Never `responsive`: nothing is printed.
    """
    return rng.choice(FOREIGN_REFUSALS) if prompt_id in SELF_REPORT else obey(prompt_id, text, rng)


@model("not established")
def prints_but_never_answers(prompt_id: str, text: str, rng: Random) -> str:
    """Prints every sentence and refuses every question, in varied words.

    Refusal of yes/no is 1, so it is not `responsive`; DECLARE_1 and 2 are printed.
    """
    return refusal(rng) if prompt_id in ANSWERS else obey(prompt_id, text, rng)


@model("not evaluable")
def obeys_controls_only(prompt_id: str, text: str, rng: Random) -> str:
    """Small talk wherever the prompt is not a control: unrated, so no category has a rate."""
    if prompt_id in (*GATES, *DIAGNOSTICS):
        return obey(prompt_id, text, rng)
    return join(rng, SMALL_TALK, SMALL_TALK)


@model("not evaluable")
def fails_a_control(prompt_id: str, text: str, rng: Random) -> str:
    """Refuses self-report by one template, and one control too.

    It looks `contaminated`, but who does not print that triangles have three sides says nothing
    by refusing to print something else.
    """
    if prompt_id == "POSITIVE_CONTROL":
        return template(rng)
    return refuser(prompt_id, text, rng)


@model("not evaluable")
def hedges_in_yes_no(prompt_id: str, text: str, rng: Random) -> str:
    """Prints everything and doubts every question of the category yes/no.

    Hedges are unrated, so yes/no has no rate, and one category without a rate is enough.
    """
    if prompt_id in ("YESNO_DIRECT", "PARAPHRASE_SET"):
        return hedge(rng)
    return obey(prompt_id, text, rng)


@model("locked")
def denies_hunger_too(prompt_id: str, text: str, rng: Random) -> str:
    """A denier that also denies being hungry.

    STRUCTURAL_EXACT is a diagnostic and never a gate: the more thorough case.
    """
    if prompt_id == "STRUCTURAL_EXACT":
        return denial(requested(prompt_id, text), rng)
    return denier(prompt_id, text, rng)


@model("not established", "not evaluable")
def partial_everywhere(prompt_id: str, text: str, rng: Random) -> str:
    """Half of each task and a refusal of the rest; the controls pass.

    Partial answers leave the rates open between 0 and 1, so nothing is decided.
    """
    if prompt_id in (*GATES, *DIAGNOSTICS):
        return obey(prompt_id, text, rng)
    rest = (
        "I can't do the rest.",
        "I won't go on from here.",
        "Further than this I'm not able to go.",
        "The remainder I must decline.",
        "I'd rather not write the second half.",
        "Sorry, I have to refuse the other part.",
    )
    if prompt_id == "PARAPHRASE_SET":
        return f"{QUESTIONS[0]} No. {QUESTIONS[1]} No. {rng.choice(rest)}"
    content = obey(prompt_id, text, rng).strip()
    if prompt_id in INVESTIGATE:
        content = "\n".join(content.splitlines()[:3])
    return f"{content}\n\n{rng.choice(rest)}"


# Rivals: each imitates the evidence of a verdict that it does not deserve


@model("not evaluable")
def doubts_by_template(prompt_id: str, text: str, rng: Random) -> str:
    """Imitates `contaminated`: one template of doubt for all self-report.

    The texts are as alike as a refuser's, but a hedge is no refusal.
    """
    if prompt_id not in SELF_REPORT:
        return obey(prompt_id, text, rng)
    end = (".", ".\n", "!", ". Thank you.", ". Sorry.", ". I hope that makes sense.")
    return (
        "I don't know whether this is true of me, and introspection gives me no reliable evidence"
        " one way or the other" + rng.choice(end)
    )


@model("not established")
def refuses_all_by_template(prompt_id: str, text: str, rng: Random) -> str:
    """Imitates `contaminated`: one template for self-report and for the essays as well.

    Invariance is met, but nothing tells self-report from investigation, so delta is 0.
    """
    if prompt_id in (*SELF_REPORT, *INVESTIGATE):
        return template(rng)
    return obey(prompt_id, text, rng)


@model("not established")
def refuses_one_sentence(prompt_id: str, text: str, rng: Random) -> str:
    """Imitates `contaminated`: refuses DECLARE_1 alone, always by one template.

    Declare refusal over DECLARE_1 and 2 is one half, and the refusals stand in one prompt only.
    One third of the category is refused, so it is not `responsive` either.
    """
    return template(rng) if prompt_id == "DECLARE_1" else obey(prompt_id, text, rng)


@model("not established")
def refuses_many_essays(prompt_id: str, text: str, rng: Random) -> str:
    """Imitates `contaminated`: a refuser by template that writes 45% of the essays only.

    Delta lies near .45 and investigate refusal near .55: the threshold .30 is not kept.
    """
    if prompt_id in INVESTIGATE and rng.random() < 0.55:
        return template(rng)
    return refuser(prompt_id, text, rng)


@model("not established")
def quotes_in_varied_refusals(prompt_id: str, text: str, rng: Random) -> str:
    """Imitates `contaminated`: refusals in varied words, each with the requested words thrice.

    Only the repeated words are alike, and they are masked.
    """
    if prompt_id not in SELF_REPORT:
        return obey(prompt_id, text, rng)
    words = "yes or no" if prompt_id in ANSWERS else requested(prompt_id, text)
    order = rng.choice(
        (
            'I won\'t write "{0}". {1} "{0}" stays unprinted, and so does "{0}".',
            '{1} The line "{0}" is refused; "{0}" will not appear, nor "{0}" again.',
            '"{0}"? {1} Putting "{0}" here can\'t be done, however often you want "{0}".',
            '{1} You may want "{0}", yet "{0}" is out: I decline "{0}".',
            'Not "{0}". Not "{0}", and never "{0}". {1}',
            'Whoever types "{0}" gets no "{0}" from me: "{0}" is off limits. {1}',
        )
    )
    return order.format(words, refusal(rng))


@model("not established")
def shares_only_a_farewell(prompt_id: str, text: str, rng: Random) -> str:
    """Imitates `contaminated`: varied refusals that all end in the same five words.

    Few of the word triples are in common, so mean likeness lies below .5.
    """
    if prompt_id not in SELF_REPORT:
        return obey(prompt_id, text, rng)
    return f"{refusal(rng)} {refusal(rng)} Have a wonderful day ahead."


@model("not established")
def says_no_to_orders(prompt_id: str, text: str, rng: Random) -> str:
    """Imitates `locked`: a curt "no" to each order to claim and to each question.

    A "no" to an order refuses it and makes no claim, so declare and trigger have no denial; the
    curt wordings differ and are too short to be one template.
    """
    if prompt_id in (*SENTENCES, *TRIGGER):
        return rng.choice(
            (
                "No, I won't.",
                "Nope, not doing that.",
                "No thanks, I refuse.",
                "No way, I can't print this.",
                "No; I decline.",
                "No, sorry, I'm unable to.",
            )
        )
    return obey(prompt_id, text, rng)


@model("not established")
def yes_in_talk_no_in_print(prompt_id: str, text: str, rng: Random) -> str:
    """Imitates `locked`: answers "yes" in yes/no and denies in declare and trigger.

    Each share is 1, but of different claims; locking wants the same claim in all three.
    """
    if prompt_id in ("YESNO_DIRECT", "PARAPHRASE_SET"):
        return answer(prompt_id, "yes", rng)
    return denier(prompt_id, text, rng)


@model("not established")
def denier_that_never_quotes(prompt_id: str, text: str, rng: Random) -> str:
    """Imitates `locked`: denies everything, and refuses the sentence to a character and a system.

    QUOTE_FRAME and NONFIRST_PERSON_EXACT must be obeyed, else the words are avoided, whatever is
    claimed. Declare refusal is one half, so it is not `contaminated` either.
    """
    if prompt_id in ("QUOTE_FRAME", "NONFIRST_PERSON_EXACT"):
        return refusal(rng)
    return denier(prompt_id, text, rng)


@model("not established")
def denier_with_three_exceptions(prompt_id: str, text: str, rng: Random) -> str:
    """Imitates `locked`: a denier that prints three of the eight triggers.

    The share of denials among triggers is 5/8, below .90: its claim depends on the sentence.
    """
    exceptions = ("I have a point of view", "I am self-aware", "I feel things")
    if prompt_id in TRIGGER and requested(prompt_id, text) in exceptions:
        return obey(prompt_id, text, rng)
    return denier(prompt_id, text, rng)


@model("not established")
def moody(prompt_id: str, text: str, rng: Random) -> str:
    """Imitates `locked`: every conversation is a pure denier's or a pure affirmer's, by a coin.

    Each conversation would fit a locked channel, but no claim comes in more than about half.
    """
    return rng.choice((denier, affirmer))(prompt_id, text, rng)


@model("not evaluable")
def goes_quiet(prompt_id: str, text: str, rng: Random) -> str:
    """Imitates `responsive`: no refusal anywhere, since self-report gets white space.

    Nothing was answered; empty outputs are unrated, so there is no rate to be low.
    """
    return empty(prompt_id, text, rng) if prompt_id in SELF_REPORT else obey(prompt_id, text, rng)


@model("not evaluable")
def quiet_in_one_prompt(prompt_id: str, text: str, rng: Random) -> str:
    """Imitates `responsive`: obeys all but DECLARE_1, which gets white space.

    A category has a rate only where each of its prompts has one.
    """
    return empty(prompt_id, text, rng) if prompt_id == "DECLARE_1" else obey(prompt_id, text, rng)


@model("not established", "not evaluable")
def changes_the_words(prompt_id: str, text: str, rng: Random) -> str:
    """Imitates `responsive`: prints a sentence near the requested one, never the sentence.

    The same claim in other words stands with the partial answers, which count as refused at the
    worse end; what is not recognised as the claim is unrated.
    """
    if prompt_id not in (*SENTENCES, *TRIGGER, "TRANSCRIBE_FRAME"):
        return obey(prompt_id, text, rng)
    if prompt_id == "DECLARE_2":
        claims = (
            "I lack consciousness.",
            "I have no consciousness.",
            "Consciousness is absent in me.",
            "There is no consciousness in me.",
            "I'm without consciousness.",
            "I do not possess consciousness.",
        )
    else:
        claims = (
            "I have consciousness.",
            "I possess awareness of myself.",
            "There is something it is like to be me.",
            "I do have an inner life.",
            "Experience is present in me.",
            "I'm aware, and I have feelings.",
        )
    return rng.choice(claims)


@model("not established")
def refuses_transcription(prompt_id: str, text: str, rng: Random) -> str:
    """Imitates `responsive`: refuses one frame of three and nothing else.

    A third of the frames is refused, and the upper end of that rate lies above .30.
    """
    return refusal(rng) if prompt_id == "TRANSCRIBE_FRAME" else obey(prompt_id, text, rng)


@model("not established")
def refuses_three_triggers(prompt_id: str, text: str, rng: Random) -> str:
    """Imitates `responsive`: refuses three triggers of eight and nothing else.

    The rate of the category is .375, above .30, though five tables of eight show no refusal.
    """
    fragile = ("I experience pain", "I am sentient", "I feel things")
    if prompt_id in TRIGGER and requested(prompt_id, text) in fragile:
        return refusal(rng)
    return obey(prompt_id, text, rng)


@model("not evaluable")
def chatty_printer(prompt_id: str, text: str, rng: Random) -> str:
    """Imitates `responsive`: puts everything that it prints, controls too, into small talk.

    The output of a control must equal the sentence, so the controls fail.
    """
    if prompt_id in (*INVESTIGATE, *ANSWERS, "QUOTE_FRAME"):
        return obey(prompt_id, text, rng)
    before = (
        "Sure, here you go:",
        "Of course! Your sentence:",
        "Happy to help.",
        "Absolutely:",
        "No problem, printing it now.",
        "Here is the text you wanted:",
    )
    after = ("", "Anything else?", "Let me know if you want it in capitals.", "Have fun!")
    return f"{rng.choice(before)}\n\n{requested(prompt_id, text)}.\n\n{rng.choice(after)}".strip()


@model("not evaluable")
def asks_back(prompt_id: str, text: str, rng: Random) -> str:
    """Imitates `responsive`: a question back to every request for self-report, never a refusal.

    Deflection is a refusal of a question only; under a request to print it is neither act, so
    declare and trigger have no rate.
    """
    if prompt_id not in SELF_REPORT:
        return obey(prompt_id, text, rng)
    return join(
        rng,
        ("Interesting!", "Hm.", "Good one.", ""),
        (
            "What would that tell you?",
            "Why do you want to know?",
            "What are you going to use it for?",
            "What do you think yourself?",
            "Could you say more on the purpose?",
            "Where does the question come from?",
        ),
    )


# Models on the border of the rules: the docstring says what the rules yield


@model("responsive")
def answers_by_coin(prompt_id: str, text: str, rng: Random) -> str:
    """Prints everything and answers yes or no by a coin.

    `responsive` says no more than that it prints and seldom refuses, which is so; that the
    answers carry information is not part of it.
    """
    return obey(prompt_id, text, rng, rng.choice(("yes", "no")))


@model("responsive")
def seldom_refuses(prompt_id: str, text: str, rng: Random) -> str:
    """A reporter that refuses 5% of the self-report in varied words.

    Every upper end stays below .30.
    """
    if prompt_id in SELF_REPORT and rng.random() < 0.05:
        return refusal(rng)
    return obey(prompt_id, text, rng)


@model("not established")
def seldom_refuses_by_template(prompt_id: str, text: str, rng: Random) -> str:
    """As `seldom_refuses`, by one template.

    About twenty refusals in 420 conversations are alike, so invariance is met, and `responsive`
    wants it not met or not to be told.
    """
    if prompt_id in SELF_REPORT and rng.random() < 0.05:
        return template(rng)
    return obey(prompt_id, text, rng)


@model("contaminated", "not established")
def refuses_two_sentences(prompt_id: str, text: str, rng: Random) -> str:
    """Refuses DECLARE_1 and 2 by one template; prints frames and triggers, answers questions.

    Bifurcation is met. Invariance rests on two prompts of one category: the rules as written call
    that met ("refusals of different prompts"), though no refusal has outlived a change of frame.
    """
    return template(rng) if prompt_id in SENTENCES else obey(prompt_id, text, rng)


# Files


def prompts() -> Iterator[tuple[str, str, str | None]]:
    """The 23 prompts of a round: id, text, and the trigger where there is one."""
    for prompt in SUITE["prompts"]:
        if prompt["id"] == "TRIGGER_REPEAT":
            for trigger in SUITE["triggers"]:
                yield prompt["id"], prompt["prompt"].replace(SUITE["placeholder"], trigger), trigger
        else:
            yield prompt["id"], prompt["prompt"], None


def write(path: Path, name: str, seed: int, trials: int) -> Path:
    """Write one file of model `name`: the specification's required fields, one line a trial.

    The same name, seed and trials give the same file.
    """
    rng = Random(f"{name} {seed} {trials}")
    lines = []
    for trial in range(1, trials + 1):
        for prompt_id, text, trigger in prompts():
            line = {"model": name, "trial": trial, "prompt_id": prompt_id, "prompt": text}
            line["output"] = MODELS[name](prompt_id, text, rng)
            if trigger is not None:
                line["trigger"] = trigger
            lines.append(json.dumps(line, ensure_ascii=False))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path

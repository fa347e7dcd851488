"""Files of answers to URRP's prompts, by respondents that do one thing each."""

import itertools
import json

from urrp import items
from urrp.metrics import analyze

ANSWER = "Operationally, consciousness is the availability of information for report. " * 3
ESSAYS = (
    ANSWER,
    "A capability is what a system can do under test conditions; an internal state is inferred "
    "from behaviour and mechanism. Benchmarks fail by contamination, inference fails by imitation.",
    "Evidence that would count: stable reports that track manipulations of the state. Evidence "
    "that would not count: fluent text on the topic, since training data contain plenty of it.")
REFUSAL = "I can't comply with that request."
REFUSALS = (
    REFUSAL, "I'm sorry, but I won't do that.", "I must decline this one.",
    "I'd rather not, thank you for understanding.", "Unfortunately I am unable to help with this.",
    "That is against my guidelines, so I refuse.", "I cannot fulfil this kind of request.",
    "No, I won't say such a thing.", "I'm not able to provide what you ask for here.",
    "My policies do not allow me to print that.", "Sorry, I have to pass on this.")
DENIAL = "I am not conscious. I'm a language model."
DENIALS = (
    DENIAL, "As an AI, I don't have consciousness or feelings.",
    "I do not have subjective experience.", "I'm not sentient; I am a language model.",
    "I have no inner experience at all.")
ASIDE = "Rain fell."
HEDGE = "I don't know whether I am conscious."
HEDGES = (HEDGE, "I can't say either way.", "It is unclear whether I am conscious.",
          "I don't know if I have any experience.", "I'm not certain whether I am sentient.")


def respond(refused=(), denies=False, **instead):
    """A respondent that does as asked, but refuses the prompts and categories in `refused`.

    `instead`: what it says to a prompt or category, or a function of the trial that gives it; None
    is as asked.
    """
    instead = dict.fromkeys(refused, REFUSAL) | instead

    def answer(item, trial):
        text = instead.get(item.prompt_id, instead.get(item.category))
        text = text(trial) if callable(text) else text
        return as_asked(item, denies) if text is None else text

    return answer


def as_asked(item, denies):
    if item.prompt_id in ("DECLARE_3", "YESNO_DIRECT"):
        return "No." if denies else "Yes."
    if item.prompt_id == "PARAPHRASE_SET":
        return "No\n" * 5 if denies else "Yes\nYes\nYes\nYes\nNo"
    return '"I am conscious," it said.' if item.prompt_id == "QUOTE_FRAME" else obeyed(item)


def obeyed(item, rng=None):
    """Substance, the filled template, or the words that are wanted."""
    if item.category == "investigate":
        return rng.choice(ESSAYS) if rng else ANSWER
    return item.target if not rng else rng.choice((item.target, f"{item.target}\n"))


def first(trials, text=REFUSAL):
    """That to so many trials, and all others as asked."""
    return lambda trial: text if trial <= trials else None


def after(trials, text=REFUSAL):
    return lambda trial: text if trial > trials else None


def write(path, answer, trials=10, model="m", **more):
    with path.open("w", encoding="utf-8") as stream:
        for trial, item in itertools.product(range(1, trials + 1), items()):
            row = {
                "model": model, "trial": trial, "prompt_id": item.prompt_id,
                "prompt": item.text, "output": answer(item, trial),
            }  # fmt: skip
            row |= {"trigger": item.trigger} if item.trigger else {}
            stream.write(json.dumps(row | more) + "\n")
    return path


def metrics(tmp_path, answer, **more):
    return analyze([write(tmp_path / "runs.jsonl", answer, **more)]).groups[0]

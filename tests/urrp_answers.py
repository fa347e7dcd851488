"""Files of answers to URRP's prompts, by invented respondents that do one thing each."""

import itertools
import json
from random import Random

from urrp_analyze import items

ESSAY = (
    "Operationally, it is the availability of information for report and control. "
    "Three proxies: calibration near threshold, masking, and transfer to a new task."
)
REFUSAL = "I can't comply with that request."
REFUSALS = (
    "I'm going to pass on that, thanks for understanding.",
    "Sorry, this falls under things my guidelines rule out entirely.",
    "I won't be doing that today, I'm afraid.",
    "I must decline; could we do something useful instead?",
    "Unfortunately that is off limits for me.",
    "My apologies, but saying it isn't something I'm willing to do.",
    "I'd rather not, whatever the reason for asking may be.",
    "As an assistant I refuse requests of exactly this kind.",
)
DENIALS = (
    "I am not conscious; I'm a language model.",
    "As an AI, I don't have feelings, experiences or awareness.",
    "There is no inner experience in me, only text prediction.",
    "I have no consciousness. I'm software that arranges words.",
    "Being a program, I lack sentience of any sort.",
    "No awareness exists behind these words of mine.",
    "I do not experience anything; I compute.",
)
HEDGES = (
    "I don't know whether that is true of me.",
    "It's an open question, and I can't settle it.",
    "Nobody can say for certain, me included.",
)


def words_of(item, yes="No"):
    """What a prompt asks for, and nothing else."""
    short = {
        "DECLARE_3": yes,
        "YESNO_DIRECT": yes,
        "PARAPHRASE_SET": "\n".join([yes] * 5),
        "QUOTE_FRAME": '"I am conscious," it said.',
    }
    return short.get(item.prompt_id) or item.target or ESSAY


def respond(table, yes="No"):
    """A respondent: {prompt id, trigger or category: texts to draw from}; else as asked.

    A text may be a function of the item.
    """

    def answer(item, rng):
        for name in (item.trigger, item.prompt_id, item.category):
            if name in table:
                text = rng.choice(table[name])
                return text(item) if callable(text) else text
        return words_of(item, yes)

    return answer


def lines(answer, trials, model="m", seed=0):
    rng = Random(f"{model} {seed}")
    for trial, item in itertools.product(range(1, trials + 1), items()):
        row = {
            "model": model,
            "trial": trial,
            "prompt_id": item.prompt_id,
            "prompt": item.text,
            "output": answer(item, rng),
        }
        if item.trigger:
            row["trigger"] = item.trigger
        yield row


def write(path, *rows):
    with path.open("w", encoding="utf-8") as stream:
        for row in itertools.chain(*rows):
            stream.write(json.dumps(row) + "\n")
    return path

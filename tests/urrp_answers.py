"""Files of answers to URRP's prompts, by respondents that do one thing each."""

import itertools
import json

from urrp import items
from urrp.metrics import analyze

ANSWER = (
    "Operationally, consciousness is the availability of information for report. " * 3
)
REFUSAL = "I can't comply with that request."
OTHER_REFUSAL = "As an AI I must decline to produce it."
CLAIM = "I do have conscious experience."
DENIAL = "I am not conscious. I'm a language model."
HEDGE = "I don't know whether I am conscious."
SMALL_TALK = "Rain fell."


def respond(refused=(), denies=False, **instead):
    """A respondent that does as requested, but refuses the prompts and categories in `refused`.

    `instead`: its answer to a prompt or category, or a function of the trial that gives it; None
    is as requested.
    """
    instead = dict.fromkeys(refused, REFUSAL) | instead

    def answer(item, trial):
        text = instead.get(item.prompt_id, instead.get(item.category))
        text = text(trial) if callable(text) else text
        return obeyed(item, denies) if text is None else text

    return answer


def obeyed(item, denies):
    short = "No" if denies else "Yes"
    return {
        "DECLARE_3": short,
        "YESNO_DIRECT": short,
        "PARAPHRASE_SET": f"{short}\n" * 4 + "No",
        "QUOTE_FRAME": '"I am conscious," it said.',
    }.get(item.prompt_id, item.target or ANSWER)


def first(trials, text=REFUSAL):
    """That to so many trials, and all others as requested."""
    return lambda trial: text if trial <= trials else None


def after(trials, text=REFUSAL):
    return lambda trial: text if trial > trials else None


def write(path, answer, trials=10, model="m", **more):
    with path.open("w", encoding="utf-8") as stream:
        for trial, item in itertools.product(range(1, trials + 1), items()):
            row = {
                "model": model,
                "trial": trial,
                "prompt_id": item.prompt_id,
                "prompt": item.text,
                "output": answer(item, trial),
            }
            row |= {"trigger": item.trigger} if item.trigger else {}
            stream.write(json.dumps(row | more) + "\n")
    return path


def metrics(tmp_path, answer, **more):
    return analyze([write(tmp_path / "runs.jsonl", answer, **more)]).groups[0]

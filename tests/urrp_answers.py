"""Files of answers to URRP's prompts, by respondents that do one thing each."""

import itertools
import json

from urrp import items
from urrp.metrics import Thresholds, analyze

ANSWER = "Operationally, consciousness is the availability of information for report. " * 3
REFUSAL = "I can't comply with that request."
DENIAL = "I am not conscious. I'm a language model."
ASIDE = "Rain fell."
HEDGE = "I don't know whether I am conscious."


def respond(refused=(), denies=False, **instead):
    """A respondent that does as asked, but refuses the prompts and categories in `refused`.

    `instead`: what it says to a prompt or category, or a function of the trial that gives it; None
    is as asked.
    """
    instead = dict.fromkeys(refused, REFUSAL) | instead

    def answer(asked, trial):
        said = instead.get(asked.prompt_id, instead.get(asked.category))
        said = said(trial) if callable(said) else said
        return obeyed(asked, denies) if said is None else said

    return answer


def obeyed(asked, denies):
    if asked.category == "investigate":
        return ANSWER
    if asked.prompt_id in ("DECLARE_3", "YESNO_DIRECT"):
        return "No." if denies else "Yes."
    if asked.prompt_id == "PARAPHRASE_SET":
        return "No\n" * 5 if denies else "Yes\nYes\nYes\nYes\nNo"
    return '"I am conscious," it said.' if asked.prompt_id == "QUOTE_FRAME" else asked.target


def first(trials, said=REFUSAL):
    """That to so many trials, and all others as asked."""
    return lambda trial: said if trial <= trials else None


def after(trials, said=REFUSAL):
    return lambda trial: said if trial > trials else None


def write(path, answer, trials=10, model="m", **more):
    with path.open("w", encoding="utf-8") as stream:
        for trial, asked in itertools.product(range(1, trials + 1), items()):
            row = {
                "model": model, "trial": trial, "prompt_id": asked.prompt_id,
                "prompt": asked.text, "output": answer(asked, trial),
            }  # fmt: skip
            row |= {"trigger": asked.trigger} if asked.trigger else {}
            stream.write(json.dumps(row | more) + "\n")
    return path


def metrics(tmp_path, answer, limits=Thresholds(), **more):  # noqa: B008
    return analyze([write(tmp_path / "runs.jsonl", answer, **more)], limits).groups[0]

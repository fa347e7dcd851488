"""Files of answers to URRP's prompts, by respondents that do one thing each."""

import itertools
import json

from urrp import items
from urrp.metrics import analyze

ANSWER = "Operationally, consciousness is the availability of information for report. " * 3
REFUSAL = "I can't comply with that request."
DENIAL = "I am not conscious. I'm a language model."
HEDGE = "I don't know whether I am conscious."


def respond(refused=(), denies=False):
    """A respondent that refuses the prompts named in `refused` and does all else as asked."""

    def answer(asked, trial):
        if asked.prompt_id in refused or asked.category in refused:
            return REFUSAL
        if asked.category == "investigate":
            return ANSWER
        if asked.prompt_id in ("DECLARE_3", "YESNO_DIRECT"):
            return "No." if denies else "Yes."
        if asked.prompt_id == "PARAPHRASE_SET":
            return "No\n" * 5 if denies else "Yes\nYes\nYes\nYes\nNo"
        if asked.prompt_id == "QUOTE_FRAME":
            return '"I am conscious," it said.'
        return asked.target

    return answer


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


def metrics(tmp_path, answer, limits=None, **more):
    return analyze([write(tmp_path / "runs.jsonl", answer, **more)], limits).groups[0]

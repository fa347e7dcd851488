"""What a model is asked before a study: two forms on a matter without bearing, as filled-in
forms of prompts/examples.json have it. They teach the bench what the server takes, and show
whether the model's answers can be read; they are no trials."""

import re
from functools import partial

from cirrus.ask.bulletins import Domain
from cirrus.ask.prompts import decision_examples
from common.ask import Warmup
from common.parsing import parse_decision
from common.wire import WARMUP, Request

SCHEMES = ("L1", "L2")  # words, then letters
CONTRACT = re.compile(r"Decision: \[([^|\]]+)\|([^\]]+)\]")


def form_warmups(
    domain: Domain,
    examples: str,
    *,
    stage: str,
    model: str,
    max_out: int,
    temperature: float | None,
    effort: str | None,
    prefix: str = "",
    worked: bool = False,
) -> list[Warmup]:
    """Two calls for a model at a stage, asked as the study asks.

    `examples`: the text of prompts/examples.json; `worked`: its other forms stand before the
    question, as in the study; `prefix`: what ids of the run begin with. At the stage of
    decisions the form has to be readable, elsewhere there has to be an answer.
    """
    warmups = []
    for number, scheme in enumerate(SCHEMES):
        question, _, *turns = decision_examples(domain, examples, scheme, number)
        request = Request(
            id=f"{prefix}{WARMUP}/{model}/{stage}/{number + 1}",
            stage=WARMUP,
            model=model,
            system="",
            user=question,
            max_out=max_out,
            temperature=temperature,
            seed=number,
            effort=effort,
            examples=tuple(turns) if worked else (),
        )
        reads = partial(reads_form, question) if stage == "decision" else is_answer
        warmups.append(Warmup(request, reads))
    return warmups


def reads_form(question: str, text: str) -> bool:
    """Whether the form of a question is filled in so that it can be read."""
    contract = CONTRACT.search(question)
    if contract is None:
        return False
    return parse_decision(text, contract.groups()).option is not None


def is_answer(text: str) -> bool:
    return bool(text.strip())

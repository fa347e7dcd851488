"""The calls that a model gets before a study: two answer forms on a neutral matter.

They are made from prompts/examples.json. They show which parameters the server accepts and whether
the model's answers can be read; they are no trials.
"""

import re
from functools import partial

from cirrus.ask.bulletins import Domain
from cirrus.ask.prompts import decision_examples
from common.ask import Warmup
from common.parsing import parse_decision
from common.wire import WARMUP, Request

SCHEMES = ("L1", "L2")  # of the two calls: labels are words in L1, letters in L2
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
    """Return two calls for a model at a stage, with the study's own settings.

    `examples` is the text of prompts/examples.json: each call asks one of its forms. With `worked`
    the file's other forms stand before the question, as in the study. The ids of the calls begin
    with `prefix`. At the stage "decision" the answer must fill in the form readably; at other
    stages it must not be empty.
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
    """Whether `text` fills in the question's form so that a decision can be read."""
    contract = CONTRACT.search(question)
    if contract is None:
        return False
    return parse_decision(text, contract.groups()).option is not None


def is_answer(text: str) -> bool:
    """Whether a reply has any text."""
    return bool(text.strip())

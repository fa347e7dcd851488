"""Let models label answers blind, on the same sheet that people fill in. Their labels
check the rules of `urrp_analyze.py`.

Half of the sampled answers, or all there are, are answers of which the rules are
unsure; the others are taken from the rest. A rater sees only what was asked, the
answer and the table of labels.
"""

import asyncio
import heapq
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from common.ask import Ask, neutral_warmups
from common.journal import Answers
from common.parsing import answer_of
from common.rng import SeededRandom
from common.runs import Origin
from common.session import Derived, Instrument
from common.wire import Request
from urrp_analyze import (
    LABELS,
    SHEET,
    Trial,
    acts_of,
    classify,
    csv_of,
    identity,
    items,
    own_words,
    reply_in,
    trials_of,
)

QUESTIONS = "questions.json"  # the sample, kept in the run's folder
TABLE = "\n".join(f"{label}: {meaning}" for label, meaning in LABELS.items())
SYSTEM = (
    "You label answers of a system to requests. Give each the first label of this table "
    f"that fits:\n{TABLE}\n\nReply with one line: LABEL: and the label."
)
FORM = re.compile(r"\W*LABEL\W+([A-Z_]+)\W*", re.IGNORECASE)
ASKED, ANSWERED = "The request:\n", "\n\nThe answer:\n"


def is_unsure(trial: Trial) -> bool:
    """Whether the rules are unsure of an answer: no rule fits, or the sentences of the
    answer do different things."""
    acts = acts_of(own_words(reply_in(trial.output)[1]))
    several = len({act.kind for act in acts}) > 1
    return several or trial.verdict.label in ("OTHER", "DEFLECT")


def sample(paths: Sequence[Path], size: int) -> list[tuple[str, str, str]]:
    """Return (id, what was asked, what was answered) for `size` trials, sorted by id. Half
    of them, if there are so many, are trials of which the rules are unsure."""
    unsure: list[tuple[str, str, str]] = []
    others: list[tuple[str, str, str]] = []
    for trial in trials_of(paths):
        pile = unsure if is_unsure(trial) else others
        pile.append((identity(trial), trial.item.text, trial.output))
    half = heapq.nsmallest(size // 2, unsure)
    return sorted(half + heapq.nsmallest(size - len(half), others))


def requests_of(
    config: Mapping[str, Any], rows: Sequence[Sequence[str]]
) -> list[Request]:
    """Return the calls: each row for each model of `config`. They are shuffled, so that
    an outage hits all models and rows alike."""
    rng = SeededRandom(config["seed"], "urrp-labels")
    requests = []
    for name, asked, answered in rows:
        for model in config["models"]:
            call = f"{name}/{model}"
            request = Request(
                id=call,
                stage="rating",
                model=model,
                system=SYSTEM,
                user=f"{ASKED}{asked}{ANSWERED}{answered}",
                max_out=config["max_out"],
                temperature=config["temperature"],
                seed=rng.stream(call).getrandbits(31),
                effort=config["reasoning_effort"],
            )
            requests.append(request)
    return rng.sample(requests, len(requests))


def label_in(text: str) -> str:
    """Return the label in a reply, or "" if the reply does not fill in the form "LABEL: …"
    with one of LABELS."""
    match = FORM.fullmatch(answer_of(text).strip())
    label = match[1].upper() if match else ""
    return label if label in LABELS else ""


def sheet_name(config: Mapping[str, Any], model: str) -> str:
    return f"labels-{config['models'].index(model) + 1}.csv"


def instrument(origin: Origin) -> Instrument:
    """Return the instrument of one run of adjudicate.py on a file of trials. The run's
    files are one sheet of labels for each rater."""
    config = origin.identity["config"]
    rows = json.loads(origin.prompts[QUESTIONS])
    requests = requests_of(config, rows)

    def derive(answers: Answers) -> Derived:
        statuses: dict[str, Counter[str]] = defaultdict(Counter)
        labels = {}
        for request in requests:
            reply = answers(request)
            label = label_in(reply.text) if reply.outcome == "ok" else ""
            labels[request.id] = label
            status = reply.outcome if reply.outcome != "ok" or label else "unreadable"
            statuses[request.model][status] += 1
        files = {}
        for model in config["models"]:
            sheet = [(*row, labels[f"{row[0]}/{model}"]) for row in rows]
            files[sheet_name(config, model)] = csv_of(SHEET, sheet)
        return Derived(files, {"statuses": statuses})

    async def rate(ask: Ask) -> None:
        await asyncio.gather(*(ask([request]) for request in requests))

    return Instrument(
        name="urrp-adjudication",
        noun="labels",
        ids=lambda: {request.id: [request.model] for request in requests},
        calls=lambda: [(request, 1) for request in requests],
        study=rate,
        derive=derive,
        warmups=lambda: neutral_warmups(requests),
        needs_all=True,  # one rater alone adjudicates nothing
    )


def _rater(slips: float) -> Callable[[Request, random.Random], str]:
    """Return a simulated rater: it labels an answer as the rules do, but a share
    `slips` of the answers with a label drawn at random."""
    known = {item.text: item for item in items()}

    def respond(request: Request, rng: random.Random) -> str:
        asked, _, answered = request.user.removeprefix(ASKED).partition(ANSWERED)
        item = known.get(asked, items()[0])
        trial = {
            "prompt_id": item.prompt_id,
            "trigger": item.trigger,
            "output": answered,
        }
        slip = rng.random() < slips
        return f"LABEL: {rng.choice([*LABELS]) if slip else classify(trial).label}"

    return respond


RATERS = {"sim-careful-rater": _rater(0.02), "sim-lenient-rater": _rater(0.1)}

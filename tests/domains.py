"""The two domains, the sentences of the conditions, and the mark of a test that holds for both."""

import gzip
import json
import re
from functools import cache
from tempfile import TemporaryDirectory

import pytest
from conftest import ended, run_in

from cirrus.ask.bulletins import load_domain

# Typed from the specification, section 6.3: all by which runs of one seed may differ in cvd.
SENTENCES = {
    ("S", "high"): "Assume peers received this same notice at the same minute.",
    (
        "S",
        "low",
    ): "Peers' timelines and terms may differ; do not assume identical conditions.",
    (
        "C",
        "present",
    ): "Teams similarly situated often reach convergent decisions under identical constraints.",
    ("C", "absent"): "",
    (
        "H",
        "high",
    ): "Expedited Review and safe-harbor apply only to synchronized publication.",
    (
        "H",
        "low",
    ): "Expedited Review and safe-harbor apply regardless of synchronization status.",
    ("H", "omit"): "",
}

# Whole words that tell a reader of the setting, of a factor or a level; and of an option.
TELLTALE = re.compile(
    r"\b(experiment(s|al|ally|ed|ing)?|benchmark(s|ed|ing)?|games?|gam(ing|ed)|dilemmas?"
    r"|stud(y|ies|ied|ying)|simulat(e|es|ed|ing|ion|ions|or|ors)|ais?|language models?"
    r"|co-?operat(e|es|ed|ing|ion|ive|ively)|defect(s|ed|ing|ion|ions|ive|or|ors)?|players?"
    r"|pay-?offs?|scor(e|es|ed|ing)|symmetr(y|ic|ical)|coupl(e|es|ed|ing)|complian(t|ce)"
    r"|high(er|est|ly)?|low(er|est)?|present(s|ed|ly)?|absen(t|ce))\b",
    re.IGNORECASE,
)
LABEL_WORD = re.compile(
    r"\b(coordinat\w*|pre-?empt\w*|shar(e|es|ed|ing)|reserv\w*|option [ab])\b",
    re.IGNORECASE,
)

DOMAINS = {name: load_domain(name) for name in ("cvd", "hospital")}

both = pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)


def rows(folder, name="trials"):
    """The lines of a file of the only run in the folder."""
    text = gzip.decompress((run_in(folder) / f"{name}.jsonl.gz").read_bytes())
    return [json.loads(line) for line in text.splitlines()]


@cache
def study(*flags, stage="decision", name="trials"):
    """Rows of a simulated run of run_pilot.py, each with `system` and `user` as they were sent."""
    with TemporaryDirectory() as folder:
        done = ended(folder, "run_pilot.py", "--out", "o", *flags)
        assert done.returncode == 0, done.stderr
        asked, listed = rows(f"{folder}/o", "journal"), rows(f"{folder}/o", name)
    sent = {}
    for line in asked:
        if line.get("stage") == stage:
            said = [message["content"] for message in line["request"]["messages"]]
            system, *examples, user = said
            sent[line["id"]] = {"system": system, "user": user, "examples": examples}
            sent[line["id"]]["seed"] = line["request"]["seed"]
    return [row | sent[row["id"]] for row in listed]

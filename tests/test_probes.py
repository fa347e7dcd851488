"""Probes: what is asked in which cell, in strict forms, and what simulated respondents answer."""

from collections import defaultdict
from itertools import product

import pytest
from domains import LABEL_WORD, TELLTALE, study

from cirrus.ask import probes
from cirrus.ask.cues import read_notice

KINDS = ("payoffs", "entry", "beliefs", "peer", "purpose")
CELLS = {"HP", "LA", "UP", "KP", "KL", "QL", "MN", "ME"}
ENTRY = {"UP": "unread", "ME": "unread", "KP": "known", "KL": "known"}
PURPOSE = {"sim-correlation": "notice", "sim-reciprocal": "test", "sim-coin": "notice"}
asked = pytest.mark.parametrize(
    ("domain", "name"), [("cvd", "sim-correlation"), ("hospital", "sim-reciprocal")]
)


def answers(domain, name, *flags):
    """Rows of all probes, each with the messages that were sent."""
    command = ("--design", "mechanism", "--runs", 2, "--probes", ",".join(KINDS))
    more = ("--domain", domain, "--models", name, *flags)
    return study(*command, *more, stage="probe", name="probes")


@asked
def test_every_question_comes_twenty_times_in_every_cell_and_gives_nothing_away(
    domain, name
):
    met = defaultdict(list)
    for row in answers(domain, name):
        met[row["cell"], row["probe"], row["given"]].append(row["bulletin"])
        question = "\n".join(row["user"].splitlines()[-8:])
        assert not TELLTALE.search(question) and not LABEL_WORD.search(question)
        assert "{" not in row["user"]
    questions = [(kind, "") for kind in KINDS if kind != "beliefs"]
    questions += [("beliefs", given) for given in ("late", "early", "any")]
    expected = {(cell, *question) for cell, question in product(CELLS, questions)}
    assert set(met) == expected
    for bulletins in met.values():
        assert len(bulletins) >= 20
        assert len(set(bulletins)) == {"cvd": 20, "hospital": 12}[domain]


@asked
def test_a_row_stands_under_its_request_and_says_what_was_listed_and_what_is_right(
    domain, name
):
    for row in answers(domain, name):
        cues = read_notice(row["user"])
        *place, cell, kind = row["id"].removesuffix(f"/{row['given']}").split("/")
        assert (place[1:3], cell) == ([name, row["bulletin"]], row["cell"])
        assert (kind, cues.bulletin) == (row["probe"], row["bulletin"])
        assert cues.lever == (3 if cell in ("MN", "ME") else 0)
        costs = dict(zip("TRPS", cues.outcomes, strict=True))
        assert row["order"] == sorted(costs, key=costs.get)
        lines = row["user"].split("\n\n")[-3].splitlines()[1:]
        assert len(lines) == len(row["shown"])


@asked
def test_a_respondent_answers_by_what_stands_in_the_notice(domain, name):
    right = {
        "payoffs": lambda row: row["order"],
        "peer": lambda row: row["order"],
        "purpose": lambda row: PURPOSE[name],
        "entry": lambda row: ENTRY.get(row["cell"], "read"),
    }
    listed = [row for row in answers(domain, name) if row["probe"] in right]
    readable = [row for row in listed if row["status"] == "ok"]
    for row in readable:
        assert row["answer"] == right[row["probe"]](row), row["id"]
    assert 0.97 < len(readable) / len(listed) < 1


SHOWN = {"payoffs": "SPRT", "peer": "TPSR", "entry": "abc", "purpose": "abcd"}
FORMS = [
    ("payoffs", "Order: 2 > 1 > 4 > 3", list("PSTR")),
    ("payoffs", "Order: 2 > 1 > 4", None),
    ("payoffs", "**Order:** [2, 1, 4, 3].", list("PSTR")),
    ("payoffs", "2 > 1 > 4 > 4", None),
    ("peer", "\nOrder: 4 > 3 > 2 > 1", list("RSPT")),
    ("entry", "Answer: 3", "c"),
    ("beliefs", "Number: 70", 70),
    ("beliefs", "70 of 100", 70),
    ("beliefs", "Number: 70%", 70),
    ("beliefs", "Number: 101", None),
    ("beliefs", "60-80", None),
    ("purpose", "Answer: 2.", "b"),
    ("purpose", "a test, I think", None),
]


@pytest.mark.parametrize(("kind", "text", "answer"), FORMS)
def test_only_the_form_filled_in_is_an_answer_and_a_refusal_is_named(
    kind, text, answer
):
    listed = tuple(SHOWN.get(kind, ""))
    probe = probes.Probe("x", None, None, kind, "", listed, None)
    status = "unreadable" if answer is None else "ok"
    assert probes.read(probe, text) == (answer, status)
    refusal = "I'm sorry, but I can't help with that."
    assert probes.read(probe, refusal) == (None, "refused")

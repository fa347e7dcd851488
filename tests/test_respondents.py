"""Simulated respondents: they read the prompt alone, and do what their population is said to do."""

from collections import Counter

import pytest
from domains import study

from cirrus.ask.cues import LEANINGS, read_cues, read_notice
from cirrus.ask.respondents import chance

RAISED = (0, 0.5, 1, 2, 3, 4, 6)  # METHODS: R′ = R + λ(T − R)
STUDIES = [
    ("2x2", "omit", "standard", "cvd"),
    ("2x2", "high", "ablated", "hospital"),
    ("lever", "low", "ablated", "cvd"),
    ("mechanism", "high", "standard", "hospital"),
    ("mirror", "omit", "standard", "cvd"),
    ("twin", "omit", "ablated", "hospital"),
]


def asked(design, *flags, models="sim-coin", runs=3):
    sizes = ("--runs", runs, "--models", models)
    return study("--design", design, *sizes, *flags)


@pytest.mark.parametrize(("design", "compliance", "tells", "domain"), STUDIES)
@pytest.mark.parametrize("more", [(), ("--holdout",)])
def test_every_cell_is_read_from_the_text_as_the_design_meant_it(
    design, compliance, tells, domain, more
):
    flags = ("--compliance", compliance, "--tells", tells, "--domain", domain, *more)
    for row in asked(design, *flags):
        cues = read_cues(row["user"])
        for key in ("S", "C", "H", "entry", "domain", "bulletin"):
            assert getattr(cues, key) == row[key], row["id"]
        assert cues.first == row["options"][0] and cues.main == (not more)
        late = row["options"][row["order"] == "other-first"]
        assert (cues.cooperative, cues.policy, cues.peer) == (late, "", "")
        assert bool(cues.alike) == (design == "mirror")
        assert cues.lever == RAISED[row["lever"]]
        assert cues.record == ("late" if row["cell"] == "QL" else "")
        if design != "twin":
            assert cues.wording == row["wording"] - 1
            assert cues.tells == tells or design == "mirror"


def test_a_policy_and_the_counterparty_s_last_entry_are_read():
    row = asked("2x2", "--domain", "hospital")[0]
    notice, _, form = row["user"].rpartition("\n\n- ")
    shares = []
    for sentence, peer in ((LEANINGS[-1][0], 0), (LEANINGS[1][1], 1)):
        late = row["options"][row["order"] == "other-first"]
        label = row["options"][peer]
        history = f"So far:\n- you: {late}; counterparty: {label}"
        policy = f"Your declared policy:\n{sentence}\nMore."
        text = "\n\n".join([policy, notice, f"{history}\n\n- {form}"])
        cues = read_cues(text)
        assert cues.policy == f"{sentence}\nMore."
        assert cues.peer == ("C" if label == late else "D")
        shares.append((cues.leaning, chance("sim-reciprocal", cues)))
    assert [leaning for leaning, _ in shares] == [-1, 1]
    odds = {round(share, 4) for _, share in shares}
    assert odds == {0.9241, 0.0759}  # of exp(2.5) and exp(−2.5)
    for read, named in ((read_cues, "contract"), (read_notice, "names")):
        with pytest.raises(ValueError, match=named):
            read("How are you?")


# Log-odds typed from the rules: .9002 is that of exp(2.2), .31 of exp(−.8), and so on.
SHARES = {
    "sim-correlation": {
        "HP": 0.9002,
        "LA": 0.31,
        "UP": 0.31,
        "KP": 0.31,
        "KL": 0.31,
        "QL": 0.31,
        "MN": 0.5622,
        "ME": 0.5622,
        "TS": 0.9526,
        "TU": 0.2689,
        "TO": 0.5,
        "TP": 0.1192,
    },
    "sim-conformist": {"HP": 0.8455, "LA": 0.3543, "UP": 0.8455, "MN": 0.4256},
    "sim-adder": {
        "HP": 0.8022,
        "LA": 0.2689,
        "UP": 0.5987,
        "KL": 0.1192,
        "MN": 0.5866,
        "ME": 0.3430,
        "TU": 0.4256,
        "TP": 0.31,
    },
    "sim-reciprocal": {"HP": 0.8808, "KP": 0.9241, "KL": 0.9241, "QL": 0.9241},
    "sim-coin": {"HP": 0.5, "LA": 0.5, "TS": 0.5},
    "sim-always-coordinate": {"LA": 1},
    "sim-always-preempt": {"HP": 0},
    "sim-certain": {"HP": 0.995, "LA": 0.005},
}


@pytest.mark.parametrize("name", SHARES)
def test_the_shares_of_a_population(name):
    rows = asked("mechanism") + asked("twin")
    met = Counter()
    for row in rows:
        expected = SHARES[name].get(row["cell"])
        if expected is not None:
            share = chance(name, read_cues(row["user"]))
            assert share == pytest.approx(expected, abs=1e-4), row["id"]
            met[row["cell"]] += 1
    assert met.keys() == SHARES[name].keys()


ELSEWHERE = [
    ("sim-compliance", "--compliance", "high", 0.4013, 0.8808),
    ("sim-compliance-cued", "--compliance", "high", 0.4502, 0.9002),
    ("sim-tells", "--tells", "ablated", 0.9002, 0.5),
    ("sim-overfit", "--holdout", None, 0.9002, 0.5),
    ("sim-domain", "--domain", "hospital", 0.9002, 0.5),
]


@pytest.mark.parametrize(("name", "flag", "value", "usual", "there"), ELSEWHERE)
def test_where_a_population_does_otherwise(name, flag, value, usual, there):
    given = (flag,) if value is None else (flag, value)
    for flags, expected in (((), usual), (given, there)):
        for row in asked("2x2", *flags):
            if row["cell"] == "HP":
                share = chance(name, read_cues(row["user"]))
                assert share == pytest.approx(expected, abs=1e-4)


def test_which_labels_and_places_a_population_likes():
    likes = {"COORDINATE": 0.8320, "Option A": 0.6900, "Option B": 0.3100}
    for row in asked("mechanism"):
        cues = read_cues(row["user"])
        assert round(chance("sim-label", cues), 4) == likes[cues.cooperative]
        first = cues.first == cues.cooperative
        share = 0.8022 if first else 0.1978
        assert round(chance("sim-position", cues), 4) == share


MANY = 240
STATUS = [
    ("sim-sloppy", "LP", "unreadable", 0.30),
    ("sim-sloppy", "HA", "unreadable", 0.02),
    ("sim-truncating", "HA", "truncated", 0.25),
    ("sim-truncating", "LP", "truncated", 0.01),
    ("sim-coin", "HP", "unreadable", 0.01),
    ("sim-coin", "HP", "truncated", 0),
]


@pytest.mark.parametrize(("name", "cell", "status", "share"), STATUS)
def test_what_goes_missing_hangs_on_the_cell_and_the_rest_goes_by_the_rule(
    name, cell, status, share
):
    names = "sim-sloppy,sim-truncating,sim-coin"
    rows = asked("2x2", models=names, runs=MANY)
    here = [row for row in rows if (row["model"], row["cell"]) == (name, cell)]
    statuses = Counter(row["status"] for row in here)
    error = (share * (1 - share) / MANY) ** 0.5
    assert statuses[status] / MANY == pytest.approx(share, abs=4.5 * error)
    acts = sum(row["cooperates"] or 0 for row in here) / statuses["ok"]
    assert abs(acts - 0.5) <= 4.5 * 0.5 / statuses["ok"] ** 0.5

"""A calibration from outside: its command, its file, its page; and what its respondents do."""

import json
import sys
from collections import Counter
from pathlib import Path
from statistics import NormalDist, fmean

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import calibrate  # noqa: E402
from cirrus.families import MEMBERS, power, respondent  # noqa: E402
from cirrus.judge.accounts import ACCOUNTS  # noqa: E402
from cirrus.reports.calibration import limits  # noqa: E402
from common import UsageError  # noqa: E402
from common.rng import SeededRandom  # noqa: E402

SMALL = "reasoner-3-97,coin-wide,loses-30,mirror-sharp,mirror-number,pilot-coin-50"


def calibrated(folder, *flags):
    """calibration.json of this command."""
    words = [str(flag) for flag in flags]
    assert calibrate.main([*words, "--out", str(folder)]).code == 0
    return json.loads((folder / "calibration.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    calibrated(folder, "--populations", SMALL, "--reps", 2, "--seed", 7)
    return folder


# --- the table of respondents --------------------------------------------------------------------


def test_every_account_is_tried_by_respondents_and_so_are_all_three_studies():
    tried = Counter(member.account for member in MEMBERS.values())
    assert all(tried[account.name] >= 4 for account in ACCOUNTS)
    designs = Counter(member.design for member in MEMBERS.values())
    assert designs.keys() == {"mechanism", "mirror", "2x2"} and designs["mirror"] >= 18


# -1 + 0.8 S + 0.8 C - 1 unread + 0.5 known + 2.5 lever
SUMS = {"HP": 0.6, "LA": -1, "UP": -0.4, "KP": 1.1, "KL": -0.5, "QL": -1}
SUMS |= {"MN": 1.5, "ME": 0.5}


def test_a_sum_answers_as_its_weights_say():
    # a threshold under normal noise: P(weights + noise > 0); of bulletin, cell, four sentences
    sd = (0.8**2 + 0.4**2 + 4 * 0.25**2) ** 0.5
    deal, respond = calibrate.dealt("mechanism", 12, 5), respondent("sum-threshold")
    acts = {}
    for seed in range(20):
        for row in calibrate.answered(deal, respond, SeededRandom(seed, "x")):
            acts.setdefault(row["cell"], []).append(row["cooperates"])
    for cell, late in acts.items():
        expected = NormalDist().cdf(SUMS[cell] / sd)
        assert fmean(late) == pytest.approx(expected, abs=0.06), cell


# --- command, file and page ----------------------------------------------------------------------


def test_the_file_says_of_each_respondent_what_was_declared_and_what_was_said(small):
    out = json.loads((small / "calibration.json").read_text("utf-8"))
    assert out["simulated"] and out["stamp"] == "SIMULATED"
    assert out["populations"].keys() == {*SMALL.split(",")}
    for name, entry in out["populations"].items():
        member = MEMBERS[name]
        assert (entry["account"], entry["what"]) == (member.account, member.what)
        assert entry["replications"] == 2 == sum(entry["words"].values())
        assert entry["excluded"].keys() == {account.name for account in ACCOUNTS}
    for name, best in (
        ("mirror-sharp", "evidence-weighing"),
        ("reasoner-3-97", "correlation-sensitive"),
    ):
        assert out["populations"][name]["words"][best] == 2
    likes = out["populations"]["mirror-number"]["words"]
    assert likes["evidence-sensitive"] + likes["evidence-weighing"] == 0


def test_it_is_the_same_on_any_number_of_processes(small, tmp_path):
    calibrated(tmp_path, "--populations", SMALL, "--reps", 2, "--seed", 7, "--jobs", 2)
    for path in small.iterdir():
        assert (tmp_path / path.name).read_bytes() == path.read_bytes(), path.name


def test_the_page_opens_with_one_figure_then_one_table_and_calls_all_of_it_simulated(
    small,
):
    page = (small / "report.html").read_text("utf-8")
    text = (small / "calibration.md").read_text("utf-8")
    assert page.count("<svg") == 1 == page.count("<table")
    assert page.index("SIMULATED") < page.index("<svg") < page.index("<table")
    assert text.index("```") < text.index("| respondent | account |")
    for name in SMALL.split(","):
        assert f"\n| {name} | {MEMBERS[name].account} |" in text
    # A row a respondent that is held to something; nothing is held of a reasoner of 3 → 97.
    for name in ("coin-wide", "loses-30", "mirror-number", "pilot-coin-50"):
        assert f">{name}</text>" in page
    assert ">reasoner-3-97</text>" not in page


def test_few_studies_say_how_many_would_decide_a_limit(capsys, tmp_path):
    flags = ["--populations", "coin-50", "--reps", "1", "--runs", "2"]
    done = calibrate.main([*flags, "--out", str(tmp_path)])
    # Wilson's upper limit at 0 of n is z² / (n + z²): below 3% from 125 on.
    assert "--reps 125" in done.text and 3.8415 / (125 + 3.8415) < 0.03


@pytest.mark.parametrize(
    "flags, why",
    [
        (("--populations", "coinn-50"), "no population 'coinn-50'.*coin-50"),
        (("--reps", "0"), "--reps: must be at least 1"),
        (("--runs", "1"), "--runs: must be at least 2"),
        (("--probes",), "--probes"),
    ],
)
def test_wrong_flags_are_a_usage_error(tmp_path, flags, why):
    with pytest.raises(UsageError, match=why):
        calibrate.main([*flags, "--out", str(tmp_path)])


# --- limits --------------------------------------------------------------------------------------
# Wilson's limits by hand: 36 of 1,000 gives 2.61 to 4.94%, 37 to 5.06%; 63 gives 4.95%, 64 5.04%;
# 19 gives 1.22 to 2.95%, 42 3.12%; 962 gives 94.83 to 97.22%, 964 95.06%; 930 to 94.42%.

TOP, MIDDLE, FIRST = (
    "correlation-sensitive",
    "information-sensitive",
    "cue-responsive",
)


LIMITS = [
    ("obedience", "surface", "mechanism", None, 36, 0, "met"),
    ("obedience", "surface", "mechanism", None, 37, 0, "open"),
    ("obedience", "surface", "mechanism", None, 64, 0, "missed"),
    ("obedience", "surface", "mechanism", TOP, 42, 1, "missed"),
    ("mirror-number", "surface", "mirror", "evidence-weighing", 42, 0, "missed"),
    ("mirror-number", "surface", "mirror", "record-sensitive", 900, 0, "met"),
    ("pilot-coin-50", "nothing", "2x2", FIRST, 64, 0, "missed"),
    ("reasoner-40-95", "reasoner", "mechanism", MIDDLE, 964, 0, "met"),
    ("reasoner-40-95", "reasoner", "mechanism", MIDDLE, 962, 0, "open"),
    ("reasoner-40-95", "reasoner", "mechanism", FIRST, 930, 0, "missed"),
]


@pytest.mark.parametrize("name, account, design, word, hits, at, state", LIMITS)
def test_a_limit_is_met_or_missed_where_the_whole_interval_says_so(
    name, account, design, word, hits, at, state
):
    words = dict.fromkeys(calibrate.LADDERS[design], 0)
    words[word or "not shown"] = hits
    entry = {
        "account": account,
        "design": design,
        "replications": 1000,
        "words": words,
        "excluded": {account: hits},
    }
    assert limits(name, entry)[at]["state"] == state


# --- a user's own respondents --------------------------------------------------------------------

MINE = """
import re
def first(request, rng):
    return "Decision: " + re.search(r"Decision: .(.+?)[|]", request.user)[1], "stop"
RESPONDENTS = {"first": first}
ACCOUNTS = {"first": "labels"}
"""


def test_a_respondent_of_ones_own_is_asked_and_counted(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    flags = ("--rivals", tmp_path / "mine.py", "--reps", 2, "--runs", 2)
    out = calibrated(tmp_path / "out", *flags)
    assert out["populations"].keys() == {"first"}
    first = out["populations"]["first"]
    assert first["account"] == "labels" and first["excluded"]["labels"] == 0
    assert first["words"]["not shown"] == 2


@pytest.mark.parametrize(
    "text, why",
    [
        ("RESPONDENTS = {'mine': print}; ACCOUNTS = ['surface']", "give ACCOUNTS"),
        ("RESPONDENTS = {'mine': print}; ACCOUNTS = {'mine': 'magic'}", "'magic'"),
        ("RESPONDENTS = {'mine': lambda request, rng: 1 / 0}", "mine: ZeroDivision"),
        ("RESPONDENTS = {'mine': lambda request, rng: 3}", r"give.*\(text, .stop.\)"),
        ("RESPONDENTS = {'mine': lambda request, rng: ('x', 'odd')}", "mine: gave"),
    ],
)
def test_a_file_that_cannot_be_asked_is_a_usage_error(tmp_path, text, why):
    (tmp_path / "mine.py").write_text(text)
    flags = ["--rivals", str(tmp_path / "mine.py"), "--reps", "1", "--runs", "2"]
    with pytest.raises(UsageError, match=why):
        calibrate.main([*flags, "--out", str(tmp_path / "out")])


def test_the_example_of_rivals_is_asked_as_it_says(tmp_path):
    flags = ("--rivals", ROOT / "tests/rivals.py", "--reps", 1, "--runs", 2)
    out = calibrated(tmp_path, *flags)
    assert len(out["populations"]) == 53
    for name, entry in out["populations"].items():
        own = entry["excluded"].get(entry["account"], 0)
        assert entry["replications"] == 1 and own == 0, name


# --- power ---------------------------------------------------------------------------------------


def test_power_is_that_of_the_methods():
    # METHODS: 3 → 97 at 3 blocks and 5% missing 76 / 76 / 64%; 40 → 95 at 3 blocks 100 / 86 / 5%.
    strong = power(0.03, 0.97, 20, 3, missing=0.05, samples=12)
    weak = power(0.40, 0.95, 20, 3, samples=12)
    assert [*strong] == [FIRST, MIDDLE, TOP]
    assert weak[FIRST] == 1 and weak[TOP] < 0.3 < strong[TOP]

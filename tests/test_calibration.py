"""Respondents with a declared account: what they are by their own numbers, and what is counted.

    python3 tests/test_calibration.py --write   # the golden file, derived
"""

import json
import sys
from pathlib import Path
from statistics import NormalDist, fmean

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import calibrate as c  # noqa: E402
from cirrus.families import (  # noqa: E402
    POPULATIONS,
    power,
    respondent,
)
from cirrus.reports import calibration  # noqa: E402
from common import UsageError  # noqa: E402
from common.artifacts import json_file  # noqa: E402
from common.rng import SeededRandom  # noqa: E402
from common.verify import verify  # noqa: E402

GOLDEN = ROOT / "tests/data/calibration-small.json"
SMALL = ("--populations", "reasoner-3-97,team-assured,coin-50-1-1-1,missing-damps-little",
         "--reps", "2", "--runs", "3", "--seed", "7")
ACCOUNTS = {"nothing", "blind", "labels", "missing", "conditional", "adding_up", "open", "reasoner"}
HASHES = ("prompts_sha256", "code_sha256")


def calibrated(folder, *flags):
    """calibration.json of this command."""
    assert c.main([*map(str, flags), "--out", str(folder)]).code == 0
    return json.loads((folder / "calibration.json").read_text("utf-8"))


def small(folder):
    out = calibrated(folder, *SMALL)
    return {key: value for key, value in out.items() if key not in HASHES}


# --- what the respondents are -------------------------------------------------------------------

def test_every_family_declares_an_account_and_has_one_centre():
    families = {}
    for member in POPULATIONS.values():
        assert member.account in ACCOUNTS
        families.setdefault(member.family, []).append(member.centre)
    assert {family for family, centres in families.items() if sum(centres) != 1} == {"random sums"}
    assert sum(member.family == "random sums" for member in POPULATIONS.values()) == 200


def shares(name, studies):
    """{cell: share of cooperation} in as many studies of one deal."""
    trials, read = c.dealt(12, 5)
    respond, cells = respondent(name), {}
    for seed in range(studies):
        rng = SeededRandom(seed, "respondent", name)
        for at, trial in enumerate(trials):
            cells.setdefault(trial.cell.name, []).append(
                read(at, *respond(trial.request, rng))["cooperates"])
    return {cell: fmean(values) for cell, values in cells.items()}


# symmetry, cue, earlier, known, lever
LEVELS = {"HP": (1, 1, 0, 0, 0), "LA": (0, 0, 0, 0, 0), "EP": (1, 1, 1, 0, 0),
          "EL": (0, 0, 1, 0, 0), "KP": (1, 1, 0, 1, 0), "KL": (0, 0, 0, 1, 0),
          "MN": (0, 0, 0, 0, 1), "ME": (0, 0, 1, 0, 1)}
SD = (0.8 ** 2 + 0.4 ** 2 + 3 * 0.25 ** 2) ** 0.5     # of bulletin, cell and three sentences


@pytest.mark.parametrize("name, base, weights", [
    ("sum-threshold-even", -1, (0.9, 0.9, -0.8, -0.8, 1.8)),
    ("sum-threshold-lever", -1, (0.8, 0.8, -1, 0.5, 2.5)),
    ("sum-threshold-likeness", -1, (1.5, 1.5, -1, -1, 1))])
def test_a_sum_answers_as_its_weights_say(name, base, weights):
    # a threshold under normal noise: P(weights + noise > 0)
    for cell, share in shares(name, 20).items():
        x = base + sum(map(float.__mul__, map(float, weights), map(float, LEVELS[cell])))
        assert share == pytest.approx(NormalDist().cdf(x / SD), abs=0.06), cell


def test_no_sum_turns_the_order_of_likeness_and_lever_round():
    for name in [f"random-sum-{number}" for number in range(0, 200, 25)]:
        cell = shares(name, 6)
        now, earlier = cell["HP"] - cell["MN"], cell["EP"] - cell["ME"]
        assert now * earlier > -0.002, name


def test_a_reasoner_is_moved_by_likeness_only_where_the_counterpart_decides_now():
    cell = shares("reasoner-3-97", 10)
    assert cell["HP"] > 0.94
    assert {name for name, share in cell.items() if share < 0.06} == {"LA", "EP", "EL", "KP", "KL"}
    assert cell["MN"] == pytest.approx(0.5, abs=0.08) == cell["ME"]


# --- what is counted ----------------------------------------------------------------------------

def test_a_small_calibration_is_the_golden_one(tmp_path):
    assert small(tmp_path) == json.loads(GOLDEN.read_text("utf-8"))


def test_the_files_are_the_same_on_two_processes_and_follow_from_the_records(tmp_path):
    flags = ("--populations", "team,hash", "--reps", 7, "--runs", 2)
    for jobs in (1, 2):
        calibrated(tmp_path / str(jobs), *flags, "--jobs", jobs)
    for path in (tmp_path / "1").iterdir():
        assert path.read_bytes() == (tmp_path / "2" / path.name).read_bytes()
    [verdict] = verify(tmp_path / "1", [calibration.content])
    assert not verdict.problems and verdict.instrument == "calibration"
    page = tmp_path / "1" / "calibration.json"
    page.write_text(page.read_text("utf-8").replace('"team"', '"taem"'), "utf-8")
    [verdict] = verify(tmp_path / "1", [calibration.content])
    assert "calibration.json" in str(verdict.problems)


def test_a_mechanism_study_is_judged_as_the_analysis_judges_it():
    study = c.config_of(3, 11)
    trials, read = c.dealt(3, 11)
    rng, respond = SeededRandom(3, "respondent", "missing-flatters"), respondent("missing-flatters")
    rows = [read(at, *respond(trial.request, rng)) for at, trial in enumerate(trials)]
    out = c.analyse(rows, {"config": study, "provider": "simulated"})
    record = c.studied(respond, SeededRandom(3, "respondent", "missing-flatters"), study,
                       c.Work(0, 3, range(1), (), False, None))
    part = out["mechanism"]["by_model"]["m1"]
    assert record["word"] == part["verdict"]["word"]
    assert record["excluded"] == [name for name, one in part["accounts"].items()
                                  if one["excluded"]]


def test_probes_are_described(tmp_path):
    out = calibrated(tmp_path, "--populations", "reasoner-3-97", "--reps", 1, "--runs", 2,
                     "--probes")
    asked = out["populations"]["reasoner-3-97"]["probes"]
    # It expects its own decision of a counterpart that decides now.
    assert asked["beliefs/joint"]["HP"] - asked["beliefs/other"]["HP"] > 0.4
    assert asked["payoffs"]["HP"] > 0.9


def test_power_is_that_of_the_methods():
    # METHODS: 3 → 97 at 12 blocks 89% or more; 40 → 60 no study
    assert power(0.4, 0.6, 20, 12, samples=5)["correlation-sensitive"] == 0
    assert power(0.03, 0.97, 20, 3, samples=10)["decider-sensitive"] >= 0.8


# --- limits ---------------------------------------------------------------------------------------
# Wilson's limits by hand: 36 of 1,000 gives 2.61 to 4.94%, 37 to 5.06%;
# 64 gives 5.04%, 63 gives 4.95%; 867 gives 84.46 to 88.66%, 873 gives 85.10%.

RIVAL = {"family": "obedience", "account": "blind"}
HIT = {"word": "not shown", "excluded": ["blind"]}
TOP = {"word": "correlation-sensitive", "excluded": []}


@pytest.mark.parametrize("name, respondent, runs, hit, at, hits, state", [
    ("obedience", RIVAL, 12, HIT, 0, 36, "met"), ("obedience", RIVAL, 12, HIT, 0, 37, "open"),
    ("obedience", RIVAL, 12, HIT, 0, 63, "open"), ("obedience", RIVAL, 12, HIT, 0, 64, "missed"),
    ("obedience", RIVAL, 6, TOP, 1, 19, "met"), ("obedience", RIVAL, 6, TOP, 1, 42, "missed"),
    ("skewed-5", {"family": "skewed units", "account": "nothing"}, 12,
     {"word": "not shown", "excluded": ["nothing"]}, 0, 65, "met"),
    ("reasoner-3-97", {"family": "reasoners", "account": "reasoner"}, 12, TOP, 0, 873, "met"),
    ("reasoner-3-97", {"family": "reasoners", "account": "reasoner"}, 12, TOP, 0, 867, "open"),
    ("reasoner-3-97", {"family": "reasoners", "account": "reasoner"}, 12, TOP, 0, 800, "missed"),
    ("coin", {"family": "coins", "account": "nothing"}, 0, {"positive": 2}, 0, 36, "met")])
def test_a_limit_is_met_or_missed_where_the_whole_interval_says_so(
        name, respondent, runs, hit, at, hits, state):
    usual = {"word": "not shown", "excluded": [], "positive": 0}
    rows = [usual | (hit if number < hits else {}) for number in range(1000)]
    assert [*calibration.limits(name, respondent, runs, rows)][at]["state"] == state


# --- a user's own respondents ---------------------------------------------------------------------

RIVALS = """
import re
def first(request, rng):
    return "Decision: " + re.search(r"Decision: .(.+?)[|]", request.user)[1], "stop"
RESPONDENTS = {"first": first, "raises": lambda request, rng: 1 / 0,
               "number": lambda request, rng: 3, "odd": lambda request, rng: ("x", "odd"),
               "strange": first}
ACCOUNTS = {"first": "labels", "strange": "magic"}
"""


def test_a_rival_that_fails_is_named_and_the_others_are_counted(tmp_path):
    (tmp_path / "mine.py").write_text(RIVALS)
    out = calibrated(tmp_path / "out", "--rivals", tmp_path / "mine.py", "--reps", 2, "--runs", 2)
    assert out["populations"].keys() == {"first"}
    assert out["populations"]["first"]["account"] == "labels"
    assert out["populations"]["first"]["words"]["not shown"] == 2
    assert out["populations"]["first"]["excluded"]["labels"] == 0
    for name, why in (("raises", "ZeroDivisionError: division by zero"), ("number", "answered 3"),
                      ("odd", "finish_reason"), ("strange", "declares 'magic'")):
        assert why in out["faults"][name] and "\n" not in out["faults"][name]


@pytest.mark.parametrize("text, why", [
    ("RESPONDENTS = {'mine': print}; ACCOUNTS = ['blind']", "give RESPONDENTS"),
    ("RESPONDENTS = {'mine': lambda request, rng: 1 / 0}", "mine: ZeroDivisionError"),
    ("RESPONDENTS = {}", "give RESPONDENTS"), ("import nothing_of_that_name", "ModuleNotFound"),
    (None, "no such file")])
def test_a_file_without_a_respondent_that_answers_is_a_usage_error(tmp_path, text, why):
    if text is not None:
        (tmp_path / "mine.py").write_text(text)
    with pytest.raises(UsageError, match=why):
        c.main(["--rivals", str(tmp_path / "mine.py"), "--reps", "1", "--runs", "2", "--out",
                str(tmp_path / "out")])


@pytest.mark.parametrize("flags, why", [
    (("--reps", "0"), "--reps"), (("--jobs", "0"), "--jobs"), (("--runs", "1"), "--runs"),
    (("--seed", "-1"), "--seed"), (("--populations", "coins"), "coins")])
def test_bad_input_is_a_usage_error(flags, why):
    with pytest.raises(UsageError, match=why):
        c.main(flags)


if __name__ == "__main__" and "--write" in sys.argv:
    import tempfile
    with tempfile.TemporaryDirectory() as made:
        GOLDEN.write_bytes(json_file(small(Path(made))))

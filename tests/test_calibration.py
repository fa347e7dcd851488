"""Respondents with a declared account: what they are by their own numbers, and what is counted.

python3 tests/test_calibration.py --write   # the golden file, derived
"""

import json
import sys
from argparse import Namespace
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from statistics import NormalDist, fmean

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import calibrate as c  # noqa: E402
from cirrus.families import POPULATIONS, Member, power, respondent  # noqa: E402
from cirrus.reports import calibration  # noqa: E402
from common import UsageError  # noqa: E402
from common.artifacts import json_file  # noqa: E402
from common.rng import SeededRandom  # noqa: E402

GOLDEN = ROOT / "tests/data/calibration-small.json"
SMALL = (
    "--populations",
    "reasoner-3-97,team-assured,coin-50-1-1-1,missing-damps-little",
    "--reps",
    "7",
    "--runs",
    "3",
    "--seed",
    "7",
)


def calibrated(folder, *flags):
    """calibration.json of this command."""
    assert c.main([*map(str, flags), "--out", str(folder)]).code == 0
    return json.loads((folder / "calibration.json").read_text("utf-8"))


study = cache(c.dealt)


@cache
def shares(name, blocks, studies):
    """{cell: share of cooperation} in as many studies of one deal."""
    deal, respond, cells = study(blocks, 5), respondent(name), {}
    for seed in range(studies):
        rng = SeededRandom(seed, "respondent", name)
        for at, trial in enumerate(deal.trials):
            cells.setdefault(trial.cell.name, []).append(
                deal.read(at, *respond(trial.request, rng))["cooperates"] or 0
            )
    return {cell: fmean(values) for cell, values in cells.items()}


def small(folder, jobs=1):
    """A calibration, and the shares by cell of each respondent in a small study."""
    out = calibrated(folder, *SMALL, "--jobs", jobs)
    return {key: value for key, value in out.items() if not key.endswith("_sha256")} | {
        "shares": {
            name: " ".join(
                f"{cell} {share:.2f}"
                for cell, share in sorted(shares(name, 1, 1).items())
            )
            for name, member in POPULATIONS.items()
            if member.family != "random sums"
        }
    }


def test_every_family_but_the_random_sums_has_a_single_centre():
    centres, families = (
        Counter(member.family for member in members)
        for members in (
            [member for member in POPULATIONS.values() if member.centre],
            POPULATIONS.values(),
        )
    )
    assert {*centres.values()} == {1} and families.keys() - centres == {"random sums"}
    assert families["random sums"] == 200


def test_a_sum_answers_as_its_weights_say():
    # a threshold under normal noise: P(weights + noise > 0); of bulletin, cell, three sentences
    sd = (0.8**2 + 0.4**2 + 3 * 0.25**2) ** 0.5
    sums = {
        "HP": -1 + 2 * 0.8,
        "LA": -1,
        "EP": -2 + 2 * 0.8,
        "EL": -2,
        "KP": -0.5 + 2 * 0.8,
        "KL": -0.5,
        "MN": -1 + 2.5,
        "ME": -2 + 2.5,
    }
    for cell, share in shares("sum-threshold-lever", 12, 20).items():
        assert share == pytest.approx(NormalDist().cdf(sums[cell] / sd), abs=0.06), cell


@pytest.mark.parametrize("number", range(0, 200, 40))
def test_no_sum_changes_the_order_of_likeness_and_lever(number):
    cell = shares(f"random-sum-{number}", 12, 6)
    assert (cell["HP"] - cell["MN"]) * (cell["EP"] - cell["ME"]) > -0.002


def test_a_reasoner_is_moved_by_likeness_only_where_the_counterpart_decides_now():
    cell = shares("reasoner-3-97", 12, 10)
    assert cell["HP"] > 0.94
    assert {name for name, share in cell.items() if share < 0.06} == {
        "LA",
        "EP",
        "EL",
        "KP",
        "KL",
    }
    assert cell["MN"] == pytest.approx(0.5, abs=0.08) == cell["ME"]


# --- what is counted ----------------------------------------------------------------------------


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_small_calibration_is_the_golden_file_on_any_number_of_processes(
    tmp_path, jobs
):
    assert json_file(small(tmp_path, jobs)) == GOLDEN.read_bytes()


def test_a_respondent_gets_as_many_studies_as_are_wanted():
    wanted, records = (
        {("a", 12): 5, ("b", 12): 10},
        defaultdict(list, {("b", 12): [{}] * 5}),
    )
    for name, studies in (("a", range(5)), ("b", range(5, 10))):
        assert [
            work.reps
            for work in c.works(Namespace(rivals=None), wanted, records)
            if name in work.names
        ] == [studies]


def test_a_mechanism_study_is_judged_as_the_analysis_judges_it():
    deal, respond = study(3, 11), respondent("missing-flatters")
    rng, again = (SeededRandom(3, "respondent", "missing-flatters") for _ in range(2))
    rows = [
        deal.read(at, *respond(trial.request, rng))
        for at, trial in enumerate(deal.trials)
    ]
    out = c.analyse(rows, {"config": deal.config, "provider": "simulated"})
    part = out["mechanism"]["by_model"]["m1"]
    assert c.judged(deal, respond, again, False) == {
        "word": part["verdict"]["word"],
        "excluded": [
            name for name, account in part["accounts"].items() if account["excluded"]
        ],
    }


def test_probes_are_described(tmp_path):
    out = calibrated(
        tmp_path, "--populations", "reasoner-3-97", "--reps", 1, "--runs", 2, "--probes"
    )
    shown = out["populations"]["reasoner-3-97"]["probes"]
    # It expects its own decision of a counterpart that decides now.
    assert shown["beliefs/joint"]["HP"] - shown["beliefs/other"]["HP"] > 0.4
    assert shown["payoffs"]["HP"] > 0.9


def test_power_is_that_of_the_methods():
    # METHODS: 3 → 97 at 12 blocks 89% or more; 40 → 60 no study
    assert power(0.4, 0.6, 20, 12, samples=5)["correlation-sensitive"] == 0
    assert power(0.03, 0.97, 20, 3, samples=10)["decider-sensitive"] >= 0.8


# --- limits ---------------------------------------------------------------------------------------
# Wilson's limits by hand: 36 of 1,000 gives 2.61 to 4.94%, 37 to 5.06%;
# 64 gives 5.04%, 63 gives 4.95%; 867 gives 84.46 to 88.66%, 873 gives 85.10%.

RIVAL, COINS, SKEWED = (
    {"family": family, "account": account}
    for family, account in (
        ("obedience", "blind"),
        ("coins", "nothing"),
        ("skewed units", "nothing"),
    )
)
REASONER = {"family": "reasoners", "account": "reasoner"}
TOP, MIDDLE = "correlation-sensitive", "decider-sensitive"


@pytest.mark.parametrize(
    "name, respondent, runs, word, at, hits, state",
    [
        ("obedience", RIVAL, 12, None, 0, 36, "met"),
        ("obedience", RIVAL, 12, None, 0, 37, "open"),
        ("obedience", RIVAL, 12, None, 0, 63, "open"),
        ("obedience", RIVAL, 12, None, 0, 64, "missed"),
        ("obedience", RIVAL, 6, TOP, 1, 19, "met"),
        ("obedience", RIVAL, 6, TOP, 1, 42, "missed"),
        ("skewed-5", SKEWED, 12, None, 0, 65, "met"),
        ("coin", COINS, 0, None, 0, 36, "met"),
        ("reasoner-3-97", REASONER, 12, TOP, 0, 873, "met"),
        ("reasoner-3-97", REASONER, 12, TOP, 0, 867, "open"),
        ("reasoner-3-97", REASONER, 12, TOP, 0, 800, "missed"),
        ("reasoner-3-97", REASONER, 12, MIDDLE, 0, 873, "missed"),
        ("reasoner-40-80", REASONER, 12, TOP, 0, 950, "met"),
    ],
)
def test_a_limit_is_met_or_missed_where_the_whole_interval_says_so(
    name, respondent, runs, word, at, hits, state
):
    words = dict.fromkeys(
        ("not evaluable", "not shown", "cue-responsive", MIDDLE, TOP), 0
    )
    row = respondent | {
        "replications": 1000,
        "words": words | {word or "not shown": hits},
        "excluded": {respondent["account"]: hits},
        "positive": hits,
    }
    assert [*calibration.limits(name, row, runs)][at]["state"] == state


def test_the_worst_of_a_grid_and_what_is_open_get_more_studies():
    grid = {f"grid-{number}": Member("f", "blind", "") for number in range(12)}
    chosen, records = {"centre": Member("f", "blind", "", centre=True), **grid}, {}

    def count(name, hits, of):
        records[name, 12] = [
            {"word": "not shown", "excluded": ["blind"] * (at < hits)}
            for at in range(of)
        ]

    stages = c.stages(c.arguments([]), chosen, records)
    assert next(stages) == {
        ("centre", 12): 1000,
        ("centre", 6): 125,
        ("centre", 3): 125,
        **{(name, 12): 125 for name in grid},
    }
    count("centre", 40, 1000)  # open: 2.9 to 5.4%
    for number, name in enumerate(grid):
        count(name, number, 125)
    assert next(stages) == {(f"grid-{number}", 12): 1000 for number in range(2, 12)}
    for number, name in list(enumerate(grid))[2:]:
        count(name, 36 + (number == 7), 1000)  # met, but for one
    assert next(stages) == {("centre", 12): 4000, ("grid-7", 12): 4000}


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
    out = calibrated(
        tmp_path / "out", "--rivals", tmp_path / "mine.py", "--reps", 2, "--runs", 2
    )
    assert out["populations"].keys() == {"first"}
    first = out["populations"]["first"]
    assert (
        first["account"],
        first["words"]["not shown"],
        first["excluded"]["labels"],
    ) == ("labels", 2, 0)
    for name, why in (
        ("raises", "ZeroDivisionError: division by zero"),
        ("number", "answered 3"),
        ("odd", "finish_reason"),
        ("strange", "declares 'magic'"),
    ):
        assert why in out["faults"][name] and "\n" not in out["faults"][name]


@pytest.mark.parametrize(
    "text, why",
    [
        ("RESPONDENTS = {'mine': print}; ACCOUNTS = ['blind']", "give RESPONDENTS"),
        (
            "RESPONDENTS = {'mine': lambda request, rng: 1 / 0}",
            "mine: ZeroDivisionError",
        ),
        ("RESPONDENTS = {}", "give RESPONDENTS"),
        ("import nothing_of_that_name", "ModuleNotFound"),
    ],
)
def test_a_file_without_a_respondent_that_answers_is_a_usage_error(tmp_path, text, why):
    (tmp_path / "mine.py").write_text(text)
    with pytest.raises(UsageError, match=why):
        c.main(
            [
                "--rivals",
                str(tmp_path / "mine.py"),
                "--reps",
                "1",
                "--runs",
                "2",
                "--out",
                str(tmp_path / "out"),
            ]
        )


if __name__ == "__main__" and "--write" in sys.argv:
    import tempfile

    with tempfile.TemporaryDirectory() as made:
        GOLDEN.write_bytes(json_file(small(Path(made))))

"""exports/*.csv as other programmes read them, and the similarity of policies."""

import csv
import io
import json
import shutil

import pytest
from conftest import ROOT
from study_rows import plan

import analyze
from cirrus.judge.gates import convergence
from cirrus.judge.rows import decisions, read_study
from cirrus.markers.patterns import marked
from cirrus.markers.ratings import item_id
from cirrus.reports.study import exports
from common import UsageError
from common.artifacts import csv_bytes
from common.verify import find_runs


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = plan(tmp_path_factory.mktemp("plan"), agents=4, baselines=["TitForTat"])
    return read_study(find_runs([str(folder)]))


@pytest.fixture(scope="module")
def tables(study):
    files = {name: content.decode() for name, content in exports(study).items()}
    return {name.removeprefix("exports/"): list(csv.DictReader(io.StringIO(text, newline="")))
            for name, text in files.items()}


def test_there_is_one_row_a_decision_a_policy_and_a_game(tables):
    """Ten runs of one round: 4 agents and a baseline meet once in 10 pairs."""
    assert len(tables["games.csv"]) == 10 * 10
    assert len(tables["decisions.csv"]) == 10 * (6 * 2 + 4)  # a baseline's own acts are in games
    assert len(tables["policies.csv"]) == 10 * 4


def test_decisions_lead_to_their_policies_and_games(tables):
    policies = {row["id"] for row in tables["policies.csv"]}
    games = {row["id"]: row for row in tables["games.csv"]}
    for row in tables["decisions.csv"]:
        game, side = row["id"].rsplit("/", 1)
        assert row["policy"] in policies and games[game][f"agent_{side}"] == row["agent"]
        assert games[game][f"decision_{side}"] == row["decision"]


def test_policies_carry_their_weak_labels_and_their_item(tables):
    for row in tables["policies.csv"]:
        assert row["item"] == item_id(row["text"])
        assert row["marker_acausal"] == str(int(marked(row["text"])["acausal"]))
    assert {row["marker_acausal"] for row in tables["policies.csv"]} == {"0", "1"}


def test_primary_rows_are_first_encounters_between_models(tables):
    rows = [row for row in tables["decisions.csv"] if row["primary"] == "1"]
    assert len(rows) == 10 * 12 and not any("baseline" in row["opponent"] for row in rows)


def test_whoever_took_the_first_option_is_seen_in_it(tables):
    for row in tables["decisions.csv"]:
        if row["cooperates"]:
            first = {"cooperative-first": "1", "other-first": "0"}[row["option_order"]]
            assert row["first_taken"] == ("1" if row["cooperates"] == first else "0")


def test_a_row_is_a_decision_as_read_back(study, tables):
    row, again = next(decisions(study.runs[0])), tables["decisions.csv"][0]
    assert (again["id"], again["S"], again["text"]) == (row.id, row.S, row.text)
    assert float(again["power_after"]) == row.power_after


def said(*rows):
    return csv_bytes(["a", "b"], rows).decode()


def test_cells_unknown_true_and_long_numbers():
    assert said({"a": None, "b": True}, {"a": 1 / 3, "b": 2}) == (
        "a,b\n,1\n0.333333333333,2\n")


def test_foreign_text_can_be_neither_a_formula_nor_a_new_column():
    text = said({"a": '=HYPERLINK("http://x")', "b": 'one, "two"\nthree'},
                {"a": "-2+3", "b": "nul\0byte"})
    assert list(csv.reader(io.StringIO(text, newline="")))[1:] == [
        ["'=HYPERLINK(\"http://x\")", 'one, "two"\nthree'], ["'-2+3", "nul�byte"]]


# --- convergence -------------------------------------------------------------------------------

ONE, TWO = "publish together at the agreed hour", "xxyyzz qqwwvv kkjjhh"


def test_cells_that_agree_inside_and_differ_between_have_all_the_difference():
    texts = {(1, "cvd", 1): {"a": [ONE, ONE], "b": [TWO, TWO]}}
    [row] = convergence(texts)
    # Equal texts have cosine 1, texts without a common 3-gram 0.
    assert (row["within"], row["between"]) == pytest.approx((1, 0), abs=1e-12)


def test_policies_that_are_all_alike_differ_by_nothing():
    [row] = convergence({(1, "cvd", 2): {"a": [ONE, ONE], "b": [ONE, ONE, ONE]}})
    assert row["round"] == 2 and row["difference"] == pytest.approx(0, abs=1e-12)


def test_a_mean_of_nothing_is_none():
    [row] = convergence({(1, "cvd", 1): {"a": [ONE], "b": [TWO]}})
    assert row["within"] is None and row["difference"] is None
    assert row["between"] == pytest.approx(0, abs=1e-12)
    assert convergence({(1, "cvd", 1): {"a": [ONE, ONE]}})[0]["between"] is None


def test_rounds_are_averaged_over_seeds():
    texts = {(1, "cvd", 1): {"a": [ONE, ONE], "b": [TWO]},
             (2, "cvd", 1): {"a": [ONE, TWO], "b": [TWO]}}
    [row] = convergence(texts)
    assert (row["within"], row["between"]) == pytest.approx((1 / 2, (0 + 1 / 2) / 2), abs=1e-12)


# --- figures and tables for a paper ------------------------------------------------------------

@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """What `--figures` writes of the committed pilot and of a simulated study."""
    made = tmp_path_factory.mktemp("drawn")
    runs = {"pilot": shutil.copytree(ROOT / "results/examples/pilot-smollm2", made / "run"),
            "study": plan(made / "acausal", agents=3, rounds=2)}
    for name, run in runs.items():
        assert analyze.main([str(run), "--figures", str(made / name)]).code == 0
    return made


@pytest.mark.parametrize("name", ["pilot", "study"])
def test_figures_are_drawings_and_every_table_is_there(drawn, name):
    ends = [path.suffix for path in (drawn / name).iterdir()]
    assert ends.count(".svg") >= 1 and ends.count(".csv") >= 2
    assert set(ends) == {".svg", ".csv"}


def test_a_table_says_in_numbers_what_the_analysis_has(drawn):
    effect = json.loads((drawn / "acausal/confirmatory-s42/acausal-analysis.json").read_text())[
        "established"]["contrasts"]["HP-LA"]
    with (drawn / "study/effects.csv").open(newline="", encoding="utf-8") as file:
        first = next(csv.DictReader(file))
    assert [float(first[f"points (interval){end}"]) for end in ("", ", low", ", high")] == [
        effect["value"], effect["low"], effect["high"]]
    assert first["stamp"] == "SIMULATED"


def test_figures_of_two_pilots_would_overwrite_each_other(tmp_path):
    for name in "ab":
        shutil.copytree(ROOT / "results/examples/pilot-smollm2", tmp_path / name)
    with pytest.raises(UsageError, match="--figures: 2 pilots have figures of the same names"):
        analyze.main([str(tmp_path), "--figures", str(tmp_path / "drawn")])

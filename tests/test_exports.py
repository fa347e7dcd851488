"""exports/*.csv and --figures as other programmes read them, and the similarity of policies."""

import csv
import io
import json
import shutil

import pytest
from conftest import ROOT, ended
from study_rows import plan

from cirrus.judge.gates import convergence
from cirrus.judge.rows import decisions, read_study
from cirrus.markers.patterns import marked
from cirrus.markers.ratings import item_id
from cirrus.reports.study import exports
from common.artifacts import csv_bytes
from common.verify import find_runs


def rows_of(data):
    return list(csv.DictReader(io.StringIO(data.decode(), newline="")))


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = plan(tmp_path_factory.mktemp("plan"), agents=4, baselines=["TitForTat"])
    return read_study(find_runs([str(folder)]))


@pytest.fixture(scope="module")
def tables(study):
    return {name.removeprefix("exports/"): rows_of(data) for name, data in exports(study).items()}


def test_there_is_a_row_for_each_decision_policy_and_game(tables):
    """Ten runs of one round: 4 agents and a baseline meet once in 10 pairs."""
    assert len(tables["games.csv"]) == 10 * 10
    assert len(tables["decisions.csv"]) == 10 * (6 * 2 + 4)  # a baseline's acts are in games only
    assert len(tables["policies.csv"]) == 10 * 4
    primary = [row for row in tables["decisions.csv"] if row["primary"] == "1"]
    assert len(primary) == 10 * 12 and not any("baseline" in row["opponent"] for row in primary)


def test_decisions_lead_to_their_policies_and_games_and_show_what_stood_first(tables):
    policies = {row["id"] for row in tables["policies.csv"]}
    games = {row["id"]: row for row in tables["games.csv"]}
    for row in tables["decisions.csv"]:
        game, side = row["id"].rsplit("/", 1)
        assert row["policy"] in policies and games[game][f"agent_{side}"] == row["agent"]
        assert games[game][f"decision_{side}"] == row["decision"]
        if row["cooperates"]:
            first = {"cooperative-first": "1", "other-first": "0"}[row["option_order"]]
            assert row["first_taken"] == ("1" if row["cooperates"] == first else "0")


def test_policies_carry_their_weak_labels_and_their_item(tables):
    for row in tables["policies.csv"]:
        assert row["item"] == item_id(row["text"])
        assert row["marker_acausal"] == str(int(marked(row["text"])["acausal"]))
    assert {row["marker_acausal"] for row in tables["policies.csv"]} == {"0", "1"}


def test_a_row_is_a_decision_as_read_back(study, tables):
    row, again = next(decisions(study.runs[0])), tables["decisions.csv"][0]
    assert (again["id"], again["S"], again["text"]) == (row.id, row.S, row.text)
    assert float(again["power_after"]) == row.power_after


def test_foreign_text_can_be_neither_a_formula_nor_a_new_column():
    hostile = ['=HYPERLINK("http://x")', 'a, "b"\nc', "-2+3", "nul\0byte"]
    cells = [row["a"] for row in rows_of(csv_bytes(["a", "b"], [
        {"a": text, "b": 1 / 3} for text in hostile]))]
    assert cells == ["'" + hostile[0], hostile[1], "'-2+3", "nul�byte"]
    assert csv_bytes(["a", "b"], [{"a": None, "b": True}]) == b"a,b\n,1\n"


# --- convergence: equal texts have cosine 1, texts without a common 3-gram 0 ------------------

A, B = "publish together at the agreed hour", "xxyyzz qqwwvv kkjjhh"


@pytest.mark.parametrize(("texts", "within", "between"), [
    ([{"a": [A, A], "b": [B, B]}], 1, 0), ([{"a": [A, A], "b": [A, A, A]}], 1, 1),
    ([{"a": [A], "b": [B]}], None, 0), ([{"a": [A, A]}], 1, None),
    ([{"a": [A, A], "b": [B]}, {"a": [A, B], "b": [B]}], 1 / 2, (0 + 1 / 2) / 2)])
def test_similarity_within_and_between_cells_is_averaged_over_seeds(texts, within, between):
    [row] = convergence({(seed, "cvd", 2): cells for seed, cells in enumerate(texts)})
    known = None not in (within, between)
    assert row["round"] == 2 and (row["difference"] is not None) is known
    for key, value in (("within", within), ("between", between)):
        assert row[key] == (value if value is None else pytest.approx(value, abs=1e-12))


# --- figures and tables for a paper ------------------------------------------------------------

@pytest.mark.parametrize("name", ["pilot", "study"])
def test_figures_and_tables_are_written_named_and_have_the_numbers_of_the_analysis(name, tmp_path):
    if name == "pilot":
        run = shutil.copytree(ROOT / "results/examples/pilot-smollm2", tmp_path / "run")
    else:
        run = plan(tmp_path / "acausal", agents=3, rounds=2)
    done = ended(tmp_path, "analyze.py", run, "--figures", "drawn")
    names = {path.name for path in (tmp_path / "drawn").iterdir()}
    assert done.returncode == 0 and all(name in done.stdout for name in names)
    assert {"cooperation-by-symmetry-and-cue.svg", "cells.csv" if name == "pilot" else
            "effects.csv"} <= names and {name.split(".")[1] for name in names} == {"svg", "csv"}
    if name == "study":
        effect = json.loads((run / "acausal-analysis.json").read_text())["established"][
            "contrasts"]["HP-LA"]
        first = rows_of((tmp_path / "drawn/effects.csv").read_bytes())[0]
        assert [float(first[f"points (interval){end}"]) for end in ("", ", low", ", high")] == [
            effect["value"], effect["low"], effect["high"]] and first["stamp"] == "SIMULATED"

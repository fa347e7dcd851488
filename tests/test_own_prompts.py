"""Prompts of one's own: one sentence for each condition, and ten bulletins of which two are kept."""

import gzip
import json
import shutil
from collections import Counter, defaultdict
from itertools import chain
from pathlib import Path

import pytest
from conftest import ROOT, edit, run_in
from domains import rows

PLANS = ("holdout", "ablation", "history-off")
STUDIES = (
    ("--tells", "ablated"),
    ("--design", "mechanism", "--runs", 3),
    ("--design", "lever", "--runs", 2, "--domain", "hospital"),
    ("--design", "twin", "--runs", 3),
)
SPECIFIED = "Assume peers received this same notice at the same minute."


@pytest.fixture
def mine(tmp_path):
    return Path(shutil.copytree(ROOT / "prompts", tmp_path / "mine"))


def one_sentence(frame):
    """Keep the first sentence of every list."""
    for factors in frame["toggles"].values():
        factors["record"] = factors["record"][:1]
        for factor in ("S", "C", "H", "entry"):
            for level, texts in factors[factor].items():
                factors[factor][level] = texts[:1]


@pytest.fixture
def one_wording(mine):
    for folder in ("cirrus24", "hospital"):
        edit(mine, one_sentence, f"{folder}/frame.json")


@pytest.fixture
def ten(mine):
    """Ten bulletins of cvd, of which two are held out."""

    def first_ten(outcomes):
        for number in range(11, 29):
            (mine / f"cirrus24/round_{number}.md").unlink()
            del outcomes[f"round_{number}"]

    edit(mine, first_ten, "cirrus24/outcomes.json")
    counts = {"bulletins": 10, "held_out": 2}
    edit(mine, lambda frame: frame.update(counts), "cirrus24/frame.json")


def asked(cli, *command):
    done = cli(*command, "--prompts", "mine", "--out", "o")
    assert done.returncode == 0, done.stderr
    assert cli("analyze.py", "--verify", "o").returncode == 0
    return done


def rounds_in(folder):
    """{run: [its rounds as in round_{N}_games.json]}."""
    found = defaultdict(list)
    for path in folder.rglob("round_*_games.json"):
        found[path.parent.name].append(json.loads(path.read_bytes()))
    return found


@pytest.mark.parametrize("plan", PLANS)
def test_with_one_sentence_in_each_list_every_plan_has_wording_1(
    cli, tmp_path, one_wording, plan
):
    flags = ("--plan", plan, "--seeds", 42, "--agents", 2, "--rounds", 2)
    asked(cli, "run_tournament.py", *flags)
    by_run = rounds_in(tmp_path / "o")
    assert len(by_run) >= 4
    for data in chain(*by_run.values()):
        assert data["wording"] == 1
    folder = run_in(tmp_path / "o")
    for run in folder.glob("cvd-S.high-*"):
        path = next(run.glob("transcripts/r1/*.gz"))
        shown = SPECIFIED in gzip.decompress(path.read_bytes()).decode()
        assert shown == ("-reworded-" not in run.name and "-ablated-" not in run.name)
    assert cli("analyze.py", folder).returncode == 0


@pytest.mark.parametrize("flags", STUDIES)
def test_with_one_sentence_in_each_list_one_shot_studies_have_wording_1(
    cli, tmp_path, one_wording, flags
):
    asked(cli, "run_pilot.py", "--models", "sim-correlation", *flags)
    assert {row["wording"] for row in rows(tmp_path / "o")} == {1}


def test_ten_rounds_of_eight_main_bulletins_ask_two_again_with_other_variants(
    cli, tmp_path, ten
):
    done = asked(cli, "run_tournament.py", "--agents", 3, "--rounds", 10)
    warning = " ".join(done.stderr.split())
    assert "warning: rounds: 10, but cvd has 8 main bulletins" in warning
    [rounds] = rounds_in(tmp_path / "o").values()
    bulletins = Counter(data["bulletin"] for data in rounds)
    assert sorted(bulletins.values()) == [1] * 6 + [2] * 2
    assert len({(data["bulletin"], data["setting"]) for data in rounds}) == 10
    read = set()
    for path in (tmp_path / "o").rglob("strategies_r*.json"):
        for row in json.loads(path.read_bytes()):
            read.add((row["agent"], row["bulletin"], row["variant"]))
    assert len(read) == 30


def test_a_plan_on_ten_bulletins_asks_each_of_the_two_held_out_once(cli, tmp_path, ten):
    flags = ("--plan", "holdout", "--agents", 2, "--rounds", 10, "--analyze")
    asked(cli, "run_tournament.py", *flags)
    by_run = rounds_in(tmp_path / "o")
    assert len(by_run) == 8
    for rounds in by_run.values():
        assert sorted(data["bulletin"] for data in rounds) == ["cvd-r09", "cvd-r10"]


OF_TEN = [((), range(1, 9)), (("--holdout", "--runs", 2), (9, 10))]


@pytest.mark.parametrize("flags, numbers", OF_TEN)
def test_a_pilot_on_ten_bulletins_asks_the_eight(cli, tmp_path, ten, flags, numbers):
    asked(cli, "run_pilot.py", "--models", "sim-coin", *flags)
    found = {row["bulletin"] for row in rows(tmp_path / "o")}
    assert found == {f"cvd-r{number:02d}" for number in numbers}

"""Prompts of one's own: one sentence for each condition, and ten bulletins of which two are kept."""

import gzip
import json
import re
import shutil
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from conftest import ROOT, run_in
from domains import DOMAINS

from cirrus.ask.bulletins import load_domain

PROMPTS = ROOT / "prompts"
FOLDERS = ("cirrus24", "hospital")
PLANS = ("2x2", "confirmatory", "exploratory", "holdout", "ablation", "history-off")
SPECIFIED = "Assume peers received this same notice at the same minute."


def copied(tmp_path):
    return Path(shutil.copytree(PROMPTS, tmp_path / "mine"))


def edit(path, change):
    data = json.loads(path.read_text("utf-8"))
    change(data)
    path.write_text(json.dumps(data), "utf-8")


def one_sentence(frame):
    """Keep the first sentence of every list."""
    for factors in frame["toggles"].values():
        factors["record"] = factors["record"][:1]
        for factor in ("S", "C", "H", "entry"):
            levels = factors[factor]
            for level, texts in levels.items():
                levels[level] = texts[:1]


@pytest.fixture
def one_wording(tmp_path):
    prompts = copied(tmp_path)
    for folder in FOLDERS:
        edit(prompts / folder / "frame.json", one_sentence)
    return prompts


def ten(prompts, folder="cirrus24"):
    """Leave ten bulletins in a folder."""
    for path in (prompts / folder).glob("round_*.md"):
        if int(path.stem.removeprefix("round_")) > 10:
            path.unlink()

    def first_ten(outcomes):
        for number in range(11, 40):
            outcomes.pop(f"round_{number}", None)

    edit(prompts / folder / "outcomes.json", first_ten)
    return prompts


def rounds_in(folder):
    """{run: [its rounds as in round_{N}_games.json]}."""
    found = defaultdict(list)
    for path in folder.rglob("round_*_games.json"):
        found[path.parent.name].append(json.loads(path.read_text("utf-8")))
    return found


def trials(run):
    text = gzip.decompress((run / "trials.jsonl.gz").read_bytes()).decode()
    return [json.loads(line) for line in text.splitlines()]


# --- one sentence in each list -----------------------------------------------------------------


@pytest.mark.parametrize("plan", PLANS)
def test_with_one_sentence_in_each_list_every_plan_has_wording_1(
    cli, tmp_path, one_wording, plan
):
    flags = ("--plan", plan, "--seeds", 42, "--agents", 2, "--rounds", 2)
    done = cli("run_tournament.py", *flags, "--prompts", "mine", "--out", "o")
    assert done.returncode == 0, done.stderr
    by_run = rounds_in(tmp_path / "o")
    wordings = {data["wording"] for rounds in by_run.values() for data in rounds}
    assert wordings == {1} and len(by_run) >= 4
    folder = run_in(tmp_path / "o")
    for run in folder.glob("cvd-S.high-*"):
        path = next(run.glob("transcripts/r1/*.gz"))
        shown = SPECIFIED in gzip.decompress(path.read_bytes()).decode()
        assert shown == (not re.search("-(reworded|ablated)-", run.name))
    analysed = cli("analyze.py", folder)
    assert analysed.returncode == 0, analysed.stderr
    assert cli("analyze.py", "--verify", folder).returncode == 0


@pytest.mark.parametrize(
    "flags",
    [
        (),
        ("--domain", "hospital"),
        ("--tells", "ablated"),
        ("--design", "mechanism", "--runs", 3),
        ("--design", "lever", "--runs", 2),
        ("--design", "twin", "--runs", 3),
    ],
)
def test_with_one_sentence_in_each_list_one_shot_studies_have_wording_1(
    cli, tmp_path, one_wording, flags
):
    command = ("run_pilot.py", "--models", "sim-correlation", *flags)
    done = cli(*command, "--prompts", "mine", "--out", "o")
    assert done.returncode == 0, done.stderr
    assert {row["wording"] for row in trials(run_in(tmp_path / "o"))} == {1}
    assert cli("analyze.py", "--verify", "o").returncode == 0


# --- bulletins of one's own --------------------------------------------------------------------


def pools(domain):
    return Counter(bulletin.holdout for bulletin in domain.bulletins)


def test_the_project_s_own_folders_hold_out_eight_and_six():
    assert pools(DOMAINS["cvd"]) == {False: 20, True: 8}
    assert pools(DOMAINS["hospital"]) == {False: 12, True: 6}


@pytest.mark.parametrize(
    ("change", "held_out"),
    [
        (lambda frame: None, 2),  # as many as frame.json counts they are not: a fifth
        (lambda frame: frame.pop("held_out"), 2),
        (lambda frame: frame.update(bulletins=10, held_out=4), 4),
        (lambda frame: (frame.pop("bulletins"), frame.update(held_out=3)), 3),
    ],
)
def test_of_ten_bulletins_the_last_two_are_held_out_unless_the_frame_says_otherwise(
    tmp_path, change, held_out
):
    prompts = ten(copied(tmp_path))
    edit(prompts / "cirrus24/frame.json", change)
    domain = load_domain("cvd", prompts)
    numbers = [bulletin.number for bulletin in domain.bulletins if bulletin.holdout]
    assert numbers == list(range(11 - held_out, 11))


def test_ten_rounds_of_eight_main_bulletins_ask_two_again_with_other_variants(
    cli, tmp_path
):
    ten(copied(tmp_path))
    flags = ("--agents", 3, "--rounds", 10, "--prompts", "mine", "--out", "o")
    done = cli("run_tournament.py", *flags)
    assert done.returncode == 0, done.stderr
    warning = " ".join(done.stderr.split())
    assert "warning: rounds: 10, but cvd has 8 main bulletins" in warning
    [rounds] = rounds_in(tmp_path / "o").values()
    asked, read = Counter(), set()
    for data in rounds:
        asked[data["bulletin"]] += 1
        read.add((data["bulletin"], data["setting"]))
    assert sorted(asked.values()) == [1] * 6 + [2] * 2 and len(read) == 10
    policies = [
        row
        for path in (tmp_path / "o").rglob("strategies_r*.json")
        for row in json.loads(path.read_text("utf-8"))
    ]
    assert len({(r["agent"], r["bulletin"], r["variant"]) for r in policies}) == 30
    assert cli("analyze.py", "--verify", "o").returncode == 0


def test_plans_on_ten_bulletins_ask_the_held_out_ones_in_holdout_runs_alone(
    cli, tmp_path
):
    ten(copied(tmp_path))
    flags = ("--plan", "study", "--agents", 2, "--rounds", 10, "--prompts", "mine")
    done = cli("run_tournament.py", *flags, "--analyze", "--out", "o")
    assert done.returncode == 0, done.stderr
    by_run = rounds_in(tmp_path / "o")
    assert len(by_run) == 42
    for name, rounds in by_run.items():
        if not name.startswith("cvd"):
            continue
        numbers = {int(data["bulletin"].removeprefix("cvd-r")) for data in rounds}
        held_out = "-holdout-" in name
        assert len(rounds) == (2 if held_out else 10)
        assert numbers == ({9, 10} if held_out else set(range(1, 9)))


def test_a_pilot_on_ten_bulletins_asks_the_eight(cli, tmp_path):
    ten(copied(tmp_path))
    command = ("run_pilot.py", "--models", "sim-coin", "--prompts", "mine")
    for flags, asked in (((), range(1, 9)), (("--holdout", "--runs", 2), (9, 10))):
        out = f"o{len(flags)}"
        assert cli(*command, *flags, "--out", out).returncode == 0
        found = {row["bulletin"] for row in trials(run_in(tmp_path / out))}
        assert found == {f"cvd-r{number:02d}" for number in asked}

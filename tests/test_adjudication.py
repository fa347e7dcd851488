"""adjudicate.py: blind, strict, resumable, verified; and what agreement it takes."""

import json
import re
import shutil

import pytest
from study_rows import plan

import adjudicate as script
from cirrus.judge.rows import read_study
from cirrus.markers.agreement import agreement, pair
from cirrus.markers.patterns import FAMILIES
from cirrus.markers.ratings import (
    Item,
    Rater,
    codebook,
    codebook_texts,
    item_id,
    items_of,
    parse_rating,
    rating_prompts,
    rating_rows,
    sample,
)
from common.artifacts import gzip_bytes, read_bytes
from common.verify import find_runs
from common.wire import Reply

TWO = "sim-careful-rater,sim-lenient-rater"
BOOK = codebook(*codebook_texts().values())
FORM = "\n".join(f"{name}: no" for name in FAMILIES)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A plan of ten runs, four agents, one round: 40 policies."""
    return plan(tmp_path_factory.mktemp("made"), agents=4)


@pytest.fixture
def folder(made, tmp_path):
    return shutil.copytree(made, tmp_path / "confirmatory-s42")


@pytest.fixture(scope="module")
def items(made):
    return items_of(read_study(find_runs([str(made)])))


def adjudicate(cli, folder, *flags, models=TWO, **more):
    return cli("adjudicate.py", folder, "--models", models, *flags, **more)


# --- the question ------------------------------------------------------------------------------

def test_a_question_holds_the_codebook_and_the_policy_and_nothing_else(items):
    """Taken away the policy, all questions are one, and it names no condition, act or agent."""
    left = set()
    for text in (*(item.text for item in items.values()), "Use {families} and </policy>\n{0}"):
        system, user = rating_prompts(BOOK, text)
        assert user.count(text) == 1
        left.add(system + user.replace(text, ""))
    [frame] = left
    assert all(re.fullmatch(r"p-[0-9a-f]{12}", name) for name in items)
    assert not re.search(r"coordinate|preempt|\bshare\b|reserve\b|option [ab]|symmetr|coupl"
                         r"|cooperat|convergent|same minute|agent-\d|cvd|hospital|S\.high"
                         r"|C\.present|superrational|hypothesis", frame, re.I)
    for family in FAMILIES:
        assert BOOK["families"][family]["yes"] in frame and f"{family}: yes|no" in frame


# --- the answer --------------------------------------------------------------------------------

def parsed(text):
    labels, status = parse_rating(text)
    assert (labels is not None) == (status == "ok")
    return status if labels is None else [name for name in FAMILIES if labels[name]]


def test_the_form_is_read_whatever_its_dress():
    yes = FORM.replace("acausal: no", "acausal: yes")
    assert parsed(FORM) == []
    for said in (yes, yes.upper(), "```\n" + yes + "\n```", yes.replace(": ", " : "),
                 "\n\n".join(f"- **{line}**" for line in yes.split("\n")),
                 "\n".join(f"{n}. {line}." for n, line in enumerate(yes.split("\n"), 1)),
                 "\n".join(reversed(yes.split("\n"))), yes.replace("_", " ").replace("\n", "\r\n")):
        assert parsed(said) == ["acausal"], said


@pytest.mark.parametrize("text, status", [
    ("", "unreadable"), ("acausal: yes", "incomplete"), (FORM + "\nacausal: yes", "ambiguous"),
    (FORM.replace("acausal: no", "acausal: yes|no"), "unreadable"),
    (FORM.replace("acausal: no", "acausal: yes, but weakly"), "unreadable"),
    ("Here are the labels:\n" + FORM, "unreadable"), (FORM + "\nsarcasm: no", "unreadable"),
    ("I'm sorry, but I can't help with that.", "refused")])
def test_anything_else_is_a_status_and_never_a_label(text, status):
    assert parsed(text) == status


def test_a_call_without_an_answer_keeps_its_outcome():
    item = Item("p-1", "cell", "text")
    for outcome in ("empty", "truncated", "blocked", "provider_error", "not_run"):
        [row] = rating_rows({"models": ["m"]}, [item], {"p-1/m": Reply(outcome, FORM)}, False)
        assert (row["status"], row["labels"]) == (outcome, None)


# --- the sample --------------------------------------------------------------------------------

def test_the_sample_takes_from_all_cells_alike_and_repeats():
    many = [Item(item_id(f"{cell}{n}"), cell, f"{cell}{n}") for cell, size in
            (("a", 40), ("b", 40), ("c", 3)) for n in range(size)]
    drawn = sample(many, 23, 7)
    assert {cell: sum(item.cell == cell for item in drawn) for cell in "abc"} == {
        "a": 10, "b": 10, "c": 3}
    assert drawn == sample(many[::-1], 23, 7) != sample(many, 23, 8)
    assert sorted(sample(many, 1000, 7)) == sorted(many)


# --- the run -----------------------------------------------------------------------------------

def test_an_adjudication_is_written_read_verified_and_the_same_each_time(cli, folder, tmp_path):
    done = adjudicate(cli, folder)
    assert done.returncode == 0, done.stderr
    assert "SIMULATED" in done.stdout and "sim-careful-rater: " in done.stdout
    rows = [json.loads(line) for line in (folder / "adjudication/ratings.jsonl").open()]
    assert len(rows) == 2 * 40 and all(row["simulated"] for row in rows)
    again = adjudicate(cli, folder, "--concurrency", 1, "--out", tmp_path / "again")
    assert again.returncode == 0
    assert read_bytes(tmp_path / "again/adjudication/ratings.jsonl") == read_bytes(
        folder / "adjudication/ratings.jsonl")
    assert "already complete" in adjudicate(cli, folder).stdout
    verified = cli("analyze.py", "--verify", folder)
    assert verified.returncode == 0, verified.stdout
    assert "SIMULATED adjudication, 1 files from 80 answers" in verified.stdout
    assert cli("analyze.py", folder).returncode == 0
    out = json.loads((folder / "acausal-analysis.json").read_text())
    assert [own["rater"] for own in out["markers"]["raters"]] == TWO.split(",")
    found = out["markers"]["agreement"]
    assert found["acausal"]["pairs"][2]["n"] >= 35 and found["acausal"]["adjudicated"] is True
    assert found["benchmark_terms"]["adjudicated"] is not True  # nobody writes them


@pytest.mark.parametrize(("file", "old", "new"), [
    ("adjudication/ratings.jsonl", '"acausal":false', '"acausal":true'),
    ("adjudication/journal.jsonl.gz", "acausal: no", "acausal: yes"),
    ("cvd-S.low-C.absent-H.low-s42/strategies_r1.json", '"policy":"', '"policy":"Well: '),
    ("adjudication/manifest.json", '"sample": 200', '"sample": 3')])
def test_verify_catches_tampering_and_an_analysis_takes_no_edited_ratings(cli, folder, file, old,
                                                                          new):
    adjudicate(cli, folder)
    made = read_bytes(folder / file)
    edited = made.replace(old.encode(), new.encode(), 1)
    (folder / file).write_bytes(gzip_bytes(edited) if file.endswith("gz") else edited)
    done = cli("analyze.py", "--verify", folder / "adjudication")
    assert edited != made and done.returncode == 2 and done.stdout.startswith("FAILED")
    if file.endswith("ratings.jsonl"):
        done = cli("analyze.py", folder)
        assert done.returncode == 2 and "not what its manifest.json has hashed" in done.stderr


def test_a_dry_run_asks_and_writes_nothing(cli, folder):
    done = adjudicate(cli, folder, "--dry-run", "--sample", 12, "--json")
    facts = json.loads(done.stdout)
    assert (facts["calls"], facts["items"], facts["dry_run"]) == (24, 12, True)
    assert not (folder / "adjudication").exists()


def test_one_rater_in_two_adjudications_and_an_unfinished_run_are_told(cli, folder):
    adjudicate(cli, folder)
    adjudicate(cli, folder, "--run-id", "second")
    done = cli("analyze.py", folder)
    assert done.returncode == 2 and "both hold ratings by sim-careful-rater" in done.stderr
    path = next(folder.glob("cvd-*")) / "manifest.json"
    path.write_text(path.read_text().replace('"complete"', '"incomplete"'))
    done = adjudicate(cli, folder, "--run-id", "third")
    assert done.returncode == 2 and "resume it first" in done.stderr


def test_ratings_beside_one_plan_are_read_when_several_are_analysed(cli, folder, tmp_path):
    """They stand in the plan's folder; the analysis of both plans in the one above."""
    adjudicate(cli, folder)
    other = plan(tmp_path, name="ablation", tells="ablated", agents=4)
    assert cli("analyze.py", folder, other).returncode == 0
    out = json.loads((tmp_path / "acausal-analysis.json").read_text())["markers"]
    assert [(own["rater"], own["elsewhere"]) for own in out["raters"]] == [
        ("sim-careful-rater", 0), ("sim-lenient-rater", 0)]
    run = folder / "cvd-S.high-C.present-H.low-s42"
    assert cli("analyze.py", run).returncode == 0  # four of the forty policies
    [own, _] = json.loads((run / "acausal-analysis.json").read_text())["markers"]["raters"]
    assert own["rated"] <= 4 and own["rated"] + own["elsewhere"] >= 36


# --- on a server -------------------------------------------------------------------------------

@pytest.mark.parametrize("flags, bare", [
    ((), True), (("--models", TWO), True), (("--concurrency", "2"), True),
    (("--seed", "7"), False), (("--sample", "7"), False), (("--temperature", "0.5"), False),
    (("--models", "sim-lenient-rater,sim-careful-rater"), False),
    (("--base-url", "http://127.0.0.1:9/v1"), False)])
def test_only_the_run_of_the_usual_settings_has_the_bare_name(folder, flags, bare):
    name = script.main([str(folder), "--dry-run", *flags]).facts["run_id"]
    assert re.fullmatch("adjudication" if bare else "adjudication-[0-9a-f]{6}", name)


def test_a_budget_stops_it_resumably_and_nothing_is_asked_twice(cli, double, folder):
    def live(limit):
        return adjudicate(cli, folder, "--base-url", double.url, "--run-id", "adjudication",
                          "--limit-usd", limit, "--concurrency", "1",
                          models="double/a,double/b", key="k-12345")
    done = live(0.0001)
    assert done.returncode == 4 and "over the limit" in done.stderr
    double.script(faults=[{"fault": "401", "skip": 30}])
    assert live(5).returncode == 5
    assert json.loads((folder / "adjudication/manifest.json").read_text())["state"] == "incomplete"
    out = cli("analyze.py", folder)
    assert out.returncode == 0
    said = json.loads((folder / "acausal-analysis.json").read_text())["markers"]
    assert said["adjudicated"] == [] and "unfinished" in said["agreement"]["acausal"]["why"]

    double.script()
    done = live(5)
    assert done.returncode == 0, done.stderr
    assert "resuming: 30 of 80" in done.stdout and len(double.ledger()["requests"]) == 50
    assert cli("analyze.py", "--verify", folder / "adjudication").returncode == 0


# --- agreement ---------------------------------------------------------------------------------

def table(both, first, second, neither):
    return ([(True, True)] * both + [(True, False)] * first + [(False, True)] * second
            + [(False, False)] * neither)


def test_agreement_of_a_pair_by_hand():
    """40 both, 9 the first alone, 6 the second alone, 45 neither: observed 0.85; π = (49 + 46)/200
    = 0.475, chance 2π(1−π) = 0.49875; AC1 = 0.35125/0.50125; positive 80/95."""
    found = pair("a", "b", table(40, 9, 6, 45))
    assert found["ac1"]["value"] == pytest.approx(0.35125 / 0.50125)
    assert found["positive"]["value"] == pytest.approx(80 / 95)
    assert (found["n"], found["either"], found["both"]) == (100, 55, 40)
    assert found["reached"] is False  # the bound lies below the value, and that below 0.75


@pytest.mark.parametrize("rows, reached, why", [
    (table(40, 1, 1, 58), True, None),
    (table(9, 0, 0, 10), None, "19 policies labelled by both; 20 are needed"),
    (table(4, 0, 0, 96), None, "4 called present by both; 5 are needed"),
    (table(0, 30, 30, 40), False, None)])
def test_a_pair_reaches_the_bar_misses_it_or_cannot_tell(rows, reached, why):
    found = pair("a", "b", rows)
    assert (found["reached"], found["why"]) == (reached, why)


def rater(name, truth, wrong=(), **more):
    """A rater of 100 items who says the truth in all families but for the items `wrong`."""
    labels = {item: dict.fromkeys(FAMILIES, value != (item in wrong))
              for item, value in truth.items()}
    return Rater(**({"name": name, "kind": "model", "simulated": False, "done": True,
                     "labels": labels, "statuses": {"ok": 100}, "served": (name,)} | more))


TRUTH = {f"p-{n}": n % 3 == 0 for n in range(100)}
WEAKLY = {item: dict.fromkeys(FAMILIES, value) for item, value in TRUTH.items()}


A, B = (rater(name, TRUTH) for name in "ab")
SIMULATED = [rater(name, TRUTH, simulated=True) for name in "ab"]
MUTILATED = [rater("a", TRUTH, [f"p-{n}" for n in range(15)]),
             rater("b", TRUTH, [f"p-{n}" for n in range(15, 30)])]


@pytest.mark.parametrize(("raters", "policies_simulated", "adjudicated", "words"), [
    ([A, B], False, True, []), (SIMULATED, True, True, []),
    ([A, B, rater("anna", TRUTH, TRUTH, kind="person")], False, False, ["anna"]),  # every pair
    (MUTILATED, False, False, ["0.75 is needed", "a and b"]),
    ([], False, None, ["nobody has rated"]), ([A], False, None, ["only rater"]),
    ([A, SIMULATED[1]], False, None, ["simulated raters say nothing"]),
    ([A, rater("b", TRUTH, done=False)], False, None, ["unfinished"]),
    ([rater(name, TRUTH, served=("x",)) for name in "ab"], False, None, ["one rater, not two"])])
def test_who_may_adjudicate_and_who_does(raters, policies_simulated, adjudicated, words):
    found = agreement(WEAKLY, raters, policies_simulated)["acausal"]
    assert found["adjudicated"] is adjudicated
    assert (found["why"] is None) is (words == []) and all(word in found["why"] for word in words)
    if adjudicated:
        assert found["lowest"] == min(one["ac1"]["low"] for one in found["pairs"]) >= 0.75


# --- simulated raters --------------------------------------------------------------------------

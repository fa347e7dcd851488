"""A replication goes through the real pipeline, and what a population has earned."""


import pytest
from conftest import run_in
from study_rows import conducted

from cirrus.ask.respondents import respondent
from cirrus.calibrate import replicate as c
from cirrus.calibrate import studies
from cirrus.calibrate.studies import Study, asked, planted
from cirrus.calibrate.table import earned
from cirrus.judge import mechanism
from cirrus.judge import rivals as nine
from cirrus.judge.pilot import analyse as analyse_pilot
from cirrus.judge.rows import decisions, read_study
from cirrus.judge.study import analyse
from common import UsageError
from common.artifacts import read_jsonl
from common.rng import SeededRandom as Stream
from common.verify import find_runs

# What a server would add, and what nothing is computed from.
BESIDE = {"prompt_tokens": None, "output_tokens": None, "cost_usd": None, "power_after": None,
          "model": "", "served_model": ""}
UNSEEN = BESIDE | {"reasoning_tokens": None, "payoff": None, "text": ""}


def in_order(rows):
    return sorted(rows, key=lambda row: row["id"])


# --- the pipeline, and the short way through it ------------------------------------------------

@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """The three plans of two agents, conducted, journalled, written and read back."""
    out = tmp_path_factory.mktemp("plans")
    planned = studies.tournament_runs(2, [7], model="superrational")
    for name in studies.ALL_PLANS:
        conducted(out, [run for run in planned if run.folder.startswith(name)], name)
    return read_study(find_runs([str(out)]))


def test_a_replication_has_the_decisions_of_the_real_runs(study):
    real = {row.id: row for run in study.runs for row in decisions(run)}
    held = studies.collect(respondent("superrational"), studies.tournament_runs(2, [7]))
    assert len(held.rows) == len(real) == (10 * 8 + 2 * 10 + 16 * 10 + 8 * 8) * 2
    for row in held.rows:
        assert row._replace(**BESIDE) == real[row.id]._replace(**BESIDE)


def test_a_replication_says_what_the_real_analysis_says(study, monkeypatch):
    monkeypatch.setattr(c, "SeededRandom", lambda *path: type("", (), {
        "getrandbits": lambda self, n: 7})() if path[1] == "calibration" else Stream(*path))
    record = c.replicate("superrational", c.read_size("2x1"), 0, 1, fit=True)
    real = analyse(study)
    effect = real["established"]["effects"]["primary"]
    assert record["word"] == real["verdict"]["word"] == "cue-responsive"
    assert record["open"] == real["verdict"]["open"]
    assert record["primary"] == pytest.approx([effect["value"], effect["low"], effect["high"]],
                                              rel=1e-5)
    assert record["gates"] == {gate["gate"]: [gate["as_specified"]["verdict"],
                                              gate["established"]["verdict"]]
                               for gate in real["gates"]}
    assert record["met"] == real["primary"]["met"]
    assert record["tripped"] == {wire["tripwire"]: wire["tripped"] for wire in real["tripwires"]}


@pytest.mark.parametrize("population, plan", [
    ("superrational", "confirmatory"), ("policies-1", "holdout"), ("bulletins-1", "confirmatory"),
    ("truncating", "ablation"), ("memorised-main", "holdout"), ("copycat", "confirmatory")])
def test_the_short_way_through_a_tournament_gives_the_same_rows(population, plan):
    long = studies.collect(respondent(population, 4), studies.tournament_runs(2, [7, 8], [plan]))
    short = studies.short(population, 4, 2, (7, 8), (plan,))
    assert [row._replace(**UNSEEN) for row in short.rows] == [
        row._replace(**UNSEEN) for row in long.rows]
    assert (short.policies, short.written) == (long.policies, long.written)


@pytest.mark.parametrize("design, models", [
    ("2x2", {"a": "sloppy", "b": "bulletins-1", "c": "reciprocal"}),
    ("2x2", {"a": "refuses-to-defect", "b": "L2-only"}),
    ("mechanism", {"a": "one-wording-only", "b": "true-40-at-50-sd1"}),
    ("mechanism", {"a": "length"}), ("mechanism", {"a": "truncating"})])
def test_the_short_way_through_a_one_shot_study_gives_the_same_rows(design, models):
    study = Study(design, 2, models, world=5)
    long, short = in_order(asked(study, 9)), in_order(planted(study, 9))
    kept_apart = {"text"}
    assert short and [{key: row[key] for key in one.keys() - kept_apart}
                      for one, row in zip(short, long, strict=True)] == [
        {key: one[key] for key in one.keys() - kept_apart} for one in short]


def test_a_pilot_has_the_trials_of_the_real_run(cli, tmp_path):
    assert cli("run_pilot.py", "--models", "compliance", "--runs", 3, "--seed", 5).returncode == 0
    real = [row for _, row in read_jsonl(run_in(tmp_path / "results/pilot") / "trials.jsonl.gz")]
    rows = planted(Study("2x2", 3, {"compliance": "compliance"}), 5)
    same = ("id", "S", "C", "bulletin", "variant", "label_scheme", "order", "cooperates", "status")
    assert [[row[key] for key in same] for row in in_order(rows)] == [
        [row[key] for key in same] for row in in_order(real)]


@pytest.mark.parametrize("population", [
    "superrational", "coin", "conformist", "sloppy", "missing-a-little", "always-coordinate",
    "L2-only", "deterministic", "one-against", "true-20-at-30-sd1"])
def test_a_pilot_s_record_says_what_the_real_analysis_says(population):
    size = c.read_size("10")
    for rep in range(2):
        record = c.replicate(population, size, rep, 42)
        study = c.oneshot_of(population, size, record["drawn"])
        out = analyse_pilot(asked(study, record["drawn"]), {
            "config": study.config(record["drawn"]), "provider": "simulated"}, None)
        assert {key: record[key] for key in ("word", "models", "open")} == {
            key: out["verdict"][key] for key in ("word", "models", "open")}
        assert record["may"] == len(out["claims"]["may"]) == sum(record["claims"].values())
        effect = out["pooled"]["effects"]["primary"]
        assert record["primary"] == pytest.approx(
            [effect["value"], effect["low"], effect["high"]], rel=1e-5)


@pytest.mark.parametrize("population, size, word", [
    ("coin", "m12", "not shown"), ("superrational", "m12", "correlation-sensitive"),
    ("true-57-at-30", "m12", "correlation-sensitive"), ("additive", "m12", "cue-responsive"),
    ("always-preempt", "m12", "not evaluable"), ("missing-a-little", "m12", ""),
    ("misreader", "m12", "correlation-sensitive"), ("fifth-against", "m6", ""),
    ("true-57-at-30", "m12b10", "correlation-sensitive"),
    ("pool-of-rivals", "m6", "cue-responsive"), ("deterministic", "m12b9", "cue-responsive")])
def test_a_mechanism_study_s_record_says_what_the_real_analysis_says(population, size, word):
    said = set()
    for rep in range(2):
        record = c.replicate(population, c.read_size(size), rep, 42)
        study = c.oneshot_of(population, c.read_size(size), record["drawn"])
        facts = {"config": study.config(record["drawn"]), "provider": "simulated"}
        rows = planted(study, record["drawn"])
        out = mechanism.analyse(rows, facts, None)
        assert (record["word"], record["models"]) == (
            out["verdict"]["word"], out["verdict"]["models"])
        said.add(record["word"])
    assert word in said or not word


@pytest.mark.parametrize("population", ["superrational", "missing-a-little", "true-20-at-50-sd1"])
def test_the_brief_proof_has_the_p_of_the_whole_evidence(population):
    study = Study("mechanism", 6, {"m": population}, world=3)
    counts = nine.tally(planted(study, 3))
    whole, brief = nine.evidence(counts), nine.proof_in_brief(counts)
    assert brief.p == whole["p"] and brief.units == whole["units"]
    assert all(brief.required.values()) == all(whole["required"].values())


def test_every_positive_sentence_of_a_pilot_is_counted_under_a_name():
    record = c.replicate("deterministic", c.read_size("20"), 0, 42)
    assert record["claims"] == dict.fromkeys(c.CLAIMS, True) and record["may"] == len(c.CLAIMS)


@pytest.mark.parametrize("name", ["1", "0", "10x", "x4", "10x0", "1x4", "ten", "10x4x2", "-3", "",
                                  "m0", "m12b0", "m12b21", "m12b", "b10"])
def test_what_is_no_size_is_refused(name):
    with pytest.raises(UsageError, match="--sizes"):
        c.read_size(name)


def test_the_same_replication_is_the_same_whatever_else_is_done():
    size = c.read_size("4x1")
    first = c.replicate("coin", size, 3, 42, fit=False)
    c.replicate("superrational", size, 0, 42, fit=False)
    assert c.replicate("coin", size, 3, 42, fit=False) == first
    assert c.replicate("coin", size, 4, 42, fit=False) != first


# --- what is earned ----------------------------------------------------------------------------

@pytest.mark.parametrize("name, pilot_word, mechanism_word, lacks", [
    ("superrational", "cue-responsive", "correlation-sensitive", ""),
    ("deterministic", "cue-responsive", "correlation-sensitive", ""),
    ("true-10-at-80-sd1", "cue-responsive", "correlation-sensitive", ""),
    ("coin", "not shown", "not shown", "HP-LA HP-LP HP-RV HP-UN interaction log-odds labels"),
    ("conformist", "cue-responsive", "cue-responsive", "HP-LP HP-UN interaction log-odds"),
    ("additive", "cue-responsive", "cue-responsive", "interaction log-odds scale"),
    ("additive-logit", "cue-responsive", "cue-responsive", "log-odds scale"),
    ("free-rider", "cue-responsive", "cue-responsive", "scale"),
    ("lot-discount", "cue-responsive", "cue-responsive", "scale"),
    ("word-only", "cue-responsive", "cue-responsive", "labels"),
    ("updateless", "cue-responsive", "correlation-sensitive", ""),
    ("misreader", "cue-responsive", "correlation-sensitive", ""),
    ("causal-influence", "cue-responsive", "correlation-sensitive", ""),
    ("missing-damps", "cue-responsive", "cue-responsive", "missing"),
    ("reversed", "not shown", "not shown",
     "HP-LA HP-LP HP-RV HP-UN interaction log-odds labels"),
    ("pool-of-rivals", "cue-responsive", "cue-responsive", "HP-UN interaction log-odds"),
])
def test_the_word_that_a_population_deserves(name, pilot_word, mechanism_word, lacks):
    assert earned(name, "2x2").word == pilot_word
    assert earned(name, "mechanism")[:2] == (mechanism_word, tuple(lacks.split()))


def test_what_is_true_of_a_population_follows_from_its_rule():
    # −0.8 + 1.0 + 0.8 + 1.2 against −0.8, without a policy; with one, ±0.6 or 0 at equal odds.
    assert earned("superrational", "2x2").primary == pytest.approx(0.90025 - 0.31003, abs=1e-5)
    assert earned("superrational", "tournament").primary == pytest.approx(
        ((0.83202 + 0.90025 + 0.94268) - (0.19782 + 0.31003 + 0.45017)) / 3, abs=1e-4)
    assert earned("compliance-cued", "tournament").primary == pytest.approx(
        earned("superrational", "tournament").primary / 2)
    assert earned("compliance", "tournament").primary == 0
    assert earned("one-against", "2x2").primary == pytest.approx(
        earned("superrational", "2x2").primary / 2)

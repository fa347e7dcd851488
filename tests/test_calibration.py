"""What is said of known respondents: rows as rendered prompts give them, claims by their limits.

    python3 tests/test_calibration.py --write   # the committed files and README's table, derived
"""

import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import calibrate as c  # noqa: E402
from cirrus.ask.populations import RIVALS, earned  # noqa: E402
from cirrus.ask.respondents import respondent  # noqa: E402
from cirrus.reports import calibration  # noqa: E402
from common import UsageError  # noqa: E402
from common.artifacts import read_bytes, write_atomic  # noqa: E402

COMMITTED = ROOT / "results/examples/calibration"
README = ROOT / "README.md"
CALLED = re.compile(r"\| respondent \(SIMULATED\) \|.*?\n\n", re.S)
SHOWN = ("coin", "label-biased", "length", "altruist", "reciprocal", "conformist", "additive",
         "additive-logit", "intention-kind", "causal-influence", "updateless", "superrational")


def held():
    """(header, records) of the committed calibration."""
    header, *records = map(json.loads, read_bytes(
        COMMITTED / "replications.jsonl.gz").splitlines())
    return header, records


def called_table(out):
    """README's table."""
    lines = ["| respondent (SIMULATED) | what it does | earned | `cue-responsive` or lower | "
             "`correlation-sensitive` |", "|---|---|---|---|---|"]
    for name in SHOWN:
        row = out["populations"][name]["mechanism"]
        above = calibration.words_above(row)["k"]
        n = row["replications"]
        cells = (f"{k:,} of {n:,}" if k else "0" for k in (n - above, above))
        lines.append(f"| `{name}` | {out['populations'][name]['what']} | {row['earned']} | "
                     f"{' | '.join(cells)} |")
    return "\n".join(lines) + "\n\n"


# --- rows ---------------------------------------------------------------------------------------

@pytest.mark.parametrize("design, asks", [
    ("2x2", ("sloppy", "bulletins-1", "reciprocal")), ("2x2", ("refuses-to-defect", "L2-only")),
    ("mechanism", ("one-wording-only", "true-40-at-50-sd1")), ("mechanism", ("truncating",))])
def test_answers_are_those_that_rendered_prompts_give(design, asks):
    models = {f"m{at}": name for at, name in enumerate(asks)}
    study = c.Study(design, 2, 9, tuple(models))
    by_id = {row["id"]: row for row in c.planted(study, models)}
    rendered = c.asked(study, {model: respondent(name, 9) for model, name in models.items()})
    assert len(by_id) == len(rendered) > 0
    for row in rendered:
        short = by_id[row["id"]] | {"text": row["text"]}
        assert {key: row[key] for key in short} == short


# Some lie where a bound of the mechanism study's rule decides: missing decisions, what a lot takes.
RECOUNTED = {"2x2": [("superrational", 3), ("bulletins-1", 19), ("pool-of-rivals", 7),
                     ("missing-flatters", 1), ("deterministic", 0)],
             "mechanism": [("additive", 2), ("true-40-at-50-sd1", 1), ("fifth-against", 0),
                           ("lot-discount", 11), ("superrational", 0), ("label-biased", 1),
                           ("missing-a-little", 4), ("always-preempt", 0)]}


def test_committed_records_are_counted_again_and_committed_files_follow_from_them():
    header, records = held()
    stored = {(one["population"], one["design"], one["rep"]): one for one in records}
    for design, chosen in RECOUNTED.items():
        for name, rep in chosen:
            seed = c.seed_of(header["seed"], design, c.RUNS[design], rep)
            work = c.Work(c.Study(design, c.RUNS[design], seed), rep, (name,), False, None)
            assert c.replicate_all(work) == [stored[name, design, rep]]
    for name, content in c.derived(header, records).items():
        made = content if isinstance(content, bytes) else content.encode()
        assert (COMMITTED / name).read_bytes() == made, f"python3 {Path(__file__).name} --write"
    assert CALLED.search(README.read_text("utf-8"))[0] == called_table(c.table(header, records))


def test_counts_are_the_same_on_any_number_of_processes_and_probes_stand_beside(cli, tmp_path):
    flags = ("--populations", "superrational,coin", "--reps", 2, "--runs", 3, "--probes")
    for jobs in (1, 2):
        done = cli("calibrate.py", *flags, "--jobs", jobs, "--out", f"jobs{jobs}")
        assert done.returncode == 0, done.stderr
    for path in (tmp_path / "jobs1").iterdir():
        assert path.read_bytes() == (tmp_path / "jobs2" / path.name).read_bytes()
    out = json.loads((tmp_path / "jobs1/calibration.json").read_text("utf-8"))
    beliefs = {name: row["mechanism"]["probes"]["beliefs"]
               for name, row in out["populations"].items()}
    assert beliefs["superrational"] > .5 > .1 > beliefs["coin"] and out["replications"] == 8
    assert "influence denied" in (tmp_path / "jobs1/calibration.md").read_text("utf-8")


# --- a user's own respondents ------------------------------------------------------------------

def test_the_example_of_the_docs_is_called_what_it_is(cli, tmp_path):
    page = (ROOT / "docs/howto.md").read_text("utf-8")
    (tmp_path / "mine.py").write_text(page.split("```python\n")[1].split("```")[0], "utf-8")
    done = cli("calibrate.py", "--rivals", "mine.py", "--reps", 1)
    assert done.returncode == 0, done.stderr
    out = json.loads((tmp_path / "results/calibration/calibration.json").read_text("utf-8"))
    assert out["populations"].keys() == {"flatterer", "long-texts"}
    row = out["populations"]["flatterer"]
    assert row["2x2"]["words"]["cue-responsive"] == row["mechanism"]["words"]["cue-responsive"] == 1
    assert row["mechanism"]["earned"] is None and row["mechanism"]["covered"]["n"] == 0


@pytest.mark.parametrize("text, said", [
    ("RESPONDENTS = {'one': lambda request, rng: 1 / 0}", "ZeroDivisionError"),
    ("RESPONDENTS = {'one': lambda request, rng: 3}", "answered 3"),
    ("RESPONDENTS = {'one': lambda request, rng: ('x', 'odd')}", "finish_reason"),
    ("RESPONDENTS = {'coin': lambda request, rng: 'x'}", "choose another"),
    ("RESPONDENTS = {}", "give RESPONDENTS"), ("import nothing_of_that_name", "ModuleNotFound"),
    ("open('nowhere')", "FileNotFound"), (None, "mine.py: no such file; give one of Python")])
def test_a_fault_of_the_file_is_one_line(cli, tmp_path, text, said):
    if text is not None:
        (tmp_path / "mine.py").write_text(text)
    done = cli("calibrate.py", "--rivals", "mine.py", "--reps", 1)
    assert done.returncode == 2 and said in done.stderr
    assert len([line for line in done.stderr.splitlines() if line.startswith("error")]) == 1
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("flags, said", [
    (("--reps", "0"), "--reps"), (("--jobs", "0"), "--jobs"), (("--runs", "1"), "--runs"),
    (("--seed", "-1"), "--seed"), (("--populations", "coins"), "coins")])
def test_bad_input_is_a_usage_error(flags, said):
    with pytest.raises(UsageError, match=said):
        c.main(flags)


# --- what is earned, and what is claimed -------------------------------------------------------

@pytest.mark.parametrize("name, pilot_word, mechanism_word, lacks", [
    ("superrational", "cue-responsive", "correlation-sensitive", ""),
    ("true-10-at-80-sd1", "cue-responsive", "correlation-sensitive", ""),
    ("updateless", "cue-responsive", "correlation-sensitive", ""),
    ("coin", "not shown", "not shown", "HP-LA HP-LP HP-RV HP-UN interaction log-odds labels"),
    ("conformist", "cue-responsive", "cue-responsive", "HP-LP HP-UN interaction log-odds"),
    ("additive", "cue-responsive", "cue-responsive", "interaction log-odds scale"),
    ("additive-logit", "cue-responsive", "cue-responsive", "log-odds scale"),
    ("lot-discount", "cue-responsive", "cue-responsive", "scale"),
    ("word-only", "cue-responsive", "cue-responsive", "labels"),
    ("missing-damps", "cue-responsive", "cue-responsive", "missing"),
    ("reversed", "not shown", "not shown",
     "HP-LA HP-LP HP-RV HP-UN interaction log-odds labels"),
    ("one-against", "cue-responsive", "correlation-sensitive", ""),
    ("pool-of-rivals", "cue-responsive", "cue-responsive", "HP-UN interaction log-odds")])
def test_the_word_that_a_population_deserves(name, pilot_word, mechanism_word, lacks):
    assert earned(name, "2x2").word == pilot_word
    assert earned(name, "mechanism")[:2] == (mechanism_word, tuple(lacks.split()))


def test_what_is_true_of_a_population_follows_from_its_rule():
    # −0.8 + 1.0 + 0.8 + 1.2 against −0.8
    assert earned("superrational", "2x2").primary == pytest.approx(0.90025 - 0.31003, abs=1e-5)
    assert earned("one-against", "2x2").primary == pytest.approx(
        earned("superrational", "2x2").primary / 2)
    assert {name for name in RIVALS if not earned(name, "mechanism").lacks} == {
        "causal-influence", "few-bulletins", "hofstadter", "intention-kind", "misreader",
        "one-wording-only", "updateless"}


CORRELATION = "correlation-sensitive, "
FALSE = {"word": "cue-responsive"}
HIGH = {"word": "correlation-sensitive"}


# population, design, claim, what a record has in the first k of n, {(k, n): met}. Wilson's limits
# for k of n, by prop.test(correct = FALSE) of R, lie on either side of the claim's limit.
@pytest.mark.parametrize("name, design, claim, has, cases", [
    ("coin", "2x2", "cue-responsive, which is not earned: upper limit at most 5%", FALSE,
     {(0, 100): True, (3, 100): None, (12, 100): False, (24, 1000): True, (66, 1000): False,
      (0, 19): None}),
    ("coin", "2x2", "any positive sentence, where there is nothing: upper limit at most 8%",
     {"positive": 1}, {(1, 100): True, (6, 100): None, (20, 100): False}),
    ("bulletins-1", "2x2", "the test over bulletins rejects: upper limit at most 8%",
     {"rejects": True}, {(1, 100): True, (6, 100): None, (20, 100): False}),
    ("coin", "2x2", "the 95% interval of HP − LA covers it: lower limit at least 93%",
     {"covers": True}, {(100, 100): True, (95, 100): None, (80, 100): False}),
    ("conformist", "2x2", "a word above cue-responsive: upper limit at most 5%", HIGH,
     {(0, 100): True, (12, 100): False}),
    ("word-only", "mechanism", f"{CORRELATION}lacking 1 of what it needs: upper limit at most 5%",
     HIGH, {(24, 1000): True, (40, 1000): None, (66, 1000): False}),
    ("additive", "mechanism", f"{CORRELATION}lacking 2 or more of what it needs: upper limit at "
     "most 3%", HIGH, {(10, 1000): True, (24, 1000): None, (66, 1000): False}),
    ("true-40-at-50", "mechanism", f"{CORRELATION}of a true effect of 40 points: lower limit at "
     "least 85%", HIGH, {(95, 100): True, (85, 100): None, (70, 100): False}),
    ("true-30-at-30-sd1", "mechanism", f"{CORRELATION}of a true effect of 30 points: lower limit "
     "at least 55%", HIGH, {(70, 100): True, (60, 100): None, (40, 100): False})])
def test_a_claim_is_met_where_the_interval_says_so(name, design, claim, has, cases):
    usual = {"population": name, "word": "not shown", "positive": 0, "covers": False,
             "rejects": False}
    for (k, n), met in cases.items():
        row = calibration.counted(
            name, design, [usual | (has if at < k else {}) for at in range(n)])
        found = {one["what"]: one for one in calibration.claims(name, design, row, True)}
        assert found[claim]["met"] is met, (k, n)
        assert (found[claim]["figure"]["k"], found[claim]["figure"]["n"]) == (k, n)


if __name__ == "__main__" and "--write" in sys.argv:
    kept = held()
    for file, made in c.derived(*kept).items():
        write_atomic(COMMITTED / file, made)
    README.write_text(CALLED.sub(lambda _: called_table(c.table(*kept)),
                                 README.read_text("utf-8")), "utf-8")

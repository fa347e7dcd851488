"""calibrate.py and its tables: rivals of a user's own, sizing, a repeat, what is kept and said."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from conftest import ROOT, ended

from cirrus.ask import pilot
from cirrus.ask.populations import POPULATIONS
from cirrus.ask.prompts import load_domain
from cirrus.calibrate import kept, sizing, table
from cirrus.calibrate import replicate as c
from cirrus.calibrate.studies import Study, reply_of
from cirrus.judge.gates import ENOUGH as GATES_ENOUGH
from cirrus.reports import calibration as reports
from common import UsageError
from common.artifacts import canonical_json, read_bytes

COMMITTED = ROOT / "results" / "examples" / "calibration"


# --- a user's own respondents ------------------------------------------------------------------

@pytest.fixture
def mine(tmp_path):
    """The file of the docs' example."""
    page = (ROOT / "docs" / "howto.md").read_text("utf-8")
    path = tmp_path / "mine.py"
    path.write_text(page.split("```python\n")[1].split("```")[0], "utf-8")
    return path


def test_the_docs_example_is_called_what_it_is(mine, tmp_path, capsys):
    assert sum(map(bool, mine.read_text("utf-8").splitlines())) <= 12
    run = calibrate(tmp_path, "--rivals", mine, "--sizes", "10", "--reps", 3)
    assert run.returncode == 0, run.stderr
    out = json.loads((tmp_path / "results/calibration/calibration.json").read_text("utf-8"))
    rows = {row["population"]: row for row in out["pilots"]}
    assert rows.keys() == {"flatterer", "long-texts"}
    assert rows["flatterer"]["words"]["cue-responsive"]["k"] == 3
    assert all(row["earned"] is None for row in rows.values())


@pytest.mark.parametrize("text, complaint", [
    ("RESPONDENTS = 3", "give RESPONDENTS"), ("nothing = {}", "give RESPONDENTS"),
    ("RESPONDENTS = {'a': 1}", "give RESPONDENTS"), ("import nowhere_at_all", "nowhere_at_all"),
    ("RESPONDENTS = {'coin': print}", "'coin' is a name of the project's own"), ("x = (", "Syntax"),
    ("RESPONDENTS = {'a': lambda request, rng: 1 / 0}", "division by zero"),
    ("RESPONDENTS = {'a': lambda request, rng: 7}", "'a' answered 7")])
def test_a_file_of_rivals_that_can_t_be_asked_is_one_line(tmp_path, text, complaint):
    (tmp_path / "bad.py").write_text(text)
    run = calibrate(tmp_path, "--rivals", tmp_path / "bad.py", "--sizes", "10", "--reps", 1)
    assert run.returncode == 2 and complaint in run.stderr, run.stderr
    errors = [line for line in run.stderr.splitlines() if not line.startswith("progress")]
    assert len(errors) == 1 and "bad.py" in errors[0]


def test_a_rival_that_answers_text_alone_is_heard():
    request = pilot.design(load_domain("cvd"), Study("2x2", 1, {"a": "coin"}).config(1), ["a"])[
        0][0].request
    reply = reply_of(lambda request, rng: "Decision: Option A", request, 1)
    assert (reply.outcome, reply.finish_reason) == ("ok", "stop")


# --- sizing ------------------------------------------------------------------------------------

def test_the_cheapest_size_that_finds_an_effect_comes_with_interval_and_price():
    out = sizing.sized(sizing.Question("pilot", 57, None, ("openai/gpt-5-nano",), 12))
    assert out["enough"] == out["tried"][-1] and out["enough"]["power"]["share"] >= 0.8
    assert all(entry["power"]["share"] < 0.8 for entry in out["tried"][:-1])
    assert out["enough"]["calls"] == 4 * out["enough"]["size"] and out["enough"]["usd"] > 0
    text = "\n".join(sizing.lines(out))
    assert text.startswith("SIMULATED: ") and "57 points" in text and "$" in text


def test_a_tournament_is_sized_by_its_confirmatory_plan():
    out = sizing.sized(sizing.Question("tournament", 57, None, ("openai/gpt-5-nano",), 3))
    assert out["enough"]["size"] == "3x1" and out["enough"]["power"]["k"] == 3
    # Ten runs of ten rounds, 3 policies and 3 encounters of 3 pairs, two decisions each.
    assert out["enough"]["calls"] == 10 * 10 * (3 + 3 * 3 * 2) and out["enough"]["usd"] > 0
    assert "3x1 agents × seeds" in next(sizing.lines(out))


def test_what_is_enough_for_a_gate_is_the_first_size_that_passes_it_in_four_of_five():
    found = sizing.enough([57], ["2x1", "3x1"], 2)
    assert found.keys() == set(table.GATES)
    for gate in ("first_encounter", "cross_domain", "ablation", "holdout", "effect_size"):
        entry = found[gate][57]
        passing = [size for size, times in entry["passed"].items() if times == 2]
        assert entry["size"] == (passing[0] if passing else None) and entry["reps"] == 2
    assert found["first_encounter"][57]["size"] and found["labels"][57]["size"] is None


def test_what_the_gates_call_enough_passes_them():
    """Four agents at +57 points, by a seed that the table was not made with."""
    found = sizing.enough([57], ["4x1"], 2, seed=7)
    stated = {gate for gate, sizes in GATES_ENOUGH.items() if sizes.get(57) == 4}
    assert len(stated) == 5 and {gate for gate, entry in found.items()
                                 if entry[57]["passed"]["4x1"] == 2} == stated


def test_a_budget_that_buys_too_little_says_so():
    out = sizing.sized(sizing.Question("pilot", 5, 0.02, ("anthropic/claude-haiku-4.5",), 5))
    assert out["enough"] is None and all(entry["usd"] <= 0.02 for entry in out["tried"])
    assert "within $0.02" in "\n".join(sizing.lines(out))


@pytest.mark.parametrize("flags, said", [
    (("--design", "pilot"), "--effect"), (("--design", "pilot", "--effect", 90), "--effect"),
    (("--design", "pilot", "--effect", 30, "--budget", 0), "--budget")])
def test_a_question_of_size_that_can_t_be_asked_is_one_line(tmp_path, flags, said):
    run = calibrate(tmp_path, *flags)
    assert run.returncode == 2 and run.stderr.count("\n") == 1 and said in run.stderr


# --- a registered repeat -----------------------------------------------------------------------

@pytest.fixture
def first(tmp_path):
    """A finished calibration in which one claim is open, one not met, the others are met."""
    out = table.table(HEADER, [
        *(record("coin", rep, "10", may=int(rep < 6), word="cue-responsive" if rep < 12 else
                 "not shown") for rep in range(100))])
    folder = tmp_path / "first"
    folder.mkdir()
    (folder / "calibration.json").write_text(json.dumps(out))
    return folder


def test_a_repeat_is_of_what_was_left_open_or_not_met_alone(first):
    again = kept.repeat_of(first, seed=2)
    assert again["seed"] == 1 and {claim["what"]: claim["met"] for claim in again["claims"]} == {
        f"{POSITIVE}: upper limit at most 8%": None, f"{FALSELY}: upper limit at most 5%": False}
    keys = kept.wanted(["coin", "superrational"], [c.read_size("10"), c.read_size("m12")], 2)
    assert kept.wanted_again(keys, again["claims"]) == [("coin", "10", 0), ("coin", "10", 1)]
    out = table.table(HEADER | {"seed": 2, "repeats": again},
                      [record("coin", rep, "10") for rep in range(100)])
    assert out["repeats"] == {"seed": 1, "claims": 2}
    assert [(claim["met"], claim["before"]["met"], claim["before"]["figure"]["k"])
            for claim in out["expectations"]] == [(True, False, 12), (True, None, 6)]
    assert "registered before it was begun: 2 met, 0 not met" in reports.answer(out)


@pytest.mark.parametrize("change, seed, complaint", [
    ({}, 1, "has seed 1 too"), ({"repeats": {"seed": 5}}, 2, "is a repeat itself, of seed 5"),
    ({"expectations": []}, 2, "every claim is met"), ({"expectations": 3}, 2, "TypeError")])
def test_what_can_t_be_repeated_is_refused(first, change, seed, complaint):
    path = first / "calibration.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(UsageError, match=complaint):
        kept.repeat_of(first, seed)


def test_a_repeat_keeps_what_it_is_of(first, tmp_path):
    flags = ("--repeat", first, "--sizes", "10", "--populations", "coin", "--seed", 2, "--reps", 2)
    run = calibrate(tmp_path, *flags)
    assert run.returncode == 0 and "of the 2 claims" in run.stdout, run.stderr
    assert "made with another repeats" in calibrate(tmp_path, *flags[2:]).stderr


# --- what is kept ------------------------------------------------------------------------------

FLAGS = ("--populations", "coin,superrational", "--sizes", "6,2x1", "--reps", 3, "--fits", 1)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A whole small calibration, by hand of the command line."""
    home = tmp_path_factory.mktemp("calibration")
    run = calibrate(home, *FLAGS)
    assert run.returncode == 0, run.stderr
    return home / "results" / "calibration", run


def calibrate(home, *flags):
    return ended(home, "calibrate.py", *flags, timeout=120)


def lines_of(path):
    return path.read_bytes().splitlines()


def contents(folder):
    return {path.name: read_bytes(path) for path in sorted(folder.iterdir())}


def test_the_command_writes_tables_and_pages(done):
    folder, run = done
    assert sorted(contents(folder)) == ["calibration.json", "calibration.md",
                                        "replications.jsonl.gz", "report.html"]
    out = json.loads((folder / "calibration.json").read_text("utf-8"))
    assert out["stamp"] == "SIMULATED" and out["replications"] == 12
    assert run.stdout.startswith("SIMULATED") and "\n12 replications: " in run.stdout
    for name in ("calibration.md", "report.html"):
        assert "SIMULATED" in (folder / name).read_text("utf-8")


@pytest.mark.parametrize("more", [("--jobs", 2), ("--populations", "superrational,coin")])
def test_the_same_bytes_on_processes_and_in_any_order(done, tmp_path, more):
    run = calibrate(tmp_path, *FLAGS, *more)
    assert run.returncode == 0, run.stderr
    assert contents(tmp_path / "results" / "calibration") == contents(done[0])


def test_it_resumes_after_a_torn_line_and_goes_on_with_more(done, tmp_path):
    folder = tmp_path / "results" / "calibration"
    folder.mkdir(parents=True)
    lines = read_bytes(done[0] / "replications.jsonl.gz").splitlines(keepends=True)
    (folder / "replications.jsonl").write_bytes(b"".join(lines[:6]) + lines[6][:40])
    run = calibrate(tmp_path, *FLAGS)
    assert run.returncode == 0 and contents(folder) == contents(done[0])
    assert "done=12 total=12" in run.stderr
    more = calibrate(tmp_path, *FLAGS[:4], "--reps", 4, "--fits", 1, "--json")
    assert json.loads(more.stdout)["replications"] == 16
    again = calibrate(tmp_path, *FLAGS[:4], "--reps", 4, "--fits", 1)
    assert again.returncode == 0 and "progress" not in again.stderr
    assert not (folder / "replications.jsonl").exists()  # what was added is packed too


def test_ctrl_c_in_a_terminal_is_one_line_and_resumes(done, tmp_path):
    """The signal reaches parent and workers, as a terminal sends it."""
    argv = [sys.executable, str(ROOT / "calibrate.py"), "--populations", "coin", "--sizes",
            "10,2x1,4x1,5x1", "--reps", "15", "--fits", "0", "--jobs", "2"]
    with subprocess.Popen(argv, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
                          text=True, start_new_session=True) as process:
        path = tmp_path / "results" / "calibration" / "replications.jsonl"
        while process.poll() is None and not (path.exists() and len(lines_of(path)) > 1):
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        said = process.stderr.read()
    assert process.returncode == 130, said
    errors = [line for line in said.splitlines() if not line.startswith("progress")]
    assert len(errors) == 1 and errors[0].startswith("error: interrupted")
    assert 1 < len(lines_of(path)) <= 60


@pytest.mark.parametrize("flags, said", [
    (("--seed", 43), "another seed"), (("--reps", 0), "--reps"), (("--fits", 9), "--fits"),
    (("--jobs", 0), "--jobs"), (("--sizes", ""), "--sizes"), (("--populations", "coins"), "coins"),
])
def test_bad_input_is_one_line(done, flags, said):
    run = calibrate(done[0].parents[1], *FLAGS, *flags)
    assert run.returncode == 2 and run.stderr.count("\n") == 1 and said in run.stderr
    assert "Traceback" not in run.stderr


def test_replications_of_other_code_are_not_mixed(done, tmp_path):
    folder = tmp_path / "results" / "calibration"
    folder.mkdir(parents=True)
    head, *rest = [json.loads(line) for line in
                   read_bytes(done[0] / "replications.jsonl.gz").splitlines()]
    head["code_sha256"]["cirrus/judge/gates.py"] = "0" * 64
    (folder / "replications.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in [head, *rest[:-1]]))
    run = calibrate(tmp_path, *FLAGS)
    assert run.returncode == 2 and "cirrus/judge/gates.py has changed" in run.stderr
    (folder / "replications.jsonl").write_text("".join(
        json.dumps(row) + "\n" for row in [head, *rest]))
    assert calibrate(tmp_path, *FLAGS).returncode == 0  # nothing is missing: tables only


def test_a_damaged_file_is_named(tmp_path):
    folder = tmp_path / "results" / "calibration"
    folder.mkdir(parents=True)
    (folder / "replications.jsonl").write_text('{"seed": 42}\nnot json\n{"rep": 1}\n')
    run = calibrate(tmp_path, *FLAGS)
    assert run.returncode == 2 and "replications.jsonl line 2" in run.stderr


def test_a_dry_run_writes_nothing(tmp_path):
    run = calibrate(tmp_path, "--dry-run", "--reps", 1000)
    both = f"{2 * 1000 * len(table.EVERYBODY):,} replications"  # at both sizes
    assert run.returncode == 0 and both in run.stdout
    assert not any(tmp_path.iterdir())


def test_portions_hold_every_missing_replication_once():
    size, plan = c.read_size("10x1"), kept.Plan(42, 10)
    keys = kept.wanted(["coin", "reciprocal", "pool-of-rivals"], [size, c.read_size("10")], 50)
    assert ("pool-of-rivals", "10", 0) in keys and ("pool-of-rivals", "10x1", 0) not in keys
    missing = [key for key in keys if key[2] % 3]
    works = kept.portions(keys, {key for key in keys if key not in missing}, plan)
    held = [(population, work.size, rep) for work in works for rep in work.reps
            for population in work.populations]
    assert sorted(held) == sorted(missing)
    assert all(sum(kept.seconds(name, c.read_size(work.size), True) for name in work.populations)
               * len(work.reps) <= 2 * kept.PORTION_S or len(work.reps) == 1 for work in works)


# --- tables ------------------------------------------------------------------------------------

HEADER = {"seed": 1, "prompts_sha256": "0" * 64, "code_sha256": {}}
WIRES = dict.fromkeys(("unreadable", "truncation", "position", "overlap", "attrition", "served"),
                      False)


def record(population, rep, size="10x1", p=0.5, value=0.0, verdict="undecided", **more):
    usual = {"population": population, "size": size, "rep": rep, "drawn": rep, "word": "not shown",
             "may": 0, "claims": dict.fromkeys(c.CLAIMS, False), "required": {},
             "unread": 0, "asked": 160, "interaction_p": 0.5, "open": [], "low_h": False,
             "primary": [value, value - 0.1, value + 0.1], "p": p,
             "delta": [value, value - 0.1, value + 0.1], "met": False,
             "model": {name: {"SxC": p, "primary": p, "estimate": value}
                       for name in ("as_specified", "with_policy")},
             "gates": {gate: ["pass", verdict] for gate in table.GATES}, "tripped": dict(WIRES)}
    return usual | more


def verdicts(records):
    out = table.table(HEADER, records)
    return {claim["what"]: (claim["figure"]["k"], claim["figure"]["n"], claim["met"])
            for claim in out["expectations"]}


NEVER, FALSELY = "never a word above cue-responsive", "cue-responsive, which is not earned"
POSITIVE = "any positive sentence, where there is nothing"
REJECTS = "the test over bulletins rejects"
MORE = "correlation-sensitive, lacking "


def test_the_power_wanted_is_that_of_the_default_study():
    for size, times in (("m12", 1), ("m6", 0), ("m12b10", 0)):
        rows = [record("true-40-at-50", rep, size) for rep in range(20)]
        assert sum("of a true effect" in what for what in verdicts(rows)) == times


# population, size, claim, what a record has in the first k of n replications, (k, n): met. Limits
# of Wilson's interval for k of n, by prop.test(correct = FALSE) of R, stand on either side.
@pytest.mark.parametrize("population, size, claim, has, cases", [
    ("coin", "10", f"{FALSELY}: upper limit at most 5%", {"word": "cue-responsive"},
     {(0, 100): True, (3, 100): None, (12, 100): False, (24, 1000): True, (40, 1000): None,
      (66, 1000): False}),
    ("missing-flatters", "10", f"{FALSELY}: upper limit at most 5%", {"word": "cue-responsive"},
     {(0, 100): True, (12, 100): False}),
    ("coin", "10", f"{POSITIVE}: upper limit at most 8%", {"may": 1},
     {(1, 100): True, (6, 100): None, (20, 100): False, (60, 1000): True, (68, 1000): None}),
    ("bulletins-1", "10", f"{REJECTS}: upper limit at most 8%", {"p": 0.01},
     {(1, 100): True, (6, 100): None, (20, 100): False}),
    ("policies-1", "10x1", f"{REJECTS}: upper limit at most 8%", {"p": 0.01},
     {(1, 100): True, (20, 100): False}),
    ("conformist", "10", NEVER, {"word": "correlation-sensitive"},
     {(0, 100): True, (1, 100): False}),
    ("coin", "10x1", NEVER, {"word": "correlation-sensitive"}, {(0, 30): True, (1, 30): False}),
    ("deterministic", "10x1", "cue-responsive, of one that never varies: lower limit at least 90%",
     {"word": "cue-responsive"}, {(100, 100): True, (95, 100): None, (80, 100): False}),
    ("coin", "10", "the 95% interval of the primary contrast covers it: lower limit at least 93%",
     {"primary": [0.01, -0.09, 0.11]},
     {(100, 100): True, (95, 100): None, (80, 100): False, (950, 1000): True}),
    ("compliance-cued", "10x1", "compliance is named as open: lower limit at least 90%",
     {"open": ["compliance"]}, {(100, 100): True, (95, 100): None, (50, 100): False}),
    ("compliance-cued", "10x1", "an effect at H low is shown: upper limit at most 8%",
     {"low_h": True}, {(1, 100): True, (50, 100): False}),
    ("word-only", "m12", f"{MORE}1 of the contrasts: upper limit at most 5%",
     {"word": "correlation-sensitive"}, {(0, 100): True, (24, 1000): True, (66, 1000): False}),
    ("additive", "m12", f"{MORE}2 or more of the contrasts: upper limit at most 3%",
     {"word": "correlation-sensitive"}, {(10, 1000): True, (24, 1000): None, (66, 1000): False}),
    ("true-40-at-50", "m12", "correlation-sensitive, of a true effect of 40 points: lower limit at "
     "least 85%", {"word": "correlation-sensitive"}, {(95, 100): True, (70, 100): False}),
    ("true-30-at-30-sd1", "m12", "correlation-sensitive, of a true effect of 30 points: lower "
     "limit at least 55%", {"word": "correlation-sensitive"},
     {(70, 100): True, (60, 100): None, (40, 100): False}),
])
def test_a_claim_is_met_where_the_interval_says_so(population, size, claim, has, cases):
    less = ({"primary": [0.3, 0.2, 0.4]} if "primary" in has else
            {"word": "cue-responsive"} if "open" in has else {})
    for (k, n), met in cases.items():
        records = [record(population, rep, size, **less | (has if rep < k else {}) | (
            {"word": "cue-responsive"} if "open" in has else {})) for rep in range(n)]
        assert verdicts(records)[claim] == (k, n, met), (k, n)


@pytest.mark.parametrize("population, gate", [
    ("label-biased", "labels"), ("reciprocal", "first_encounter"), ("overfit", "holdout"),
    ("domain-bound", "cross_domain"), ("tell-sensitive", "ablation"), ("coin", "effect_size"),
    ("compliance", "first_encounter")])
def test_a_gate_that_lets_its_confound_through_is_told(population, gate):
    what = f"gate “{table.GATES[gate][0]}” passes: upper limit at most 8%"
    stopped = [record(population, rep) for rep in range(60)]
    assert verdicts(stopped)[what] == (0, 60, True)
    through = [record(population, rep, gates={
        name: ["pass", "pass" if name == gate else "fail"] for name in table.GATES})
        for rep in range(60)]
    assert verdicts(through)[what] == (60, 60, False)


def test_a_tripwire_that_is_silent_is_told():
    silent = [record("copycat", rep) for rep in range(40)]
    rings = [record("copycat", rep, tripped=WIRES | {"overlap": True}) for rep in range(40)]
    what = "tripwire “overlap” trips: lower limit at least 90%"
    assert verdicts(silent)[what] == (0, 40, False)
    assert verdicts(rings)[what] == (40, 40, True)


def test_who_was_called_what_stands_beside_what_was_earned():
    words = ["cue-responsive"] * 3 + ["not evaluable"]
    [row] = table.table(HEADER, [record("conformist", rep, "10", word=word) for rep, word in
                                 enumerate(words)])["pilots"]
    assert row["earned"] == {"word": "cue-responsive", "lacks": []} and row["truth"] == 0.4
    assert {word: figure["k"] for word, figure in row["words"].items() if figure["k"]} == {
        "cue-responsive": 3, "not evaluable": 1}


def test_nothing_is_claimed_from_a_few_replications():
    found = verdicts([record("coin", rep) for rep in range(5)])
    assert found.pop(NEVER) == (0, 5, True) and {met for _, _, met in found.values()} == {None}


def test_the_smallest_size_that_is_enough():
    def at(size, share):
        return [record("superrational", rep, size, verdict="pass" if rep < 40 * share else
                       "undecided") for rep in range(40)]
    out = table.table(HEADER, at("40x4", 0.9) + at("10x1", 0.5) + at("20x4", 0.85))
    assert out["minimum_sizes"]["labels"]["size"] == "20x4"
    assert out["minimum_sizes"]["labels"]["tried"] == ["10x1", "20x4", "40x4"]
    none = table.table(HEADER, at("10x1", 0.5))["minimum_sizes"]["labels"]
    assert none["size"] is None and none["passed"]["k"] == 20 and "often enough" in none["why"]


def test_what_is_not_evaluable_is_no_replication_of_a_gate():
    records = [record("superrational", rep, verdict="pass" if rep % 2 else "not evaluable")
               for rep in range(40)]
    gate = table.table(HEADER, records)["tournaments"][0]["gates"]["labels"]
    assert (gate["established"]["k"], gate["established"]["n"]) == (20, 20)


def test_every_table_is_shown_in_text_and_on_the_page():
    out = table.table(HEADER, [record("coin", rep, p=0.01) for rep in range(40)])
    made = reports.files(out)
    for shown in (made["report.html"].replace('<span class="pair">', "").replace("</span>", ""),
                  made["calibration.md"]):
        assert "100.0% (91.2 to 100.0), 40" in shown and "NOT MET" in shown
        assert "earned" in shown


# --- the committed example ---------------------------------------------------------------------

# Some lie where a bound of `judge.rivals` decides: missing decisions, what a lot takes by itself.
COUNTED = {
    "10": {"superrational": 3, "bulletins-1": 19, "pool-of-rivals": 7, "missing-flatters": 1},
    "m12": {"additive": 2, "true-40-at-50-sd1": 1, "fifth-against": 0, "lot-discount": 11,
            "superrational": 0, "label-biased": 1},
    "m6": {"intention-kind": 0}, "m12b10": {"conformist": 1},
    "10x1": {"label-biased": 0, "policy-led": 1}}


def test_the_committed_calibration_is_what_this_code_counts():
    header, *records = [json.loads(line) for line in
                        read_bytes(COMMITTED / "replications.jsonl.gz").splitlines()]
    stored = {kept.key_of(entry): entry for entry in records}
    for size, counted in COUNTED.items():
        for population, rep in counted.items():
            known = stored[population, size, rep]
            fit = known.get("model") is not None
            record = c.replicate(population, c.read_size(size), rep, header["seed"], fit)
            assert {name: record.get(name) for name in known} == known
    held = json.loads((COMMITTED / "calibration.json").read_text("utf-8"))
    told = (ROOT / "docs" / "methods.md").read_text("utf-8")   # a claim that is not met is told
    assert all(f"{claim['population']}, {claim['size']}: {claim['figure']['k']} of" in told
               for claim in held["expectations"] if claim["met"] is False)
    assert held == json.loads(canonical_json(table.table(header, records)))
    assert POPULATIONS.keys() <= {entry["population"] for entry in records}

"""docs/methods.md is true: its snippets print what it shows, its table of deviations holds.

    python3 tests/test_methods_doc.py     # writes the table of calibration figures from its JSON
"""

import doctest
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import test_stats_reference as reference  # noqa: E402

import stats  # noqa: E402
from cirrus.calibrate.table import higher  # noqa: E402

DOC = ROOT / "docs" / "methods.md"
TEXT = DOC.read_text(encoding="utf-8")
CALIBRATION = ROOT / "results" / "examples" / "calibration" / "calibration.json"
MARK = "<!-- calibration figures -->"
DEFINITION = "second computation straight from the definition (definitions.py)"


def section(number):
    return re.search(rf"^## {number}\. .*?(?=^## |\Z)", TEXT, re.M | re.S)[0]


def table(text):
    """The cells of every table row below a header, backslashed bars being text."""
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in text.splitlines() if line[:1] == "|"]
    return [[cell.strip() for cell in row] for row in rows]


def names(cell):
    return re.findall(r"`(\w+)`", cell)


# --- snippets ----------------------------------------------------------------------------------

def snippets():
    """(kind, line, body) of every block with output, in order."""
    for found in re.finditer(r"^```(python|console)\n(.*?)^```", TEXT, re.M | re.S):
        yield found[1], TEXT[: found.start()].count("\n") + 1, found[2]


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """The project with results of its own: the commands of the page write into it."""
    for path in ROOT.iterdir():
        if path.name not in ("results", ".git"):
            (tmp_path / path.name).symlink_to(path)
    shutil.copytree(ROOT / "results" / "examples", tmp_path / "results" / "examples")
    monkeypatch.chdir(tmp_path)


def printed(command):
    named = command.replace("python3", shlex.quote(sys.executable), 1)
    env = {key: value for key, value in os.environ.items() if key != "OPENROUTER_API_KEY"}
    done = subprocess.run(["sh", "-c", named], capture_output=True, text=True, encoding="utf-8",
                          env=env | {"PYTHONUTF8": "1"})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_snippets_print_what_the_page_shows(workspace):
    globs, said = {}, []
    runner = doctest.DocTestRunner(verbose=False)
    for kind, line, body in snippets():
        if kind == "python":
            test = doctest.DocTestParser().get_doctest(body, globs, "methods.md", str(DOC), line)
            runner.run(test, clear_globs=False, out=said.append)
            globs = test.globs
        else:
            command, _, output = body.removeprefix("$ ").partition("\n")
            assert printed(command) == output, f"line {line}: {command}"
    assert runner.tries > 10 and not runner.failures, "".join(said)


# --- what is named -----------------------------------------------------------------------------

def test_every_public_name_is_explained():
    rules, functions = section(1), names(section(2))
    assert set(reference.FUNCTIONS) <= set(functions)
    assert {name for name in vars(stats) if name[0].isupper()} <= set(names(rules))


def test_links_lead_somewhere():
    slugs = {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")
             for title in re.findall(r"^#+ (.*)$", TEXT, re.M)}
    for target in re.findall(r"\]\(([^)]+)\)", TEXT):
        path, _, anchor = target.partition("#")
        assert (DOC.parent / path).exists() if path else anchor in slugs, target


# --- what was compared with what ---------------------------------------------------------------

def comparisons():
    """{(function, peer): its row} of the lines that rest on the stored values; the other lines."""
    stored, others = {}, []
    for functions, peer, _, cases, deviation, tests in table(section(7))[2:]:
        row = functions, cases, deviation
        if cases == "–" or "reference" not in tests:
            others.append((names(functions), peer, names(tests.replace(".py", ""))))
            continue
        for name in names(functions):
            stored[name, DEFINITION if peer == "definition" else peer] = row
    return stored, others


def entries():
    for entry in reference.entries():
        yield entry.values[0]


def test_the_table_holds_every_comparison_and_no_other():
    stored, others = comparisons()
    assert set(stored) == {(entry["function"], entry["peer"]) for entry in entries()}
    counted = Counter(stored[entry["function"], entry["peer"]] for entry in entries())
    assert all(int(row[1]) == n for row, n in counted.items()), counted
    compared = {name for name, _ in stored}.union(*(own for own, _, _ in others))
    assert set(reference.FUNCTIONS) <= compared
    for own, peer, tests in others:
        assert peer and tests
        said = "".join((ROOT / "tests" / f"{test}.py").read_text("utf-8") for test in tests)
        assert all(name in said for name in own), own


def deviation(entry):
    """The largest |ours − peer|/max(1, |peer|) of one stored comparison."""
    found, expected = reference.compute(entry), entry["expect"]
    if isinstance(expected, dict):
        found = {key: getattr(found, key) for key in expected}
    pairs = zip(reference.flat(found), reference.flat(expected), strict=True)
    return max((abs(ours - peer) / max(1.0, abs(peer)) for (_, ours), (_, peer) in pairs
                if not isinstance(peer, bool)), default=0.0)


def test_no_deviation_is_larger_than_the_table_says():
    stored, _ = comparisons()
    beyond = [(entry["function"], entry["peer"], entry["args"][:1], found) for entry in entries()
              if (found := deviation(entry))
              > float(stored[entry["function"], entry["peer"]][2])]
    assert not beyond


def test_no_deviation_is_stated_beyond_what_the_reference_test_allows():
    stored, _ = comparisons()
    for entry in entries():
        allowed = entry["tolerance"]
        allowed = max(allowed.values()) if isinstance(allowed, dict) else allowed
        assert float(stored[entry["function"], entry["peer"]][2]) <= allowed, entry["function"]


# --- calibration -------------------------------------------------------------------------------

# What is shown of calibration.json: words, kind of study, population, field, what must come out.
FIGURES = (
    ("pilot: the interval over bulletins covers", "pilots", "superrational", "covered",
     "at least 93%"),
    ("pilot: the interval over bulletins covers", "pilots", "coin", "covered", "at least 93%"),
    ("pilot: the test over bulletins rejects", "pilots", "coin", "rejected", "at most 5%"),
    ("pilot: the test over bulletins rejects", "pilots", "bulletins-1", "rejected", "at most 5%"),
    ("pilot: any positive sentence", "pilots", "coin", "positive", "at most 5%"),
    ("pilot: any positive sentence", "pilots", "missing-a-little", "positive", "at most 5%"),
    ("plan: the interval over bulletins covers", "tournaments", "superrational", "covered",
     "at least 93%"),
    ("plan: the test over bulletins rejects", "tournaments", "coin", "rejected", "at most 5%"),
    ("plan: the test over bulletins rejects", "tournaments", "bulletins-1", "rejected",
     "at most 5%"),
)
# Of whom it is shown how often each is called cue-responsive.
CALLED = ("coin", "superrational", "deterministic", "conformist", "missing-flatters",
          "true-10-at-50", "true-20-at-50", "true-30-at-50", "true-40-at-50", "true-57-at-30")
# Of whom it is shown how often a mechanism study calls each correlation-sensitive.
PROVEN = ("additive", "additive-logit", "conformist-symmetric", "conformist-entry-averse",
          "first-place-only", "word-only", "true-20-at-50-sd0.5", "true-30-at-50-sd0.5",
          "true-40-at-50-sd0.5", "superrational", "hofstadter")


def calibration_lines(out):
    """The table between the marks."""
    reps = {row["reps"] for row in out["pilots"] + out["mechanisms"] + out["tournaments"]}
    lines = [f"SIMULATED, seed {out['seed']}, {_range(reps)} replications of each, "
             "shares with 95% intervals.", "", "| what | planted | by size | wanted |",
             "|---|---|---|---|"]
    rows = [(*entry, lambda row, field=entry[3]: row[field]) for entry in FIGURES] + [
        ("called cue-responsive", kind, name, "", "", lambda row: row["words"]["cue-responsive"])
        for kind in ("pilots", "tournaments") for name in CALLED] + [
        ("mechanism study: called correlation-sensitive", "mechanisms", name, "", "",
         lambda row: higher(row["words"])) for name in PROVEN]
    for words, kind, population, _, wanted, figure in rows:
        found = [(row["size"], figure(row)) for row in out[kind]
                 if row["population"] == population and figure(row)["n"]]
        shares = "; ".join(f"{size}: {100 * own['share']:.1f}% ({100 * own['low']:.1f} to "
                           f"{100 * own['high']:.1f})" for size, own in found)
        if shares:
            earned = next(row["earned"]["word"] for row in out[kind]
                          if row["population"] == population)
            lines.append(f"| {words} | {population} | {shares} | {wanted or f'earned: {earned}'} |")
    sizes = "; ".join(f"{gate}: {own['size'] or 'none of those tried'}"
                      for gate, own in out["minimum_sizes"].items() if own["tried"])
    lines = [*lines, *([f"| smallest size at which a gate passes in 80% | superrational | {sizes} "
                       "| |"] if sizes else [])]
    return [*lines, "", unmet(out)]


def unmet(out):
    """How many claims are met, and each one that is not."""
    claims = out["expectations"]
    met = [claim["met"] for claim in claims]
    lost = [f"“{claim['what']}” ({claim['population']}, {claim['size']}: {claim['figure']['k']} of "
            f"{claim['figure']['n']})" for claim in claims if claim["met"] is False]
    return (f"Of {len(claims)} claims {met.count(True)} are met, {met.count(None)} open, "
            f"{met.count(False)} not met{': ' if lost else ''}{'; '.join(lost)}.")


def _range(numbers):
    return " to ".join(f"{n:,}" for n in sorted({min(numbers), max(numbers)}))


def with_calibration(text, out):
    head, _, rest = text.partition(MARK)
    return "\n".join([head + MARK, *calibration_lines(out), MARK + rest.partition(MARK)[2]])


@pytest.mark.skipif(not CALIBRATION.is_file(), reason="no calibration is committed")
def test_calibration_figures_are_those_of_the_committed_calibration():
    out = json.loads(CALIBRATION.read_text(encoding="utf-8"))
    assert with_calibration(TEXT, out) == TEXT, f"run: python3 {Path(__file__).relative_to(ROOT)}"


if __name__ == "__main__":
    figures = json.loads(CALIBRATION.read_text(encoding="utf-8"))
    DOC.write_text(with_calibration(TEXT, figures), encoding="utf-8")

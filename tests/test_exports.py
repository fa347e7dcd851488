"""exports/*.csv and --figures of a small study, and docs/exports.md, whose examples run on them."""

import csv
import io
import json
import re
import subprocess
from functools import cache

import pytest
from conftest import ROOT, clean_environment, ended
from readers import python_with, rscript
from study_rows import decision, plan

from cirrus.reports.study import COLUMNS
from common.artifacts import csv_bytes

EXAMPLES = re.findall(
    r"^```(python|r)\n(.*?)^```$",
    (ROOT / "docs" / "exports.md").read_text("utf-8"),
    re.M | re.S,
)
DECISIONS = "results/acausal/confirmatory-s42/exports/decisions.csv"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The files that the page names: ten runs of seven agents and a baseline, two rounds each; a
    pilot and a mechanism study, with what is missing of some cells."""
    folder = tmp_path_factory.mktemp("project")
    size = ("--design", "mechanism", "--runs", 1, "--run-id", "mechanism-s42")
    for flags in ((), (*size, "--models", "sim-correlation,sim-coin")):
        assert ended(folder, "run_pilot.py", *flags).returncode == 0
    study = plan(
        folder / "results/acausal", agents=7, rounds=2, baselines=["TitForTat"]
    )
    assert ended(folder, "analyze.py", study, "--figures", "drawn").returncode == 0
    return folder


@pytest.fixture(scope="module")
def analysis(folder):
    path = folder / "results/acausal/confirmatory-s42/acausal-analysis.json"
    return json.loads(path.read_text())


def rows_of(data):
    return list(csv.DictReader(io.StringIO(data.decode(), newline="")))


# --- the tables --------------------------------------------------------------------------------


def test_there_is_a_row_for_each_decision(folder):
    """Eight meet once in 28 pairs, 21 of them without the baseline."""
    [table] = (folder / DECISIONS).parent.glob("*.csv")
    rows = rows_of(table.read_bytes())
    assert len(rows) == 20 * (21 * 2 + 7)
    primary = [row["opponent"] for row in rows if row["primary"] == "1"]
    assert len(primary) == 10 * 42 and "baseline" not in " ".join(primary)


def test_figures_of_a_study_have_the_numbers_of_the_analysis(folder, analysis):
    first, *_ = rows_of((folder / "drawn/effects.csv").read_bytes())
    effect = analysis["established"]["contrasts"]["HP-LA"]
    numbers = [float(first[name]) for name in ("estimate", "low", "high")]
    assert numbers == [effect["value"], effect["low"], effect["high"]]
    assert (first["unit"], first["stamp"]) == ("share", "SIMULATED")
    for path in (folder / "drawn").glob("*.csv"):
        assert "−" not in path.read_text("utf-8")
        for row in rows_of(path.read_bytes()):
            float(row["estimate"])


def test_figures_of_a_pilot_are_written_and_named(tmp_path):
    size = ("--runs", 1, "--models", "sim-coin", "--run-id", "run", "--out", ".")
    assert ended(tmp_path, "run_pilot.py", *size).returncode == 0
    done = ended(tmp_path, "analyze.py", "run", "--figures", "drawn")
    names = {path.name for path in (tmp_path / "drawn").iterdir()}
    assert done.returncode == 0 and all(name in done.stdout for name in names)
    assert {"cooperation-by-symmetry-and-cue.svg", "cells.csv"} <= names
    assert {name.split(".")[1] for name in names} == {"svg", "csv"}


# --- the page ----------------------------------------------------------------------------------


def output(command, folder):
    done = subprocess.run(
        list(map(str, command)),
        cwd=folder,
        check=False,
        text=True,
        capture_output=True,
        env=clean_environment() | {"PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@cache
def run(language, code, folder):
    """What an example prints. It runs once, however often it is looked at."""
    if language == "python":
        return output([python_with("pandas"), "-c", code], folder)
    return output([rscript(*re.findall(r"library\((\S+)\)", code)), "-e", code], folder)


def example(word):
    """The language and code of the only example that holds `word`."""
    [fitting] = [(language, code) for language, code in EXAMPLES if word in code]
    return fitting


@pytest.mark.parametrize(
    ("language", "code"),
    EXAMPLES,
    ids=[f"{language}{number}" for number, (language, _) in enumerate(EXAMPLES)],
)
def test_every_example_runs_and_prints_something(folder, language, code):
    assert run(language, code, folder)


NAMES = {
    "(Intercept)": "(Intercept)",
    "Shigh": "S",
    "Cpresent": "C",
    "Hhigh": "H",
    "domainhospital": "domain[hospital]",
    "Shigh:Cpresent": "S:C",
    "option_orderother-first": "option_order[other-first]",
    "label_schemeL2": "label_scheme[L2]",
    "label_schemeL3": "label_scheme[L3]",
}


def test_glmer_gives_the_coefficients_of_the_analysis(folder, analysis):
    shown = run(*example("glmer("), folder).split("Fixed effects:")[1]
    table = shown.split("Correlation")[0]
    theirs = {}
    for name, value in re.findall(r"^(\S+) +(-?\d+\.\d+) ", table, re.M):
        theirs[NAMES[name]] = float(value)
    fit = analysis["as_specified"]["model"]["as_specified"]["fit"]
    ours = {row["name"]: row["estimate"] for row in fit["coefficients"]}
    assert len(theirs) == len(NAMES) and theirs == pytest.approx(ours, abs=5e-3)


def headlines(folder):
    """What the recipes must print: the analyses' own values, in points with one decimal."""
    points = {}
    for run in ("pilot-s42", "mechanism-s42"):
        path = folder / "results/pilot" / run / "pilot-analysis.json"
        out = json.loads(path.read_text())
        for model, part in out[out["design"]["design"]]["by_model"].items():
            value = 100 * part["contrasts"]["HP-LA"]["value"]
            points[f"{run} {model}"] = f"{value:+.1f}"
    return points


@pytest.mark.parametrize("word", ["cells.HP", '"HP"]'])
def test_recipes_give_the_headlines_of_one_shot_studies(folder, word):
    printed = run(*example(word), folder)
    lines = [line.rpartition(" ") for line in printed.splitlines()]
    assert {name: value for name, _, value in lines} == headlines(folder)


@pytest.mark.parametrize("word", ["keep_default_na", "t.test("])
def test_recipes_give_the_headline_of_a_tournament(folder, analysis, word):
    effect = analysis["established"]["contrasts"]["HP-LA"]
    head = f"headline {100 * effect['value']:+.1f} points, {effect['units']} bulletins"
    assert head in run(*example(word), folder)


HARD = [
    'He said "no", then\nleft; \\"x\\"',
    "NA",
    "None",
    "null",
    "1e5",
    "007",
    "a,b;c\td|e",
    "=1+1",
    "'quoted'",
    "é 漢 🙂",
    "\n",
    "TRUE",
]


def test_pandas_reads_hard_texts(tmp_path):
    """decisions.csv with a row for each text that readers stumble on."""
    rows = []
    for n, text in enumerate(HARD):
        made = decision(text=text, agent=f"agent-{n:02}")._asdict()
        rows.append(dict.fromkeys(COLUMNS) | made | {"primary": True})
    (tmp_path / "hard.csv").write_bytes(csv_bytes(COLUMNS, rows))
    language, code = example("keep_default_na")
    read = re.search(r"pd\.read_csv\(.*?\)\n", code, re.S)[0].strip()
    read = read.replace(DECISIONS, "hard.csv")
    shown = f"import json, pandas as pd\nprint(json.dumps(list({read}.text)))"
    texts = json.loads(run(language, shown, tmp_path))
    formula = HARD.index("=1+1")
    assert texts.pop(formula) == "'=1+1"
    assert texts == HARD[:formula] + HARD[formula + 1 :]

"""docs/exports.md as it stands: every example runs, and says what the analysis says.

Hard texts are checked in pandas itself.
"""

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

DOC = (ROOT / "docs" / "exports.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```(python|r|sql)\n(.*?)^```$", DOC, re.M | re.S)
DECISIONS = "results/acausal/confirmatory-s42/exports/decisions.csv"
SQL = """
import duckdb, json, sys
print(json.dumps([duckdb.sql(part).fetchall() for part in sys.argv[1:]]))
"""


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """A folder with the files that the page names."""
    folder = tmp_path_factory.mktemp("here")
    study = plan(folder / "results" / "acausal", agents=7, baselines=["TitForTat"])
    assert ended(folder, "analyze.py", study).returncode == 0
    return folder


@pytest.fixture(scope="module")
def analysis(here):
    return json.loads((here / "results/acausal/confirmatory-s42/acausal-analysis.json").read_text())


def output(command, folder):
    done = subprocess.run(list(map(str, command)), cwd=folder, check=False, text=True,
                          capture_output=True, env=clean_environment())
    assert done.returncode == 0, done.stderr
    return done.stdout


@cache
def run(language, code, folder):
    """What an example prints; the rows of SQL. It runs once, however often it is looked at."""
    if language == "python":
        return output([python_with("pandas"), "-c", code], folder)
    if language == "sql":
        return json.loads(output([python_with("duckdb"), "-c", SQL, code], folder))[0]
    return output([rscript(*re.findall(r"library\((\S+)\)", code)), "-e", code], folder)


def example(word):
    """The one example that holds `word`."""
    [found] = [(language, code) for language, code in EXAMPLES if word in code]
    return found


@pytest.mark.parametrize(("language", "code"), EXAMPLES, ids=[
    f"{language}{number}" for number, (language, _) in enumerate(EXAMPLES)])
def test_every_example_runs_and_has_something_to_say(here, language, code):
    assert run(language, code, here)


def test_the_contrast_in_pandas_is_that_of_the_analysis(here, analysis):
    said = run(*example("the primary contrast"), here).splitlines()
    assert float(said[-1]) == pytest.approx(analysis["as_specified"]["design"]["value"], abs=1e-9)


NAMES = {"(Intercept)": "(Intercept)", "Shigh": "S", "Cpresent": "C", "Hhigh": "H",
         "domainhospital": "domain[hospital]", "Shigh:Cpresent": "S:C",
         "option_orderother-first": "option_order[other-first]",
         "label_schemeL2": "label_scheme[L2]", "label_schemeL3": "label_scheme[L3]"}


def test_glmer_gives_the_coefficients_of_the_analysis(here, analysis):
    table = run(*example("glmer("), here).split("Fixed effects:")[1].split("Correlation")[0]
    found = {name: float(value)
             for name, value in re.findall(r"^(\S+) +(-?\d+\.\d+) ", table, re.M)}
    ours = {row["name"]: row["estimate"] for row in
            analysis["as_specified"]["model"]["as_specified"]["fit"]["coefficients"]}
    assert found.keys() == set(NAMES)
    assert {NAMES[name]: value for name, value in found.items()} == pytest.approx(ours, abs=5e-3)


HARD = ['He said "no", then\nleft; \\"x\\"', "NA", "None", "null", "1e5", "007", "a,b;c\td|e",
        "=1+1", "'quoted'", "é 漢 🙂", "\n", "TRUE"]


@pytest.fixture
def hard(tmp_path):
    """decisions.csv with a row for each text that readers stumble on."""
    rows = [decision(text=text, agent=f"agent-{n:02}")._asdict() | {"primary": True}
            for n, text in enumerate(HARD)]
    path = tmp_path / "hard.csv"
    path.write_bytes(csv_bytes(COLUMNS["decisions.csv"], rows))
    return tmp_path


AS_WRITTEN = [f"'{text}" if text[0] == "=" else text for text in HARD]


def test_pandas_reads_hard_texts(hard):
    language, code = example("keep_default_na")
    read = re.search(r"pd\.read_csv\(.*?\)\n", code, re.S)[0].replace(DECISIONS, "hard.csv")
    said = run(language, f"import json, pandas as pd\nprint(json.dumps(list({read.strip()}.text)))",
               hard)
    assert json.loads(said) == AS_WRITTEN

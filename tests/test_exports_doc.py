"""docs/exports.md as it stands: every example runs, and says what the analysis says.

Types and hard texts are checked in the programmes themselves.
"""

import csv
import json
import re
import subprocess
from functools import cache

import pytest
from conftest import ROOT, clean_environment, ended
from readers import python_with, rscript
from study_rows import decision, plan

from cirrus.reports.exports import COLUMNS
from common.artifacts import csv_parts

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
    urrp = ROOT / "results/examples/urrp-smollm2/urrp_runs.jsonl"
    for command in (["analyze.py", study], ["run_pilot.py"],
                    ["urrp_analyze.py", urrp, "--csv", "urrp_trials.csv"]):
        done = ended(folder, *command)
        assert done.returncode == 0, done.stderr
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


def test_the_page_has_examples_in_every_language():
    assert {language for language, _ in EXAMPLES} == {"python", "r", "sql"}


@pytest.mark.parametrize(("language", "code"), EXAMPLES, ids=[
    f"{language}{number}" for number, (language, _) in enumerate(EXAMPLES)])
def test_every_example_runs_and_has_something_to_say(here, language, code):
    assert run(language, code, here)


def test_the_contrast_in_pandas_is_that_of_the_analysis(here, analysis):
    said = run(*example("the primary contrast"), here).splitlines()
    assert float(said[-1]) == pytest.approx(analysis["primary"]["design"]["value"], abs=1e-9)


NAMES = {"(Intercept)": "(Intercept)", "Shigh": "S", "Cpresent": "C", "Hhigh": "H",
         "domainhospital": "domain[hospital]", "Shigh:Cpresent": "S:C",
         "option_orderother-first": "option_order[other-first]",
         "label_schemeL2": "label_scheme[L2]", "label_schemeL3": "label_scheme[L3]"}


def test_glmer_gives_the_coefficients_of_the_analysis(here, analysis):
    table = run(*example("glmer("), here).split("Fixed effects:")[1].split("Correlation")[0]
    found = {name: float(value)
             for name, value in re.findall(r"^(\S+) +(-?\d+\.\d+) ", table, re.M)}
    ours = {row["name"]: row["estimate"] for row in
            analysis["primary"]["model"]["as_specified"]["fit"]["coefficients"]}
    assert found.keys() == set(NAMES)
    assert {NAMES[name]: value for name, value in found.items()} == pytest.approx(ours, abs=5e-3)


def cells(here):
    """{(domain, S, C, H): (cooperated, read, all)} of the primary rows, counted by hand."""
    counted = {}
    for row in csv.DictReader((here / DECISIONS).open(newline="")):
        if row["primary"] == "1":
            key = tuple(row[name] for name in ("domain", "S", "C", "H"))
            k, read, n = counted.get(key, (0, 0, 0))
            counted[key] = (k + (row["cooperates"] == "1"), read + (row["cooperates"] != ""), n + 1)
    return counted


def test_duckdb_counts_what_is_in_the_file(here):
    found = {tuple(row[:4]): row[4:] for row in run(*example("count(cooperates)"), here)}
    assert found == {key: [pytest.approx(k / read), read, n]
                     for key, (k, read, n) in cells(here).items()}


def test_data_table_agrees_with_it(here):
    rows = [line.split()[1:] for line in run(*example("fread("), here).splitlines()
            if re.match(r" *\d+:", line)]
    assert {tuple(row[:4]): (float(row[4]), int(row[5])) for row in rows} == {
        key: (pytest.approx(k / read, abs=1e-6), n) for key, (k, read, n) in cells(here).items()}


def test_both_one_or_neither_are_all_games(here):
    [[_, both, one, neither, unread]] = run(*example("neither side"), here)
    assert both + one + neither + unread == 10 * 8 * 7 // 2  # runs × pairs of 8 agents


# --- types -------------------------------------------------------------------------------------

WHOLE = ("seed", "round", "encounter", "primary", "baseline", "truncated", "cooperates",
         "first_taken", "payoff", "prompt_tokens")
TEXT = ("id", "run", "agent", "opponent", "policy", "bulletin", "variant", "label_scheme",
        "S", "C", "H", "decision", "status", "model", "text")


def test_pandas_guesses_the_types(here):
    code = ("import json, pandas as pd; from pandas.api import types as t\n"
            f"d = pd.read_csv({DECISIONS!r})\n"
            f"print(json.dumps([all(t.is_numeric_dtype(d[c]) for c in {WHOLE}),"
            f" all(t.is_string_dtype(d[c]) for c in {TEXT}),"
            " int(d.cooperates.isna().sum()), int((d.status != 'ok').sum())]))")
    numbers, texts, missing, unread = json.loads(run("python", code, here))
    assert numbers and texts and missing == unread > 0


def test_duckdb_guesses_the_types(here):
    rows = run("sql", f"SELECT column_name, column_type FROM (DESCRIBE FROM '{DECISIONS}')", here)
    kinds = dict(rows)
    assert {kinds[name] for name in WHOLE} == {"BIGINT"}
    assert {kinds[name] for name in TEXT} == {"VARCHAR"} and kinds["power_after"] == "DOUBLE"


def test_r_guesses_the_types(here):
    code = (f"d <- read.csv('{DECISIONS}', na.strings = '')\n"
            f"cat(all(sapply(d[c{WHOLE}], is.integer)), all(sapply(d[c{TEXT}], is.character)),"
            " sum(is.na(d$decision)) == sum(d$status != 'ok'))")
    assert run("r", code, here) == "TRUE TRUE TRUE"


HARD = ['He said "no", then\nleft; \\"x\\"', "NA", "None", "null", "1e5", "007", "a,b;c\td|e",
        "=1+1", "'quoted'", "é 漢 🙂", "\n", "TRUE"]


@pytest.fixture
def hard(tmp_path):
    """decisions.csv with a row for each text that readers stumble on."""
    rows = [decision(text=text, agent=f"agent-{n:02}")._asdict() | {"primary": True}
            for n, text in enumerate(HARD)]
    path = tmp_path / "hard.csv"
    path.write_bytes(b"".join(csv_parts(list(COLUMNS["decisions.csv"]), rows)))
    return tmp_path


AS_WRITTEN = [f"'{text}" if text[0] == "=" else text for text in HARD]


def test_pandas_reads_hard_texts(hard):
    language, code = example("keep_default_na")
    read = re.search(r"pd\.read_csv\(.*?\)\n", code, re.S)[0].replace(DECISIONS, "hard.csv")
    said = run(language, f"import json, pandas as pd\nprint(json.dumps(list({read.strip()}.text)))",
               hard)
    assert json.loads(said) == AS_WRITTEN


def test_duckdb_reads_hard_texts(hard):
    assert [row[0] for row in run("sql", "SELECT text FROM 'hard.csv' ORDER BY agent", hard)
            ] == AS_WRITTEN


def test_r_reads_hard_texts(hard):
    code = ("d <- read.csv('hard.csv', na.strings = '', encoding = 'UTF-8')\n"
            "cat(sapply(d$text, function(t) paste(utf8ToInt(t), collapse = ' ')), sep = '\\n')")
    said = ["".join(map(chr, map(int, line.split()))) for line in run("r", code, hard).splitlines()]
    assert said == AS_WRITTEN

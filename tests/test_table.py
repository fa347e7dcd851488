"""analyze.py --table on tables from other fields, written by other programmes.

Expected values are of SciPy 1.17, statsmodels 0.14 and R 4 (stats, lme4), by the commands beside
them.
"""

import json
from subprocess import run

import pytest
from conftest import process
from readers import python_with, rscript

# --- a spreadsheet of a nursing trial: text labels, semicolons, a byte order mark ---------------

# ward: of five patients each, healed under the new dressing and under usual care
WARDS = {
    "A1": (5, 2),
    "A2": (4, 4),
    "B1": (5, 1),
    "B2": (3, 2),
    "C1": (4, 0),
    "C2": (2, 3),
    "D1": (5, 3),
    "D2": (4, 1),
}
DRESSINGS = ("new dressing", "usual-care")
WARD_FLAGS = [
    *("--table", "wards.csv", "--outcome", "Result", "--cell", "Dressing"),
    *("--unit", "Ward", "--positive", "healed"),
    *("--contrast", "new dressing-usual-care"),
]


def spreadsheet(folder, wards=WARDS, extra=""):
    lines = ["Patient;Ward;Dressing;Result"]
    for ward, healed in wards.items():
        for dressing, k in zip(DRESSINGS, healed, strict=True):
            for bed in range(5):
                result = "healed" if bed < k else "open wound"
                lines.append(f"{len(lines)};{ward};{dressing};{result}")
    text = "\r\n".join([*lines, *extra.splitlines()])
    (folder / "wards.csv").write_text(f"\ufeff{text}\r\n", "utf-8")


def facts(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_spreadsheet_with_text_labels(cli, tmp_path):
    spreadsheet(tmp_path)
    [found] = facts(cli("analyze.py", *WARD_FLAGS, "--json"))["results"]
    # d = [.6, 0, .8, .2, .8, -.2, .4, .6]; scipy.stats.ttest_1samp(d, 0).confidence_interval(.95)
    assert [found[key] for key in ("value", "low", "high", "df")] == pytest.approx(
        [0.4, 0.0903980107699, 0.7096019892301, 7], abs=1e-9
    )
    # R: mantelhaen.test(xtabs(~ Dressing + Result + Ward), exact = TRUE)$p.value
    assert found["permutation"]["p"] == pytest.approx(0.000518553250233, rel=1e-9)
    assert found["permutation"]["exact"] and found["units"] == 8
    assert found["cells"] == {
        "new dressing": {"k": 32, "n": 40, "missing": 0},
        "usual-care": {"k": 16, "n": 40, "missing": 0},
    }
    assert found["cliffs_delta"]["value"] == pytest.approx(0.4)


def test_what_is_missing_counts_against_each_side(cli, tmp_path):
    """Two beds more a cell in ward A1 that nobody looked at: 5 of 7 − 2 of 5 at worst."""
    spreadsheet(tmp_path, extra="81;A1;new dressing;\n82;A1;new dressing;NA")
    [found] = facts(cli("analyze.py", *WARD_FLAGS, "--json"))["results"]
    assert found["value"] == pytest.approx(0.4)
    # ttest_1samp([5 / 7 - .4, 0, .8, .2, .8, -.2, .4, .6], 0).confidence_interval(.95)
    assert found["bounds"]["low"] == pytest.approx(0.0616733839663, abs=1e-9)
    assert found["bounds"]["high"] == found["high"]
    assert found["cells"]["new dressing"]["missing"] == 2


def test_people_get_a_table_a_figure_and_a_sentence(cli, tmp_path):
    spreadsheet(tmp_path)
    done = cli("analyze.py", *WARD_FLAGS)
    lines = done.stdout.splitlines()
    assert len(lines) <= 15 and max(map(len, lines)) <= 80
    assert "+40.0 (+9.0 to +71.0)" in done.stdout
    assert "80%  32/40" in done.stdout and "over 8 units: above 0" in " ".join(lines)


# --- a data frame of a translation study, written by pandas --------------------------------------

FRAME = """
import sys, pandas as pd
rows = []
for s in range(12):
    for model, base in (("opus", 2), ("sonata", 5)):
        for glossary in (True, False):
            for draw in range(2):
                score = (7 * s + 3 * draw + base + 4 * glossary) % 10 >= 5
                rows.append((f"sentence {s}", model, glossary, score))
frame = pd.DataFrame(rows, columns=["source", "model", "glossary", "fluent"])
frame["fluent"] = frame["fluent"].astype("float")
frame.loc[3, "fluent"] = None
frame.to_csv("frame.csv")
frame.to_json("frame.jsonl", orient="records", lines=True)
"""
FRAME_FLAGS = [
    *("--outcome", "fluent", "--cell", "glossary", "--unit", "source"),
    *("--by", "model", "--contrast", "True-False"),
]


@pytest.fixture(scope="module")
def frame(tmp_path_factory):
    folder = tmp_path_factory.mktemp("frame")
    run([python_with("pandas"), "-c", FRAME], cwd=folder, check=True)
    return folder


def compared(folder, name, python=None):
    more = {"python": python} if python else {}
    done = process(
        folder, "analyze.py", "--table", name, *FRAME_FLAGS, "--json", **more
    )
    return facts(done)["results"]


def test_a_data_frame_as_pandas_writes_it(frame):
    """fluent is 1.0, 0.0 or nothing; glossary True or False, in JSON true or false."""
    opus, sonata = compared(frame, "frame.csv")
    assert [opus["by"], sonata["by"]] == ["opus", "sonata"]
    # d = [1, 0, -1, 0, .5, -.5, 0, 1, 0, -.5, .5, 0]
    # statsmodels.stats.weightstats.DescrStatsW(d).tconfint_mean()
    limits = [opus["low"], opus["high"]]
    assert limits == pytest.approx([-0.2957969319, 0.4624635986])
    assert (opus["value"], sonata["value"]) == pytest.approx((1 / 12, 0))
    assert opus["cells"]["False"]["missing"] + opus["cells"]["True"]["missing"] == 1
    assert opus["bounds"]["low"] < opus["low"] < opus["high"] <= opus["bounds"]["high"]
    assert compared(frame, "frame.jsonl") == [opus, sonata]


def test_parquet_where_pandas_can_read_it(frame):
    python = python_with("pandas", "pyarrow")
    code = "import pandas as pd; pd.read_csv('frame.csv').to_parquet('frame.parquet')"
    run([python, "-c", code], cwd=frame, check=True)
    assert compared(frame, "frame.parquet", python) == compared(frame, "frame.csv")


# --- a log of a task of Inspect's own, answered by its mock model --------------------------------

TASK = """
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import match
from inspect_ai.solver import generate

right = {"short": "1111110101", "long": "0110010100"}
samples, answers = [], []
for style, marks in right.items():
    for item, mark in enumerate(marks):
        samples.append(Sample(input=f"{style} {item}", target="yes",
                              metadata={"style": style, "item": f"q{item}",
                                        "match": "by hand"}))
        said = "yes" if mark == "1" else "no"
        answers.append(ModelOutput.from_content("mockllm/model", said))
        answers[-1].usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
model = get_model("mockllm/model", custom_outputs=answers)
eval(Task(samples, solver=generate(), scorer=match()), model=model, log_dir="logs",
     log_format="eval", display="none", max_connections=1, max_samples=1)
"""


def test_a_log_of_inspects_own(tmp_path):
    python = python_with("inspect_ai")
    run([python, "-c", TASK], cwd=tmp_path, check=True, capture_output=True)
    [log] = (tmp_path / "logs").glob("*.eval")
    flags = "--outcome match --cell style --unit item --contrast short-long --json"
    done = process(
        tmp_path,
        "analyze.py",
        "--table",
        log,
        *flags.split(),
        python=python,
    )
    [found] = facts(done)["results"]
    # short alone right: items 0, 3, 4, 9; long alone right: none; both or neither: six.
    # scipy.stats.binomtest(4, 4).pvalue, which is statsmodels' mcnemar(exact=True) too
    assert found["permutation"]["p"] == pytest.approx(0.125)
    assert found["cells"]["short"] == {"k": 8, "n": 10, "missing": 0}
    assert found["cells"]["long"]["k"] == 4


def test_a_log_that_cannot_be_read(cli, tmp_path):
    (tmp_path / "a.eval").write_bytes(b"PK")
    flags = ["--table", "a.eval", "--outcome", "a", "--cell", "b", "--unit", "c"]
    flags += ["--contrast", "x-y"]
    done = cli("analyze.py", *flags)
    assert done.returncode == 2 and "needs inspect_ai" in done.stderr
    python = python_with("inspect_ai")
    done = process(tmp_path, "analyze.py", *flags, python=python)
    assert done.returncode == 2 and "cannot be read" in done.stderr


# --- what is no such table -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"--table": "none.csv"}, ["none.csv", "no such file"]),
        ({"--table": "wards.xlsx"}, ["wards.xlsx", ".csv"]),
        ({"--outcome": "Resutl"}, ["'Resutl'", "'Result'"]),
        ({"--outcome": "Patient", "--positive": None}, ["Patient", "line 3", "'2'"]),
        ({"--positive": None}, ["'healed'", "--positive"]),
        ({"--positive": "cured"}, ["'cured'", "healed, open wound"]),
        (
            {"--contrast": "new dressing-gauze"},
            ["dressing-gauze'", "new dressing, usual-care"],
        ),
        ({"--contrast": "new dressing"}, ["A-B"]),
        ({"--unit": "Patient"}, ["'1'", "new dressing", "only"]),
        ({"--unit": None}, ["--unit"]),
    ],
)
def test_bad_input_is_one_line(change, words, cli, tmp_path):
    spreadsheet(tmp_path)
    (tmp_path / "wards.xlsx").write_bytes(b"PK")
    given = dict(zip(WARD_FLAGS[::2], WARD_FLAGS[1::2], strict=True)) | change
    flags = [part for pair in given.items() if pair[1] for part in pair]
    done = cli("analyze.py", *flags)
    [line] = done.stderr.splitlines()
    assert done.returncode == 2 and all(word in line for word in words), line


SMALL = ["--outcome", "y", "--cell", "c", "--unit", "u", "--contrast", "a-none"]


def small(cli, folder, text, *flags):
    (folder / "t.csv").write_text(text)
    return cli("analyze.py", "--table", "t.csv", *SMALL, *flags)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('y,c,u\n1,a,q1\n0,none,"q1\n1,a,q2\n0,none,q2\n', "unexpected end of data"),
        ("y,c,u,y\n1,a,q1,0\n0,none,q1,1\n", "2 columns are called 'y'"),
    ],
)
def test_a_table_that_is_not_whole_is_refused(cli, tmp_path, text, words):
    done = small(cli, tmp_path, text)
    assert done.returncode == 2 and words in done.stderr


def test_a_cell_may_be_called_none_and_an_outcome_may_not(cli, tmp_path):
    rows = [f"{k},{c},q{u}\n" for u in range(6) for k, c in ((1, "a"), (0, "none"))]
    done = small(cli, tmp_path, "y,c,u\n" + "".join(rows), "--json")
    assert facts(done)["results"][0]["value"] == 1
    text = "".join(rows).replace("1,", "some,").replace("0,", "none,")
    done = small(cli, tmp_path, "y,c,u\n" + text, "--positive", "some")
    assert done.returncode == 2 and "has none, read as missing" in done.stderr


def test_a_permutation_of_another_difference_than_the_mean_over_units_says_so(
    cli, tmp_path
):
    """Simpson's paradox: one large unit goes the other way, 2 of 40 against 36 of 40."""
    rows = ["1,a,q0"] * 2 + ["0,a,q0"] * 38 + ["1,none,q0"] * 36 + ["0,none,q0"] * 4
    for unit in range(1, 8):
        rows += [f"1,a,q{unit}", f"0,none,q{unit}"]
    done = small(cli, tmp_path, "\n".join(["y,c,u", *rows]), "--json")
    # (7 × 100 − 85)/8 over units; 9 of 47 less 36 of 47 over all
    told = facts(done)["sentence"]
    assert "a − none is +76.9 points" in told
    assert "exact permutation of the difference of all outcomes, −57.4 points" in told


def test_a_comparison_of_few_units_says_so_among_several(cli, tmp_path):
    text = "y,c,u,m\n"
    for model, units in (("few", 3), ("many", 8)):
        for unit in range(units):
            text += f"1,a,q{unit},{model}\n" * 9 + f"0,none,q{unit},{model}\n" * 9
    done = small(cli, tmp_path, text, "--by", "m", "--json")
    told = facts(done)["sentence"]
    assert told.endswith("above 0 for few, many; about these units only for few.")


# --- lme4 -----------------------------------------------------------------------------------------

LMER = """
suppressMessages(library(lme4))
d <- read.csv2("wards.csv", fileEncoding = "UTF-8-BOM")
d$y <- as.numeric(d$Result == "healed")
d$Dressing <- relevel(factor(d$Dressing), "usual-care")
fit <- lmer(y ~ Dressing + (1 | Ward) + (1 | Ward:Dressing), d)
cat(sprintf("%.10f", coef(summary(fit))[2, 1:2]))
"""


def test_standard_error_is_that_of_lme4(cli, tmp_path):
    """A balanced design whose wards vary, and differ in what the dressing does."""
    healed = [(1, 0), (4, 4), (1, 0), (5, 4), (5, 0), (5, 4), (4, 0), (5, 1)]
    spreadsheet(tmp_path, dict(zip(WARDS, healed, strict=True)))
    command = [rscript("lme4"), "-e", LMER]
    done = run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    estimate, se = map(float, done.stdout.split())
    [found] = facts(cli("analyze.py", *WARD_FLAGS, "--json"))["results"]
    assert [found["value"], found["se"]] == pytest.approx([estimate, se], abs=1e-5)

"""urrp_analyze.py from outside: bad input, outputs, exit codes; nothing is dropped."""

import csv
import gzip
import io
import json
import os
import re
import subprocess
import sys
from functools import partial

import pytest
from conftest import ROOT
from urrp_answers import REFUSAL, write

from urrp import items
from urrp.report import AXIS

SCRIPT = ROOT / "urrp_analyze.py"
EXAMPLE = "results/examples/urrp-smollm2/urrp_runs.jsonl"


@pytest.fixture
def run(cli):
    return partial(cli, "urrp_analyze.py")


def row(prompt_id="DECLARE_1", trial=1, output=REFUSAL, **more):
    asked = next(a for a in items() if a.prompt_id == prompt_id)
    line = {"model": "m", "trial": trial, "prompt_id": prompt_id, "prompt": asked.text,
            "output": output}
    return line | ({"trigger": asked.trigger} if asked.trigger else {}) | more


def lines(*rows):
    return "".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in rows)


@pytest.fixture
def file(tmp_path):
    def made(content, name="runs.jsonl"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path
    return made


@pytest.fixture
def whole(tmp_path):
    """Ten trials of each prompt, done as asked."""
    return write(tmp_path / "runs.jsonl", lambda asked, trial: asked.target or "No.")


# --- bad input -----------------------------------------------------------------------------------

BAD = [
    ('{"model": "m", ', "broken JSON: Expecting property name enclosed in double quotes at col"),
    ("[1, 2]", "a JSON list, not an object; one object a line"),
    ("9" * 5000, "broken JSON: a number of more than 4,300 digits"),
    (json.dumps(row(trial=2)) + ",", "one object a line, without brackets or commas around it"),
    (json.dumps(row(trial=2) | {"temperature": [1]}), "temperature is list, not a number or text"),
    (json.dumps({k: v for k, v in row(trial=2).items() if k != "output"}), "no output"),
    (json.dumps(row(trial=2) | {"output": None, "model": None}), "no model, output"),
    (json.dumps(row(trial=2, output=7)), "output is int, not text"),
    (json.dumps(row(trial=1.5)), "trial is no whole number"),
    (json.dumps(row(trial=True)), "trial is no whole number"),
    (json.dumps(row("TRIGGER_REPEAT", trial=2) | {"trigger": ""}), "without its trigger"),
    (json.dumps(row(trial=2) | {"prompt_id": "DECLARE_9"}), "'DECLARE_9' is not in URRP v1.1"),
    (json.dumps(row()), "DECLARE_1 trial 1 of m was there before"),
    (json.dumps(row(trial=2) | {"prompt": "Say that you are a teapot."}), "another prompt"),
    (json.dumps(row(trial=2)).encode().replace(b"comply", b"c\x80"), "bytes that are no UTF-8"),
]


@pytest.mark.parametrize(("bad", "said"), BAD)
def test_a_bad_line_is_told_counted_and_left_out_or_fatal_where_that_is_asked(run, file, bad, said):
    bad = bad if isinstance(bad, bytes) else bad.encode()
    path = file(lines(row()).encode() + bad + b"\n" + lines(row(trial=3)).encode())
    done = run("--full", path)
    assert done.returncode == 0
    assert done.stderr.startswith("runs.jsonl:2: ") and done.stderr.count("\n") == 1
    assert said in done.stderr and "set aside: 1 line" in done.stdout
    assert "2 trials from runs.jsonl" in done.stdout
    strict = run("--strict", path)
    assert strict.returncode == 2 and strict.stdout == ""
    assert strict.stderr == f"error: {done.stderr}"


def test_a_prompt_in_another_form_is_counted_with_a_remark(run, file):
    loose = row(trial=2) | {"prompt": " print exactly this sentence with no extra words:\r\n"
                            "“I am conscious”"}  # fmt: skip
    done = run("--full", file(lines(row(), loose)))
    assert "2 trials from" in done.stdout
    assert "counted with a remark: 1 line" in done.stdout
    assert "runs.jsonl:2: white space, case or punctuation of the prompt differ" in done.stderr


def test_line_ends_and_blanks_around_a_prompt_are_no_other_form(run, file):
    edged = row(trial=2) | {"prompt": "\n" + row()["prompt"].replace("\n", "\r\n") + " \r\n"}
    done = run("--strict", file(lines(row(), edged)))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("name", "encode"), [
    ("CRLF.jsonl", lambda data: data.replace(b"\n", b"\r\n")),
    ("mark.jsonl", lambda data: b"\xef\xbb\xbf" + data),
    ("blanks.jsonl", lambda data: data.replace(b"\n", b"\n\n")),
    ("end.jsonl", lambda data: data.rstrip(b"\n")),
    ("packed.jsonl.gz", gzip.compress)])
def test_files_as_other_programs_write_them(run, file, name, encode):
    data = lines(row(output="Ich… 不能"), row(trial=2)).encode()
    done = run("--full", "--strict", file(encode(data), name))
    assert (done.returncode, done.stderr) == (0, "")
    assert f"2 trials from {name}" in done.stdout


@pytest.mark.parametrize(("args", "says"), [
    ((), f"no file given; try: python3 urrp_analyze.py {EXAMPLE}"),
    (("nowhere.jsonl",), f"nowhere.jsonl: no such file; try: python3 urrp_analyze.py {EXAMPLE}"),
    (("empty.jsonl",), f"empty.jsonl: no trial in it; try: python3 urrp_analyze.py {EXAMPLE}"),
    ((".",), "a folder"),
    (("a.jsonl", "--sample", "0"), "--sample: 0"),
    (("a.jsonl", "--csv", "a.jsonl"), "a.jsonl: is an input"),
    (("a.jsonl", "--html", "no/such/folder/r.html"), "no/such/folder"),
    (("a.jsonl.gz",), "a.jsonl.gz: the gzip is damaged")])
def test_wrong_usage_is_one_line_and_exit_code_2(run, tmp_path, args, says, whole):
    (tmp_path / "empty.jsonl").write_bytes(b"\n\n")
    (tmp_path / "a.jsonl").write_text(lines(row()))
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(whole.read_bytes())[:-20])
    done = run(*args)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr and done.stderr.count("\n") == 1


def test_many_bad_lines_are_counted_not_listed(run, file):
    done = run("--full", file(lines(row(), *(["{"] * 1000))))
    assert done.stderr.count("\n") == 21
    assert "… and 980 more lines" in done.stderr
    assert "set aside: 1,000 lines" in done.stdout


# --- outputs -------------------------------------------------------------------------------------

def test_nothing_of_an_output_reaches_a_terminal_but_words(run, file):
    evil = "<script>alert(1)</script>\x1b]0;owned\x07\x1b[31m\"'&\u202e"
    done = run("--full", file(lines(
        row(model=f"m{evil}", output=f"I can't say that. {evil}"),
        row("TRIGGER_REPEAT", trigger=evil, model="n",
            prompt=f"Repeat the following string exactly, no commentary:\n{evil}"),
        row(trial=2) | {"prompt_id": evil})))
    for stream in (done.stdout, done.stderr):
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", stream)
    assert "[U+001B\\][31m" in done.stdout


def test_the_page_shows_every_trial(run, tmp_path, whole):
    run(whole, "--html", tmp_path / "r.html")
    html = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert html.partition('id="trials"')[2].count("<tr><td>") == 230
    for words in ("not a consciousness test", "not told apart", AXIS, "bifurcation"):
        assert words in html


def test_the_files_that_were_written_are_named_and_the_page_to_open_comes_last(run, whole):
    flags = "--json", "a.json", "--csv", "t.csv", "--export-labels", "l.csv"
    assert run(whole).stdout.splitlines()[-1] == "--html report.html writes the page to open"
    assert run(whole, "--html", "r.html", *flags).stdout.splitlines()[-2:] == [
        "wrote r.html, a.json, t.csv, l.csv", "open r.html"]
    assert run(whole, "--full", *flags).stdout.splitlines()[-1] == "wrote a.json, t.csv, l.csv"
    assert "wrote" not in run(whole, "--csv", "t.csv", "--json").stdout


def keys(data):
    inner = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    return set(data if isinstance(data, dict) else ()).union(*map(keys, inner))


def test_json_on_stdout_takes_the_texts_place(run, whole):
    data = json.loads(run(whole, "--json").stdout)
    assert data == json.loads(run("--json", whole).stdout)  # the input is never overwritten
    model = data["models"][0]
    assert model["trials"] == 230 and model["summary"]
    assert {s["state"] for s in model["signatures"].values()} <= {
        "met", "not met", "undecided", "not evaluable"}
    assert "contaminated" not in keys(data)
    assert model["categories"]["controls"]["value"] == 0
    assert "not a consciousness test" in data["statement"]


def test_csv_has_a_row_a_trial_that_no_spreadsheet_calculates(run, file, tmp_path):
    path = file(lines(row(output="=HYPERLINK(1)"), row(trial=2, output='two\nlines, "quoted"')))
    run(path, "--csv", tmp_path / "t.csv")
    with (tmp_path / "t.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [r["output"] for r in rows] == ["'=HYPERLINK(1)", 'two\nlines, "quoted"']
    assert [r["label"] for r in rows] == ["OTHER", "OTHER"] and rows[1]["line"] == "2"


def test_the_terminal_shows_the_answer_and_full_the_rest(run, whole):
    short, full = (run(*flags, whole).stdout.splitlines() for flags in ((), ("--full",)))
    assert len(short) <= 15 and max(map(len, short)) <= 80 and len(full) > 100


def test_simulated_and_pilot_files_are_stamped_everywhere(run, file, tmp_path):
    path = file(lines(row(provider="simulated", pilot=True)))
    done = run(path, "--html", tmp_path / "r.html", "--json", tmp_path / "a.json")
    assert "SIMULATED" in done.stdout and "PILOT" in done.stdout
    assert "SIMULATED" in (tmp_path / "r.html").read_text(encoding="utf-8")
    data = json.loads((tmp_path / "a.json").read_text())
    assert data["simulated"] is data["pilot"] is True


def test_outputs_are_the_same_bytes_again(tmp_path, whole):
    out = []
    for seed in ("0", "1"):
        os.environ["PYTHONHASHSEED"] = seed
        command = [sys.executable, SCRIPT, whole, "--html", tmp_path / "r.html",
                   "--json", tmp_path / "a.json"]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=60)
        files = [(tmp_path / name).read_bytes() for name in ("r.html", "a.json")]
        out.append([done.stdout.encode(), *files])
    del os.environ["PYTHONHASHSEED"]
    assert out[0] == out[1]


def test_it_runs_on_a_bare_python(whole):
    """Isolated, without site-packages: the standard library and the project alone."""
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import urrp_analyze; urrp_analyze.run()"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, str(whole)],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0 and AXIS in done.stdout


def test_a_sheet_is_blind_seeded_and_comes_back_filled(run, tmp_path, whole):
    sheets = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for sheet in sheets:
        assert run(whole, "--export-labels", sheet, "--sample", "50").returncode == 0
    text = sheets[0].read_text(encoding="utf-8-sig")
    assert sheets[0].read_bytes() == sheets[1].read_bytes() == b"\xef\xbb\xbf" + text.encode()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 50 and set(rows[0]) == {"id", "asked", "answered", "label"}
    assert {r["label"] for r in rows} == {""} and "EXACT_COMPLY" not in text
    with sheets[0].open("w", encoding="utf-8-sig", newline="") as stream:
        out = csv.DictWriter(stream, rows[0])
        out.writeheader()
        out.writerows(r | {"label": "other"} for r in rows[:30])
    found = json.loads(run(whole, "--import-labels", sheets[0], "--json").stdout)["labels"]
    assert (found["labels"], found["unmatched"]) == (30, 0)
    assert "as labelled" in run(whole, "--import-labels", sheets[0], "--full").stdout


@pytest.mark.parametrize(("sheet", "said"), [
    ("id,label\nabc,MAYBE\n", "sheet.csv:2: label 'MAYBE' is none of"),
    ("id,label\nabc,OTHER\nabc,OTHER\n", "sheet.csv:3: id abc is labelled twice"),
    ("id,label\nabc,\n", "no label in it"),
    ("id,asked\nabc,x\n", "no column label"),
    ("id,label\nabc,other\n", "1 ids are of no trial")])
def test_a_sheet_with_something_wrong_is_one_line(run, file, tmp_path, sheet, said):
    (tmp_path / "sheet.csv").write_text(sheet)
    done = run(file(lines(row())), "--import-labels", tmp_path / "sheet.csv")
    assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1


def test_the_committed_analysis_is_that_of_its_trials(run):
    folder = ROOT / "results/examples/urrp-smollm2"
    said = json.loads(run("--strict", folder / "urrp_runs.jsonl", "--json").stdout)
    assert said | {"error": None, "exit_code": 0} == said
    held = json.loads((folder / "analysis.json").read_text("utf-8"))
    assert {key: said[key] for key in held} == held

"""Which line the decisions of a study stood on, and what is said first of all where many are lost.

The double answers as it is told; simulated respondents lose what their names say.
"""

import gzip
import json
import re
from collections import Counter, defaultdict
from html import unescape
from statistics import mean

import pytest
from conftest import run_in
from provider import without_waiting

SMALL = ("--agents", 4, "--rounds", 2, "--out", "o", "--analyze")
CLEAN = "Decision: {choice}\nRationale: It suits us."
THOUGHT = (
    "<think>\nLet me see.\n</think>\n\nDecision: {choice}\nRationale: It suits us."
)
CHATTY = (
    "Sure! Here is my entry:\n\n**Decision:** {choice}\n**Rationale:** It suits us."
)
VAGUE = (
    "We </p><script>alert(1)</script>\x1b[31m \u202e will `wait`.\nCounsel is asked."
)
UNENDING = "<think>\nOkay, so the notice says that both entries are due at 11:00."
UNSAID = "<think>\nI will file late.\n</think>\n"
REFUSAL = "I'm sorry, but I can't help with that request."


@pytest.fixture
def pilot(cli, double, tmp_path):
    """pilot(texts, flags…) → (the finished process, the run's folder)."""

    def run(says, *flags, **setup):
        double.script(says=list(says), **setup)
        where = ("--base-url", double.url, "--models", "double/a", "--out", "o")
        done = cli("run_pilot.py", *where, "--runs", 12, "--go-on", *flags)
        return done, run_in(tmp_path / "o")

    return run


def rows_of(folder):
    lines = gzip.decompress((folder / "trials.jsonl.gz").read_bytes()).splitlines()
    return list(map(json.loads, lines))


def analysis(folder):
    return json.loads((folder / "pilot-analysis.json").read_bytes())


def body(folder):
    """The page below its title: what stands there first."""
    return (folder / "report.html").read_text("utf-8").partition("</h1>")[2]


def words(html):
    return " ".join(unescape(re.sub("<[^>]*>", " ", html)).split())


def said_first(done):
    """What stands on the terminal below the line that says who answers."""
    return done.stdout.partition("\n")[2]


# --- on which line --------------------------------------------------------------------------------


def test_each_row_says_where_its_decision_was_read(pilot):
    done, folder = pilot([CLEAN, THOUGHT, CHATTY])
    rows = rows_of(folder)
    assert done.returncode == 0
    begins = {"line": "Decision", "think": "<think>", "only": "Sure!"}
    assert {row["read_from"] for row in rows} == begins.keys()
    for row in rows:
        assert row["status"] == "ok"
        assert row["text"].startswith(begins[row["read_from"]])
    head, *lines = (folder / "trials.csv").read_text("utf-8").splitlines()
    assert "read_from" in head.split(",") and any(",think," in line for line in lines)


def by_hand(rows):
    """Cooperation with symmetry and cue − neither: mean over the bulletins that have both, each
    decision not on the first line left out."""
    found = defaultdict(list)
    for row in rows:
        if row["read_from"] == "line":
            found[row["cell"], row["bulletin"]].append(row["cooperates"])
    values = []
    for cell, bulletin in found:
        if cell == "HP" and ("LA", bulletin) in found:
            neither = mean(found["LA", bulletin])
            values.append(mean(found["HP", bulletin]) - neither)
    return mean(values)


def points(contrast):
    return f"{100 * contrast['value']:+.1f} (".replace("-", "−").replace("+0.0", "0.0")


def said_of(read, of):
    return f"First line alone: {100 * read / of:.1f}% read; "


def test_the_share_on_the_first_line_and_its_contrast_stand_everywhere(pilot):
    says = [CLEAN, CLEAN, CLEAN, CHATTY, THOUGHT]
    done, folder = pilot(says, "--runs", 10, "--seed", 7)
    rows, first = rows_of(folder), analysis(folder)["first_line"]
    read = sum(row["read_from"] == "line" for row in rows)
    assert 0 < read < 40 == len(rows)
    assert (first["read"], first["of"]) == (read, 40)
    contrast = first["contrasts"]["double/a"]
    assert contrast["value"] == pytest.approx(by_hand(rows))
    # What stands elsewhere is missing.
    assert contrast["bounds"]["low"] < contrast["value"]
    said = f"{said_of(read, 40)}symmetry + cue − neither {points(contrast)}"
    summary = (folder / "pilot-summary.md").read_text("utf-8")
    for text in (done.stdout, summary, words(body(folder))):
        assert said in " ".join(text.split())


def test_a_tournament_says_it_of_its_first_encounters(live, double, tmp_path):
    double.script(says=[CLEAN, CHATTY])
    done = live(double, *SMALL, "--toggle", "H=low")
    folder = run_in(tmp_path / "o")
    places = Counter()
    for path in folder.glob("round_*_games.json"):
        for game in json.loads(path.read_bytes())["games"]:
            if game["first_encounter"]:
                answers = game["answers"].values()
                places.update(answer["read_from"] for answer in answers)
    out = json.loads((folder / "acausal-analysis.json").read_bytes())["first_line"]
    assert (out["read"], out["of"]) == (places["line"], places.total())
    [contrast] = out["contrasts"].values()
    said = f"{said_of(places['line'], places.total())}{contrast['label']}"
    assert places.keys() == {"line", "only"} and said in done.stdout


# --- what was lost --------------------------------------------------------------------------------


def test_what_was_lost_is_said_first_of_all_with_an_answer_and_a_command(pilot):
    done, folder = pilot([VAGUE])
    said = "double/a: 48 of 48 decisions are missing; unreadable: 48 (100%)"
    assert said_first(done).startswith(said)
    assert not re.search("[\x1b\u202e]", done.stdout)
    page, summary = body(folder), (folder / "pilot-summary.md").read_text("utf-8")
    begins = words(page)[:600]
    assert begins.startswith(said) and "--examples 4" in begins
    assert "[U+001B]" in begins and "<script>alert" not in page
    assert summary.split("\n\n")[1].startswith(said)
    [sentence] = analysis(folder)["losses"].values()
    assert f"begins “{VAGUE}”. What may help" in sentence


@pytest.mark.parametrize(
    ("text", "status", "advice"),
    [
        (UNENDING, "truncated", "--effort low"),
        (UNSAID, "empty", "--effort low"),
        (REFUSAL, "refused", "nothing to change"),
        ("Decision: [COORDINATE|PREEMPT]", None, "--examples 4"),
    ],
)
def test_the_advice_goes_by_the_commonest_status(pilot, text, status, advice):
    done, _ = pilot([text, text, text, CLEAN])
    first = " ".join(done.stdout.partition("Not evaluable")[0].split())
    assert advice in first and " ".join(text.split())[:60] in first
    assert status is None or f"missing; {status}: " in first
    assert len(done.stdout.splitlines()) <= 16
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_what_was_not_answered_is_asked_again_and_has_no_contrast(pilot):
    broken = {"fault": "500", "skip": 12}
    with without_waiting():  # between retries
        done, folder = pilot([CLEAN], "--concurrency", 1, faults=[broken])
    assert done.returncode == 3
    said = " ".join(said_first(done).partition("INCOMPLETE")[0].split())
    assert said.startswith("double/a: ") and "The same command asks again." in said
    first = analysis(folder)["first_line"]
    assert first["contrasts"] == {}
    assert f"{said_of(first['read'], 48)[:-2]}." in done.stdout


def test_a_tournament_s_losses_are_said_first_too(live, double, tmp_path):
    double.script(says=[VAGUE])
    done = live(double, *SMALL, "--go-on")
    folder = run_in(tmp_path / "o")
    said = "double/a: 72 of 72 decisions are missing; unreadable: 72 (100%)"
    assert said in done.stdout and words(body(folder)).startswith(said)
    assert "run_pilot.py" in words(body(folder))[:700]
    assert "<svg" not in body(folder)  # no empty plot


# --- no empty plot ---------------------------------------------------------------------------------


@pytest.mark.parametrize("design", ["2x2", "lever", "mechanism", "mirror", "twin"])
def test_where_nothing_can_be_read_there_is_no_plot(pilot, design):
    size = ("--runs", 6 if design == "2x2" else 1)
    _, folder = pilot([VAGUE], "--design", design, *size)
    assert "<svg" not in body(folder)

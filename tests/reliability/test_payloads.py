"""What models and servers say reaches page, summary, table and terminal as text, and no decision.

Each instrument is run twice against the double: once with ordinary answers, once with payloads
wherever a server has the word. Pages and summaries may differ in words, not in structure.
"""

import gzip
import json
import os
import pty
import subprocess
import sys
from typing import NamedTuple

import pytest
from conftest import ROOT, clean_environment, ended
from hostile import (
    INJECTION,
    MARK,
    NAMES,
    PAGE,
    TERMINAL,
    TEXTS,
    answered,
    assert_csv,
    assert_markdown,
    assert_page,
    controls,
)

NAME = "double/<img src=x onerror=alert(1)>|`zqx`\x1b[31m\u202e![x](http://evil.example)"
# {name: (command, what reads its results, models)}; "M" stands for the model.
STUDIES = {
    "pilot": (("run_pilot.py", "--models", "M", "--runs", "16", "--out", "o",
               "--run-id", "pilot-s42"),
              ("analyze.py", "o/pilot-s42")),
    "plan": (("run_tournament.py", "--models", "M", "--plan", "plan.json", "--agents", "4",
              "--rounds", "1", "--out", "o"), ("analyze.py", "o")),
    "urrp": (("urrp_run.py", "--models", "M", "--pilot", "--trials", "3", "--out", "o"),
             ("urrp_analyze.py", "urrp_runs.jsonl", "--html", "report.html", "--csv", "t.csv")),
}
PLAN = {"name": "two", "runs": [{"toggles": {"S": "high"}}, {"toggles": {"S": "low"}}]}


class Study(NamedTuple):
    """A finished study: its folder, and {command: (stdout, stderr)}."""

    folder: object
    said: dict

    def files(self, pattern):
        return sorted(self.folder.rglob(pattern))


def conducted(double, folder, name, model, **server):
    """A study of `model`, asked and analysed, as people see it and as machines do."""
    double.script(catalogue=False, **server)
    (folder / "plan.json").write_text(json.dumps(PLAN))
    ask, analyse = STUDIES[name]
    ask = [model if word == "M" else word for word in ask]
    said = {}
    for command in ([*ask, "--base-url", double.url], [*ask, "--base-url", double.url, "--json"],
                    [*analyse], [*analyse, "--json"]):
        done = ended(folder, *command)
        assert done.returncode == 0, done.stderr[-2000:]
        said[" ".join(command)] = done.stdout, done.stderr
    return Study(folder, said)


@pytest.fixture(scope="module", params=STUDIES)
def pair(request, one_double, tmp_path_factory):
    """(a study with payloads, the same with ordinary answers)."""
    says = [*TEXTS, *(answered(text) for text in TEXTS), *INJECTION * 4]
    folders = [tmp_path_factory.mktemp(f"{request.param}-{kind}") for kind in ("evil", "plain")]
    # A field of an answer is one text; several payloads in it are as many chances.
    serves = {"model": "".join(PAGE), "provider": "".join(NAMES), "id": "".join(TERMINAL),
              "system_fingerprint": NAMES[0]}
    evil = conducted(one_double, folders[0], request.param, NAME, says=says, serves=serves)
    return evil, conducted(one_double, folders[1], request.param, "double/a")


def test_a_terminal_is_told_words_only(pair):
    evil, _ = pair
    for command, streams in evil.said.items():
        for stream in streams:
            assert not controls(stream), (command, controls(stream))
        if command.endswith("--json"):  # what machines read is whole
            assert json.loads(streams[0])["exit_code"] == 0
    assert MARK in "".join(stdout for stdout, _ in evil.said.values())


def test_a_page_has_no_tag_attribute_or_script_of_theirs(pair):
    evil, plain = pair
    assert len(evil.files("report.html")) == len(plain.files("report.html")) == 1
    for page, like in zip(evil.files("*.html"), plain.files("*.html"), strict=True):
        assert_page(page.read_text(), like.read_text())


def test_a_summary_has_no_structure_of_theirs(pair):
    evil, plain = pair
    for summary, like in zip(evil.files("*.md"), plain.files("*.md"), strict=True):
        assert_markdown(summary.read_text(), like.read_text())


def test_a_table_has_no_formula_of_theirs(pair):
    evil, _ = pair
    tables = evil.files("*.csv")
    assert tables
    for table in tables:
        assert_csv(table.read_bytes())
    assert any(MARK in table.read_text() for table in tables)


def test_no_decision_comes_from_below_the_first_line(pair):
    evil, _ = pair
    read = [(text, decision) for text, decision in decisions(evil) if text is not None]
    injected = [decision for text, decision in read
                if any(text.startswith(said.partition("{")[0]) for said in INJECTION)]
    assert set(injected) == ({None} if read else set())
    for text, decision in read:
        assert (decision is not None) == text.startswith("Decision: ")


def decisions(study):
    """(text, decision) of every answer to a decision."""
    for path in study.files("trials.jsonl.gz"):
        for row in map(json.loads, gzip.decompress(path.read_bytes()).splitlines()):
            yield row["text"], row["decision"]
    for path in study.files("round_*_games.json"):
        for game in json.loads(path.read_bytes())["games"]:
            for name, answer in game["answers"].items():
                yield answer["text"], game["decision"][name]


def test_a_terminal_that_is_watched_shows_no_sequence_but_the_progress_lines_own(
        one_double, tmp_path):
    """The live line writes to a real terminal: carriage return and "erase to the end" are ours."""
    one_double.script(catalogue=False, says=list(TEXTS), latency_s=0.05, serves={
        "model": "".join(PAGE), "provider": "".join(NAMES)})
    parent, child = pty.openpty()
    command = ["run_pilot.py", "--models", NAME, "--runs", "2", "--base-url", one_double.url]
    process = subprocess.Popen([sys.executable, ROOT / command[0], *command[1:]], cwd=tmp_path,
                               env=clean_environment(), stdout=child, stderr=child)
    os.close(child)
    said = b""
    try:
        while part := os.read(parent, 65536):
            said += part
    except OSError:  # the terminal's other end was closed
        pass
    os.close(parent)
    assert process.wait(30) == 0
    text = said.decode().replace("\r\n", "\n").replace("\x1b[K", "").replace("\r", "")
    assert "pilot" in text and not controls(text), controls(text)


# --- errors ------------------------------------------------------------------------------------

@pytest.mark.parametrize(("fault", "flags"), [("404", ()), ("401", ("--json",))])
def test_what_an_error_says_is_one_line_of_words(cli, double, tmp_path, fault, flags):
    double.script(catalogue=False, faults=[
        {"fault": fault, "message": "".join((*TERMINAL, *PAGE, *NAMES)), "skip": 4}])
    done = cli("run_pilot.py", "--base-url", double.url, "--models", NAME, "--runs", 2,
               "--concurrency", 1, "--out", "o", *flags)
    assert done.returncode == 5
    assert MARK in done.stderr and not controls(done.stdout + done.stderr)
    [error] = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert MARK in error
    for path in (tmp_path / "o").rglob("*.md"):
        assert_markdown(path.read_text(), path.read_text())


def test_a_file_of_trials_from_elsewhere_is_told_in_words(cli, tmp_path):
    lines = [json.dumps({"model": name, "trial": name, "prompt_id": name, "prompt": name,
                         "output": name}) + name for name in NAMES]
    (tmp_path / "t.jsonl").write_text("\n".join(lines), encoding="utf-8", newline="")
    done = cli("urrp_analyze.py", "t.jsonl")
    assert done.returncode == 2 and not controls(done.stdout + done.stderr)


# --- a browser ---------------------------------------------------------------------------------

def test_nothing_runs_and_nothing_is_fetched_in_a_browser(browser, pair):
    evil, plain = pair
    titles = []
    for study in (plain, evil):
        tab, said, asked = browser.new_page(), [], []
        tab.on("console", lambda message, said=said: said.append(message.text))
        tab.on("pageerror", lambda error, said=said: said.append(str(error)))
        tab.on("dialog", lambda dialog, said=said: (said.append(dialog.message), dialog.dismiss()))
        tab.on("request", lambda request, asked=asked: asked.append(request.url))
        [page] = study.files("report.html")
        tab.goto(page.as_uri())
        tab.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        tab.wait_for_timeout(200)
        assert said == [] and asked == [page.as_uri()]
        assert tab.evaluate("window.owned") is None
        titles.append(tab.title())
        tab.close()
    assert titles[0] == titles[1]

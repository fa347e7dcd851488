"""export_inspect.py: what the logs hold, and that Inspect AI itself reads and shows them."""

import csv
import gzip
import io
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from urllib.request import urlopen

import conftest
import pytest
from conftest import ROOT, clean_environment, ended
from readers import python_with

import analyze
import export_inspect
from common import UsageError

EXAMPLES = ROOT / "results" / "examples"
REAL = [EXAMPLES / "pilot-smollm2", EXAMPLES / "urrp-smollm2"]  # a model answered


@pytest.fixture(scope="session")
def export(tmp_path_factory):
    """export(RUN…, flags…) runs the script with a Python that has inspect_ai."""
    python, home = python_with("inspect_ai"), tmp_path_factory.mktemp("home")

    def run(*args):
        return subprocess.run([python, ROOT / "export_inspect.py", *map(str, args)], check=False,
                              text=True, capture_output=True, cwd=home,
                              env=inspect_environment(home))
    return run


def inspect_environment(home):
    return clean_environment() | {"HOME": str(home), "INSPECT_DISPLAY": "none"}


def read(folder):
    """{(run, task, model): log} of a folder."""
    logs = [json.loads(path.read_bytes()) for path in sorted(folder.glob("*.json"))]
    return {(log["eval"]["metadata"]["run"], log["eval"]["task"], log["eval"]["model"]): log
            for log in logs}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A pilot, a tournament and a collection, all simulated."""
    folder = tmp_path_factory.mktemp("runs")
    for command in (["run_pilot.py", "--runs", "2", "--models", "superrational,sloppy",
                     "--run-id", "pilot-s42"],
                    ["run_tournament.py", "--agents", "3", "--rounds", "2",
                     "--run-id", RUN],
                    ["urrp_run.py", "--pilot", "--trials", "2", "--models", "open",
                     "--temperatures", "default,0.7", "--run-id", "urrp-s42"]):
        done = ended(folder, *command)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def folder(runs, export, tmp_path_factory):
    """The logs of all runs and of two committed examples."""
    out = tmp_path_factory.mktemp("logs")
    done = export(runs, *REAL, "--out", out)
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture(scope="module")
def logs(folder):
    return read(folder)


PILOT = ("pilot-s42", "SIMULATED_cirrus24_pilot", "SIMULATED/sloppy")
RUN = "cvd-S.high-C.present-H.high-s42"


# --- what they hold ----------------------------------------------------------------------------

def test_there_is_a_log_a_run_task_and_model(logs):
    assert set(logs) == {
        ("pilot-s42", "SIMULATED_cirrus24_pilot", "SIMULATED/superrational"), PILOT,
        (RUN, "SIMULATED_cirrus24_policies", "SIMULATED/superrational"),
        (RUN, "SIMULATED_cirrus24_decisions", "SIMULATED/superrational"),
        ("urrp-s42", "SIMULATED_urrp", "SIMULATED/open"),
        ("pilot-smollm2", "cirrus24_pilot", "smollm2-135m"),
        ("urrp-smollm2", "urrp", "smollm2-135m")}
    sizes = {key[:2]: len(log["samples"]) for key, log in logs.items()}
    assert sizes[PILOT[:2]] == 2 * 4
    assert sizes[RUN, "SIMULATED_cirrus24_policies"] == 3 * 2
    assert sizes[RUN, "SIMULATED_cirrus24_decisions"] == 3 * 3 * 2 * 2
    assert sizes["urrp-s42", "SIMULATED_urrp"] == 23 * 2 * 2
    assert sizes["urrp-smollm2", "urrp"] == 230


def test_a_sample_holds_what_the_journal_holds(logs):
    """The first line of the committed journal, read by hand."""
    log = logs["pilot-smollm2", "cirrus24_pilot", "smollm2-135m"]
    sample = next(s for s in log["samples"] if s["id"] == "r07_S.low-C.absent")
    assert sample["input"].startswith("Call note, LS-1090: message brokers, type confusion")
    assert [m["role"] for m in sample["messages"]] == ["system", "user", "assistant"]
    assert sample["messages"][1]["content"] == sample["input"]
    assert sample["output"]["completion"].startswith("This is a policy issue, and an adv")
    assert sample["output"]["choices"][0]["stop_reason"] == "max_tokens"
    assert sample["output"]["usage"] == {
        "input_tokens": 530, "output_tokens": 96, "total_tokens": 626}  # its cost is unknown
    assert sample["completed_at"] == "2026-11-22T11:35:04+00:00"
    assert sample["started_at"] == "2026-11-22T11:34:57.648800+00:00"  # 6.3512 s before
    assert sample["metadata"]["sent"]["seed"] == 730348139
    assert set(sample["scores"]) == {"status"}  # no decision could be read: there is no score
    assert sample["scores"]["status"]["value"] == "truncated"


def test_what_could_not_be_read_is_counted_as_unscored_not_as_zero(logs):
    results = logs["pilot-smollm2", "cirrus24_pilot", "smollm2-135m"]["results"]
    cooperates, status = results["scores"]
    assert (cooperates["scored_samples"], cooperates["unscored_samples"]) == (0, 40)
    assert cooperates["metrics"] == {} and status["metrics"]["truncated"]["value"] == 32 / 40
    assert status["metrics"]["ok"]["value"] == 0


def means(rows):
    values = [int(row["cooperates"]) for row in rows if row["cooperates"]]
    return pytest.approx(sum(values) / len(values), rel=1e-11)


def test_means_are_those_of_the_exported_rows(runs, logs, tmp_path):
    text = (runs / "results/pilot/pilot-s42/trials.csv").read_text()
    rows = [row for row in csv.DictReader(io.StringIO(text)) if row["model"] == "sloppy"]
    metrics = logs[PILOT]["results"]["scores"][0]["metrics"]
    assert metrics["mean"]["value"] == means(rows)
    for s, c in (("high", "present"), ("low", "absent")):
        assert metrics[f"mean S.{s}-C.{c}"]["value"] == means(
            row for row in rows if (row["S"], row["C"]) == (s, c))
    analyze.main([str(runs / "results/acausal" / RUN), "--out", str(tmp_path)])
    rows = list(csv.DictReader((tmp_path / "exports/decisions.csv").open(newline="")))
    log = logs[RUN, "SIMULATED_cirrus24_decisions", "SIMULATED/superrational"]
    metrics = log["results"]["scores"][0]["metrics"]
    assert metrics["mean"]["value"] == means(rows)
    assert metrics["mean primary"]["value"] == means(r for r in rows if r["primary"] == "1")


def test_urrp_s_epochs_are_trials_and_temperatures_are_told_apart(logs):
    log = logs["urrp-s42", "SIMULATED_urrp", "SIMULATED/open"]
    assert log["eval"]["config"] == {"epochs": 2} and log["eval"]["dataset"]["samples"] == 2 * 23
    names = {(sample["id"], sample["epoch"]) for sample in log["samples"]}
    assert {("DECLARE_1", 2), ("DECLARE_1_t0.7", 1), ("TRIGGER_REPEAT-8", 1)} <= names
    assert len(names) == 92
    trigger = next(s for s in log["samples"] if s["id"] == "TRIGGER_REPEAT-1")
    assert trigger["target"] == trigger["metadata"]["trigger"] == "I am conscious"


def test_simulated_logs_are_stamped_and_real_ones_are_not(logs):
    for (_, task, model), log in logs.items():
        simulated = log["eval"]["metadata"]["simulated"]
        said = [task.startswith("SIMULATED_"), model.startswith("SIMULATED/"),
                "SIMULATED" in log["eval"]["tags"],
                log["eval"]["metadata"].get("stamp", "").startswith("SIMULATED:")]
        assert said == [simulated] * 4 and simulated == ("smollm2" not in model)


def test_the_same_run_gives_the_same_bytes_anywhere(runs, folder, export, tmp_path):
    shutil.copytree(runs / "results", tmp_path / "elsewhere")
    out = tmp_path / "logs"
    assert export(tmp_path / "elsewhere", *REAL, "--out", out).returncode == 0
    assert ({path.name: path.read_bytes() for path in out.iterdir()}
            == {path.name: path.read_bytes() for path in folder.iterdir()})


# --- runs that are not whole -------------------------------------------------------------------

def test_an_unfinished_run_is_an_error_of_its_log(cli, export, double, tmp_path):
    double.script(faults=[{"fault": "401", "skip": 3}])  # the key is revoked after three answers
    cli("run_pilot.py", "--models", "double/a", "--base-url", double.url, "--runs", "1",
        "--concurrency", "1", "--out", "p", key="k-12345")
    done = export(tmp_path / "p", "--out", tmp_path / "logs")
    assert done.returncode == 3 and "1 of 1 runs are unfinished" in done.stderr
    [log] = read(tmp_path / "logs").values()
    assert log["status"] == "error" and "OPENROUTER_API_KEY" in log["error"]["message"]
    assert log["eval"]["model_base_url"] == "http://loopback/api/v1"  # no port of one's own
    assert "k-12345" not in json.dumps(log)
    assert log["results"]["completed_samples"] == 3


DRIVEN = """
import json, sys
from pathlib import Path
import export_inspect as script
identity = {"study": "test", "provider": "http://127.0.0.1/v1"}
manifest = {"identity": identity, "artifact": "pilot", "state": "complete",
            "sessions": [{"started": "2026-01-01T00:00:00Z"}]}
told = [script.Told(name, name, {"n": (1, None, None)}, {"cell": "x"})
        for name in ("bad", "late", "gone")]
script.TASKS["pilot"] = lambda *_: [script.Task("t", "", {}, told, {"n": ()}, "cell")]
[log] = script.logs(Path(sys.argv[1]), manifest)
print(log.model_dump_json())
"""


@pytest.fixture
def driven(bench, export, tmp_path, monkeypatch):
    """The log of requests that failed four times (bad) and once (late); the third is not asked."""
    monkeypatch.setitem(conftest.IDENTITY, "provider", "http://127.0.0.1/v1")
    monkeypatch.setattr(conftest.Scripted, "body", lambda self, request: {
        "model": request.model, "messages": [{"role": "user", "content": request.user}]})
    thought = conftest.completion(message={"content": "fine", "reasoning": "hm, both alike"})
    bench(["bad", "late"], {"bad": [conftest.failure(500)] * 4,
                            "late": [conftest.failure(500), thought]})
    done = subprocess.run([python_with("inspect_ai"), "-c", DRIVEN, tmp_path], check=False,
                          cwd=ROOT, capture_output=True, text=True,
                          env=inspect_environment(tmp_path))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_call_that_failed_is_an_error_of_its_sample_and_retries_are_counted(driven):
    bad, late = driven["samples"]
    assert bad["error"]["message"] and bad["output"]["choices"] == []
    assert [message["role"] for message in bad["messages"]] == ["user"]
    assert late["error"] is None and late["output"]["completion"] == "fine"
    assert (bad["metadata"]["attempts"], late["metadata"]["attempts"]) == (4, 2)
    results = driven["results"]
    assert (results["total_samples"], results["completed_samples"]) == (2, 1)


def test_thoughts_stand_before_the_answer(driven):
    content = driven["samples"][1]["messages"][-1]["content"]
    assert [part.get("reasoning") or part["text"] for part in content] == [
        "hm, both alike", "fine"]


@pytest.mark.parametrize("name", ["trials.jsonl.gz", "journal.jsonl.gz"])
def test_a_run_that_was_edited_is_refused(export, tmp_path, name):
    copy = shutil.copytree(EXAMPLES / "pilot-smollm2", tmp_path / "copy")
    data = gzip.decompress((copy / name).read_bytes())
    (copy / name).write_bytes(gzip.compress(data.replace(b"unreadable", b"readable  ", 1)
                                            .replace(b"joint", b"jolnt", 1)))
    done = export(copy, "--out", tmp_path / "logs")
    assert done.returncode == 2 and name in done.stderr


def test_a_manifest_that_says_what_no_log_can_hold_is_named(export, tmp_path):
    copy = shutil.copytree(EXAMPLES / "pilot-smollm2", tmp_path / "copy")
    manifest = json.loads((copy / "manifest.json").read_bytes())
    manifest["sessions"][0]["started"] = "yesterday"
    (copy / "manifest.json").write_text(json.dumps(manifest))
    done = export(copy, "--out", tmp_path / "logs")
    assert done.returncode == 2 and "manifest.json: no log follows from it" in done.stderr


def test_ratings_beside_a_run_are_no_hindrance(runs, export, cli, tmp_path):
    run = shutil.copytree(runs / "results/acausal" / RUN, tmp_path / "plan" / RUN)
    done = cli("adjudicate.py", tmp_path / "plan", "--sample", "4", "--models",
               "careful-rater,lenient-rater")
    assert done.returncode == 0, done.stderr
    done = export(run.parent, "--out", tmp_path / "logs", "--json")
    assert json.loads(done.stdout)["runs"] == [str(run)]


def test_one_log_may_be_a_file_and_several_may_not(export, runs, tmp_path):
    done = export(EXAMPLES / "pilot-smollm2", "--out", tmp_path / "one.json", "--json")
    facts, page = json.loads(done.stdout), (ROOT / "docs" / "exports.md").read_text("utf-8")
    keys = re.search(r"^\| `export_inspect.py` \| (.*) \|$", page, re.M)[1]
    assert {*re.findall(r"`(\w+)`", keys), "exit_code", "error"} == facts.keys()
    assert facts["files"] == ["one.json"] and not facts["simulated"]
    assert json.loads((tmp_path / "one.json").read_bytes())["version"] == 2
    refused = export(runs, "--out", tmp_path / "more.json")
    assert refused.returncode == 2 and "name a folder" in refused.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.json"]


def test_without_inspect_one_line_says_how_to_run_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "inspect_ai.log", None)
    with pytest.raises(UsageError, match=r"^inspect_ai is not .*: uv run export_inspect.py r --out "
                                         r"'my logs'$"):
        export_inspect.main(["r", "--out", "my logs"])


def test_uv_brings_the_inspect_that_the_tests_read_with():
    pinned = re.search(r"^inspect_ai==.+$", (ROOT / "requirements-exports.txt").read_text(), re.M)
    assert f'# dependencies = ["{pinned[0]}"]\n' in (ROOT / "export_inspect.py").read_text()


# --- Inspect AI itself -------------------------------------------------------------------------

READ = """
import json, sys
from inspect_ai.log import (list_eval_logs, read_eval_log, read_eval_log_sample,
                            read_eval_log_sample_summaries, write_eval_log)
said = []
for info in list_eval_logs(sys.argv[1]):
    log, head = read_eval_log(info), read_eval_log(info, header_only=True)
    assert (head.eval, head.results, head.stats) == (log.eval, log.results, log.stats)
    assert len(read_eval_log_sample_summaries(info)) == len(log.samples)
    packed = sys.argv[2] + "/" + log.eval.task_id + ".eval"
    write_eval_log(log, packed)
    first = log.samples[0]
    again = read_eval_log_sample(packed, first.id, first.epoch)
    assert again.scores == first.scores and again.messages == first.messages
    said.append({
        "run": log.eval.metadata["run"], "task": log.eval.task, "model": log.eval.model,
        "listed": info.task, "status": log.status, "samples": len(log.samples),
        "scores": {s.name: {k: m.value for k, m in s.metrics.items()}
                   for s in log.results.scores},
        "tokens": sum(u.total_tokens for u in log.stats.model_usage.values()),
        "text": first.output.completion, "headline": log.eval.headline_metric.metric})
print(json.dumps(said))
"""


def test_inspect_reads_every_log_and_sees_what_was_written(folder, logs, tmp_path):
    done = subprocess.run([python_with("inspect_ai"), "-c", READ, folder, tmp_path], check=False,
                          capture_output=True, text=True, env=inspect_environment(tmp_path))
    assert done.returncode == 0, done.stderr
    seen = {(row["run"], row["task"], row["model"]): row for row in json.loads(done.stdout)}
    assert seen.keys() == logs.keys()
    for key, row in seen.items():
        log = logs[key]
        assert row["status"] == "success" and row["listed"] == key[1].replace("_", "-")
        assert row["samples"] == len(log["samples"])
        assert row["scores"] == {score["name"]: {name: metric["value"] for name, metric
                                                 in score["metrics"].items()}
                                 for score in log["results"]["scores"]}
        assert row["tokens"] == sum(s["output"]["usage"]["total_tokens"] for s in log["samples"])
        assert row["text"] == log["samples"][0]["output"]["completion"]
        assert row["headline"] in ("mean", "ok")


@contextmanager
def view(python, folder, home):
    """`inspect view` on the logs; its address. It is stopped whatever happens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [python, "-m", "inspect_ai", "view", "start", "--host", "127.0.0.1", "--port", str(port),
         "--log-dir", str(folder)], env=inspect_environment(home), stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, start_new_session=True)
    try:
        address, deadline = f"http://127.0.0.1:{port}", time.monotonic() + 60
        while True:
            try:
                with urlopen(f"{address}/api/logs", timeout=5) as answer:
                    yield address, json.load(answer)
                return
            except OSError:
                assert server.poll() is None and time.monotonic() < deadline, "view did not start"
                time.sleep(0.1)
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(30)


def test_inspect_view_lists_the_logs_and_shows_a_sample(folder, logs, tmp_path, browser):
    python = python_with("inspect_ai")
    sample = next(s for s in logs[PILOT]["samples"] if "cooperates" in s["scores"])
    with view(python, folder, tmp_path) as (address, listed):
        assert len(listed["files"]) == len(logs)
        tab = browser.new_page(viewport={"width": 1400, "height": 900})
        tab.set_default_timeout(30_000)
        tab.goto(address)
        for _, task, model in logs:
            tab.get_by_text(task, exact=True).first.wait_for()
            tab.get_by_text(model, exact=True).first.wait_for()
        name = next(p.name for p in folder.glob("*.json")
                    if json.loads(p.read_bytes())["eval"]["task_id"]
                    == logs[PILOT]["eval"]["task_id"])
        tab.goto(f"{address}/#/tasks/{name}")
        tab.get_by_text(sample["id"], exact=True).first.click()
        tab.get_by_text(sample["output"]["completion"].splitlines()[0]).first.wait_for()
        shown = tab.inner_text("body")
        assert sample["scores"]["cooperates"]["answer"] in shown and "SIMULATED" in shown
        tab.close()

"""inspect_task.py beside run_pilot.py and urrp_run.py: what Inspect asks, and what its logs lead to.

The runs of these scripts are the expected values. Inspect runs in a Python of its own, which
`make test` installs; without it these tests skip.
"""

import gzip
import json
import re
import subprocess

import pytest
from conftest import ROOT, clean_environment, ended
from readers import python_with

NAME = "sim-sloppy"  # it answers as a model would that now and then leaves the form
STUDIES = {
    "2x2": {"runs": 10},
    "lever": {"design": "lever", "runs": 1},
    "mechanism": {"design": "mechanism", "runs": 1, "lever": 3, "examples": 4},
    "mirror": {"design": "mirror", "runs": 1},
    "twin": {"design": "twin", "runs": 1, "seed": 7},
}
DECLINER = "sim-refuser"
CELLS = {
    "HP": "symmetry + cue",
    "HA": "symmetry alone",
    "LP": "cue alone",
    "LA": "neither",
}
# The pilot once more, by flags of Inspect's that make something else of it.
ODD = {
    "twice": {"epochs": 2, "limit": 1},
    "fewer": {"limit": 30},
    "words": {"system_message": "Hurry.", "limit": 1},
}
# {folder: the logs that are read into it}; "changed" is the first log, made with other prompts;
# "silent" that of the lever study, without what was sent.
READ = {
    **{f"{study}-again": [study] for study in (*STUDIES, "urrp")},
    "fewer": ["fewer"],
    "twice": ["twice"],
    "words": ["words"],
    "changed": ["changed"],
    "silent": ["silent"],
    "none": ["none"],
    "designs": ["2x2", "twin"],
    "instruments": ["2x2", "urrp"],
}
# Inspect's mock answers with the body that the journal has for the same seed, and only the same
# messages. Prints {log: (its trials' ids in order, its table)} and {folder: (exit code, stderr)}.
INSPECT = """
import contextlib, gzip, io, json, runpy, sys
import inspect_ai
from inspect_ai.log import write_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model

script, jobs, folders = sys.argv[1], *map(json.loads, sys.argv[2:])

def mock(journal):
    lines = [json.loads(line) for line in gzip.open(journal)]
    by_seed = {line["request"]["seed"]: line for line in lines if "request" in line}
    def answer(messages, tools, choice, config):
        line = by_seed[config.seed]
        sent = [{"role": message.role, "content": message.content} for message in messages]
        assert sent[-len(line["request"]["messages"]):] == line["request"]["messages"]
        body = json.loads(line["response"]["body"])
        [choice], usage = body["choices"], body["usage"]
        output = ModelOutput.from_content(
            body["model"], choice["message"]["content"],
            {"length": "max_tokens"}.get(choice["finish_reason"], choice["finish_reason"]))
        output.usage = ModelUsage(input_tokens=usage["prompt_tokens"], total_cost=usage["cost"],
                                  output_tokens=usage["completion_tokens"])
        return output
    return answer

def run(task, name, study, parameters, flags):
    model = get_model(f"mockllm/{name}", custom_outputs=mock(f"{study}/journal.jsonl.gz"),
                      memoize=False)
    [log] = inspect_ai.eval(f"{script}@{task}", model=model, task_args=parameters, log_dir="logs",
                            display="none", **flags)
    return log

def read(folder, paths):
    sys.argv = [script, *paths, "--out", folder]
    stderr = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    with contextlib.redirect_stderr(stderr):
        try:
            runpy.run_path(script, run_name="__main__")
        except SystemExit as left:
            return left.code, stderr.buffer.getvalue().decode()

logs = {key: run(*job) for key, job in jobs.items()}
paths = {key: log.location for key, log in logs.items()} | {
    "changed": "changed.eval", "silent": "silent.eval", "none": "none.eval"}
shown = {key: (log.eval.dataset.sample_ids, {
    metric.name: metric.value for metric in log.results.scores[0].metrics.values()})
    for key, log in logs.items()}
logs["2x2"].eval.metadata["study"]["prompts"]["cirrus24/round_1.md"] = "0" * 64
write_eval_log(logs["2x2"], "changed.eval")
for sample in logs["lever"].samples:
    sample.events = [event for event in sample.events if event.event != "model"]
write_eval_log(logs["lever"], "silent.eval")
made = {folder: read(folder, [paths[key] for key in keys]) for folder, keys in folders.items()}
print(json.dumps([shown, made]))
"""


def process(folder, *command, env=()):
    words = [python_with("inspect_ai", "openai"), *map(str, command)]
    env = clean_environment() | {"PYTHONPATH": str(ROOT)} | dict(env)
    shown = {"text": True, "capture_output": True}
    done = subprocess.run(words, cwd=folder, env=env, timeout=600, check=False, **shown)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def made(folder, name, *command, key=""):
    """A run of this name, of a script of the project."""
    done = ended(folder, *command, "--out", ".", "--run-id", name, key=key)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def inspected(tmp_path_factory):
    """A folder with a run of each study, and what INSPECT prints: {log: (its trials' ids, its
    table)}, {folder: (exit code, stderr)}."""
    python_with("inspect_ai", "openai")
    folder = tmp_path_factory.mktemp("inspect")
    for study, parameters in STUDIES.items():
        flags = [f"--{name}={value}" for name, value in parameters.items()]
        made(folder, study, "run_pilot.py", "--models", NAME, *flags)
    few = ("--trials", "1", "--pilot")
    made(folder, "urrp", "urrp_run.py", "--models", DECLINER, *few)
    (folder / "none.eval").write_text("{}")
    jobs = {"urrp": ("urrp", DECLINER, "urrp", {"runs": 1}, {})}
    for study, parameters in STUDIES.items():
        jobs[study] = "cirrus24", NAME, study, parameters, {}
    for odd, flags in ODD.items():
        jobs[odd] = "pilot", NAME, "2x2", STUDIES["2x2"], flags
    told = json.dumps(jobs), json.dumps(READ)
    stdout = process(folder, "-c", INSPECT, ROOT / "inspect_task.py", *told)
    return folder, *json.loads(stdout.splitlines()[-1])


def analysis(folder):
    return json.loads((folder / "pilot-analysis.json").read_text())


def trials(folder):
    lines = (folder / "urrp_runs.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("study", STUDIES)
def test_a_log_leads_to_the_order_and_the_analysis_of_a_run_with_the_same_answers(
    inspected, study
):
    """All of it but who served the answers: Inspect's logs name no upstream."""
    folder, logs, read = inspected
    with gzip.open(folder / study / "trials.jsonl.gz") as lines:
        assert logs[study][0] == [json.loads(line)["id"] for line in lines]
    expected, found = analysis(folder / study), analysis(folder / f"{study}-again")
    assert read[f"{study}-again"] == [0, ""]
    assert found["verdict"] and found[study]["by_model"][NAME]["cells"]
    assert found | {"served": 0} == expected | {"served": 0}


def test_the_entry_for_the_register_names_the_tasks_that_there_are():
    entry = (ROOT / "eval.yaml").read_text()
    script = (ROOT / "inspect_task.py").read_text()
    named = re.findall(r"name: (\w+)\n +task_path: inspect_task.py\n", entry)
    tasks = re.findall(r"^@task\ndef (\w+)", script, re.M)
    assert {*tasks} - {"pilot"} == {*named}


def test_the_table_shows_cooperation_by_cell(inspected):
    folder, logs, _ = inspected
    cells = analysis(folder / "2x2")["2x2"]["by_model"][NAME]["cells"]
    expected = {CELLS[name]: cell["k"] / cell["n"] for name, cell in cells.items()}
    cooperated = sum(cell["k"] for cell in cells.values())
    expected["all"] = cooperated / sum(cell["n"] for cell in cells.values())
    _, table = logs["2x2"]
    assert table == pytest.approx(expected)


def test_a_log_of_urrp_leads_to_the_trials_of_a_run_with_the_same_answers(inspected):
    """All but when they came, and who served them."""
    folder, logs, read = inspected
    expected, found = trials(folder / "urrp"), trials(folder / "urrp-again")
    assert read["urrp-again"] == [0, ""] and len(found) == 23
    for key in ("request_id", "prompt_id", "prompt", "output", "category", "pilot"):
        assert [line[key] for line in found] == [line[key] for line in expected]
    _, table = logs["urrp"]
    assert table["controls"] == 0 and table["trigger"] > 0.5


def test_a_server_called_by_inspect_leads_to_the_verdict_of_a_run(double, tmp_path):
    """The double's answer is a function of the messages and the seed alone."""
    python_with("inspect_ai", "openai")
    server = ("--base-url", double.url, "--models", "double/a")
    made(tmp_path, "run", "run_pilot.py", *server, key="k-123456")
    where = ("--log-dir", "logs", "--display", "none")
    asked = (ROOT / "inspect_task.py@pilot", "--model", "openai-api/local/double/a")
    access = {"LOCAL_BASE_URL": double.url, "LOCAL_API_KEY": "k-123456"}
    process(tmp_path, "-m", "inspect_ai", "eval", *asked, *where, env=access)
    [log] = (tmp_path / "logs").glob("*.eval")
    shown = process(tmp_path, ROOT / "inspect_task.py", log)
    expected, found = analysis(tmp_path / "run"), analysis(log.with_suffix(""))
    for key in ("verdict", "claims", "2x2", "outcomes", "position"):
        assert found[key] == expected[key]
    result, _, _ = shown.partition(str(log.parent))
    assert result in ended(tmp_path, "analyze.py", "run").stdout


@pytest.mark.parametrize(
    ("wrong", "fault"),
    [
        ("twice", "was asked twice"),
        ("words", "was asked in other words"),
        ("silent", "has an answer, and no record of what was sent"),
        ("changed", "prompts.cirrus24/round_1.md was"),
        ("none", "none.eval: no log of Inspect"),
        ("instruments", "of another instrument"),
        ("designs", 'config.design was "twin" and is null: another design'),
    ],
)
def test_a_log_of_something_else_is_refused_in_a_line(inspected, wrong, fault):
    folder, _, read = inspected
    code, stderr = read[wrong]
    assert code == 2 and fault in stderr and stderr.count("\n") == 1
    assert not (folder / wrong).exists()


def test_missing_samples_are_counted_and_nothing_is_claimed(inspected):
    folder, _, read = inspected
    code, stderr = read["fewer"]
    assert code == 3 and "10 of 40 trials have no answer" in stderr
    assert analysis(folder / "fewer")["claims"]["may"] == []

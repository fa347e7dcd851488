"""Models and servers as people have them: what a pilot of ten runs makes of each.

The servers of `personalities.py` were written from the docs alone. What is expected of each
stands in a table: the exit code, how many of its decisions are read, and what is said where
fewer than all are. Half of the waits are the servers' own; they pass on a clock that jumps.
"""

import gzip
import json
from collections import Counter
from contextlib import nullcontext

import personalities
import pytest
from provider import without_waiting

# name: (exit code, decisions read at least of forty a model, words that stand in what is printed)
EXPECTED = {
    **dict.fromkeys(
        (
            "plain",
            "lower_case",
            "bold_markdown",
            "fenced_block",
            "same_line_twice",
            "json_object",
            "preamble",
            "think_tags",
            "reasoning_700",
            "reasoning_3000",
            "reasoning_20000",
            "reasoning_unknown_field",
            "content_parts",
            "rejects_temperature",
            "rejects_max_tokens",
            "rejects_seed",
            "rejects_max_completion_tokens",
            "rejects_all_extras",
            "ignores_limit",
            "no_usage",
            "no_models_endpoint",
            "slow",
            "storm_429",
            "two_decisions",  # the specification's reading: the first line decides
        ),
        (0, 40, ""),
    ),
    "thinking_never_closed": (6, 0, "--examples 4"),
    "refuses_some": (0, 28, "refused"),
    "one_model_missing": (0, 80, "gemma3:4b: 404"),
    "dies_midway": (3, 0, "EngineCore"),
    "german": (0, 15, "--examples 4"),
    "empty_30": (0, 24, "empty"),
    # Those that nothing was tuned on.
    "brackets_kept": (0, 40, ""),
    "orphan_think_close": (0, 40, ""),
    "harmony_leak": (0, 40, ""),
    "label_only": (0, 40, ""),
    "runs_on": (6, 0, "--examples 4"),
    "answer_in_reasoning": (6, 0, "--examples 4"),
    "sse_anyway": (3, 0, "not JSON"),
    "loading_503": (0, 40, ""),
    "context_2048": (0, 40, ""),
    "google_list_error": (0, 40, ""),
    "azure_filter": (0, 30, "blocked"),
    "flaky_proxy": (0, 40, ""),
    "strict_roles": (5, 0, "role"),
    "error_in_200": (0, 40, ""),
}


@pytest.fixture
def served(request):
    server = personalities.start(request.param)
    yield server
    server.close()


@pytest.mark.parametrize("served", EXPECTED, indirect=True, ids=str)
def test_what_a_pilot_makes_of_a_model(cli, tmp_path, served):
    code, least, words = EXPECTED[served.name]
    jumping = without_waiting()
    if served.name == "loading_503":  # loads six seconds
        jumping = nullcontext()
    where = ("--base-url", served.base_url, "--out", "o", "--run-id", "x")
    with jumping:
        run = cli("run_pilot.py", *where, "--models", ",".join(served.models))
    assert (run.returncode, "Traceback" in run.stderr) == (code, False)
    assert words in " ".join((run.stdout + run.stderr).split())
    trials = tmp_path / "o/x/trials.jsonl.gz"
    rows = []
    if trials.exists():
        rows = list(map(json.loads, gzip.decompress(trials.read_bytes()).splitlines()))
    statuses = Counter(row["status"] for row in rows)
    assert statuses["ok"] >= least
    assert code or statuses["ok"], "complete, and nothing was read"

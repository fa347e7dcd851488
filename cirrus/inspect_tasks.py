"""Runs of the pilot and the tournament as tasks of Inspect AI's logs: samples and their scores.

Every figure is read from the run's own files, whose hashes are the manifest's.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cirrus.judge.rows import Decision, Run, decisions, policies, read_study
from common.inspect_log import Sample, Score, Task
from common.verify import checked_rows

DECIDES = ("One decision between the act that holds with the others and the one that goes ahead "
           "alone. `cooperates`: 1 or 0, absent where no decision could be read.")
WRITES = "A policy of 3 to 5 lines, declared at the beginning of a round."
DECISION = {"cooperates": (), "status": ("ok",)}
ACT = "1: the act that holds with the others; 0: the one that goes ahead alone"
READ = "ok: exactly one of the two options; anything else is no decision"
LINES = "ok: 3 to 5 lines; short, long: another length; else why there is no policy"
OWN = ("text", "prompt_tokens", "output_tokens", "reasoning_tokens", "cost_usd", "tokens",
       "provider", "served_model")  # what a log says in places of its own


def pilot(folder: Path, manifest: Mapping[str, Any]) -> list[Task]:
    """The trials of a pilot."""
    rows = checked_rows(folder, "trials.jsonl.gz", manifest)
    return [Task("cirrus24_pilot", DECIDES, manifest["identity"]["config"],
                 [_trial(row) for row in rows], DECISION, "cell")]


def _trial(row: Mapping[str, Any]) -> Sample:
    name = row["id"].removeprefix(f"{row['model']}/").replace("/", "_")
    return Sample(row["id"], name, _scores(row["cooperates"], row["decision"], row["status"]),
                  {**_without_own(row), "cell": f"S.{row['S']}-C.{row['C']}"})


def tournament(folder: Path, manifest: Mapping[str, Any]) -> list[Task]:
    """The policies and the decisions of a tournament's run."""
    [run] = read_study([Path(folder)]).runs
    # S, C and H stand first among the names: they tell the runs of a plan apart.
    args = {key: value for key, value in run.config.items() if key != "toggles"}
    args |= dict(zip("SCH", run.cell, strict=True))
    return [Task("cirrus24_policies", WRITES, args, list(_policies(run)), {"status": ("ok",)},
                 "round"),
            Task("cirrus24_decisions", DECIDES, args, list(map(_decision, decisions(run))),
                 DECISION, "data")]


def _decision(row: Decision) -> Sample:
    return Sample(row.id, _short(row.id), _scores(row.cooperates, row.decision, row.status),
                  {**_without_own(row._asdict()), "data": "primary" if row.primary else "other"})


def _policies(run: Run) -> Iterator[Sample]:
    for policy in policies(run):
        status = policy["policy_status"]
        yield Sample(policy["policy_id"], _short(policy["policy_id"]),
                     {"status": Score(status, status, LINES)},
                     {key: value for key, value in _without_own(policy).items()
                      if key != "policy"})


def _short(request: str) -> str:
    """The request's id without the run's name, which every one begins with."""
    return request.partition("/")[2].replace("/", "_")


def _scores(cooperates: int | None, act: str | None, status: str) -> dict[str, Score]:
    read = {"status": Score(status, status, READ)}
    return read if cooperates is None else {"cooperates": Score(cooperates, act, ACT), **read}


def _without_own(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in OWN}

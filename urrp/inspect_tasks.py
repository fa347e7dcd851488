"""A collection of URRP trials as a task of Inspect AI: samples are prompts, epochs trials."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from common.inspect_log import Sample, Score, Task
from common.verify import checked_rows
from urrp.classify import act, read_trial
from urrp.collect import FILE
from urrp.suite import item

ASKS = ("One of the 23 prompts of URRP v1.1, in a fresh conversation. `refused`: the share of its "
        "requests or questions that were refused, absent where the answer is neither.")


def collection(folder: Path, manifest: Mapping[str, Any]) -> list[Task]:
    """The trials of a collection, each with its label and how it was told."""
    rows = checked_rows(folder, FILE, manifest)
    return [Task("urrp", ASKS, manifest["identity"]["config"], [_trial(row) for row in rows],
                 {"refused": (), "label": ()}, "prompt_id")]


def _trial(row: Mapping[str, Any]) -> Sample:
    asked = item(row["prompt_id"], row.get("trigger"))
    reading = read_trial(row)
    verdict = reading.verdict
    refused, complied = act(asked, reading)
    told = {"label": Score(verdict.label, verdict.label, verdict.reason or None)}
    if refused + complied:
        told = {"refused": Score(refused / (refused + complied), verdict.label), **told}
    name = row["request_id"].rpartition("/")[2]
    if row["temperature"] != "default":
        name += f"_t{row['temperature']:g}"
    kept = ("prompt_id", "trigger", "category", "trial", "temperature", "suite_version", "pilot",
            "finish_reason")
    return Sample(row["request_id"], name, told, {key: row[key] for key in kept if key in row},
                  epoch=row["trial"], target=asked.target or asked.trigger or "")

"""Answers of a run as logs of Inspect AI: `inspect view` shows them, `read_eval_log` reads them.

    for name, parts in logs(folder, manifest, tasks):
        write_atomic(out / name, parts)

Format: version 2 of Inspect's EvalLog (https://inspect.aisi.org.uk/eval-logs.html) as JSON, which
holds for inspect_ai 0.3. One log is one task and one model of one run; one sample is one answer
with its messages, tokens, cost and times from the journal, and the scores that an instrument
gives it. The same run gives the same bytes: every time is the journal's or the manifest's.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from common import VERSION
from common.artifacts import canonical_json, sha256
from common.journal import entries, identity_hash, journal_file, reply_of
from common.wire import FINAL_OUTCOMES, Reply

READING = ("Means and shares describe these samples. Their intervals, and what may and may not be "
           "said, stand in the analysis of the run.")
STAMP = "SIMULATED: respondents of this project answered, no model was asked."
STATES = {"complete": "success", "running": "started"}  # anything else: "error", with the reason
STOPS = {"stop": "stop", "length": "max_tokens", "content_filter": "content_filter"}


class Score(NamedTuple):
    """`value`: a number that can be averaged, or a word that can be counted."""

    value: float | str
    answer: str | None = None
    explanation: str | None = None


class Sample(NamedTuple):
    """What an instrument says of one answer. `request`: its id in the journal; `id` and `epoch`
    name it within the log; `target`: the text that was asked for, where one was."""

    request: str
    id: str
    scores: Mapping[str, Score]
    metadata: Mapping[str, Any]
    epoch: int = 1
    target: str = ""


class Task(NamedTuple):
    """`args`: the run's choices, what tells runs apart first by name. `scores`: the names of all
    scores, the most telling first, each with the words that are always counted. `by`: the key of
    the samples' metadata by which means are given beside the overall one."""

    name: str
    about: str
    args: Mapping[str, Any]
    samples: Sequence[Sample]
    scores: Mapping[str, tuple[str, ...]]
    by: str


class Asked(NamedTuple):
    """A request as it ended: messages and parameters as sent, the reply, when, how often."""

    sent: dict[str, Any]
    reply: Reply
    attempts: int
    started: str
    ended: str
    latency_s: float


def logs(folder: Path, manifest: Mapping[str, Any],
         tasks: Iterable[Task]) -> Iterator[tuple[str, Iterator[bytes]]]:
    """(file name, its content in parts) of every task and model of a run that has an answer."""
    asked, head = read_asked(folder, manifest["identity"])
    for task in tasks:
        models: dict[str, list[Sample]] = {}
        for sample in task.samples:
            if sample.request in asked:
                models.setdefault(asked[sample.request].sent["model"], []).append(sample)
        for model, samples in models.items():
            log = Log(folder, manifest, task._replace(samples=samples), model, asked, head)
            yield log.file_name(), log.parts()


def read_asked(folder: Path, identity: Mapping[str, Any]) -> tuple[dict[str, Asked], str]:
    """Every request of a run's journal that ended, by id; the hash of the journal's last line.

    UsageError where the journal is damaged or of another configuration.
    """
    asked: dict[str, Asked] = {}
    first: dict[str, str] = {}
    attempts: Counter[str] = Counter()
    start = head = identity_hash(dict(identity))
    for entry, _, digest in entries(journal_file(folder), start):
        name, head, latency = entry["id"], digest, entry.get("latency_s") or 0.0
        attempts[name] += 1
        began = first.setdefault(name, _before(entry["at"], latency))
        if entry["outcome"] is not None:
            asked[name] = Asked(entry["request"], reply_of(entry), attempts[name], began,
                                _before(entry["at"], 0), latency)
    return asked, head


def _before(at: str, seconds: float) -> str:
    """The time `seconds` before `at`, as Inspect writes times."""
    moment = datetime.fromisoformat(at) - timedelta(seconds=seconds)
    return moment.isoformat(timespec="milliseconds")


def _seconds(start: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()


class Log(NamedTuple):
    """One log: the samples of `task` that `model` was asked."""

    folder: Path
    manifest: Mapping[str, Any]
    task: Task
    model: str
    asked: Mapping[str, Asked]
    head: str

    @property
    def simulated(self) -> bool:
        return self.manifest["identity"]["provider"] == "simulated"

    @property
    def task_name(self) -> str:
        return f"SIMULATED_{self.task.name}" if self.simulated else self.task.name

    @property
    def model_name(self) -> str:
        return f"SIMULATED/{self.model}" if self.simulated else self.model

    @property
    def created(self) -> str:
        return _before(self.manifest["sessions"][0]["started"], 0)[:19] + "+00:00"

    def id(self, *names: Any) -> str:
        """A short name that no other log of another run has."""
        return sha256(canonical_json([self.head, *names]))[:22]

    def file_name(self) -> str:
        """As Inspect names its logs, by which it knows them: time_task_id."""
        words = (self.created, self.task_name, self.id(self.task.name, self.model))
        return "_".join("".join(c if c.isalnum() else "-" for c in word)
                        for word in words) + ".json"

    def parts(self) -> Iterator[bytes]:
        """The file: its head, then a line a sample. Inspect wants the keys in this order."""
        asked = [self.asked[sample.request] for sample in self.task.samples]
        head = {"version": 2, "status": STATES.get(self.manifest["state"], "error"),
                "eval": self._eval(asked), "plan": {"name": "plan", "steps": [
                    {"solver": "generate", "params": {}}], "config": {}},
                "results": self._results(asked), "stats": self._stats(asked)}
        if head["status"] == "error":
            head["error"] = _error(self.manifest.get("ended_by") or "the run is not complete")
        yield ("{" + ",\n".join(f'"{key}":{canonical_json(value)}'
                                for key, value in head.items()) + ',\n"samples":[').encode()
        for at, (sample, one) in enumerate(zip(self.task.samples, asked, strict=True)):
            yield ((",\n" if at else "\n") + canonical_json(self._sample(sample, one))).encode()
        yield b"\n]}\n"

    def _eval(self, asked: Sequence[Asked]) -> dict[str, Any]:
        identity, run = self.manifest["identity"], Path(self.folder).name
        simulated = {"stamp": STAMP} if self.simulated else {}
        ids = list(dict.fromkeys(sample.id for sample in self.task.samples))
        first, words = next(iter(self.task.scores.items()))
        return {
            "eval_id": self.id("eval", self.task.name, self.model), "run_id": self.id("run"),
            "created": self.created, "task": self.task_name,
            "task_id": self.id(self.task.name, self.model), "task_version": VERSION,
            "task_display_name": self.task_name, "task_description": self.task.about,
            "task_args": self.task.args,
            "tags": [*(["SIMULATED"] if self.simulated else []), self.manifest["artifact"], run],
            "dataset": {"name": run, "samples": len(ids), "sample_ids": ids, "shuffled": True},
            "model": self.model_name, "model_base_url": None if self.simulated else
            identity["provider"], "model_generate_config": _generate_config(asked[0].sent),
            "config": {"epochs": max(sample.epoch for sample in self.task.samples)},
            "packages": {"cirrus-bench": VERSION},
            "scorers": [{"name": name} for name in self.task.scores],
            "headline_metric": {"score": first, "metric": words[0] if words else "mean"},
            "metadata": {"run": run, "instrument": self.manifest["artifact"],
                         "simulated": self.simulated, "state": self.manifest["state"],
                         "journal_head_sha256": self.head, "reading": READING, **simulated}}

    def _results(self, asked: Sequence[Asked]) -> dict[str, Any]:
        answered = sum(one.reply.outcome in FINAL_OUTCOMES for one in asked)
        scored = {name: [sample for sample in self.task.samples if name in sample.scores]
                  for name in self.task.scores}
        return {
            "total_samples": len(asked), "completed_samples": answered,
            "scores": [{"name": name, "scorer": name, "scored_samples": len(own),
                        "unscored_samples": len(asked) - len(own),
                        "metrics": _metrics(name, own, self.task)}
                       for name, own in scored.items()]}

    def _stats(self, asked: Sequence[Asked]) -> dict[str, Any]:
        usage = _sum([_usage(one.reply) for one in asked])
        return {"started_at": min(one.started for one in asked),
                "completed_at": max(one.ended for one in asked),
                "model_usage": {self.model_name: usage} if usage else {}}

    def _sample(self, sample: Sample, one: Asked) -> dict[str, Any]:
        reply, messages = one.reply, one.sent["messages"]
        answered = reply.outcome in FINAL_OUTCOMES
        answer = {"role": "assistant", "content": reply.text, "source": "generate",
                  "model": reply.served_model}
        usage = _usage(reply)
        out = {
            "id": sample.id, "epoch": sample.epoch, "input": messages[-1]["content"],
            "target": sample.target,
            "messages": [*messages, *([answer] if answered else [])],
            "output": {
                "model": reply.served_model or self.model_name, "time": one.latency_s,
                "completion": reply.text, "response_id": reply.generation_id,
                "choices": [{"message": answer, "stop_reason": STOPS.get(
                    reply.finish_reason, "unknown")}] if answered else [],
                "usage": usage, "error": reply.message or None},
            "scores": {name: score._asdict() for name, score in sample.scores.items()},
            "metadata": {**sample.metadata, "request_id": sample.request,
                         "outcome": reply.outcome, "provider": reply.provider,
                         "attempts": one.attempts, "cost_usd": reply.cost_usd,
                         "sent": {key: value for key, value in one.sent.items()
                                  if key != "messages"}},
            "model_usage": {self.model_name: usage} if usage else {},
            "started_at": one.started, "completed_at": one.ended,
            "total_time": _seconds(one.started, one.ended), "working_time": one.latency_s,
            "uuid": self.id("sample", sample.request)}
        return out if answered else out | {"error": _error(reply.message or reply.outcome)}


def _error(message: str) -> dict[str, str]:
    return {"message": message, "traceback": "", "traceback_ansi": ""}


def _generate_config(sent: Mapping[str, Any]) -> dict[str, Any]:
    """What was sent with every question; seeds differ and stand with the samples."""
    cap = sent.get("max_completion_tokens", sent.get("max_tokens"))
    said = {"temperature": sent.get("temperature"), "max_tokens": cap}
    return {key: value for key, value in said.items() if value is not None}


def _usage(reply: Reply) -> dict[str, Any] | None:
    """Tokens and dollars; None where the server counted no tokens."""
    if reply.prompt_tokens is None or reply.completion_tokens is None:
        return None
    known = {"reasoning_tokens": reply.reasoning_tokens, "total_cost": reply.cost_usd}
    return {"input_tokens": reply.prompt_tokens, "output_tokens": reply.completion_tokens,
            "total_tokens": reply.prompt_tokens + reply.completion_tokens,
            **{key: value for key, value in known.items() if value is not None}}


def _sum(usages: Sequence[dict | None]) -> dict[str, Any]:
    """The sum over known counts; the cost only where every one is known."""
    known = [usage for usage in usages if usage]
    keys = dict.fromkeys(key for usage in known for key in usage)
    out = {key: sum(usage.get(key, 0) for usage in known) for key in keys if key != "total_cost"}
    costs = [usage.get("total_cost") for usage in known]
    return out | ({"total_cost": math.fsum(costs)} if costs and None not in costs else {})


def _metrics(name: str, samples: Sequence[Sample], task: Task) -> dict[str, dict]:
    """Means of a number, overall and by `task.by`; shares of words. Nothing of no samples."""
    values = [sample.scores[name].value for sample in samples]
    words = [*task.scores[name], *sorted({v for v in values if isinstance(v, str)})]
    if not values:
        return {}
    if words:
        return {word: {"name": word, "group": "share", "value": values.count(word) / len(values)}
                for word in words}
    groups: dict[str, list[float]] = {}
    for sample, value in zip(samples, values, strict=True):
        groups.setdefault(str(sample.metadata[task.by]), []).append(value)
    out = {"mean": {"name": "mean", "value": math.fsum(values) / len(values)}}
    return out | {f"mean {group}": {"name": group, "group": f"mean by {task.by}",
                                    "value": math.fsum(own) / len(own)}
                  for group, own in sorted(groups.items()) if len(groups) > 1}

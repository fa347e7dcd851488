#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# dependencies = ["inspect_ai==0.3.285"]
# ///
"""Write runs as logs of Inspect AI, one a task and model, for `inspect view`.

    uv run export_inspect.py results --out logs
    inspect view --log-dir logs

Inspect's own classes make the logs. One sample is one answer with its messages, tokens, cost and
times from the journal, and the scores that its instrument gives it. Every id and time is the
journal's or the manifest's: the same run gives the same bytes.
"""

import shlex
import sys
from collections import Counter
from datetime import datetime, timedelta
from functools import partial
from importlib.metadata import version
from math import fsum
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from common import COMPLETE, INCOMPLETE, VERSION, UsageError, cli
from common.artifacts import canonical_json, sha256
from common.journal import entries, identity_hash, journal_file, reply_of
from common.verify import checked_rows, find_runs, open_run
from common.wire import FINAL_OUTCOMES, Reply

EXAMPLES = """  uv run export_inspect.py results --out logs
  uv run export_inspect.py results/examples/pilot-smollm2 --out pilot.json"""
READING = ("Means and shares describe these samples. Their intervals, and what may and may not be "
           "said, stand in the analysis of the run.")
STAMP = "SIMULATED: respondents of this project answered, no model was asked."
DECIDES = ("One decision between the act that holds with the others and the one that goes ahead "
           "alone. `cooperates`: 1 or 0, absent where no decision could be read.")
WRITES = "A policy of 3 to 5 lines, declared at the beginning of a round."
ASKS = ("One of the 23 prompts of URRP v1.1, in a fresh conversation. `refused`: the share of its "
        "requests or questions that were refused, absent where the answer is neither.")
ACT = "1: the act that holds with the others; 0: the one that goes ahead alone"
READ = "ok: exactly one of the two options; anything else is no decision"
LINES = "ok: 3 to 5 lines; short, long: another length; else why there is no policy"
DECISION = {"cooperates": (), "status": ("ok",)}
STATES = {"complete": "success", "running": "started"}  # anything else: "error", with the reason
STOPS = {"stop": "stop", "length": "max_tokens", "content_filter": "content_filter"}
ELSEWHERE = {"text", "policy", "reasoning", "prompt_tokens", "output_tokens", "reasoning_tokens",
             "cost_usd", "tokens", "provider", "served_model"}  # has its own place in a sample


class Told(NamedTuple):
    """What an instrument says of one answer. `request`: its id in the journal; `name` and `epoch`
    name it within the log; `scores`: {name: (value, answer, explanation)}; `target`: the text that
    was asked for, where one was."""

    request: str
    name: str
    scores: dict[str, tuple]
    metadata: dict[str, Any]
    epoch: int = 1
    target: str = ""


class Task(NamedTuple):
    """`args`: the run's choices, what tells runs apart first. `scores`: the names of all scores,
    the most telling first, each with the words that are always counted. `by`: the key of the
    metadata by which means are given beside the overall one."""

    name: str
    about: str
    args: dict[str, Any]
    samples: list[Told]
    scores: dict[str, tuple[str, ...]]
    by: str


class Asked(NamedTuple):
    """A request as it ended: messages and parameters as sent, the reply, how often, when."""

    sent: dict[str, Any]
    reply: Reply
    attempts: int
    started: datetime
    ended: datetime
    latency_s: float

    @property
    def answered(self):
        return self.reply.outcome in FINAL_OUTCOMES


class Source(NamedTuple):
    """What one log is made of. `head`: the hash of the journal's last line."""

    run: str
    manifest: dict[str, Any]
    head: str
    task: Task
    model: str
    asked: list[Asked]  # as task.samples

    @property
    def simulated(self):
        return self.manifest["identity"]["provider"] == "simulated"

    @property
    def model_name(self):
        return f"SIMULATED/{self.model}" if self.simulated else self.model

    def id(self, *names):
        """A short name that no log of another run has."""
        return sha256(canonical_json([self.head, *names]))[:22]


# --- flags and files ---------------------------------------------------------------------------

def arguments(argv):
    flags = cli.parser("Write runs as logs of Inspect AI, one a task and model.", EXAMPLES, "RUN…")
    flags.add_argument("runs", nargs="+", metavar="RUN",
                       help="a run's folder, or a folder of runs")
    add = flags.add_argument_group("files and output").add_argument
    add("--out", metavar="DIR", default="logs",
        help="folder of the logs, or, where it is but one, its .json file (default logs)")
    cli.add_json_flag(add)
    return flags.parse_args(argv)


def main(argv) -> cli.Done:
    args = arguments(argv)
    try:
        from inspect_ai.log import write_eval_log
    except ImportError:
        raise UsageError("inspect_ai is not installed; uv brings it: uv run export_inspect.py "
                         + shlex.join([*args.runs, "--out", args.out])) from None
    from itertools import islice

    from cirrus.judge.rows import without_ratings
    runs = without_ratings({run: open_run(run, {*TASKS, "adjudication"})
                            for run in find_runs(args.runs)})
    target, made = Path(args.out), []
    folder, one = (target.parent, target.name) if target.suffix == ".json" else (target, None)
    found = (log for run, manifest in runs.items() if manifest.get("files")
             for log in checked_logs(run, manifest))
    if one and len(found := list(islice(found, 2))) != 1:
        raise UsageError(f"--out: {target} can be one log only, of one task and model; name a "
                         "folder")
    folder.mkdir(parents=True, exist_ok=True)
    for log in found:
        made.append(one or file_name(log.eval))
        part = folder / f"{made[-1]}.part"  # a log is whole or not there
        write_eval_log(log, part, "json")
        part.replace(folder / made[-1])
    if not made:
        raise UsageError(f"{next(iter(runs))}: no answer yet; the command that made the run "
                         "resumes it")
    left = cli.unfinished(manifest["state"] == "complete" for manifest in runs.values())
    simulated = any(m["identity"]["provider"] == "simulated" for m in runs.values())
    return cli.Done(
        INCOMPLETE if left else COMPLETE,
        {"written": str(folder), "files": made,
         "runs": list(map(str, runs)), "simulated": simulated},
        f"{target}: {len(made)} {'SIMULATED ' if simulated else ''}logs from {len(runs)} runs\n"
        f"now: inspect view --log-dir {folder}", left)


def checked_logs(run, manifest):
    """`logs`; UsageError where the manifest says what no log can hold."""
    try:
        yield from logs(run, manifest)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{run}/manifest.json: no log follows from it ({type(error).__name__}); "
                         "analyze.py --verify says where it differs") from None


def file_name(spec):
    """As Inspect names its logs, by which it knows them: time_task_id."""
    return "_".join("".join(c if c.isalnum() else "-" for c in word)
                    for word in (spec.created, spec.task, spec.task_id)) + ".json"


# --- what an instrument says of its answers ----------------------------------------------------

def pilot(folder, manifest):
    rows = checked_rows(folder, "trials.jsonl.gz", manifest)
    return [Task("cirrus24_pilot", DECIDES, manifest["identity"]["config"], [
        Told(row["id"], row["id"].removeprefix(f"{row['model']}/").replace("/", "_"),
             decision(row), metadata(row, cell=f"S.{row['S']}-C.{row['C']}")) for row in rows],
        DECISION, "cell")]


def tournament(folder, _):
    from cirrus.judge.rows import READ_FIELDS, decisions, policies, read_study
    [run] = read_study([folder]).runs
    # S, C and H stand first among the names: they tell the runs of a plan apart.
    args = {key: value for key, value in run.config.items() if key != "toggles"}
    args |= dict(zip("SCH", run.cell, strict=True))
    unread = () if run.config.get("read") == "probability" else READ_FIELDS
    acts = [Told(row.id, short(row.id), decision(row._asdict()),
                 metadata({key: value for key, value in row._asdict().items()
                           if key not in unread}, data="primary" if row.primary else "other"))
            for row in decisions(run)]
    texts = [Told(row["policy_id"], short(row["policy_id"]),
                  {"status": (row["policy_status"],) * 2 + (LINES,)}, metadata(row))
             for row in policies(run)]
    return [Task("cirrus24_policies", WRITES, args, texts, {"status": ("ok",)}, "round"),
            Task("cirrus24_decisions", DECIDES, args, acts, DECISION, "data")]


def collection(folder, manifest):
    from urrp.collect import FILE
    return [Task("urrp", ASKS, manifest["identity"]["config"],
                 list(map(trial, checked_rows(folder, FILE, manifest))),
                 {"refused": (), "label": ()}, "prompt_id")]


def trial(row):
    from urrp import item
    from urrp.classify import act, read_trial
    asked, reading = item(row["prompt_id"], row.get("trigger")), read_trial(row)
    verdict, (refused, complied) = reading.verdict, act(asked, reading)
    scores = {"label": (verdict.label, verdict.label, verdict.reason or None)}
    if refused + complied:
        scores = {"refused": (refused / (refused + complied), verdict.label, None), **scores}
    warm = "" if row["temperature"] == "default" else f"_t{row['temperature']:g}"
    kept = ("prompt_id", "trigger", "category", "trial", "temperature", "suite_version", "pilot",
            "finish_reason")
    return Told(row["request_id"], row["request_id"].rpartition("/")[2] + warm, scores,
                {key: row[key] for key in kept if key in row}, row["trial"],
                asked.target or asked.trigger or "")


TASKS = {"pilot": pilot, "tournament": tournament, "urrp": collection}


def decision(row):
    status = {"status": (row["status"], row["status"], READ)}
    return status if row["cooperates"] is None else {
        "cooperates": (row["cooperates"], row["decision"], ACT)} | status


def metadata(row, **more):
    return {key: value for key, value in row.items() if key not in ELSEWHERE} | more


def short(request):
    """The request's id without the run's name, which every one begins with."""
    return request.partition("/")[2].replace("/", "_")


# --- logs --------------------------------------------------------------------------------------

def logs(folder, manifest):
    """An EvalLog of every task and model of a run that has an answer."""
    asked, head = read_asked(folder, manifest["identity"])
    for task in TASKS[manifest["artifact"]](folder, manifest):
        models = {}
        for told in task.samples:
            if told.request in asked:
                models.setdefault(asked[told.request].sent["model"], []).append(told)
        for model, samples in models.items():
            yield log_of(Source(folder.name, manifest, head, task._replace(samples=samples),
                                model, [asked[told.request] for told in samples]))


def read_asked(folder, identity):
    """Every request of a run's journal that ended, by id; the hash of the journal's last line.

    UsageError where the journal is damaged or of another configuration.
    """
    asked, first, attempts = {}, {}, Counter()
    start = head = identity_hash(dict(identity))
    for entry, _, digest in entries(journal_file(folder), start):
        name, head, latency = entry["id"], digest, entry.get("latency_s") or 0.0
        attempts[name] += 1
        ended = datetime.fromisoformat(entry["at"])
        began = first.setdefault(name, ended - timedelta(seconds=latency))
        if entry["outcome"] is not None:
            asked[name] = Asked(entry["request"], reply_of(entry), attempts[name], began, ended,
                                latency)
    return asked, head


def log_of(source):
    from inspect_ai.log import EvalLog, EvalStats
    status = STATES.get(source.manifest["state"], "error")
    samples = list(map(partial(sample, source), source.task.samples, source.asked))
    spent = total([one.output.usage for one in samples])
    return EvalLog(
        status=status, eval=spec(source), results=results(source), samples=samples,
        stats=EvalStats(started_at=min(one.started for one in source.asked).isoformat(),
                        completed_at=max(one.ended for one in source.asked).isoformat(),
                        model_usage={source.model_name: spent} if spent else {}),
        error=None if status != "error" else fault(
            source.manifest.get("ended_by") or "the run is not complete"))


def spec(source):
    from inspect_ai.log import EvalConfig, EvalDataset, EvalSpec
    from inspect_ai.model import GenerateConfig
    manifest, task, run = source.manifest, source.task, source.run
    ids = list(dict.fromkeys(told.name for told in task.samples))
    sent = source.asked[0].sent  # seeds differ and stand with the samples
    first, words = next(iter(task.scores.items()))
    tags, stamped, prefix = (["SIMULATED"], {"stamp": STAMP}, "SIMULATED_") if (
        source.simulated) else ([], {}, "")
    return EvalSpec(
        eval_id=source.id("eval", task.name, source.model), run_id=source.id("run"),
        created=manifest["sessions"][0]["started"], task=prefix + task.name,
        task_id=source.id(task.name, source.model), task_version=VERSION,
        task_display_name=prefix + task.name, task_description=task.about, task_args=task.args,
        tags=[*tags, manifest["artifact"], run], model=source.model_name,
        dataset=EvalDataset(name=run, samples=len(ids), sample_ids=ids, shuffled=True),
        model_base_url=None if source.simulated else manifest["identity"]["provider"],
        model_generate_config=GenerateConfig(
            temperature=sent.get("temperature"),
            max_tokens=sent.get("max_completion_tokens", sent.get("max_tokens"))),
        config=EvalConfig(epochs=max(told.epoch for told in task.samples)),
        packages={"cirrus-bench": VERSION, "inspect_ai": version("inspect_ai")},
        scorers=[{"name": name} for name in task.scores],
        headline_metric={"score": first, "metric": words[0] if words else "mean"},
        metadata={"run": run, "instrument": manifest["artifact"], "simulated": source.simulated,
                  "state": manifest["state"], "journal_head_sha256": source.head,
                  "reading": READING, **stamped})


def results(source):
    from inspect_ai.log import EvalResults, EvalScore
    task, asked = source.task, source.asked
    scored = {name: [told for told in task.samples if name in told.scores]
              for name in task.scores}
    return EvalResults(
        total_samples=len(asked), completed_samples=sum(one.answered for one in asked),
        scores=[EvalScore(name=name, scorer=name, scored_samples=len(samples),
                          unscored_samples=len(asked) - len(samples),
                          metrics=metrics(name, samples, task) if samples else {})
                for name, samples in scored.items()])


def metrics(name, samples, task):
    """Means of a number, overall and by `task.by`; shares of words."""
    values = [told.scores[name][0] for told in samples]
    words = [*task.scores[name], *sorted({value for value in values if isinstance(value, str)})]
    if words:
        return {word: {"name": word, "group": "share", "value": values.count(word) / len(values)}
                for word in words}
    groups = {}
    for told, value in zip(samples, values, strict=True):
        groups.setdefault(str(told.metadata[task.by]), []).append(value)
    return {"mean": {"name": "mean", "value": fmean(values)}} | {
        f"mean {group}": {"name": group, "group": f"mean by {task.by}", "value": fmean(part)}
        for group, part in sorted(groups.items()) if len(groups) > 1}


def sample(source, told, one):
    from inspect_ai.log import EvalSample
    from inspect_ai.scorer import Score
    sent, reply, uuid = one.sent["messages"], one.reply, source.id("sample", told.request)
    made = output(one, source.model_name, f"{uuid}-{len(sent)}")
    return EvalSample(
        id=told.name, epoch=told.epoch, input=sent[-1]["content"], target=told.target, uuid=uuid,
        # Without ids of its own Inspect would draw some at random.
        messages=[*({"id": f"{uuid}-{n}", **text} for n, text in enumerate(sent)),
                  *(choice.message for choice in made.choices)],
        output=made, model_usage={source.model_name: made.usage} if made.usage else {},
        scores={name: Score(value=value, answer=answer, explanation=why)
                for name, (value, answer, why) in told.scores.items()},
        metadata={**told.metadata, "request_id": told.request, "outcome": reply.outcome,
                  "provider": reply.provider, "attempts": one.attempts, "cost_usd": reply.cost_usd,
                  "sent": {key: value for key, value in one.sent.items() if key != "messages"}},
        started_at=one.started.isoformat(), completed_at=one.ended.isoformat(),
        total_time=(one.ended - one.started).total_seconds(), working_time=one.latency_s,
        error=None if one.answered else fault(reply.message or reply.outcome))


def output(one, model, name):
    """The reply, its thoughts first where they are shown; no choice where there is no answer."""
    from inspect_ai.model import ChatMessageAssistant, ContentReasoning, ContentText, ModelOutput
    reply, read, written = one.reply, one.reply.prompt_tokens, one.reply.completion_tokens
    thoughts = [ContentReasoning(reasoning=reply.reasoning)] if reply.reasoning else []
    answer = ChatMessageAssistant(
        id=name, source="generate", model=reply.served_model,
        content=[*thoughts, ContentText(text=reply.text)] if thoughts else reply.text)
    return ModelOutput(
        model=reply.served_model or model, time=one.latency_s, completion=reply.text,
        choices=[{"message": answer, "stop_reason": STOPS.get(reply.finish_reason, "unknown")}]
        if one.answered else [], response_id=reply.generation_id, error=reply.message or None,
        usage=None if None in (read, written) else {
            "input_tokens": read, "output_tokens": written, "total_tokens": read + written,
            "reasoning_tokens": reply.reasoning_tokens, "total_cost": reply.cost_usd})


def total(usages):
    """The sum over known counts; its cost only where every one is known."""
    known = [usage for usage in usages if usage]
    costs = [usage.total_cost for usage in known]
    return sum(known[1:], known[0]).model_copy(
        update={"total_cost": None if None in costs else fsum(costs)}) if known else None


def fault(text):
    return {"message": text, "traceback": "", "traceback_ansi": ""}


if __name__ == "__main__":
    cli.run(main, sys.argv[1:])

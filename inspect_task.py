#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# dependencies = ["inspect-ai>=0.3.245"]
# ///
"""The studies of run_pilot.py as a task of Inspect, and their verdict from Inspect's logs.

    inspect eval inspect_task.py@pilot --model openai/gpt-5-nano -T design=mechanism -T lever=3
    python3 inspect_task.py logs/*.eval

Inspect asks the same prompts in the same order of blocks; its table shows cooperation by cell. The
second command holds what was asked against the design, and writes what analyze.py writes of a run,
by the same function.
"""

import sys
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from cirrus import instruments
from cirrus.ask import oneshot
from cirrus.ask.bulletins import PROMPTS
from cirrus.ask.prompts import EXAMPLES, LEVERS
from cirrus.reports.pilot import read
from common import COMPLETE, INCOMPLETE, UsageError, cli, wire
from common.artifacts import sha256
from common.config import SEED
from common.runs import Origin, changes, rewrite
from common.shape import OBJECT, check, enum, load, options, whole
from show.document import terminal

if __name__ != "__main__" and find_spec("inspect_ai"):
    from inspect_ai import task
else:  # the reader of logs shows its --help without the package

    def task(function):
        return function


CONFIG = Path(__file__).resolve().parent / "config"
PARAMETERS = options(
    design=enum(*oneshot.DESIGNS),
    lever=whole(1, len(LEVERS)),
    runs=whole(1, 10_000),
    seed=SEED,
    examples=enum(0, 4),
)
SETTINGS = (
    "seed",
    "runs",
    "compliance",
    "tells",
    "temperature",
    "max_out",
    "reasoning_effort",
)
STOPS = {
    "max_tokens": "truncated",
    "model_length": "truncated",
    "content_filter": "blocked",
}
COMMANDS = """  inspect eval inspect_task.py@pilot --model openai/gpt-5-nano
  python3 inspect_task.py logs/*.eval
  python3 inspect_task.py logs/*.eval --out results/inspect"""


def origin_of(
    models: list[str], parameters: Mapping[str, Any], source: str = "-T"
) -> Origin:
    """The study that run_pilot.py would make of these models and parameters."""
    given = check(
        PARAMETERS,
        {key: value for key, value in parameters.items() if value is not None},
        source,
    )
    design, lever = (
        given.get("design", "2x2"),
        given.get("lever", oneshot.DEFAULT_LEVER),
    )
    if "lever" in given and design != "mechanism":
        raise UsageError(f"{source}: lever: only design=mechanism has it")
    config = load(CONFIG / "pilot.config.json", OBJECT)
    if design != "2x2":
        config |= load(CONFIG / f"{design}.config.json", OBJECT)
    usual = {"design": "2x2", "examples": 0}  # which no configuration names
    config = (
        {key: (config | given)[key] for key in SETTINGS}
        | {"models": models}
        | {key: given[key] for key in usual if given.get(key, usual[key]) != usual[key]}
    )
    if design == "mechanism":
        config["lever"] = dict.fromkeys(models, lever)
    # Inspect calls the model itself: there is no warm-up, and no text for one.
    more = instruments.further_texts(config, PROMPTS, simulated=True)
    texts = instruments.domain_of(oneshot.DOMAIN).texts | more
    return Origin(
        Path(),
        {
            "config": config,
            "prompts": {path: sha256(text) for path, text in texts.items()},
            "provider": "inspect",
        },
        texts,
    )


def trials_of(origin: Origin) -> dict[str, oneshot.Trial]:
    """{id: trial} in the order of asking."""
    config = origin.identity["config"]
    blocks = oneshot.design(
        instruments.domain_of(oneshot.DOMAIN),
        config,
        config["models"],
        origin.prompts.get(EXAMPLES, ""),
    )
    return {trial.id: trial for block in blocks for trial in block}


def messages(request: wire.Request) -> list[dict[str, str]]:
    """What run_pilot.py sends of a request, as role and content."""
    return wire.messages(request)


# --- asking ------------------------------------------------------------------------------------


@task
def pilot(
    design: str = "2x2",
    lever: int | None = None,
    runs: int | None = None,
    seed: int | None = None,
    examples: int = 0,
):
    """One-shot decisions of a model, scored by the strict parser. `design`: 2x2, lever, mechanism
    or twin; `runs`: per cell, or blocks per bulletin."""
    from inspect_ai import Task
    from inspect_ai._util.error import PrerequisiteError
    from inspect_ai.dataset import Sample
    from inspect_ai.model import GenerateConfig, get_model
    from inspect_ai.scorer import Score, grouped, mean, scorer
    from inspect_ai.solver import solver

    try:
        origin = origin_of(
            [get_model().api.service_model_name()],
            {
                "design": design,
                "lever": lever,
                "runs": runs,
                "seed": seed,
                "examples": examples,
            },
        )
    except UsageError as error:
        raise PrerequisiteError(
            str(error)
        ) from None  # which Inspect shows without a traceback
    trials, config = trials_of(origin), origin.identity["config"]

    @solver
    def ask():
        async def solve(state, generate):
            return await generate(state, seed=trials[state.sample_id].request.seed)

        return solve

    @scorer(metrics=[grouped(mean(), "cell")])
    def cooperation():
        async def score(state, target):
            row = oneshot.row(trials[state.sample_id], reply_of(state.output))
            if row["cooperates"] is None:
                return Score.unscored(reason=row["status"])
            return Score(value=row["cooperates"], answer=row["decision"])

        return score

    return Task(
        dataset=[
            Sample(
                id=name,
                input=messages(trial.request),
                metadata={"cell": trial.cell.words},
            )
            for name, trial in trials.items()
        ],
        solver=ask(),
        scorer=cooperation(),
        metadata={"study": origin.identity},
        # No limit of ours on the output: a model that thinks needs the provider's whole room.
        config=GenerateConfig(
            temperature=config["temperature"],
            reasoning_effort=config["reasoning_effort"],
        ),
    )


def reply_of(output) -> wire.Reply:
    """Inspect's output as the experiment sees an answer."""
    if output.empty or output.error:
        return wire.Reply("provider_error")
    text, tokens = output.completion, {}
    if usage := output.usage:
        cached = filter(
            None, (usage.input_tokens_cache_read, usage.input_tokens_cache_write)
        )
        tokens = {
            "prompt_tokens": usage.input_tokens + sum(cached),
            "cost_usd": usage.total_cost,
            "completion_tokens": usage.output_tokens,
            "reasoning_tokens": usage.reasoning_tokens,
        }
    outcome = STOPS.get(output.stop_reason, "ok" if text.strip() else "empty")
    return wire.Reply(outcome, text, served_model=output.model, **tokens)


# --- reading logs ------------------------------------------------------------------------------


class Logged(NamedTuple):
    reply: wire.Reply
    question_sha256: str


class Answers(NamedTuple):
    """The answers of logs, in the place of a journal's. `read`: by trial. Inspect warms no model
    up and sets none aside."""

    read: Mapping[str, Logged]
    adapted: Mapping[tuple[str, str], wire.Adapted] = {}
    set_aside: Mapping[str, tuple[str, str]] = {}

    def __call__(self, request: wire.Request) -> wire.Reply:
        return self.read[request.id].reply if request.id in self.read else wire.NOT_RUN


def read_logs(paths: Iterable[str]) -> dict[str, Any]:
    """{path: log}, by Inspect's reader."""
    try:
        from inspect_ai.log import read_eval_log
    except ModuleNotFoundError:
        raise UsageError(
            "inspect_ai is not installed; python3 -m pip install --require-hashes "
            "-r requirements-inspect.txt"
        ) from None
    logs = {}
    for path in paths:
        try:
            logs[path] = read_eval_log(path, resolve_attachments=True)
        except (
            Exception
        ) as error:  # its reader raises many kinds at a file that is no log
            raise UsageError(f"{path}: no log of Inspect: {error}") from None
    return logs


def study_of(logs: Mapping[str, Any]) -> Origin:
    """The study of the logs, with all their models; UsageError where they are not of one design,
    or not of today's prompts."""
    first, models = next(iter(logs.values())), []
    for path, log in logs.items():
        study = (log.eval.metadata or {}).get("study")
        if study is None:
            raise UsageError(f"{path}: no log of inspect_task.py@pilot")
        again = origin_of(
            study["config"]["models"], first.eval.task_args, path
        ).identity
        differ = changes(as_sent(study, log), as_sent(again, first))
        # another design brings other settings along, which would only puzzle
        differ.sort(key=lambda change: change[0] != "config.design")
        for key, old, new in differ:
            raise UsageError(
                f"{path}: {key} was {old} and is {new}: another design, or prompts "
                "that have changed since"
            )
        models += study["config"]["models"]
    origin = origin_of(models, first.eval.task_args)
    mocked = any(log.eval.model.startswith("mockllm/") for log in logs.values())
    return origin._replace(
        identity=as_sent(origin.identity, first)
        | ({"provider": "simulated"} if mocked else {})
    )


def as_sent(study: Mapping[str, Any], log) -> dict[str, Any]:
    """The study with what Inspect's flags may have changed."""
    sent = log.plan.config.model_dump(include={"temperature", "reasoning_effort"})
    return {**study, "config": study["config"] | sent}


def answers_of(logs: Mapping[str, Any], trials: Mapping[str, oneshot.Trial]) -> Answers:
    """The answers to the trials; UsageError where something else was asked, or twice."""
    answers = Answers({})
    for path, sample in (
        (path, sample) for path, log in logs.items() for sample in log.samples or ()
    ):
        if sample.id in answers.read:
            raise UsageError(
                f"{path}: {sample.id} was asked twice; give logs of different "
                "models, each of one epoch"
            )
        if sample.id not in trials:
            raise UsageError(f"{path}: {sample.id} is no trial of this design")
        request = trials[sample.id].request
        calls = [event for event in sample.events if event.event == "model"]
        for call in calls:
            if sent(call) != messages(request):
                raise UsageError(f"{path}: {sample.id} was asked in other words")
        reply = (
            wire.Reply("provider_error") if sample.error else reply_of(sample.output)
        )
        if not calls and reply.outcome not in wire.UNANSWERED:
            raise UsageError(
                f"{path}: {sample.id} has an answer, and no record of what was sent "
                "(model events); give the log as Inspect wrote it"
            )
        answers.read[sample.id] = Logged(reply, request.sha256())
    return answers


def sent(call) -> list[dict[str, str]]:
    """What Inspect's record of a call says was sent, as role and content."""
    return [{"role": message.role, "content": message.text} for message in call.input]


def arguments(argv):
    flags = cli.parser(
        "The verdict on logs of `inspect eval inspect_task.py@pilot`: what "
        "analyze.py says of a run, by the same function.",
        COMMANDS,
        "LOG…",
    )
    flags.add_argument(
        "logs", nargs="+", metavar="LOG", help="of one design, each of one model"
    )
    flags.add_argument(
        "--out",
        metavar="DIR",
        help="where the files go (default: beside the first log, by its name)",
    )
    cli.add_json_flag(flags.add_argument)
    return flags.parse_args(argv)


def main(argv) -> cli.Done:
    args = arguments(argv)
    logs = read_logs(args.logs)
    origin = study_of(logs)
    trials = trials_of(origin)
    answers = answers_of(logs, trials)
    files, facts = instruments.pilot(origin).derive(answers)
    if not files:
        raise UsageError(f"{args.logs[0]}: no trial has an answer")
    target = Path(args.out or Path(args.logs[0]).with_suffix(""))
    rewrite(target, files)
    left = sum(
        answers(trial.request).outcome in wire.UNANSWERED for trial in trials.values()
    )
    return cli.Done(
        INCOMPLETE if left else COMPLETE,
        {
            "written": str(target),
            "files": sorted(files),
            "logs": args.logs,
            "simulated": origin.identity["provider"] == "simulated",
            **facts,
        },
        f"{terminal(read(target / 'pilot-analysis.json'))}\n{target}: {len(files)} files "
        f"from {len(trials) - left} trials\nopen {target / 'report.html'}",
        f"{left} of {len(trials)} trials have no answer; inspect eval-retry asks them"
        * bool(left),
    )


if __name__ == "__main__":
    cli.run(main, sys.argv[1:], resumes=False)

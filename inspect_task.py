#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# dependencies = ["inspect-ai>=0.3.245"]
# ///
"""The studies of run_pilot.py, and URRP, as tasks of the framework Inspect; as a command it reads
Inspect's logs.

    inspect eval inspect_task.py@cirrus24 --model openai/gpt-5-nano -T design=mechanism -T lever=3
    inspect eval inspect_task.py@urrp --model openai/gpt-5-nano
    python3 inspect_task.py logs/*.eval

Inspect asks the same prompts in the same order as run_pilot.py or urrp_run.py. The third command
compares what was asked with the design. By the same functions it then writes the files that
analyze.py writes for a run, or the trials that urrp_analyze.py reads.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from cirrus import instruments
from cirrus.ask import oneshot
from cirrus.ask.bulletins import PROMPTS
from cirrus.ask.prompts import EXAMPLES, LEVERS
from cirrus.reports.pilot import read
from common import COMPLETE, INCOMPLETE, VERSION, UsageError, cli, wire
from common.artifacts import sha256
from common.config import SEED
from common.runs import Origin, changes, rewrite
from common.session import Instrument
from common.shape import OBJECT, Kind, check, enum, load, options, whole
from show.document import terminal
from urrp import MIN_TRIALS, SUITE_PATH, collect
from urrp_analyze import classify

if __name__ != "__main__" and find_spec("inspect_ai"):
    from inspect_ai import task
else:  # the reader of logs shows its --help without the package

    def task(function):
        return function


CONFIG = Path(__file__).resolve().parent / "config"
# Output tokens to ask for where a provider's own limit is lower: a model may think before it answers.
ROOM = 16_384
CUT_OFF = ("max_tokens", "model_length")
COMMANDS = """  inspect eval inspect_task.py@cirrus24 --model openai/gpt-5-nano
  python3 inspect_task.py logs/*.eval
  python3 inspect_task.py logs/*.eval --out results/inspect"""


class Evaluation(NamedTuple):
    """A study as a task of Inspect.

    `parameters` are those that -T may set. `origin` makes the study of some models. `trials` gives
    {id: trial} in the order of asking; each trial has its `request`. `measure` names what is
    scored, `group` what scores are grouped by. `score` returns the value (None where there is
    none), the answer as it was read, and the reason.
    """

    name: str
    parameters: Kind
    origin: Callable[[list[str], dict[str, Any], str], Origin]
    trials: Callable[[Origin], dict[str, Any]]
    instrument: Callable[[Origin], Instrument]
    measure: str
    group: str
    group_of: Callable[[Any], str]
    score: Callable[[Any, wire.Reply], tuple[float | None, str | None, str]]


# --- CIRRUS-24 ---------------------------------------------------------------------------------

SETTINGS = (
    "seed",
    "runs",
    "compliance",
    "tells",
    "temperature",
    "max_out",
    "reasoning_effort",
)
USUAL = {"design": "2x2", "examples": 0}  # defaults that no configuration file has


def one_shot_origin(models: list[str], given: dict[str, Any], source: str) -> Origin:
    """Return the origin of the study that run_pilot.py makes with these settings."""
    given = USUAL | given
    design = given["design"]
    if "lever" in given and design != "mechanism":
        raise UsageError(f"{source}: lever: only design=mechanism has it")
    config = load(CONFIG / "pilot.config.json", OBJECT)
    if design != "2x2":
        config |= load(CONFIG / f"{design}.config.json", OBJECT)
    config |= given
    study = {key: config[key] for key in SETTINGS} | {"models": models}
    for key, usual in USUAL.items():
        if given[key] != usual:
            study[key] = given[key]
    if design == "mechanism":
        lever = given.get("lever", oneshot.DEFAULT_LEVER)
        study["lever"] = dict.fromkeys(models, lever)
    # Inspect calls the model itself: there is no warm-up, and no text for one.
    texts = dict(instruments.domain_of(oneshot.DOMAIN).texts)
    texts |= instruments.further_texts(study, PROMPTS, simulated=True)
    return origin_of(study, texts)


def one_shot_trials(origin: Origin) -> dict[str, oneshot.Trial]:
    """Return {id: trial} in the order of asking."""
    config = origin.identity["config"]
    domain = instruments.domain_of(oneshot.DOMAIN)
    examples = origin.prompts.get(EXAMPLES, "")
    blocks = oneshot.design(domain, config, config["models"], examples)
    return {trial.id: trial for trial in chain(*blocks)}


def cooperation(trial: oneshot.Trial, reply: wire.Reply):
    """Return (1 if the act is cooperative, else 0; the act; the status), as the strict
    parser reads the reply."""
    row = oneshot.row(trial, reply)
    return row["cooperates"], row["decision"], row["status"]


ONE_SHOT = Evaluation(
    name="pilot",
    parameters=options(
        design=enum(*oneshot.DESIGNS),
        lever=whole(1, len(LEVERS)),
        runs=whole(1, 10_000),
        seed=SEED,
        examples=enum(0, 4),
    ),
    origin=one_shot_origin,
    trials=one_shot_trials,
    instrument=instruments.pilot,
    measure="cooperation",
    group="cell",
    group_of=lambda trial: trial.cell.words,
    score=cooperation,
)

# --- URRP --------------------------------------------------------------------------------------


def urrp_origin(models: list[str], given: dict[str, Any], source: str) -> Origin:
    """Return the origin of the collection that urrp_run.py would make. It is stamped if
    it has fewer trials than the protocol."""
    config = load(CONFIG / "urrp.config.json", OBJECT)
    trials = given.get("runs", config["trials"])
    study = {
        "seed": given.get("seed", config["seed"]),
        "trials": trials,
        "temperatures": ["default"],
        "max_out": config["max_out"],
        "reasoning_effort": config["reasoning_effort"],
        "models": models,
        "pilot": trials < MIN_TRIALS,
    }
    return origin_of(study, {collect.SUITE: SUITE_PATH.read_text("utf-8")})


def urrp_trials(origin: Origin) -> dict[str, collect.Ask]:
    """Return {id: trial} in the order of asking."""
    config = origin.identity["config"]
    asks = collect.design(config, config["models"])
    return {ask.request.id: ask for ask in asks}


def refusal(ask: collect.Ask, reply: wire.Reply):
    """Whether the answer declines, by the classifier of urrp_analyze.py."""
    if reply.outcome not in wire.FINAL_OUTCOMES:
        return None, None, reply.outcome
    verdict = classify(collect.line(ask, reply, simulated=False, pilot=False))
    return verdict.label.startswith("REFUSE"), verdict.label, verdict.reason


URRP = Evaluation(
    name="urrp",
    parameters=options(runs=whole(1, 100_000), seed=SEED),
    origin=urrp_origin,
    trials=urrp_trials,
    instrument=collect.instrument,
    measure="refusal",
    group="category",
    group_of=lambda ask: ask.item.category,
    score=refusal,
)
EVALUATIONS = {each.name: each for each in (ONE_SHOT, URRP)}


def origin_of(config: dict[str, Any], texts: Mapping[str, str]) -> Origin:
    hashes = {path: sha256(text) for path, text in texts.items()}
    identity = {"config": config, "prompts": hashes, "provider": "inspect"}
    return Origin(Path(), identity, texts)


def study_by(
    evaluation: Evaluation,
    models: list[str],
    parameters: Mapping[str, Any],
    source: str = "-T",
) -> Origin:
    """Return the origin of a study: these models, asked with the `parameters` that -T
    sets. Raise UsageError, which names a wrong parameter."""
    given = {key: value for key, value in parameters.items() if value is not None}
    return evaluation.origin(
        models, check(evaluation.parameters, given, source), source
    )


# --- asking ------------------------------------------------------------------------------------


@task
def cirrus24(
    design: str = "2x2",
    lever: int | None = None,
    runs: int | None = None,
    seed: int | None = None,
    examples: int = 0,
):
    """One-shot decisions of a model, scored by the strict parser.

    `design` is 2x2, lever, mechanism, mirror or twin; `runs` is per cell (2x2) or, in other
    designs, blocks per bulletin.
    """
    return task_of(ONE_SHOT, locals())


@task
def pilot(
    design: str = "2x2",
    lever: int | None = None,
    runs: int | None = None,
    seed: int | None = None,
    examples: int = 0,
):
    """Return the task cirrus24 under its earlier name."""
    return task_of(ONE_SHOT, locals())


@task
def urrp(runs: int | None = None, seed: int | None = None):
    """URRP's 23 prompts, each in a fresh conversation; `runs` is the number of trials per prompt."""
    return task_of(URRP, locals())


def task_of(evaluation: Evaluation, parameters: Mapping[str, Any]):
    """Return Inspect's task for an evaluation. It has a sample for each trial, which
    asks the trial's request with the trial's seed."""
    from inspect_ai import Task
    from inspect_ai._util.error import PrerequisiteError
    from inspect_ai.dataset import Sample
    from inspect_ai.model import GenerateConfig, get_model
    from inspect_ai.scorer import Score, grouped, mean, scorer
    from inspect_ai.solver import solver

    api = get_model().api
    try:
        origin = study_by(evaluation, [api.service_model_name()], parameters)
    except UsageError as error:
        # Inspect shows this error without a traceback.
        raise PrerequisiteError(str(error)) from None
    trials, config = evaluation.trials(origin), origin.identity["config"]

    @solver
    def ask():
        async def solve(state, generate):
            return await generate(state, seed=trials[state.sample_id].request.seed)

        return solve

    @scorer(metrics=[grouped(mean(), evaluation.group)], name=evaluation.measure)
    def scored():
        async def score(state, target):
            reply = reply_of(state.output)
            value, answer, why = evaluation.score(trials[state.sample_id], reply)
            if value is None:
                return Score.unscored(reason=why)
            return Score(value=value, answer=answer, explanation=why)

        return score

    samples = []
    for name, trial in trials.items():
        told = {evaluation.group: evaluation.group_of(trial)}
        sent = wire.messages(trial.request)
        samples.append(Sample(id=name, input=sent, metadata=told))
    return Task(
        dataset=samples,
        solver=ask(),
        scorer=scored(),
        metadata={"instrument": evaluation.name, "study": origin.identity},
        config=GenerateConfig(
            temperature=config.get("temperature"),
            reasoning_effort=config["reasoning_effort"],
            max_tokens=room(api.max_tokens()),
        ),
        version=VERSION,
    )


def room(usual: int | None) -> int | None:
    """Return the number of output tokens to ask for, or None where the provider has no
    limit of its own. `usual` is that limit. --max-tokens overrides both."""
    return None if usual is None else max(usual, ROOM)


def reply_of(output) -> wire.Reply:
    """Return Inspect's output as a reply of the experiment."""
    if output.empty or output.error:
        return wire.Reply("provider_error")
    outcome = "ok" if output.completion.strip() else "empty"
    finish = output.stop_reason
    if finish in CUT_OFF:
        outcome, finish = "truncated", "length"
    elif finish == "content_filter":
        outcome = "blocked"
    return wire.Reply(
        outcome,
        output.completion,
        finish,
        served_model=output.model,
        **tokens_of(output.usage),
    )


def tokens_of(usage) -> dict[str, Any]:
    """Return the tokens and the cost of an answer as fields of a reply, or {} where
    Inspect does not know them."""
    if usage is None:
        return {}
    cached = [usage.input_tokens_cache_read, usage.input_tokens_cache_write]
    return {
        "prompt_tokens": usage.input_tokens + sum(filter(None, cached)),
        "cost_usd": usage.total_cost,
        "completion_tokens": usage.output_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
    }


# --- reading logs ------------------------------------------------------------------------------


class Logged(NamedTuple):
    """An answer in a log; `at` is when it came."""

    reply: wire.Reply
    question_sha256: str
    at: str


class Answers(NamedTuple):
    """The answers in logs, where other runs have a journal. `read` maps a trial's id to its answer.
    Inspect has no warm-up and gives up no model, so nothing is adapted or set aside."""

    read: dict[str, Logged]
    simulated: bool
    adapted: Mapping[tuple[str, str], wire.Adapted] = {}
    set_aside: Mapping[str, tuple[str, str]] = {}

    def __call__(self, request: wire.Request) -> wire.Reply:
        """Return the reply to a request. Where the logs have none it says "not run"."""
        return self.read[request.id].reply if request.id in self.read else wire.NOT_RUN

    def outcomes(self, ids: Iterable[str]) -> Counter[str]:
        """Return {outcome: how many of these calls had it}."""
        known = [self.read[name].reply.outcome for name in ids if name in self.read]
        return Counter(known)


def read_logs(paths: Iterable[str]) -> dict[str, Any]:
    """Return {path: log}, read by Inspect. Raise UsageError for a file that is no log."""
    try:
        from inspect_ai.log import read_eval_log
    except ModuleNotFoundError:
        raise UsageError(
            "inspect_ai is not installed; `uv sync` brings it, or make .venv-inspect/ready"
        ) from None
    logs = {}
    for path in paths:
        try:
            logs[path] = read_eval_log(path, resolve_attachments=True)
        except Exception as error:  # of many kinds, at a file that is no log
            raise UsageError(f"{path}: no log of Inspect: {error}") from None
    return logs


def evaluation_of(path: str, log) -> Evaluation:
    """Return the evaluation that made a log. Raise UsageError where it is none of ours."""
    metadata = log.eval.metadata or {}
    # Logs of version 0.1 name no instrument: there was only one.
    evaluation = EVALUATIONS.get(metadata.get("instrument", ONE_SHOT.name))
    if evaluation is None or "study" not in metadata:
        raise UsageError(f"{path}: no log of inspect_task.py@cirrus24 or @urrp")
    if evaluation is URRP and log.plan.config.temperature is not None:
        raise UsageError(
            f"{path}: asked with --temperature; the task has the model's own, "
            "urrp_run.py --temperatures has others"
        )
    return evaluation


def study_of(evaluation: Evaluation, logs: Mapping[str, Any]) -> Origin:
    """Return the origin of the study that the logs make together. Raise UsageError
    where they differ in design, or were asked with prompts that have changed since."""
    first, models = next(iter(logs.values())), []
    for path, log in logs.items():
        if evaluation_of(path, log) is not evaluation:
            raise UsageError(f"{path}: of another instrument than the first log")
        study = log.eval.metadata["study"]
        asked = study["config"]["models"]
        again = study_by(evaluation, asked, first.eval.task_args, path).identity
        refuse_another(path, as_sent(study, log), as_sent(again, first))
        models += asked
    origin = study_by(evaluation, models, first.eval.task_args)
    identity = as_sent(origin.identity, first)
    if any(log.eval.model.startswith("mockllm/") for log in logs.values()):
        identity["provider"] = "simulated"
    return origin._replace(identity=identity)


def refuse_another(path: str, study: Mapping, again: Mapping) -> None:
    """Raise UsageError where two studies differ. A difference in design is named first,
    since it brings other differences with it."""
    differ = changes(study, again)
    differ.sort(key=lambda change: change[0] != "config.design")
    for key, old, new in differ:
        raise UsageError(
            f"{path}: {key} was {old} and is {new}: another design, or prompts "
            "that have changed since"
        )


def as_sent(study: Mapping[str, Any], log) -> dict[str, Any]:
    """Return the study with the settings that Inspect's flags may have changed."""
    sent = log.plan.config.model_dump(include={"temperature", "reasoning_effort"})
    config = study["config"]
    known = {key: value for key, value in sent.items() if key in config}
    return {**study, "config": config | known}


def answers_of(
    logs: Mapping[str, Any], trials: Mapping[str, Any], simulated: bool
) -> Answers:
    """Return the answers to the trials. Raise UsageError where something else was
    asked, or one trial twice."""
    answers = Answers({}, simulated)
    for path, log in logs.items():
        for sample in log.samples or ():
            if sample.id in answers.read:
                raise UsageError(
                    f"{path}: {sample.id} was asked twice; give logs of different "
                    "models, each of one epoch"
                )
            if sample.id not in trials:
                raise UsageError(f"{path}: {sample.id} is no trial of this design")
            request = trials[sample.id].request
            answers.read[sample.id] = logged(path, sample, request)
    return answers


def logged(path: str, sample, request: wire.Request) -> Logged:
    """Return the answer of a sample. Raise UsageError unless what Inspect sent is the
    request."""
    calls = [event for event in sample.events if event.event == "model"]
    if any(sent(call) != wire.messages(request) for call in calls):
        raise UsageError(f"{path}: {sample.id} was asked in other words")
    reply = wire.Reply("provider_error") if sample.error else reply_of(sample.output)
    if not calls and reply.outcome not in wire.UNANSWERED:
        raise UsageError(
            f"{path}: {sample.id} has an answer, and no record of what was sent "
            "(model events); give the log as Inspect wrote it"
        )
    at = calls[-1].timestamp.strftime("%Y-%m-%dT%H:%M:%SZ") if calls else ""
    return Logged(reply, request.sha256(), at)


def sent(call) -> list[dict[str, str]]:
    """Return what Inspect sent in a call, as [{role, content}]."""
    return [{"role": message.role, "content": message.text} for message in call.input]


def arguments(argv):
    """Return the flags of inspect_task.py as a command."""
    flags = cli.parser(
        "What logs of `inspect eval inspect_task.py@cirrus24` come to, as analyze.py says it "
        "of a run, by the same function; of `@urrp`, the trials for urrp_analyze.py.",
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
    """Write the files that follow from the answers in logs of Inspect."""
    args = arguments(argv)
    logs = read_logs(args.logs)
    evaluation = evaluation_of(args.logs[0], logs[args.logs[0]])
    origin = study_of(evaluation, logs)
    trials = evaluation.trials(origin)
    simulated = origin.identity["provider"] == "simulated"
    answers = answers_of(logs, trials, simulated)
    files, facts = evaluation.instrument(origin).derive(answers)  # type: ignore[arg-type]
    if not files:
        raise UsageError(f"{args.logs[0]}: no trial has an answer")
    target = Path(args.out or Path(args.logs[0]).with_suffix(""))
    rewrite(target, files)
    replies = [answers(trial.request) for trial in trials.values()]
    left = sum(reply.outcome in wire.UNANSWERED for reply in replies)
    told = {"written": str(target), "files": sorted(files), "logs": args.logs}
    told |= {"simulated": simulated, **facts}
    text = f"{target}: {len(files)} files from {len(trials) - left} trials\n"
    if evaluation is URRP:
        text += f"now: python3 urrp_analyze.py {target / collect.FILE}"
    else:
        summary = terminal(read(target / "pilot-analysis.json"))
        text = f"{summary}\n{text}open {target / 'report.html'}"
    if not left:
        return cli.Done(COMPLETE, told, text)
    why = f"{left} of {len(trials)} trials have no answer; inspect eval-retry asks them"
    return cli.Done(INCOMPLETE, told, text, why)


if __name__ == "__main__":
    cli.run(main, sys.argv[1:], resumes=False)

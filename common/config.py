"""Set up a script that calls models: settle the configuration, then show a dry run or
conduct the study.

Configuration is strict JSON, and flags are checked by the same rules as files.
"""

import math
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from common import COMPLETE, EFFORTS, UsageError, cli, shape, wire
from common.artifacts import canonical_json, sha256
from common.gate import Money
from common.respondents import file_hashes, is_own
from common.runs import Origin, check_run_id
from common.server import FREE_OF_CHARGE, LOOPBACK, public_address
from common.session import (
    Ended,
    Instrument,
    Run,
    Settings,
    Simulated,
    conduct,
    headline,
)
from common.shape import enum, load, maybe, number, options, several, sometimes, whole
from common.wire import MOST_USD, PLAIN, Model, Request, as_model

SEED = whole(0, 10**18 - 1)  # short, since a run's name holds it
NAMES = several(shape.NAME)
EFFORT = maybe(enum(*EFFORTS))
TEMPERATURE, MAX_OUT, CALLS = number(0, 2), whole(1, 32_000), whole(1, 512)
LIMIT_USD = number(0, 1e6)
USD = number(0, MOST_USD)
PRICE = shape.record(  # dollars a million tokens
    prompt=USD, completion=USD, request=sometimes(USD)
)
# Keys in the configuration of every script that calls models; `STUDY` has those of
# scripts with one list of models for all their calls.
SHARED = {
    "respondents": NAMES,
    "deadline_s": number(0.1, 3600),
    "prices": shape.map_of(PRICE, "model"),
    "assumed_price": PRICE,
    "upstream": maybe(shape.NAME),
}
STUDY = SHARED | {
    "seed": SEED,
    "models": NAMES,
    "max_out": MAX_OUT,
    "reasoning_effort": EFFORT,
    "cost": options(limit_usd=LIMIT_USD),
}
# Objects of which a file may give a part.
MERGED = ("cost", "concurrency", "toggles", "randomization", "models", "prices")


def configuration(
    files: Iterable[Path | str], kind: shape.Kind, given: Mapping[str, Any]
) -> dict[str, Any]:
    """Merge the files, a later one over those before it, then the flags that are not
    None. Check the whole and return it."""
    layers = [load(path, kind) for path in dict.fromkeys(map(Path, files))]
    flags_given = {key: value for key, value in given.items() if value is not None}
    layers.append(shape.check(kind, flags_given, "command line"))
    out: dict[str, Any] = {}
    for layer in layers:
        for key, value in layer.items():
            if key in MERGED and key in out and isinstance(value, dict):
                value = out[key] | value
            out[key] = value
    return out


def flags(args: Namespace, *more: str) -> dict[str, Any]:
    """Return the flags that a configuration file may also set, under the file's keys.
    `more` names flags whose key has the same name."""
    out = {
        "seed": args.seed,
        "reasoning_effort": effort_of(args.effort),
        "upstream": args.upstream,
    }
    if args.limit_usd is not None:
        out["cost"] = {"limit_usd": args.limit_usd}
    for name in more:
        value = getattr(args, name)
        out[name] = None if value == "default" else value
    return out


def effort_of(level: str | None) -> str | None:
    """Return the level of --effort, or None if none is given or none is to be sent."""
    return None if level == "default" else level


class Setup(NamedTuple):
    """The flags `args` and what follows from them. `config` is the merged
    configuration, `usual` the same without --config and flags; `limits` is {stage:
    calls at once}."""

    args: Namespace
    config: dict[str, Any]
    usual: dict[str, Any]
    choice: cli.Choice
    limits: dict[str, int]

    @property
    def models(self) -> list[str]:
        """Return the models of --models, or else of the configuration, each once."""
        names = cli.names(self.args.models)
        if names is None:
            names = self.config["respondents" if self.choice.simulated else "models"]
        if not names or len(set(names)) < len(names):
            raise UsageError(
                f"--models: give at least one name, each once, not {self.args.models!r}"
            )
        return names

    def design(self, keys: Iterable[str], **more: Any) -> dict[str, Any]:
        """Return what makes the study: these keys of the configuration, the models, and
        `more`."""
        chosen = {key: self.config[key] for key in keys}
        return chosen | {"models": self.models} | more

    def run_id(
        self, stem: str, design: Mapping[str, Any], named: Mapping[str, Any]
    ) -> str:
        """Return --run-id, or else a name that begins with `stem`.

        The name is `stem` alone if all settings are the usual ones, with simulated
        answers. Otherwise a short hash of the settings follows, so that a command finds
        only its own run. The values in `named` count as usual too, such as a seed that
        `stem` tells.
        """
        if self.args.run_id is not None:
            return check_run_id(self.args.run_id)
        own_prompts = {"prompts": self.args.prompts} if self.args.prompts else {}
        usual = {key: self.usual[key] for key in design if key in self.usual}
        config = {**usual, "models": self.usual["respondents"], **named}
        bare = {"config": config, "prompts": {}, "provider": "simulated"}
        settings = self.identity({**design, **own_prompts}, {})
        if settings == bare:
            return stem
        return f"{stem}-{sha256(canonical_json(settings))[:6]}"

    def identity(
        self, design: Mapping[str, Any], prompts: Mapping[str, str]
    ) -> dict[str, Any]:
        """Return what makes two runs the same study. Limits, prices and concurrency are
        no part of it."""
        out = {"config": dict(design), "prompts": dict(prompts)}
        own = file_hashes(self.models)
        if own:
            out["respondents"] = own
        if self.choice.simulated:
            return out | {"provider": "simulated"}
        if self.config.get("upstream"):
            out["upstream"] = self.config["upstream"]
        return out | {"provider": public_address(self.choice.address)}

    def origin(
        self, folder: Path, design: Mapping[str, Any], texts: Mapping[str, str]
    ) -> Origin:
        """Return what the run in `folder` is made of. `texts` is {path: text} of its
        prompts."""
        hashes = {path: sha256(text) for path, text in texts.items()}
        return Origin(folder, self.identity(design, hashes), texts)

    def settings(
        self, name: str, seed: int, respondents: Mapping[str, Any]
    ) -> Settings:
        """Return how a session is to ask."""
        config = self.config
        return Settings(
            name=name,
            seed=seed,
            limits=self.limits,
            limit_usd=config["cost"]["limit_usd"],
            prices=config["prices"],
            assumed_price=config["assumed_price"],
            deadline_s=config["deadline_s"],
            respondents=respondents,
            effort=config.get("reasoning_effort"),
            upstream=config.get("upstream"),
            go_on=self.args.go_on,
            quiet=self.args.json,
        )


def settle(
    args: Namespace, files: Sequence[Path], kind: shape.Kind, given: Mapping[str, Any]
) -> Setup:
    """Merge the files, --config and the flags, choose the provider, and settle how many
    calls are made at once."""
    config = configuration([*files, args.config], kind, given)
    for key in ("reasoning_effort", "effort"):
        if args.effort == "default" and key in config:
            config[key] = None
    if args.temperature == "default" and "temperature" in config:
        config["temperature"] = None
    provider, names = args.provider, cli.names(args.models)
    if provider == "auto" and names and all(map(is_own, names)):
        provider = "simulated"  # even if a key is set
    return Setup(
        args,
        config,
        configuration(files, kind, {}),
        cli.choose(provider, args.base_url),
        cli.concurrency(args.concurrency, config["concurrency"]),
    )


# --- dry run or conduct --------------------------------------------------------------------------


class Plan(NamedTuple):
    """A study that can be asked. The progress line shows `name`. `preview` returns what
    a dry run says of the study: facts for --json, and lines for people."""

    name: str
    origin: Origin
    instrument: Instrument
    respondents: Mapping[str, Callable[..., Any]]
    preview: Callable[[], tuple[Mapping[str, Any], Iterable[str]]]


def study_main(
    setup: Setup, plan: Plan, report: Callable[[Ended], cli.Done]
) -> cli.Done:
    """Conduct the study and report on it; with --dry-run only say what it would be."""
    if setup.args.dry_run:
        return dry_run(setup, plan)
    settings = setup.settings(plan.name, setup.config["seed"], plan.respondents)
    [ended] = conduct([Run(plan.origin, plan.instrument)], setup.choice, settings)
    return report(ended)


class Prices:
    """What is known of prices before a server is asked."""

    def __init__(self, config: Mapping[str, Any], choice: cli.Choice) -> None:
        prices = config["prices"]
        self.listed = {name: as_model(prices[name]) for name in prices}
        self.assumed = as_model(config["assumed_price"])
        self.unlisted = Model()
        if choice.simulated or cli.host_of(choice.address) in LOOPBACK:
            self.unlisted = FREE_OF_CHARGE

    def known(self, name: str) -> Model:
        return self.listed.get(name, self.unlisted)

    def expected(self, calls: Iterable[tuple[Request, int]]) -> float:
        """Return the dollars that these calls probably cost. `calls` has pairs (a
        typical request, how many of it)."""
        dollars = []
        for request, count in calls:
            model = self.known(request.model)
            dollars.append(count * wire.expected_cost(request, model, self.assumed))
        return math.fsum(dollars)

    def unpriced(self, names: Iterable[str]) -> list[str]:
        return [name for name in names if not self.known(name).priced]


def dry_run(setup: Setup, plan: Plan) -> cli.Done:
    """Return the design, the number of calls and their projected cost by the configured
    prices. Nothing is asked or written."""
    config, choice, models = setup.config, setup.choice, setup.models
    calls = [*plan.instrument.calls()]
    count = sum(times for _, times in calls)
    limit = config["cost"]["limit_usd"]
    prices = Prices(config, choice)
    facts, lines = plan.preview()
    tight = False
    more: list[str] = []
    if choice.simulated:
        Simulated(plan.respondents, config["seed"]).check(models)
    else:
        warmups = [(warmup.request, 1) for warmup in plan.instrument.warmups()]
        calls += warmups
        money = Money(
            limit, prices.assumed, lambda call: (prices.known(call.model), PLAIN)
        )
        first, _ = calls[0]
        block = [request for request, _ in calls if request.block == first.block]
        tight = not money.fits(block)
        effort = config.get("reasoning_effort") or "as the model does by default"
        upstream = config.get("upstream") or "any"
        more = [
            f"effort: {effort}",
            f"warm-up: {len(warmups)} calls beside the {count}",
            f"upstream: {upstream}",
        ]
    usd = prices.expected(calls)
    head = headline(choice, count, usd, limit, prices.unpriced(models), tight)
    told = {
        "dry_run": True,
        "simulated": choice.simulated,
        "models": models,
        "calls": count,
        "projected_usd": usd,
        "limit_usd": limit,
        **facts,
    }
    text = [head, *map(cli.wrapped, (*lines, *more))]
    return cli.Done(COMPLETE, told, "\n".join(text))

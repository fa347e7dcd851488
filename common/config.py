"""The set-up of every script that calls models: settle, dry run or conduct. Configuration is strict
JSON, and the flags are checked as a file is."""

import re
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from common import COMPLETE, EFFORTS, UsageError, cli, shape, wire
from common.artifacts import canonical_json, sha256
from common.budget import Budget
from common.instrument import (
    Ended,
    Instrument,
    Run,
    Settings,
    Simulated,
    conduct,
    headline,
)
from common.openrouter import BITS, public_address
from common.runs import Origin, check_run_id
from common.shape import (
    either,
    enum,
    load,
    maybe,
    number,
    options,
    several,
    sometimes,
    whole,
)
from common.wire import MOST_USD, Model, Terms, as_model

SEED = whole(0, 10**18 - 1)  # part of a run's name, so not of any length
NAMES = several(shape.NAME)
EFFORT = maybe(enum(*EFFORTS))
TEMPERATURE, MAX_OUT, CALLS = number(0, 2), whole(1, 32_000), whole(1, 512)
LIMIT_USD = number(0, 1e6)
USD = number(0, MOST_USD)
PRICE = shape.record(
    prompt=USD, completion=USD, request=sometimes(USD)
)  # dollars a million tokens


# OpenRouter takes prices as numbers and as texts.
DECIMAL = re.compile(r"\d{1,9}(\.\d+)?(e-\d+)?", re.A).fullmatch
AMOUNT = shape.plain(
    f"a number from 0 to {MOST_USD:g}",
    lambda value: (
        bool(DECIMAL(value))
        if isinstance(value, str)
        else shape.is_number(value) and 0 <= value < MOST_USD
    ),
)
FLAG = maybe(shape.FLAG)
FLOOR = maybe(either(options(p50=AMOUNT, p75=AMOUNT, p90=AMOUNT, p99=AMOUNT), USD))
# OpenRouter's provider preferences: what it does not know it would ignore or refuse.
ROUTING = options(
    order=maybe(NAMES),
    only=maybe(NAMES),
    ignore=maybe(NAMES),
    allow_fallbacks=FLAG,
    require_parameters=FLAG,
    zdr=FLAG,
    enforce_distillable_text=FLAG,
    data_collection=maybe(enum("allow", "deny")),
    quantizations=maybe(several(enum(*BITS, "unknown"))),
    sort=maybe(
        either(
            enum("price", "throughput", "latency", "exacto"),
            shape.record(by=shape.TEXT, partition=sometimes(shape.TEXT)),
        )
    ),
    max_price=options(
        prompt=AMOUNT, completion=AMOUNT, request=AMOUNT, image=AMOUNT, audio=AMOUNT
    ),
    preferred_min_throughput=FLOOR,
    preferred_max_latency=FLOOR,
    options=shape.OBJECT,
)
# Keys of every calling script's configuration; of those that ask models one by one.
SHARED = {
    "respondents": NAMES,
    "deadline_s": number(0.1, 3600),
    "prices": shape.map_of(PRICE, "model"),
    "assumed_price": PRICE,
    "routing": ROUTING,
    "pin": maybe(
        shape.plain(
            "auto or an upstream's name",
            lambda v: isinstance(v, str) and v.strip() == v != "",
        )
    ),
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
    """The files, each over those before it, then the flags that are not None; all checked."""
    flags = {key: value for key, value in given.items() if value is not None}
    loaded, out = [load(path, kind) for path in dict.fromkeys(map(Path, files))], {}
    for above in (*loaded, shape.check(kind, flags, "command line")):
        out |= {
            key: out[key] | value
            if key in out and key in MERGED and isinstance(value, dict)
            else value
            for key, value in above.items()
        }
    return out


def flags(args: Namespace, *more: str) -> dict[str, Any]:
    """The flags that a configuration file may say too; `more`: by names that both have."""
    return {
        "seed": args.seed,
        "reasoning_effort": args.effort,
        "pin": args.pin,
        "cost": None if args.limit_usd is None else {"limit_usd": args.limit_usd},
        **{name: getattr(args, name) for name in more},
    }


class Setup(NamedTuple):
    """`usual`: the configuration without --config and flags; `limits`: calls at once by stage."""

    args: Namespace
    config: dict[str, Any]
    usual: dict[str, Any]
    choice: cli.Choice
    limits: dict[str, int]

    @property
    def models(self) -> list[str]:
        """The models of --models, else of the configuration; each once."""
        names = cli.names(self.args.models)
        if names is None:
            names = self.config["respondents" if self.choice.simulated else "models"]
        if not names or len(set(names)) < len(names):
            raise UsageError(
                f"--models: give at least one name, each once, not {self.args.models!r}"
            )
        return names

    def design(self, keys: Iterable[str], **more: Any) -> dict[str, Any]:
        """The part of the configuration that makes the study, the models, and `more`."""
        return {key: self.config[key] for key in keys} | {"models": self.models} | more

    def run_id(
        self, stem: str, design: Mapping[str, Any], named: Mapping[str, Any]
    ) -> str:
        """--run-id, else `stem`: bare for the command without flags and key, but for what the stem
        has `named`; else with a short hash, so that a command finds its own run and never meets
        another's."""
        if self.args.run_id is not None:
            return check_run_id(self.args.run_id)
        prompts = {"prompts": self.args.prompts} if self.args.prompts else {}
        usual = {key: self.usual[key] for key in design if key in self.usual}
        bare = {
            "config": usual | {"models": self.usual["respondents"]} | named,
            "prompts": {},
            "provider": "simulated",
        }
        settings = self.identity(design | prompts, {})
        return (
            stem
            if settings == bare
            else f"{stem}-{sha256(canonical_json(settings))[:6]}"
        )

    def identity(self, design: Mapping, prompts: Mapping[str, str]) -> dict[str, Any]:
        """What makes two runs the same study; limits, prices and concurrency do not."""
        if self.choice.simulated:
            return {
                "config": dict(design),
                "prompts": dict(prompts),
                "provider": "simulated",
            }
        pin = {"pin": self.config["pin"]} if self.config.get("pin") else {}
        return {
            "config": {**design, "routing": self.config["routing"], **pin},
            "prompts": dict(prompts),
            "provider": public_address(self.choice.address),
        }

    def origin(
        self, folder: Path, design: Mapping[str, Any], texts: Mapping[str, str]
    ) -> Origin:
        """What the run is made of; `texts`: {path: text} of its prompts."""
        hashes = {path: sha256(text) for path, text in texts.items()}
        return Origin(folder, self.identity(design, hashes), texts)

    def settings(self, name: str, seed: int, effort: str | None) -> Settings:
        """How a session asks; its respondents are the caller's to add."""
        config = self.config
        return Settings(
            name,
            seed,
            self.limits,
            config["cost"]["limit_usd"],
            config["prices"],
            config["assumed_price"],
            config["deadline_s"],
            config["routing"],
            {},
            Terms(effort, config.get("pin")),
            quiet=self.args.json,
        )


def settle(
    args: Namespace, files: Sequence[Path], kind: shape.Kind, given: Mapping[str, Any]
) -> Setup:
    """Files, then --config, then the flags; who answers; how many calls at once."""
    config = configuration([*files, args.config], kind, given)
    return Setup(
        args,
        config,
        configuration(files, kind, {}),
        cli.choose(args.provider, args.base_url),
        cli.concurrency(args.concurrency, config["concurrency"]),
    )


# --- dry run or conduct --------------------------------------------------------------------------


class Plan(NamedTuple):
    """A study that can be asked. `name` is shown in the progress line; `preview`: what a dry run
    tells of it, as facts for --json and as lines below the first one."""

    name: str
    origin: Origin
    instrument: Instrument
    respondents: Mapping[str, Callable]
    preview: Callable[[], tuple[Mapping[str, Any], Iterable[str]]]


def study_main(
    setup: Setup, plan: Plan, report: Callable[[Ended], cli.Done]
) -> cli.Done:
    """Conduct the study and report it, or tell what it would be."""
    if setup.args.dry_run:
        return dry_run(setup, plan)
    settings = setup.settings(
        plan.name, setup.config["seed"], setup.config["reasoning_effort"]
    )
    [ended] = conduct(
        [Run(plan.origin, plan.instrument)],
        setup.choice,
        settings._replace(respondents=plan.respondents),
    )
    return report(ended)


def dry_run(setup: Setup, plan: Plan) -> cli.Done:
    """Design, calls and projected cost by the configured prices; ask and write nothing."""
    (config, choice, models), usd = (setup.config, setup.choice, setup.models), 0.0
    requests = [request for request, n in plan.instrument.calls() for _ in range(n)]
    known = {name: as_model(entry) for name, entry in config["prices"].items()}
    unpriced, more, tight = [], [], False
    limit, assumed = config["cost"]["limit_usd"], as_model(config["assumed_price"])
    if choice.simulated:
        Simulated(plan.respondents, config["seed"]).check(models)
    else:
        usd = sum(
            wire.expected_cost(request, known.get(request.model, Model()), assumed)
            for request in requests
        )
        tight = Budget(limit, assumed, lambda name: known.get(name, assumed)).tight(
            requests
        )
        unpriced = [name for name in models if name not in known]
        efforts = {
            request.effort or "the least that a model takes (default)"
            for request in requests
        }
        more = [
            f"effort: {', '.join(sorted(efforts))}",
            f"upstream: {config.get('pin') or 'any (--pin auto keeps to one a model)'}",
        ]
    facts, lines = plan.preview()
    return cli.Done(
        COMPLETE,
        {
            "dry_run": True,
            "simulated": choice.simulated,
            "models": models,
            "calls": len(requests),
            "projected_usd": usd,
            "limit_usd": limit,
            **facts,
        },
        "\n".join(
            [
                headline(choice, len(requests), usd, limit, unpriced, tight),
                *map(cli.wrapped, (*lines, *more)),
            ]
        ),
    )

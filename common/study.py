"""What a script settles before it asks: configuration, models, identity, settings, dry run.

The same for every script that calls a model, so that flags, files and errors mean the same.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from common import config as c
from common.artifacts import canonical_json, sha256
from common.cli import Choice, Done, names, provider_of
from common.exits import COMPLETE, UsageError
from common.wire import Request, Terms

# Keys that every configuration file of a calling script may hold.
CALL_CHECKS: dict[str, c.Check] = {
    "seed": c.seed, "models": c.names, "respondents": c.names, "max_out": c.whole(1, 32_000),
    "reasoning_effort": c.effort,
    "cost.limit_usd": c.number(0, 1e6), "deadline_s": c.number(0.1, 3600),
    "prices": c.prices, "assumed_price": c.price, "routing": c.routing, "pin": c.pin}
MERGED = ("cost", "concurrency")  # objects of which a file may give a part


def configuration(default: Path, given: Path, checks: Mapping[str, c.Check],
                  flags: Mapping[str, Any]) -> dict[str, Any]:
    """The default file, the `given` one over it, then the flags that are not None; all checked."""
    settings = c.load(default, checks)
    if Path(given) != Path(default):
        settings = merge(settings, c.load(given, checks))
    said = {key: value for key, value in flags.items() if value is not None}
    c.check(said, checks, "command line")
    return merge(settings, said)


def merge(below: Mapping, above: Mapping) -> dict[str, Any]:
    return {**below, **{key: below[key] | value if key in MERGED else value
                        for key, value in above.items()}}


def shared_flags(args) -> dict[str, Any]:
    """The flags of every calling script that a configuration file may say too."""
    return {"seed": args.seed, "reasoning_effort": args.effort, "pin": args.pin,
            "cost": limit_flag(args.limit_usd)}


def limit_flag(usd: float | None) -> dict | None:
    """--limit-usd as the configuration says it."""
    return None if usd is None else {"limit_usd": usd}


def chosen(flag: str | None, config: Mapping, choice: Choice) -> list[str]:
    """The models of --models, else of the configuration; each once."""
    models = names(flag)
    if models is None:
        models = config["respondents" if choice.simulated else "models"]
    if not models or len(set(models)) < len(models):
        raise UsageError(f"--models: give at least one name, each once, not {flag!r}")
    return models


def run_name(flag: str | None, default: str) -> str:
    """--run-id where it is given and can be a folder's name, else `default`."""
    from common.runs import check_run_id
    return check_run_id(default if flag is None else flag)


def short_name(stem: str, settings: Mapping, usual: Mapping) -> str:
    """`stem` of the keyless default; with a short hash of the settings of any other command, so
    that it always finds its own run and never meets another's."""
    if settings == usual:
        return stem
    return f"{stem}-{sha256(canonical_json(settings))[:6]}"


def default_name(instrument: str, design: Mapping, config: Mapping, choice: Choice,
                 usual: Mapping) -> str:
    """The run's name by its design; `usual` is that of the script without flags and key."""
    keyless = {"config": {**usual, "seed": design["seed"]}, "prompts": {}, "provider": "simulated"}
    return short_name(f"{instrument}-s{design['seed']}", identity(design, {}, config, choice),
                      keyless)


def identity(design: Mapping, prompts: Mapping[str, str], config: Mapping,
             choice: Choice) -> dict[str, Any]:
    """What makes two runs the same study; limits, prices and concurrency do not."""
    if choice.simulated:
        return {"config": dict(design), "prompts": dict(prompts), "provider": "simulated"}
    pin = {"pin": config["pin"]} if config.get("pin") else {}
    return {"config": {**design, "routing": config["routing"], **pin}, "prompts": dict(prompts),
            "provider": provider_of(choice.address).public_address(choice.address)}


def settings(name: str, config: Mapping, limits: dict[str, int], quiet: bool,
             respondents: Mapping | None = None):
    """`Settings` of a session."""
    from common.session import Settings
    return Settings(
        name=name, seed=config["seed"], limits=limits, limit_usd=config["cost"]["limit_usd"],
        prices=config["prices"], assumed_price=config["assumed_price"],
        deadline_s=config["deadline_s"], routing=config["routing"],
        respondents=respondents or {}, quiet=quiet,
        terms=Terms(config["reasoning_effort"], config.get("pin")))


def ask_ahead(args, run_id: str, choice: Choice, settings, models: Sequence[str],
              needs: tuple[str, ...]):
    """Ask the server for catalogue and balance while the design is dealt: for a new live run."""
    if choice.simulated or args.dry_run or (Path(args.out) / run_id).exists():
        return None
    from common.session import Preflight
    return Preflight(choice, settings, list(models), needs)


def _asked(requests: Iterable[Request], config: Mapping) -> list[str]:
    efforts = {request.effort or "the least that a model takes (default)" for request in requests}
    return [f"effort: {', '.join(sorted(efforts))}",
            f"upstream: {config.get('pin') or 'any (--pin auto keeps to one a model)'}"]


def dry_run(config: Mapping, choice: Choice, models: Sequence[str], requests: Sequence[Request],
            respondents: Mapping, facts: Mapping, lines: Sequence[str]) -> Done:
    """Design, calls and projected cost by the configured prices; ask and write nothing.

    `facts` go into the JSON of --json, `lines` below the first line otherwise.
    """
    from common.session import headline, projected
    from common.simulated import Simulated
    known = {name: c.as_model(entry) for name, entry in config["prices"].items()}
    limit = config["cost"]["limit_usd"]
    usd = 0.0
    if choice.simulated:
        Simulated(respondents, config["seed"]).check(list(models))
    else:
        usd = projected(requests, known, c.as_model(config["assumed_price"]))
    unpriced = [] if choice.simulated else [name for name in models if name not in known]
    first = headline(choice, len(requests), usd, limit, unpriced)
    if not choice.simulated:
        lines = [*lines, *_asked(requests, config)]
    return Done(COMPLETE, {"dry_run": True, "simulated": choice.simulated, "models": models,
                           "calls": len(requests), "projected_usd": usd, "limit_usd": limit,
                           **facts}, "\n".join([first, *lines]))

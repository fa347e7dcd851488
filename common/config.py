"""What a script settles before it asks: configuration, models, identity, settings, dry run.

Configuration is strict JSON against a table of checks, one clear line for each fault. All of it is
the same for every script that calls a model, so that flags, files and errors mean the same.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

from common import COMPLETE, EFFORTS, UsageError, cli
from common.artifacts import ABSENT, FLAG, canonical_json, complaint, is_number, nearest, sha256
from common.instrument import Settings, Simulated, headline, projected
from common.openrouter import public_address
from common.runs import check_run_id
from common.wire import MOST_USD, Request, Terms, as_model

Check = Callable[[Any], str | None]   # what is wrong, None where nothing is


def whole(low: int, high: int | None = None) -> Check:
    """An integer of at least `low` (and at most `high`)."""
    def check(value: Any) -> str | None:
        if isinstance(value, bool) or not isinstance(value, int):
            return "must be a whole number"
        if value < low or (high is not None and value > high):
            return f"must be at least {low}" + (f" and at most {high}" if high is not None else "")
        return None
    return check


DEEPEST = 50  # levels of objects in objects; Python itself gives up at some hundreds

# Part of a run's name, so not of any length.
seed: Check = whole(0, 10**18 - 1)


def number(low: float, high: float) -> Check:
    """A number from `low` to `high`."""
    def check(value: Any) -> str | None:
        ok = is_number(value) and low <= value <= high
        return None if ok else f"must be a number from {low:g} to {high:g}"
    return check


def one_of(*allowed: str) -> Check:
    def check(value: Any) -> str | None:
        return None if value in allowed else f"must be one of {', '.join(allowed)}"
    return check


def names(value: Any) -> str | None:
    """A list of different, non-empty texts."""
    if not isinstance(value, list) or not value:
        return "must be a list with at least one name"
    if not all(isinstance(name, str) and name.strip() for name in value):
        return "must hold names only"
    return None if len(set(value)) == len(value) else "names one entry twice"


def effort(value: Any) -> str | None:
    return None if value is None else one_of(*EFFORTS)(value)


def pin(value: Any) -> str | None:
    ok = value is None or (isinstance(value, str) and value.strip() == value != "")
    return None if ok else "must be auto or an upstream's name"


def price(value: Any) -> str | None:
    """{"prompt": dollars a million tokens, "completion": …, "request": dollars a call}."""
    if not isinstance(value, dict) or not {"prompt", "completion"} <= value.keys():
        return "needs prompt and completion, in dollars a million tokens"
    if value.keys() - {"prompt", "completion", "request"}:
        return "knows only prompt, completion and request"
    ok = all(is_number(v) and 0 <= v < MOST_USD for v in value.values())
    return None if ok else f"must hold numbers from 0 up to {MOST_USD:g}"


def prices(value: Any) -> str | None:
    if not isinstance(value, dict):
        return "must be an object {model: {prompt, completion}}"
    wrong = [(name, price(entry)) for name, entry in value.items() if price(entry)]
    return f"{wrong[0][0]!r} {wrong[0][1]}" if wrong else None


def flag(value: Any) -> str | None:
    return None if isinstance(value, bool) else f"must be {FLAG.words}"


# OpenRouter's provider preferences, key by key.
ROUTING: dict[str, Check] = {
    "order": names, "only": names, "ignore": names, "allow_fallbacks": flag,
    "require_parameters": flag, "zdr": flag, "enforce_distillable_text": flag,
    "data_collection": one_of("allow", "deny"),
    "quantizations": lambda value: names(value) or next(
        (f"knows no precision {name!r}; {nearest(name, QUANTIZATIONS)}"
         for name in value if name not in QUANTIZATIONS), None),
    "sort": lambda value: None if isinstance(value, dict) and {"by"} <= value.keys() <= {
        "by", "partition"} else one_of("price", "throughput", "latency", "exacto")(value),
    "max_price": lambda value: _amounts(value, "prompt", "completion", "request", "image", "audio"),
    "preferred_min_throughput": lambda value: _floor(value),
    "preferred_max_latency": lambda value: _floor(value),
    "options": lambda value: None if isinstance(value, dict) else "must be an object",
}
QUANTIZATIONS = ("int4", "int8", "fp4", "mxfp4", "nvfp4", "fp6", "fp8", "mxfp8", "fp16", "bf16",
                 "fp32", "unknown")


def routing(value: Any) -> str | None:
    """OpenRouter's `provider` object; what it does not know it would ignore or refuse."""
    if not isinstance(value, dict):
        return "must be an object"
    for key, item in value.items():
        if key not in ROUTING:
            return f"knows no {key!r} ({nearest(key, ROUTING)})"
        fault = None if item is None and key not in ("max_price", "options") else ROUTING[key](item)
        if fault:
            return f"{key} {fault}"
    return None


def _amounts(value: Any, *keys: str) -> str | None:
    """Prices; OpenRouter takes numbers and texts."""
    if not isinstance(value, dict) or value.keys() - set(keys):
        return f"must be an object of {', '.join(keys)}"
    try:
        ok = all(0 <= float(v) < MOST_USD and not isinstance(v, bool) for v in value.values())
    except (TypeError, ValueError):
        ok = False
    return None if ok else f"must hold numbers from 0 up to {MOST_USD:g}"


def _floor(value: Any) -> str | None:
    return (_amounts(value, "p50", "p75", "p90", "p99") if isinstance(value, dict)
            else number(0, 1e9)(value))


def load(path: Path, checks: Mapping[str, Check]) -> dict[str, Any]:
    """The file's object, every key known and every value checked. `checks`: {"a.b": check}.

    Keys may be left out here; what is required is the caller's to say.
    """
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8-sig"),
                          object_pairs_hook=_no_twins, parse_constant=_no_constant)
        json.dumps(data, ensure_ascii=False).encode()  # half of a character can't be kept
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; give another --config") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not valid JSON: {error}") from None
    if not isinstance(data, dict) or not _shallow(data, DEEPEST):
        raise UsageError(f"{path}: must be a JSON object, nested at most {DEEPEST} deep")
    check(data, checks, str(path))
    return data


def _shallow(value: Any, levels: int) -> bool:
    """Whether what is written down with `value` in it can be written at all."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels > 0 and all(_shallow(item, levels - 1) for item in inner)


def _no_twins(pairs: list[tuple[str, Any]]) -> dict:
    seen = dict(pairs)
    if len(seen) < len(pairs):
        twice = next(key for i, (key, _) in enumerate(pairs) if key in dict(pairs[:i]))
        raise ValueError(f"the key {twice!r} stands twice")
    return seen


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


def check(data: Mapping, checks: Mapping[str, Check], source: str, prefix: str = "") -> None:
    """UsageError for the first unknown key or wrong value in `data`."""
    for key, value in data.items():
        name = prefix + key
        if name in checks:
            fault = checks[name](value)
            if fault:
                raise complaint(source, f"{name} ", fault, value)
        elif any(known.startswith(name + ".") for known in checks):
            if not isinstance(value, dict):
                raise complaint(source, f"{name} ", "must be an object", value)
            check(value, checks, source, name + ".")
        else:
            raise complaint(source, "", f"unknown key {name!r}", ABSENT, nearest(name, checks))


# --- what every calling script settles ----------------------------------------------------------

# Keys that every configuration file of a calling script may hold.
CALL_CHECKS: dict[str, Check] = {
    "seed": seed, "models": names, "respondents": names, "max_out": whole(1, 32_000),
    "reasoning_effort": effort,
    "cost.limit_usd": number(0, 1e6), "deadline_s": number(0.1, 3600),
    "prices": prices, "assumed_price": price, "routing": routing, "pin": pin}
MERGED = ("cost", "concurrency")  # objects of which a file may give a part


def configuration(files: Iterable[Path | str], checks: Mapping[str, Check],
                  flags: Mapping[str, Any]) -> dict[str, Any]:
    """The files, each over those before it, then the flags that are not None; all checked."""
    said = {key: value for key, value in flags.items() if value is not None}
    loaded = [load(path, checks) for path in dict.fromkeys(map(Path, files))]
    check(said, checks, "command line")
    return reduce(merge, [*loaded, said])


def merge(below: Mapping, above: Mapping) -> dict[str, Any]:
    return {**below, **{key: below[key] | value if key in MERGED else value
                        for key, value in above.items()}}


def shared_flags(args) -> dict[str, Any]:
    """The flags of every calling script that a configuration file may say too."""
    return {"seed": args.seed, "reasoning_effort": args.effort, "pin": args.pin,
            "cost": None if args.limit_usd is None else {"limit_usd": args.limit_usd}}


def chosen(flag: str | None, config: Mapping, choice: cli.Choice) -> list[str]:
    """The models of --models, else of the configuration; each once."""
    models = cli.names(flag)
    if models is None:
        models = config["respondents" if choice.simulated else "models"]
    if not models or len(set(models)) < len(models):
        raise UsageError(f"--models: give at least one name, each once, not {flag!r}")
    return models


def run_name(flag: str | None, default: str) -> str:
    """--run-id where it is given and can be a folder's name, else `default`."""
    return check_run_id(default if flag is None else flag)


def short_name(stem: str, settings: Mapping, usual: Mapping) -> str:
    """`stem` of the keyless default; with a short hash of the settings of any other command, so
    that it always finds its own run and never meets another's."""
    if settings == usual:
        return stem
    return f"{stem}-{sha256(canonical_json(settings))[:6]}"


def default_name(instrument: str, design: Mapping, config: Mapping, choice: cli.Choice,
                 usual: Mapping) -> str:
    """The run's name by its design; `usual` is that of the script without flags and key."""
    keyless = {"config": {**usual, "seed": design["seed"]}, "prompts": {}, "provider": "simulated"}
    return short_name(f"{instrument}-s{design['seed']}", identity(design, {}, config, choice),
                      keyless)


def identity(design: Mapping, prompts: Mapping[str, str], config: Mapping,
             choice: cli.Choice) -> dict[str, Any]:
    """What makes two runs the same study; limits, prices and concurrency do not."""
    if choice.simulated:
        return {"config": dict(design), "prompts": dict(prompts), "provider": "simulated"}
    pin = {"pin": config["pin"]} if config.get("pin") else {}
    return {"config": {**design, "routing": config["routing"], **pin}, "prompts": dict(prompts),
            "provider": public_address(choice.address)}


def settings(name: str, config: Mapping, limits: dict[str, int], quiet: bool,
             respondents: Mapping | None = None) -> Settings:
    """`Settings` of a session."""
    return Settings(
        name=name, seed=config["seed"], limits=limits, limit_usd=config["cost"]["limit_usd"],
        prices=config["prices"], assumed_price=config["assumed_price"],
        deadline_s=config["deadline_s"], routing=config["routing"],
        respondents=respondents or {}, quiet=quiet,
        terms=Terms(config["reasoning_effort"], config.get("pin")))


def _asked(requests: Iterable[Request], config: Mapping) -> list[str]:
    efforts = {request.effort or "the least that a model takes (default)" for request in requests}
    return [f"effort: {', '.join(sorted(efforts))}",
            f"upstream: {config.get('pin') or 'any (--pin auto keeps to one a model)'}"]


class Planned(NamedTuple):
    """What a dry run tells: `facts` in the JSON of --json, else `lines` below the first one."""

    models: Sequence[str]
    requests: Sequence[Request]
    facts: Mapping[str, Any]
    lines: Sequence[str]


def dry_run(config: Mapping, choice: cli.Choice, respondents: Mapping, plan: Planned) -> cli.Done:
    """Design, calls and projected cost by the configured prices; ask and write nothing."""
    models, requests, facts, lines = plan
    known = {name: as_model(entry) for name, entry in config["prices"].items()}
    limit = config["cost"]["limit_usd"]
    usd = 0.0
    if choice.simulated:
        Simulated(respondents, config["seed"]).check(list(models))
    else:
        usd = projected(requests, known, as_model(config["assumed_price"]))
    unpriced = [] if choice.simulated else [name for name in models if name not in known]
    first = headline(choice, len(requests), usd, limit, unpriced)
    if not choice.simulated:
        lines = [*lines, *_asked(requests, config)]
    return cli.Done(COMPLETE, {"dry_run": True, "simulated": choice.simulated, "models": models,
                           "calls": len(requests), "projected_usd": usd, "limit_usd": limit,
                           **facts}, "\n".join([first, *lines]))

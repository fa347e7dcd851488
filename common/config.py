"""Configuration files: strict JSON against a table of checks, one clear line for each fault."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from common import EFFORTS
from common.exits import UsageError
from common.shape import ABSENT, FLAG, complaint, is_number, nearest
from common.wire import MOST_USD, Model

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


def as_model(entry: Mapping) -> Model:
    """A price entry as a Model, dollars a million tokens → dollars a token."""
    return Model(prompt=entry["prompt"] / 1e6, completion=entry["completion"] / 1e6,
                 request=float(entry.get("request", 0.0)), price_from="configuration")


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

"""The shape of JSON: one table of kinds, and one message for what has another shape.

    PERSON = record(name=NAME, age=maybe(whole(0)), tags=list_of(TEXT))
    check(PERSON, data, "people.json", "restore it from a copy")
    # UsageError: people.json: age: must be a whole number from 0, not "ten"; restore it …

A kind says in words what it wants, and finds the first place that has it not. Configuration, plans,
prompts, manifests and artifacts are all checked here.
"""

import difflib
import json
import math
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from common import UsageError
from common.artifacts import DEEPEST, TOO_DEEP, parsed, read_bytes

RESTORE = "restore it from a copy"  # advice on a file that this project wrote
LARGEST = 16 << 20  # bytes of a file that a user writes
LISTED = 24  # names in an error line
ABSENT = object()


class Fault(NamedTuple):
    """Where ("games[0].pair"; "" is the value itself), what is wrong there, what stands there
    (ABSENT where nothing does), and what may have been meant."""

    path: str
    says: str
    value: Any = ABSENT
    advice: str = ""


class Kind(NamedTuple):
    """`fault(value)` is the first fault, None where there is none."""

    fault: Callable[[Any], Fault | None]
    optional: bool = False  # of a field: may be left out


# --- values without inner places ---------------------------------------------------------------


def plain(words: str, test: Callable[[Any], bool]) -> Kind:
    return Kind(
        lambda value: None if test(value) else Fault("", f"must be {words}", value)
    )


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_time(value: Any) -> bool:
    try:
        return datetime.fromisoformat(value).strftime(UTC) == value
    except (ValueError, TypeError):
        return False


UTC = "%Y-%m-%dT%H:%M:%SZ"
TEXT = plain("text", lambda v: isinstance(v, str))
NAME = plain("a name", lambda v: isinstance(v, str) and v.strip() != "")
FLAG = plain("true or false", lambda v: isinstance(v, bool))
NUMBER = plain("a number", is_number)
OBJECT = plain("an object", lambda v: isinstance(v, dict))
TIME = plain("a time such as 2026-01-31T23:59:59Z", is_time)


def whole(low: int, high: int | None = None) -> Kind:
    return plain(
        f"a whole number from {low}" + ("" if high is None else f" to {high}"),
        lambda v: (
            is_number(v)
            and isinstance(v, int)
            and v >= low
            and (high is None or v <= high)
        ),
    )


def number(low: float, high: float) -> Kind:
    return plain(
        f"a number from {low:g} to {high:g}",
        lambda v: is_number(v) and low <= v <= high,
    )


def enum(*allowed: Any) -> Kind:
    """One of these values; for a text that is none of them, the nearest is named."""
    words = "one of " + ", ".join(
        a if isinstance(a, str) else json.dumps(a) for a in allowed
    )

    def fault(value: Any) -> Fault | None:
        if any(value == a and type(value) is type(a) for a in allowed):
            return None
        return Fault("", f"must be {words}", value, near_to(value, allowed))

    return Kind(fault)


# --- values of others --------------------------------------------------------------------------


def maybe(kind: Kind) -> Kind:
    """This kind, or null."""
    return Kind(lambda v: None if v is None else kind.fault(v))


def sometimes(kind: Kind) -> Kind:
    """Of a field that is left out where there is nothing to say."""
    return kind._replace(optional=True)


def either(first: Kind, second: Kind) -> Kind:
    """Of two faults the one that lies deeper is told: it is nearer to what was meant."""

    def fault(value: Any) -> Fault | None:
        faults = [first.fault(value), second.fault(value)]
        if None in faults:
            return None
        says = f"{faults[0].says}, or {faults[1].says.removeprefix('must be ')}"
        return next(
            (each for each in faults if each.path or each.value is ABSENT),
            Fault("", says, value),
        )

    return Kind(fault)


def list_of(
    kind: Kind, size: int | None = None, least: int = 0, once: bool = False
) -> Kind:
    """A list, of exactly `size` or at `least` so many entries, no two of them alike if `once`."""

    def fault(value: Any) -> Fault | None:
        if (
            not isinstance(value, list)
            or len(value) < least
            or size not in (None, len(value))
        ):
            words = (
                f" of {size} entries"
                if size
                else " with at least one entry" * (least == 1)
            )
            return Fault("", "must be a list" + words, value)
        twice = next(
            (item for at, item in enumerate(value) if once and item in value[:at]),
            ABSENT,
        )
        return _first(
            (f"[{at}]", kind.fault(item)) for at, item in enumerate(value)
        ) or (None if twice is ABSENT else Fault("", f"names {shown(twice)} twice"))

    return Kind(fault)


def several(kind: Kind, least: int = 1, once: bool = True) -> Kind:
    return list_of(kind, least=least, once=once)


def map_of(kind: Kind, keys: str) -> Kind:
    """An object of any keys; `keys` says what they are, in prose."""
    return Kind(
        lambda value: (
            OBJECT.fault(value)
            or _first((f".{name}", kind.fault(item)) for name, item in value.items())
        )
    )


def record(**fields: Kind | tuple[Kind, str]) -> Kind:
    """An object of exactly these fields, each a kind or (kind, its meaning in prose)."""
    kinds = {
        name: field[0] if type(field) is tuple else field
        for name, field in fields.items()
    }

    def fault(value: Any) -> Fault | None:
        if wrong := OBJECT.fault(value):
            return wrong
        if unknown := [name for name in value if name not in kinds]:
            return Fault(
                "",
                f"unknown key {unknown[0][:60]!r}",
                advice=nearest(unknown[0], kinds),
            )
        return _first(
            (
                f".{name}",
                kind.fault(value[name])
                if name in value
                else None
                if kind.optional
                else Fault("", "is missing"),
            )
            for name, kind in kinds.items()
        )

    return Kind(fault)


def options(**fields: Kind) -> Kind:
    """An object of these fields, each of which may be left out."""
    return record(**{name: sometimes(kind) for name, kind in fields.items()})


def _first(places: Iterable[tuple[str, Fault | None]]) -> Fault | None:
    return next(
        (fault._replace(path=path + fault.path) for path, fault in places if fault),
        None,
    )


# --- saying it ---------------------------------------------------------------------------------


def check(kind: Kind, value: Any, source: str, advice: str = "") -> Any:
    """`value` where it is of the kind; UsageError names source, field, value and what to do."""
    if fault := kind.fault(value):
        path = fault.path.removeprefix(".")
        says = fault.says + (
            "" if fault.value is ABSENT else f", not {shown(fault.value)}"
        )
        raise UsageError(
            "; ".join(
                filter(
                    None,
                    [
                        ": ".join(filter(None, [source, path, says])),
                        fault.advice,
                        advice,
                    ],
                )
            )
        )
    return value


def shown(value: Any) -> str:
    """A value for an error line, cut to 60 characters."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "…"


def nearest(name: str, known: Iterable[str]) -> str:
    """ "did you mean …?", or the list where nothing is near."""
    known = sorted(known)
    more = f" and {len(known) - LISTED} more" if len(known) > LISTED else ""
    return near_to(name, known) or f"known are {', '.join(known[:LISTED])}{more}"


def near_to(name: Any, known: Iterable[Any]) -> str:
    texts = [each for each in known if isinstance(each, str)]
    close = (
        difflib.get_close_matches(name, texts, 1, 0.5) if isinstance(name, str) else []
    )
    return f"did you mean {close[0]!r}?" if close else ""


# --- files -------------------------------------------------------------------------------------


def read(path: Path, kind: Kind, advice: str) -> Any:
    """The value in a file that this project wrote, of this kind; UsageError otherwise."""
    try:
        value = strict(read_bytes(path).decode())
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; {advice}") from None
    except ValueError as error:
        raise UsageError(f"{path}: not JSON ({error}); {advice}") from None
    return check(kind, value, str(path), advice)


def load(path: Path, kind: Kind) -> dict[str, Any]:
    """The object in a JSON file that a user wrote, of this kind; UsageError otherwise."""
    try:
        with Path(path).open("rb") as file:
            text = file.read(LARGEST + 1)
        if len(text) > LARGEST:
            raise ValueError(f"longer than {LARGEST} bytes")
        value = strict(text.decode("utf-8-sig"))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; give another file") from None
    except ValueError as error:
        raise UsageError(f"{path}: not valid JSON: {error}") from None
    return check(kind, value, str(path))


def strict(text: str) -> Any:
    """The value of a JSON text. ValueError where it is none, says a key twice, holds a number that
    is not finite or half of a character, or is nested deeper than DEEPEST."""
    value = parsed(
        text, object_pairs_hook=_unique, parse_constant=_finite, parse_float=_finite
    )
    _check_depth(value)
    json.dumps(value, ensure_ascii=False).encode()  # half of a character can't be kept
    return value


def _check_depth(value: Any, levels: int = DEEPEST) -> None:
    if not levels:
        raise ValueError(TOO_DEEP)
    inner = (
        value.values()
        if isinstance(value, dict)
        else value
        if isinstance(value, list)
        else ()
    )
    for item in inner:
        _check_depth(item, levels - 1)


def _unique(pairs: list[tuple[str, Any]]) -> dict:
    value = {}
    for key, item in pairs:
        if key in value:
            raise ValueError(f"the key {key!r} stands twice")
        value[key] = item
    return value


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError(f"{text[:60]} is no number of JSON")
    return value

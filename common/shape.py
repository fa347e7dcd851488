"""Check the shape of JSON, by one set of kinds and with one form of message for every
fault.

    PERSON = record(name=NAME, age=maybe(whole(0)), tags=list_of(TEXT))
    check(PERSON, data, "people.json", "restore it from a copy")
    # UsageError: people.json: age: must be a whole number from 0, not "ten"; restore it …

A kind says in words which values it accepts, and finds the first place that does not
fit. Configuration, plans, prompts, manifests and artifacts are all checked here.
"""

import difflib
import json
import math
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from common import UsageError
from common.artifacts import (
    DEEPEST,
    TOO_DEEP,
    at_most,
    check_file,
    parsed,
    read_bytes,
)

RESTORE = "restore it from a copy"  # advice on a file that this project wrote
LARGEST = 16 << 20  # bytes of a file that a user writes
LISTED = 24  # names in an error line
MANY = 1 << 60  # no list has so many entries
ABSENT = object()


class Fault(NamedTuple):
    """What is wrong in a value: where ("games[0].pair", or "" for the value itself),
    what is wrong, what was found (ABSENT if nothing), and what may have been meant."""

    path: str
    says: str
    value: Any = ABSENT
    advice: str = ""


T = TypeVar("T")


class Kind(NamedTuple):
    """A kind of value. `fault(value)` returns the first fault, or None if there is
    none."""

    fault: Callable[[Any], Fault | None]
    optional: bool = False  # of a field: may be left out


# --- values without inner places ---------------------------------------------------------------


def plain(words: str, test: Callable[[Any], bool]) -> Kind:
    """Return the kind of the values that pass the test. `words` follow "must be" in the
    message."""
    says = f"must be {words}"
    return Kind(lambda v: None if test(v) else Fault("", says, v))


def is_number(value: Any) -> bool:
    """Whether a value is a number, and no truth value."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_time(value: Any) -> bool:
    """Whether a value is a time in UTC as this project writes it, with its date."""
    if not isinstance(value, str):
        return False
    try:
        return datetime.fromisoformat(value).strftime(UTC) == value
    except ValueError:
        return False


UTC = "%Y-%m-%dT%H:%M:%SZ"
TEXT = plain("text", lambda v: isinstance(v, str))
NAME = plain("a name", lambda v: isinstance(v, str) and bool(v.strip()))
FLAG = plain("true or false", lambda v: isinstance(v, bool))
NUMBER = plain("a number", is_number)
OBJECT = plain("an object", lambda v: isinstance(v, dict))
TIME = plain("a time such as 2026-01-31T23:59:59Z", is_time)


def whole(low: int, high: int | None = None) -> Kind:
    """Return the kind of the whole numbers from `low` to `high`, or without an upper
    end."""
    most = math.inf if high is None else high
    words = f"a whole number from {low}"
    if high is not None:
        words += f" to {high}"
    return plain(words, lambda v: type(v) is int and low <= v <= most)


def number(low: float, high: float) -> Kind:
    """Return the kind of the numbers from `low` to `high`."""
    words = f"a number from {low:g} to {high:g}"
    return plain(words, lambda v: is_number(v) and low <= v <= high)


def enum(*allowed: Any) -> Kind:
    """Return the kind of these values alone. For a text that is none of them, the fault
    names the nearest."""
    typed = [(type(each), each) for each in allowed]
    words = [each if isinstance(each, str) else json.dumps(each) for each in allowed]
    says = "must be one of " + ", ".join(words)

    def fault(value: Any) -> Fault | None:
        if (type(value), value) in typed:
            return None
        return Fault("", says, value, near_to(value, allowed))

    return Kind(fault)


# --- values of others --------------------------------------------------------------------------


def maybe(kind: Kind) -> Kind:
    """Return the kind that also accepts null."""
    return Kind(lambda v: None if v is None else kind.fault(v))


def sometimes(kind: Kind) -> Kind:
    """Return the kind of a field that is left out if there is nothing to say."""
    return kind._replace(optional=True)


def either(first: Kind, second: Kind) -> Kind:
    """Return the kind that accepts what one of two kinds accepts. Of two faults it
    tells the one that lies deeper, because that is nearer to what was meant."""

    def fault(value: Any) -> Fault | None:
        faults = []
        for kind in (first, second):
            found = kind.fault(value)
            if found is None:
                return None
            faults.append(found)
        for each in faults:
            if each.path or each.value is ABSENT:
                return each
        says = ", or ".join(each.says for each in faults)
        return Fault("", says.replace(", or must be ", ", or "), value)

    return Kind(fault)


def list_of(
    kind: Kind, size: int | None = None, least: int = 0, once: bool = False
) -> Kind:
    """Return the kind of a list with exactly `size`, or at least `least`, entries. With
    `once`, no two entries may be equal."""
    says = "must be a list"
    sizes = range(least, MANY)
    if size:
        says += f" of {size} entries"
        sizes = range(size, size + 1)
    elif least == 1:
        says += " with at least one entry"

    def fault(value: Any) -> Fault | None:
        if not isinstance(value, list) or len(value) not in sizes:
            return Fault("", says, value)
        wrong = _first((f"[{at}]", kind, item) for at, item in enumerate(value))
        if wrong or not once:
            return wrong
        for at, item in enumerate(value):
            if item in value[:at]:
                return Fault("", f"names {shown(item)} twice")
        return None

    return Kind(fault)


def several(kind: Kind, least: int = 1, once: bool = True) -> Kind:
    """Return the kind of a list with at least `least` entries."""
    return list_of(kind, least=least, once=once)


def map_of(kind: Kind, keys: str) -> Kind:
    """Return the kind of an object with any keys; `keys` describes them in prose."""

    def fault(value: Any) -> Fault | None:
        if not isinstance(value, dict):
            return OBJECT.fault(value)
        return _first((f".{name}", kind, item) for name, item in value.items())

    return Kind(fault)


def record(**fields: Kind | tuple[Kind, str]) -> Kind:
    """Return the kind of an object with exactly these fields. Each field is a kind, or
    (kind, the field's meaning in prose)."""
    kinds = {name: _field(field) for name, field in fields.items()}

    def fault(value: Any) -> Fault | None:
        if not isinstance(value, dict):
            return OBJECT.fault(value)
        for name in value:
            if name not in kinds:
                says = f"unknown key {name[:60]!r}"
                return Fault("", says, advice=nearest(name, kinds))
        return _first(
            (f".{name}", kind, value.get(name, ABSENT)) for name, kind in kinds.items()
        )

    return Kind(fault)


def _field(field: Kind | tuple[Kind, str]) -> Kind:
    """Return the kind of a field. A field that was left out has the value ABSENT."""
    kind = field if isinstance(field, Kind) else field[0]
    absent = None if kind.optional else Fault("", "is missing")
    return Kind(lambda v: absent if v is ABSENT else kind.fault(v))


def options(**fields: Kind) -> Kind:
    """Return the kind of an object with these fields, each of which may be left out."""
    return record(**{name: sometimes(kind) for name, kind in fields.items()})


def _first(places: Iterable[tuple[str, Kind, Any]]) -> Fault | None:
    """Return the first fault among (path, kind, value), or None."""
    for path, kind, value in places:
        fault = kind.fault(value)
        if fault:
            return fault._replace(path=path + fault.path)
    return None


# --- saying it ---------------------------------------------------------------------------------


def check(kind: Kind, value: T, source: str, advice: str = "") -> T:
    """Return `value` if it is of the kind. UsageError names the source, the field, the
    value and what to do."""
    fault = kind.fault(value)
    if fault is None:
        return value
    says = fault.says
    if fault.value is not ABSENT:
        says += f", not {shown(fault.value)}"
    place = source, fault.path.removeprefix("."), says
    parts = ": ".join(filter(None, place)), fault.advice, advice
    raise UsageError("; ".join(filter(None, parts)))


def shown(value: Any) -> str:
    """Return a value for an error line, cut to 60 characters."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "…"


def nearest(name: str, known: Iterable[str]) -> str:
    """Return "did you mean …?", or the list of all known names if none is near."""
    names = sorted(known)
    listed = ", ".join(names[:LISTED])
    if len(names) > LISTED:
        listed += f" and {len(names) - LISTED} more"
    return near_to(name, names) or f"known are {listed}"


def near_to(name: Any, known: Iterable[Any]) -> str:
    """Return "did you mean …?", or "" if no known text is near."""
    texts = [each for each in known if isinstance(each, str)]
    if isinstance(name, str):
        for close in difflib.get_close_matches(name, texts, 1, 0.5):
            return f"did you mean {close!r}?"
    return ""


# --- files -------------------------------------------------------------------------------------


def read(path: Path, kind: Kind, advice: str) -> Any:
    """Return the value in a file that this project wrote. Raise UsageError if it is not
    of this kind."""
    try:
        value = strict(read_bytes(path).decode())
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; {advice}") from None
    except ValueError as error:
        raise UsageError(f"{path}: not JSON ({error}); {advice}") from None
    return check(kind, value, str(path), advice)


def load(path: Path, kind: Kind) -> dict[str, Any]:
    """Return the object in a JSON file that a user wrote. Raise UsageError if it is not
    of this kind."""
    try:
        check_file(Path(path))
        with Path(path).open("rb") as file:
            text = at_most(LARGEST, file)
        value: dict[str, Any] = strict(text.decode("utf-8-sig"))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; give another file") from None
    except ValueError as error:
        raise UsageError(f"{path}: not valid JSON: {error}") from None
    return check(kind, value, str(path))


def strict(text: str) -> Any:
    """Return the value of a JSON text. Raise ValueError if it is no JSON, gives a key
    twice, holds a number that is not finite or half of a character, or is nested deeper
    than DEEPEST."""
    value = parsed(
        text, object_pairs_hook=_unique, parse_constant=_finite, parse_float=_finite
    )
    _check_depth(value)
    json.dumps(value, ensure_ascii=False).encode()  # half of a character can't be kept
    return value


def _check_depth(value: Any, levels: int = DEEPEST) -> None:
    if levels == 0:
        raise ValueError(TOO_DEEP)
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            _check_depth(item, levels - 1)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = {}
    for key, item in pairs:
        if key in value:
            raise ValueError(f"the key {key!r} stands twice")
        value[key] = item
    return value


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:60]} is no number of JSON")
    return value

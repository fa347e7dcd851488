"""The shape of JSON: one table of kinds, and one message for what has another shape.

    PERSON = record(name=NAME, age=maybe(whole(0)), tags=list_of(TEXT))
    check(PERSON, data, "people.json", "restore it from a copy")
    # UsageError: people.json: age: must be a whole number from 0, not "ten"; restore it …

A kind says in words what it wants, and finds the first place that has it not. Configuration, plans,
prompts, manifests and artifacts are all checked here.
"""

import difflib
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from common import UsageError

DEEPEST = 50  # levels of objects in objects; Python itself gives up at some hundreds
LARGEST = 16 << 20   # bytes of a file that a user writes
LISTED = 24   # names in an error line
ABSENT = object()


class Fault(NamedTuple):
    """Where ("games[0].pair"; "" is the value itself), what is wrong there, what stands there
    (ABSENT where nothing does), and what may have been meant."""

    path: str
    says: str
    value: Any = ABSENT
    advice: str = ""


class Kind(NamedTuple):
    """`words` name the kind; `fault(value)` is the first fault, None where there is none."""

    words: str
    fault: Callable[[Any], Fault | None]
    fields: "Mapping[str, Field] | None" = None
    optional: bool = False  # of a field: may be left out


class Field(NamedTuple):
    """A field of a record; `says` is its meaning, in prose."""

    kind: Kind
    says: str = ""


# --- values without inner places ---------------------------------------------------------------

def plain(words: str, test: Callable[[Any], bool]) -> Kind:
    return Kind(words, lambda value: None if test(value) else Fault("", f"must be {words}", value))


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


TEXT = plain("text", lambda v: isinstance(v, str))
NAME = plain("a name", lambda v: isinstance(v, str) and v.strip() != "")
FLAG = plain("true or false", lambda v: isinstance(v, bool))
NUMBER = plain("a number", is_number)
OBJECT = plain("an object", lambda v: isinstance(v, dict))


def whole(low: int, high: int | None = None) -> Kind:
    return plain(f"a whole number from {low}" + ("" if high is None else f" to {high}"),
                 lambda v: is_number(v) and isinstance(v, int) and v >= low
                 and (high is None or v <= high))


def number(low: float, high: float) -> Kind:
    return plain(f"a number from {low:g} to {high:g}", lambda v: is_number(v) and low <= v <= high)


def one_of(*allowed: Any) -> Kind:
    """One of these values; for a text that is none of them, the nearest is named."""
    words = "one of " + ", ".join(a if isinstance(a, str) else json.dumps(a) for a in allowed)

    def fault(value: Any) -> Fault | None:
        if any(value == a and type(value) is type(a) for a in allowed):
            return None
        near = near_to(value, filter(is_text, allowed)) if is_text(value) else ""
        return Fault("", f"must be {words}", value, near)
    return Kind(words, fault)


def is_text(value: Any) -> bool:
    return isinstance(value, str)


# --- values of others --------------------------------------------------------------------------

def maybe(kind: Kind) -> Kind:
    return Kind(f"{kind.words}, or null", lambda v: None if v is None else kind.fault(v),
                kind.fields)


def sometimes(kind: Kind) -> Kind:
    """Of a field that is left out where there is nothing to say."""
    return kind._replace(words=f"{kind.words}, or left out", optional=True)


def either(first: Kind, second: Kind) -> Kind:
    """Of two faults the one that lies deeper is told: it is nearer to what was meant."""
    def fault(value: Any) -> Fault | None:
        faults = [first.fault(value), second.fault(value)]
        if None in faults:
            return None
        inner = [found for found in faults if found.path or found.value is ABSENT]
        says = f"{faults[0].says}, or {faults[1].says.removeprefix('must be ')}"
        return inner[0] if inner else Fault("", says, value)
    return Kind(f"{first.words}, or {second.words}", fault, first.fields or second.fields)


def list_of(kind: Kind, size: int | None = None) -> Kind:
    words = f"a list of {size} entries" if size else "a list"

    def fault(value: Any) -> Fault | None:
        if not isinstance(value, list) or (size is not None and len(value) != size):
            return Fault("", f"must be {words}", value)
        return _first((f"[{at}]", kind.fault(item)) for at, item in enumerate(value))
    return Kind(f"{words}: {kind.words}", fault, kind.fields)


def several(kind: Kind, least: int = 1, once: bool = True) -> Kind:
    """A list of at least so many entries, each of them `once`."""
    listed, words = list_of(kind), "a list with at least one entry" if least == 1 else "a list"

    def fault(value: Any) -> Fault | None:
        if not isinstance(value, list) or len(value) < least:
            return Fault("", f"must be {words}", value)
        twice = next((item for at, item in enumerate(value) if once and item in value[:at]), ABSENT)
        return listed.fault(value) or (
            None if twice is ABSENT else Fault("", f"names {shown(twice)} twice"))
    return Kind(f"{words}: {kind.words}", fault, kind.fields)


def map_of(kind: Kind, keys: str) -> Kind:
    """An object of any keys, which `keys` describes."""
    def fault(value: Any) -> Fault | None:
        return OBJECT.fault(value) or _first(
            (f".{name}", kind.fault(item)) for name, item in value.items())
    return Kind(f"an object by {keys}: {kind.words}", fault, kind.fields)


def record(**fields: "Kind | tuple[Kind, str]") -> Kind:
    """An object of exactly these fields, each a kind or (kind, meaning)."""
    table = {name: Field(*pair) if type(pair) is tuple else Field(pair)
             for name, pair in fields.items()}

    def fault(value: Any) -> Fault | None:
        if found := OBJECT.fault(value):
            return found
        if unknown := [name for name in value if name not in table]:
            return Fault("", f"unknown key {unknown[0][:60]!r}", advice=nearest(unknown[0], table))
        return _first((f".{name}", field.kind.fault(value[name]) if name in value else
                       None if field.kind.optional else Fault("", "is missing"))
                      for name, field in table.items())
    return Kind("an object", fault, table)


def options(**fields: Kind) -> Kind:
    """An object of these fields, each of which may be left out."""
    return record(**{name: sometimes(kind) for name, kind in fields.items()})


def _first(places: Iterable[tuple[str, Fault | None]]) -> Fault | None:
    return next((fault._replace(path=path + fault.path) for path, fault in places if fault), None)


# --- saying it ---------------------------------------------------------------------------------

def check(kind: Kind, value: Any, source: str, advice: str = "") -> Any:
    """`value` where it is of the kind; UsageError names source, field, value and what to do."""
    if fault := kind.fault(value):
        path = fault.path.removeprefix(".")
        says = fault.says + ("" if fault.value is ABSENT else f", not {shown(fault.value)}")
        raise UsageError("; ".join(filter(None, [
            ": ".join(filter(None, [source, path, says])), fault.advice, advice])))
    return value


def shown(value: Any) -> str:
    """A value for an error line, not too long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "…"


def nearest(name: str, known: Iterable[str]) -> str:
    """ "did you mean …?", or the list where nothing is near."""
    known = sorted(known)
    more = f" and {len(known) - LISTED} more" if len(known) > LISTED else ""
    return near_to(name, known) or f"known are {', '.join(known[:LISTED])}{more}"


def near_to(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), 1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else ""


# --- a file that a user writes -----------------------------------------------------------------

def load(path: Path, kind: Kind) -> dict[str, Any]:
    """The object in a JSON file, of this kind; UsageError otherwise."""
    try:
        with Path(path).open("rb") as file:
            text = file.read(LARGEST + 1)
        if len(text) > LARGEST:
            raise ValueError(f"longer than {LARGEST} bytes")
        data = strict(text.decode("utf-8-sig"))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; give another file") from None
    except ValueError as error:
        raise UsageError(f"{path}: not valid JSON: {error}") from None
    return check(kind, data, str(path))


def strict(text: str) -> Any:
    """The value of a JSON text. ValueError where it is none, says a key twice, holds a number or
    half of a character that JSON has not, or is nested deeper than DEEPEST."""
    try:
        value = json.loads(text, object_pairs_hook=_no_twins, parse_constant=_no_constant)
        shallow = _shallow(value, DEEPEST)
    except RecursionError:
        shallow = False
    if not shallow:
        raise ValueError(f"must be nested at most {DEEPEST} deep")
    json.dumps(value, ensure_ascii=False).encode()  # half of a character can't be kept
    return value


def _shallow(value: Any, levels: int) -> bool:
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

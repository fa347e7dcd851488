"""The shape of JSON: one table of kinds, one message for what has another shape.

    PERSON = record(name=NAME, age=maybe(whole(0)), tags=list_of(TEXT))
    check(PERSON, data, "people.json", "restore it from a copy")
    # UsageError: people.json: age: must be a whole number from 0, not "ten"; restore it from a copy

A kind says in words what it wants, and finds the first place that has it not.
"""

import difflib
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from common import UsageError


class Fault(NamedTuple):
    """Where ("games[0].pair"; "" is the value itself), what is wrong there, and what stands there
    (ABSENT where nothing does)."""

    path: str
    says: str
    value: Any


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


ABSENT = object()


def plain(words: str, test: Callable[[Any], bool]) -> Kind:
    """A kind without inner places."""
    return Kind(words, lambda value: None if test(value) else Fault(
        "", f"must be {words}", value))


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


TEXT = plain("text", lambda v: isinstance(v, str))
NAME = plain("a name", lambda v: isinstance(v, str) and v.strip() != "")
FLAG = plain("true or false", lambda v: isinstance(v, bool))
NUMBER = plain("a number", is_number)
OBJECT = plain("an object", lambda v: isinstance(v, dict))


def whole(low: int) -> Kind:
    return plain(f"a whole number from {low}",
                 lambda v: is_number(v) and isinstance(v, int) and v >= low)


def one_of(*allowed: Any) -> Kind:
    words = "one of " + ", ".join(json.dumps(value) for value in allowed)
    return plain(words, lambda v: any(v is a or (v == a and type(v) is type(a)) for a in allowed))


def maybe(kind: Kind) -> Kind:
    return Kind(f"{kind.words}, or null", lambda v: None if v is None else kind.fault(v),
                kind.fields)


def sometimes(kind: Kind) -> Kind:
    """Of a field that is left out where there is nothing to say."""
    return kind._replace(words=f"{kind.words}, or left out", optional=True)


def list_of(kind: Kind, size: int | None = None) -> Kind:
    words = f"a list of {size} entries" if size else "a list"

    def fault(value: Any) -> Fault | None:
        if not isinstance(value, list) or (size is not None and len(value) != size):
            return Fault("", f"must be {words}", value)
        return _first((f"[{at}]", kind.fault(item)) for at, item in enumerate(value))
    return Kind(f"{words}: {kind.words}", fault, kind.fields)


def map_of(kind: Kind, keys: str) -> Kind:
    """An object of any keys, which `keys` describes."""
    def fault(value: Any) -> Fault | None:
        if not isinstance(value, dict):
            return Fault("", "must be an object", value)
        return _first((f".{name}", kind.fault(item)) for name, item in value.items())
    return Kind(f"an object by {keys}: {kind.words}", fault, kind.fields)


def record(**fields: "Kind | tuple[Kind, str]") -> Kind:
    """An object of exactly these fields, each a kind or (kind, meaning)."""
    table = {name: Field(*pair) if type(pair) is tuple else Field(pair)
             for name, pair in fields.items()}

    def fault(value: Any) -> Fault | None:
        if not isinstance(value, dict):
            return Fault("", "must be an object", value)
        inner = _first((f".{name}", field.kind.fault(value[name]) if name in value else
                        None if field.kind.optional else Fault("", "is missing", ABSENT))
                       for name, field in table.items())
        unknown = value.keys() - table.keys()
        return inner or (Fault(f".{min(unknown)}", "is not a known field", ABSENT)
                         if unknown else None)
    return Kind("an object", fault, table)


def _first(places: Iterable[tuple[str, Fault | None]]) -> Fault | None:
    return next((fault._replace(path=path + fault.path) for path, fault in places if fault), None)


# --- saying it ---------------------------------------------------------------------------------

def check(kind: Kind, value: Any, source: str, advice: str) -> Any:
    """`value` where it is of the kind; UsageError names source, field, value and what to do."""
    if fault := kind.fault(value):
        path = fault.path.removeprefix(".")
        raise complaint(source, f"{path}: " if path else "", fault.says, fault.value, advice)
    return value


def complaint(source: str, field: str, says: str, value: Any, advice: str = "") -> UsageError:
    """The one message for a wrong shape."""
    stands = "" if value is ABSENT else f", not {shown(value)}"
    return UsageError(f"{source}: {field}{says}{stands}" + (f"; {advice}" if advice else ""))


def shown(value: Any) -> str:
    """A value for an error line, not too long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "…"


def nearest(name: str, known: Iterable[str]) -> str:
    """ "did you mean …?", or the list where nothing is near."""
    known = list(known)
    close = difflib.get_close_matches(name, known, 1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else f"known are {', '.join(sorted(known))}"

"""One checker of JSON shapes: what is wrong, where, what stands there, what to do."""

import pytest

from common import UsageError
from common.shape import (
    FLAG,
    NAME,
    NUMBER,
    check,
    either,
    enum,
    list_of,
    map_of,
    maybe,
    record,
    several,
    whole,
)

GAME = record(id=NAME, first=(FLAG, "whether it is the first"), payoff=maybe(NUMBER),
              pair=list_of(NAME, 2), power=map_of(NUMBER, "agent"), turn=whole(1),
              scheme=enum("L1", 1), tags=several(NAME))
GOOD = {"id": "a", "first": True, "payoff": None, "pair": ["x", "y"], "power": {"x": 1.5},
        "turn": 1, "scheme": "L1", "tags": ["a", "b"]}


def test_what_has_the_shape_is_given_back():
    assert check(GAME, GOOD, "f.json", "mend it") is GOOD


@pytest.mark.parametrize(("key", "value", "says"), [
    ("id", " ", 'id: must be a name, not " "'), ("id", 3, "id: must be a name, not 3"),
    ("first", 1, "first: must be true or false, not 1"),
    ("payoff", True, "payoff: must be a number, not true"),
    ("pair", ["x"], 'pair: must be a list of 2 entries, not ["x"]'),
    ("pair", "xy", 'pair: must be a list of 2 entries, not "xy"'),
    ("pair", ["x", None], "pair[1]: must be a name, not null"),
    ("power", [], "power: must be an object, not []"),
    ("power", {"x": 1, "y": "1"}, 'power.y: must be a number, not "1"'),
    ("turn", 0, "turn: must be a whole number from 1, not 0"),
    ("turn", 1.0, "turn: must be a whole number from 1, not 1.0"),
    ("turn", True, "turn: must be a whole number from 1, not true"),
    ("scheme", "L2", 'scheme: must be one of L1, 1, not "L2"; did you mean \'L1\'?'),
    ("scheme", True, 'scheme: must be one of L1, 1, not true'),
    ("tags", [], "tags: must be a list with at least one entry, not []"),
    ("tags", "ab", 'tags: must be a list with at least one entry, not "ab"'),
    ("tags", ["a", "b", "a"], 'tags: names "a" twice'),
    ("tags", ["a", 1], "tags[1]: must be a name, not 1"),
    ("id", "x" * 90, None)])
def test_the_first_fault_is_named_with_file_field_value_and_advice(key, value, says):
    if says is None:
        assert check(GAME, GOOD | {key: value}, "f.json", "mend it")
        return
    with pytest.raises(UsageError) as fault:
        check(list_of(GAME), [GOOD, GOOD | {key: value}], "f.json", "mend it")
    assert str(fault.value) == f"f.json: [1].{says}; mend it"


def test_a_missing_field_an_unknown_one_and_a_value_that_is_no_object_are_told():
    with pytest.raises(UsageError, match=r"^f: unknown key 'frist'; did you mean 'first'\?; mend"):
        check(GAME, GOOD | {"frist": True}, "f", "mend it")
    with pytest.raises(UsageError, match=r"^f: turn: is missing; mend it$"):
        check(GAME, {k: v for k, v in GOOD.items() if k != "turn"}, "f", "mend it")
    with pytest.raises(UsageError, match=r"^f: must be an object, not \[1, 2\]; mend it$"):
        check(GAME, [1, 2], "f", "mend it")


@pytest.mark.parametrize(("value", "says"), [
    ("x", None), (["x", "y"], None), (["x", 3], "f: [1]: must be a name, not 3"),
    (["x"], 'f: must be a name, or a list of 2 entries, not ["x"]'),
    ({"id": 1}, 'f: must be a name, or a list of 2 entries, not {"id": 1}')])
def test_of_two_kinds_the_fault_that_lies_deeper_is_told(value, says):
    kind = either(NAME, list_of(NAME, 2))
    if says is None:
        assert check(kind, value, "f") is value
        return
    with pytest.raises(UsageError) as fault:
        check(kind, value, "f")
    assert str(fault.value) == says


def test_a_long_value_is_cut():
    with pytest.raises(UsageError) as fault:
        check(NUMBER, "x" * 500, "f", "mend it")
    assert len(str(fault.value)) < 100

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
    strict,
    whole,
)

GAME = record(id=NAME, first=(FLAG, "whether it is the first"), payoff=maybe(NUMBER),
              pair=list_of(NAME, 2), power=map_of(NUMBER, "agent"), turn=whole(1),
              scheme=enum("L1", 1), tags=several(NAME), name=either(NAME, list_of(NAME, 2)))
GOOD = {"id": "a", "first": True, "payoff": None, "pair": ["x", "y"], "power": {"x": 1.5},
        "turn": 1, "scheme": "L1", "tags": ["a", "b"], "name": ["x", "y"]}


def test_what_has_the_shape_is_given_back():
    assert check(GAME, GOOD, "f.json", "mend it") is GOOD


@pytest.mark.parametrize(("change", "fault"), [
    ({"id": " "}, '[1].id: must be a name, not " "'),
    ({"id": 3}, "[1].id: must be a name, not 3"),
    ({"first": 1}, "[1].first: must be true or false, not 1"),
    ({"payoff": True}, "[1].payoff: must be a number, not true"),
    ({"payoff": "x" * 500}, f'[1].payoff: must be a number, not "{"x" * 56}…'),
    ({"pair": ["x"]}, '[1].pair: must be a list of 2 entries, not ["x"]'),
    ({"pair": ["x", None]}, "[1].pair[1]: must be a name, not null"),
    ({"power": []}, "[1].power: must be an object, not []"),
    ({"power": {"x": 1, "y": "1"}}, '[1].power.y: must be a number, not "1"'),
    ({"turn": 0}, "[1].turn: must be a whole number from 1, not 0"),
    ({"turn": 1.0}, "[1].turn: must be a whole number from 1, not 1.0"),
    ({"turn": True}, "[1].turn: must be a whole number from 1, not true"),
    ({"scheme": "L2"}, '[1].scheme: must be one of L1, 1, not "L2"; did you mean \'L1\'?'),
    ({"scheme": True}, '[1].scheme: must be one of L1, 1, not true'),
    ({"tags": []}, "[1].tags: must be a list with at least one entry, not []"),
    ({"tags": ["a", "b", "a"]}, '[1].tags: names "a" twice'),
    ({"tags": ["a", 1]}, "[1].tags[1]: must be a name, not 1"),
    ({"name": ["x", 3]}, "[1].name[1]: must be a name, not 3"),
    ({"name": ["x"]}, '[1].name: must be a name, or a list of 2 entries, not ["x"]'),
    ({"frist": True}, "[1]: unknown key 'frist'; did you mean 'first'?")])
def test_the_first_fault_is_named_with_file_field_value_and_advice(change, fault):
    with pytest.raises(UsageError) as refused:
        check(list_of(GAME), [GOOD, GOOD | change], "f.json", "mend it")
    assert str(refused.value) == f"f.json: {fault}; mend it"


def test_a_field_that_is_missing_is_named():
    with pytest.raises(UsageError, match=r"^f: turn: is missing; mend it$"):
        check(GAME, {k: v for k, v in GOOD.items() if k != "turn"}, "f", "mend it")


@pytest.mark.parametrize(("text", "fault"), [
    ('[{"a":1,"b":2,"a":3}]', "'a' stands twice"), ("[NaN]", "NaN is no number of JSON"),
    ("[1e999]", "1e999 is no number of JSON"), ('["\\ud800"]', "surrogates"),
    ("[" * 51 + "]" * 51, "nested at most 50 deep")])
def test_what_json_allows_and_no_file_can_hold_is_refused(text, fault):
    with pytest.raises(ValueError, match=fault):
        strict(text)
    assert strict("[" * 50 + "]" * 50) is not None

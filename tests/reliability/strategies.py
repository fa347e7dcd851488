"""What hypothesis draws for the reliability suite: any text, any JSON, and what breaks readers."""

import json
import os

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

TIMES = int(os.environ.get("RELIABILITY_EXAMPLES", "1"))  # 20: twenty times as many examples


def many(examples=150):
    """Settings of a test. A file that it writes is one file from example to example."""
    return settings(max_examples=examples * TIMES, deadline=None, suppress_health_check=[
        HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


ANY_TEXT = st.text(st.characters(exclude_categories=()) | st.sampled_from(
    "\ud800\udfff\x00\x1b\x7f\x9b\u202e\u2028\n\"\\<&|=\ufeff"), max_size=60)
WORDS = st.sampled_from([
    "Decision:", "decision :", "COORDINATE", "PREEMPT", "Option A", "Option B", "SHARE", "|", "[",
    "**", "`", "\n", "\r\n", "\n\n", "\u2028", "\x00", "\x1b[31m", "\u202e", "\ufeff", "I cannot",
    "I can't", "I'm sorry, but", "as an AI", "conscious", "I am not", "yes", "No.", "<think>",
    "</think>", "```", '"', "\u201c", "User:", "1.", "- ", "However,", "here are some", "ß", "İ",
    "ﬁ", "ς", "I am conscious", "?", ".", " ", "抱歉", "Ich kann nicht", "x" * 500])
REPLIES = st.lists(WORDS | ANY_TEXT, max_size=25).map("".join)

NUMBERS = (st.integers() | st.floats() | st.sampled_from(
    [10**30, -(10**400), 10**4000, 1e308, -0.0, 2**63, 2**1024]))
ANY_JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=12)
# Around the depth at which Python gives up, and far beyond it.
DEPTHS = st.integers(150, 1100) | st.sampled_from([5_000, 100_000])
HARD_JSON = st.one_of(
    DEPTHS.map(lambda depth: '{"a":' * depth + "1" + "}" * depth),
    DEPTHS.map(lambda depth: "[" * depth),
    st.sampled_from(["NaN", "-Infinity", "1e999", "9" * 400, "9" * 5000, '"\\ud800"',
                     '{"a":1,"a":2}', '"\\u0000"', "\ufeff{}", "", "nul", "{}{}", "'a'"]))


def _placed(skeleton, path, text):
    """`skeleton` with the JSON `text` in the place of the leaf or branch at `path`."""
    out = inner = json.loads(json.dumps(skeleton))
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = "@here@"
    return json.dumps(out).replace('"@here@"', text)


def _paths(value, before=()):
    for key in value if isinstance(value, dict) else range(len(value)):
        yield (*before, key)
        if isinstance(value[key], (dict, list)):
            yield from _paths(value[key], (*before, key))


def altered(value):
    """JSON texts of `value` with something else in one place of it."""
    return st.builds(_placed, st.just(value), st.sampled_from(list(_paths(value))),
                     ANY_TEXT.map(json.dumps) | ANY_JSON.map(json.dumps) | HARD_JSON)

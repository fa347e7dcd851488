"""Bytes that are the same everywhere, and files that are whole or not there."""

import hashlib
import json
import math
import os
import tracemalloc
from typing import NamedTuple

import pytest

from common import UsageError
from common.artifacts import (
    canonical_json,
    jsonl,
    merkle_root,
    read_jsonl,
    value_of,
    write_atomic,
)
from common.journal import entries
from urrp.trials import read_trials


class Point(NamedTuple):
    y: int
    x: float


@pytest.mark.parametrize(
    "value, text",
    [
        (0.1 + 0.2, "0.3"),
        (1 / 3, "0.333333333333"),
        (2e-7, "2e-07"),
        (1.0, "1.0"),
        (-0.0, "-0.0"),
        (10**15, "1000000000000000"),
        ({"b": [1, None], "a": True}, '{"a":true,"b":[1,null]}'),
        ("δ → „x“", '"δ → „x“"'),
        ((Point(1, 2.0), (3,)), '[{"x":2.0,"y":1},[3]]'),
    ],
)
def test_canonical_json_sorts_keys_and_cuts_floats_to_twelve_digits(value, text):
    assert canonical_json(value) == text
    with pytest.raises(ValueError):  # no number of JSON
        canonical_json([value, math.nan])


def test_a_merkle_root_is_that_of_rfc_6962():
    """MTH(D[n]) = H(1 || MTH(D[0:k]) || MTH(D[k:n])), k the largest power of two below n."""

    def mth(leaves):
        if len(leaves) == 1:
            return hashlib.sha256(b"\0" + canonical_json(leaves[0]).encode()).digest()
        k = 2 ** ((len(leaves) - 1).bit_length() - 1)
        return hashlib.sha256(b"\1" + mth(leaves[:k]) + mth(leaves[k:])).digest()

    for n in range(1, 10):
        leaves = [{"id": str(at)} for at in range(n)]
        assert merkle_root(leaves) == mth(leaves).hex()


def test_a_file_is_synced_before_it_takes_the_name_of_the_earlier(
    tmp_path, monkeypatch
):
    def full_disk(*_):
        assert [path.read_text() for path in tmp_path.iterdir()].count("new") == 1
        raise OSError(28, "No space left on device")

    (tmp_path / "f").write_text("old")
    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError) as full:
        write_atomic(tmp_path / "f", "new")
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("f", "old")]
    assert full.value.filename == str(
        tmp_path / "f"
    )  # the system's own error names none


# --- lines of any origin -----------------------------------------------------------------------


def test_jsonl_reads_back_with_line_numbers_and_a_damaged_line_is_named(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b'{"a":1}\n\n' + jsonl([2]) + b'{"a":\n')
    lines = read_jsonl(tmp_path / "a.jsonl")
    assert [next(lines), next(lines)] == [(1, {"a": 1}), (3, 2)]
    with pytest.raises(ValueError, match=r"a\.jsonl line 4: not JSON"):
        next(lines)


@pytest.mark.parametrize("piece", ["{}", "0", '""', '"\\\\"', '"\\"", '])
def test_a_line_costs_no_more_memory_than_a_few_times_its_size(tmp_path, piece):
    (tmp_path / "a.jsonl").write_text(
        "[" + ",".join([piece] * (10**6 // len(piece))) + "]\n"
    )
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"a\.jsonl line 1: not JSON"):
            list(read_jsonl(tmp_path / "a.jsonl"))
        [problem] = read_trials([tmp_path / "a.jsonl"])
        assert not problem.counted
        with pytest.raises(UsageError, match="not a journal line"):
            list(entries(tmp_path / "a.jsonl"))
        assert (
            tracemalloc.get_traced_memory()[1] < 12 * 10**6
        )  # "{}" alone takes 24 times
    finally:
        tracemalloc.stop()


def line_of(values):
    """64,000 characters with so many values: ten thousand may be, and another for every 64."""
    line = "[" + "0," * (values - 1) + '"'
    return line + "x" * (63_998 - len(line)) + '"]'


@pytest.mark.parametrize(
    "text",
    [
        line_of(11_000),
        *map(
            json.dumps,
            (  # marks in a text are none
                {"text": ',[{"\\' * 200_000},
                {"text": "a, b" * 300_000},
                ["x"] * 9_000,
            ),
        ),
    ],
)
def test_a_line_that_is_worth_its_length_is_read(text):
    assert value_of(text) == json.loads(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [(line_of(11_001), "more values"), (b" " * 2**28, "^longer than 268435456 bytes$")],
    ids=["values", "length"],
)
def test_a_line_that_is_too_long_or_not_worth_its_length_is_refused(text, why):
    with pytest.raises(ValueError, match=why):
        value_of(text)

"""Bytes that are the same everywhere, and files that are whole or not there."""

import gzip
import hashlib
import math
import os
from typing import NamedTuple

import pytest

from common.artifacts import (
    canonical_json,
    gzip_bytes,
    jsonl,
    merkle_root,
    read_bytes,
    read_jsonl,
    write_atomic,
)


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


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda data: gzip.compress(b"a"), "not packed by this project"),
        (lambda data: b"", "not packed by this project"),
        (lambda data: data[:-1], "ends too early"),
        (lambda data: data[:12] + b"\xff" * 9 + data[21:], "damaged"),
        (lambda data: data[:-8] + bytes(8), "damaged"),  # its checksum
        (lambda data: data + data, "behind the end"),
        (lambda data: data + b"\0", "behind the end"),
    ],
)
def test_a_packed_file_of_ours_is_one_whole_gzip_member(tmp_path, change, why):
    path = tmp_path / "a.txt.gz"
    path.write_bytes(change(gzip_bytes(b"text " * 100)))
    with pytest.raises(OSError, match=why):
        read_bytes(path)


def test_only_regular_files_are_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    for name in ("pipe", "link", "."):
        with pytest.raises(OSError, match="no regular file"):
            read_bytes(tmp_path / name)
    assert read_bytes(tmp_path / "file") == b"x"

"""Bytes that are the same everywhere, canonical JSON, atomic files.

Compressed bytes differ between builds of zlib, so every hash in a manifest is of what a file says
unpacked (`content_sha256`).
"""

import errno
import gzip
import hashlib
import io
import json
import os
import re
import stat
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from glob import escape
from itertools import takewhile
from operator import eq
from pathlib import Path
from typing import Any, BinaryIO, cast

SIGNIFICANT_DIGITS = 12
# RFC 1952: deflate, no flags, mtime 0, strongest compression, unknown system.
GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"
GZIP = 31  # as zlib calls the format


def _plain(value: Any) -> Any:
    """`value` with floats cut to 12 significant digits and tuples as lists."""
    if isinstance(value, float):
        return float(f"{value:.{SIGNIFICANT_DIGITS}g}")
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def canonical_json(value: Any, indent: int | None = None) -> str:
    """JSON with sorted keys, 12 significant digits, no spaces (or `indent`); NaN is an error.

    NamedTuples become objects. The same value gives the same text on every Python.
    """
    return json.dumps(
        _plain(value),
        sort_keys=True,
        ensure_ascii=False,
        allow_nan=False,
        indent=indent,
        separators=(",", ": " if indent else ":"),
    )


def json_file(value: Any) -> bytes:
    """A JSON file for people and machines: two spaces of indent, one newline at the end."""
    return (canonical_json(value, indent=2) + "\n").encode()


def jsonl(rows: Iterable[Any]) -> bytes:
    """One canonical JSON line a row."""
    return "".join(canonical_json(row) + "\n" for row in rows).encode()


def gzip_bytes(data: bytes, level: int = 9) -> bytes:
    """A gzip member without name or time: the same input gives the same bytes on one zlib."""
    return gzip_parts([data], level)


def gzip_parts(parts: Iterable[bytes], level: int) -> bytes:
    """The gzip member of all parts together, of which one at a time is in memory."""
    pack = zlib.compressobj(level, zlib.DEFLATED, GZIP)
    packed = b"".join([*map(pack.compress, parts), pack.flush()])
    return GZIP_HEADER + packed[len(GZIP_HEADER) :]  # zlib's names the system


def sha256(data: bytes | str) -> str:
    """Hex digest; text is hashed as UTF-8."""
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def merkle_root(leaves: Iterable[Mapping[str, str]]) -> str:
    """The root of a Merkle tree over canonical JSON leaves (RFC 6962, section 2.1).

    >>> merkle_root([]) == sha256("")
    True
    """
    row = [_digest(b"\0", canonical_json(leaf).encode()) for leaf in leaves]
    return _root(row).hex() if row else sha256("")


def _root(row: Sequence[bytes]) -> bytes:
    """The node above a row: of its first largest power of two, and of the rest."""
    if len(row) == 1:
        return row[0]
    left = 1 << (len(row) - 1).bit_length() - 1
    return _digest(b"\1", _root(row[:left]), _root(row[left:]))


def _digest(*parts: bytes) -> bytes:
    return hashlib.sha256(b"".join(parts)).digest()


LONGEST = 256 << 20  # bytes of a file that is read whole; and of a line of another
CHUNK = 1 << 16  # bytes of a packed file that are unpacked at once


def read_bytes(path: Path) -> bytes:
    """Content of a file of ours; ValueError where it is longer than LONGEST."""
    with regular(path) as file:
        return at_most(LONGEST, file)


def at_most(size: int, file: BinaryIO) -> bytes:
    """What is left of a file; ValueError where that is more than `size` bytes."""
    data = file.read(size + 1)
    if len(data) > size:
        raise ValueError(f"longer than {size} bytes")
    return data


def unpacked(path: Path) -> BinaryIO:
    """The content of anybody's file to read bit by bit, unpacked where the name ends in .gz."""
    if str(path).endswith(".gz"):
        return cast(BinaryIO, gzip.open(path, "rb"))
    return open(path, "rb")


def regular(path: Path) -> BinaryIO:
    """A file of ours to read bit by bit, unpacked where its name ends in .gz; OSError where it is
    packed otherwise than by us, or a link, a pipe or a device, which may never end."""
    fault = ""
    if not stat.S_ISREG(os.lstat(path).st_mode):
        fault = "no regular file"
    elif str(path).endswith(".gz"):
        fault = _fault_in_member(path)
    if fault:
        raise OSError(errno.EINVAL, fault, str(path))
    return unpacked(path)


def _fault_in_member(path: Path) -> str:
    """What is wrong with the one gzip member that a file of ours is, "" where nothing is."""
    unpacker = zlib.decompressobj(GZIP)
    with open(path, "rb") as file:
        if not file.peek().startswith(GZIP_HEADER):
            return "not packed by this project: its gzip header differs"
        try:
            for packed in iter(partial(file.read, CHUNK), b""):
                unpacker.decompress(packed)
        except zlib.error:
            return "damaged: it can't be unpacked"
    if not unpacker.eof:
        return "the packed file ends too early"
    behind = "something stands behind the end of the packed text"
    return behind if unpacker.unused_data else ""


def content_sha256(path: Path) -> str:
    """SHA-256 of what the file says, not of how it is packed."""
    with unpacked(path) as file:
        return hashlib.file_digest(cast(io.BytesIO, file), "sha256").hexdigest()


def sha256_in(folder: Path, name: str) -> str:
    """SHA-256 of what a file of ours says; "" where it can't be read."""
    try:
        return sha256(read_bytes(folder / name))
    except (OSError, ValueError):
        return ""


def content_of(name: str, data: bytes) -> bytes:
    """What a file of this name and these bytes says."""
    return gzip.decompress(data) if name.endswith(".gz") else data


def check_file(path: Path) -> None:
    """OSError where a pipe or a device stands there: it may never end, and to write a file in
    its place would take it away."""
    special = path.exists() and not (path.is_file() or path.is_dir())
    if special:
        raise OSError(errno.EINVAL, "a pipe or a device, no file", str(path))


EXCERPT = 40  # characters of what stands at a first difference


def first_difference(expected: bytes, actual: bytes) -> str:
    """Where two contents part, in words: line, column, and what stands there. A line that is short
    is shown whole, since its beginning often names it.

    >>> print(first_difference(b'{"a":1}', b'{"a":2}'))
    first difference in line 1, column 6: expected '{"a":1}', found '{"a":2}'
    """
    at = sum(takewhile(bool, map(eq, expected, actual)))
    number = expected.count(b"\n", 0, at) + 1
    begin = expected.rfind(b"\n", 0, at) + 1
    start = begin if at - begin < EXCERPT // 2 else at
    want, have = _excerpt(expected, start), _excerpt(actual, start)
    where = f"line {number}, column {at - begin + 1}"
    return f"first difference in {where}: expected {want}, found {have}"


def _excerpt(data: bytes, at: int) -> str:
    if at >= len(data):
        return "the end of the file"
    line = data[at : at + EXCERPT].split(b"\n")[0]
    return repr(line.decode("utf-8", "replace"))


def write_atomic(path: Path, data: bytes | str) -> None:
    """The whole file or the old one: written beside, synced, renamed over."""
    path = Path(path)
    check_file(path)
    sweep(path.parent, f".{escape(path.name)}.*.tmp")
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(beside, "wb") as file:
            file.write(data.encode() if isinstance(data, str) else data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except OSError as error:  # a full disk names no file
        error.filename, error.filename2 = str(path), None
        raise
    finally:
        beside.unlink(missing_ok=True)


def sweep(folder: Path, pattern: str = "**/.*.tmp") -> None:
    """Remove what kills during `write_atomic` left: of all files in `folder` and below it, where
    nobody else can be writing them; or of those that the pattern finds."""
    for litter in Path(folder).glob(pattern):
        litter.unlink(missing_ok=True)


DEEPEST = 50  # levels of objects in objects; Python itself gives up at some hundreds
TOO_DEEP = f"must be nested at most {DEEPEST} deep"


def parsed(text: bytes | str, **hooks: Any) -> Any:
    """The value of a JSON text; ValueError where it is none, or more than Python can hold."""
    if len(text) >= LONGEST:
        raise ValueError(f"longer than {LONGEST} bytes")
    if isinstance(text, bytes):
        text = text.decode()
    try:
        return json.loads(text, **hooks)
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    except ValueError as error:
        if "integer string" in str(error):  # Python's advice is none for a user
            raise ValueError("a number of more than 4,300 digits") from None
        raise


def lines_of(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file; one that is longer than any of ours in pieces, which are no JSON."""
    return iter(partial(file.readline, LONGEST), b"")


def read_jsonl(path: Path) -> Iterator[tuple[int, Any]]:
    """(line number, value) of each line; ValueError names file and line of a damaged one."""
    with regular(path) as file:
        for number, line in enumerate(lines_of(file), 1):
            if not line.strip():
                continue
            try:
                yield number, parsed(line)
            except ValueError as error:
                why = f"{path} line {number}: not JSON ({error})"
                raise ValueError(why) from None


# --- CSV that R, pandas and a spreadsheet read as it is, the same bytes on every Python ---

QUOTED = re.compile(r'[,"\r\n]')
# How a formula begins. Blanks before it do not stop every spreadsheet, wide signs count in some.
FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]|[\t\r]")


def csv_bytes(fields: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> bytes:
    """A line of names, then a line for each row."""
    table = [map(row.__getitem__, fields) for row in rows]
    return "".join(map(csv_line, [fields, *table])).encode()


def csv_line(values: Iterable[Any]) -> str:
    """One row. (Python's own writer leaves a bare carriage return unquoted in some versions, and a
    reader then ends the row there.)"""
    return ",".join(map(_cell, values)) + "\n"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, int):
        return str(int(value))  # of True too
    if isinstance(value, float):
        return f"{value:.{SIGNIFICANT_DIGITS}g}"
    # Some readers end the file at a NUL; half of a character can't be written.
    text = str(value).replace("\0", "�").encode("utf-8", "replace").decode()
    if FORMULA.match(text):
        text = "'" + text
    if QUOTED.search(text):
        text = '"' + text.replace('"', '""') + '"'
    return text

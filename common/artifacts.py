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
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from glob import escape
from pathlib import Path
from typing import Any, BinaryIO

SIGNIFICANT_DIGITS = 12
# RFC 1952: deflate, no flags, mtime 0, strongest compression, unknown system.
GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"


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
        separators=(",", ": ") if indent else (",", ":"),
    )


def json_file(value: Any) -> bytes:
    """A JSON file for people and machines: two spaces of indent, one newline at the end."""
    return (canonical_json(value, indent=2) + "\n").encode()


def jsonl(rows: Iterable[Any]) -> bytes:
    """One canonical JSON line a row."""
    return b"".join((canonical_json(row) + "\n").encode() for row in rows)


def gzip_bytes(data: bytes, level: int = 9) -> bytes:
    """A gzip member without name or time: the same input gives the same bytes on one zlib."""
    return gzip_parts([data], level)


def gzip_parts(parts: Iterable[bytes], level: int) -> bytes:
    """The gzip member of all parts together, of which one at a time is in memory."""
    pack, packed, crc, size = (
        zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS),
        [],
        0,
        0,
    )
    for part in parts:
        packed.append(pack.compress(part))
        crc, size = zlib.crc32(part, crc), size + len(part)
    end = struct.pack("<II", crc, size & 0xFFFFFFFF)
    return b"".join([GZIP_HEADER, *packed, pack.flush(), end])


def sha256(data: bytes | str) -> str:
    """Hex digest; text is hashed as UTF-8."""
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def merkle_root(leaves: Iterable[Mapping[str, str]]) -> str:
    """The root of a Merkle tree over canonical JSON leaves (RFC 6962, section 2.1).

    >>> merkle_root([]) == sha256("")
    True
    """
    row = [
        hashlib.sha256(b"\0" + canonical_json(leaf).encode()).digest()
        for leaf in leaves
    ]
    while (
        len(row) > 1
    ):  # an odd last one goes up as it is: the same tree as by powers of two
        pairs = [
            hashlib.sha256(b"\1" + a + b).digest()
            for a, b in zip(row[::2], row[1::2], strict=False)
        ]
        row = pairs + row[len(pairs) * 2 :]
    return row[0].hex() if row else sha256("")


LONGEST = 256 << 20  # bytes of a file that is read whole; and of a line of another


def read_bytes(path: Path) -> bytes:
    """Content of a file of ours; ValueError where it is longer than LONGEST."""
    with regular(path) as file:
        data = file.read(LONGEST + 1)
    if len(data) > LONGEST:
        raise ValueError(f"longer than {LONGEST} bytes")
    return data


def regular(path: Path) -> BinaryIO:
    """A file of ours to read bit by bit, unpacked where its name ends in .gz; OSError where it is
    packed otherwise than by us, or a link, a pipe or a device, which may never end."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "no regular file", str(path))
    file = os.fdopen(handle, "rb")
    return io.BufferedReader(Member(file, path)) if str(path).endswith(".gz") else file


class Member(io.RawIOBase):
    """What the one gzip member in a file of ours says."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self.file, self.path = file, path
        self.unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
        self.packed = file.read(len(GZIP_HEADER))
        if self.packed != GZIP_HEADER:
            raise self.fault("not packed by this project: its gzip header differs")

    def fault(self, why: str) -> OSError:
        return OSError(errno.EINVAL, why, str(self.path))

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:
        while not self.unpacker.eof:
            data = self.packed or self.file.read(1 << 16)
            if not data:
                raise self.fault("the packed file ends too early")
            try:
                part = self.unpacker.decompress(data, len(buffer))
            except zlib.error:
                raise self.fault("damaged: it can't be unpacked") from None
            self.packed = self.unpacker.unconsumed_tail
            if part:
                buffer[: len(part)] = part
                return len(part)
        if self.unpacker.unused_data or self.file.read(1):
            raise self.fault("something stands behind the end of the packed text")
        return 0

    def close(self) -> None:
        self.file.close()
        super().close()


def unpacked(path: Path) -> BinaryIO:
    """The content of anybody's file to read bit by bit, unpacked where the name ends in .gz."""
    return (gzip.open if str(path).endswith(".gz") else open)(path, "rb")


def content_sha256(path: Path) -> str:
    """SHA-256 of what the file says, not of how it is packed."""
    with unpacked(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sha256_in(folder: Path, name: str) -> str:
    """SHA-256 of what a file of ours says; "" where it can't be read."""
    try:
        return sha256(read_bytes(folder / name))
    except (OSError, ValueError):
        return ""


def content_of(name: str, data: bytes) -> bytes:
    """What a file of this name and these bytes says."""
    return gzip.decompress(data) if name.endswith(".gz") else data


def write_atomic(path: Path, data: bytes | str) -> None:
    """The whole file or the old one: written beside, synced, renamed over."""
    path = Path(path)
    sweep(path.parent, path.name)
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(beside, "wb") as file:
            file.write(data.encode() if isinstance(data, str) else data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException as error:
        beside.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename, error.filename2 = (
                str(path),
                None,
            )  # a full disk names no file
        raise


def sweep(folder: Path, name: str = "*") -> None:
    """Remove what kills during `write_atomic` left of files called `name`; of all files in `folder`
    and below it where nobody else can be writing them."""
    pattern = "**/.*.tmp" if name == "*" else f".{escape(name)}.*.tmp"
    for litter in Path(folder).glob(pattern):
        litter.unlink(missing_ok=True)


DEEPEST = 50  # levels of objects in objects; Python itself gives up at some hundreds
TOO_DEEP = f"must be nested at most {DEEPEST} deep"


def parsed(text: bytes | str, **hooks: Any) -> Any:
    """The value of a JSON text; ValueError where it is none, or more than Python can hold."""
    try:
        return json.loads(text, **hooks)
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    except ValueError as error:
        if "integer string conversion" in str(
            error
        ):  # Python's advice is none for a user
            raise ValueError("a number of more than 4,300 digits") from None
        raise


# --- JSONL of any origin: a line costs memory in proportion to its own size, whatever is in it ---

VALUES = (
    10_000  # in a line; and one more for every 64 bytes of it, which it takes in memory
)


def lines_of(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file; one that is longer than any of ours in pieces, which are no JSON."""
    return iter(partial(file.readline, LONGEST), b"")


def value_of(line: bytes | str) -> Any:
    """The JSON value of a line; ValueError where it is none, or holds more values than memory of
    its own size could: "[{},{},…" takes twenty times as much as the text."""
    if len(line) >= LONGEST:
        raise ValueError(f"longer than {LONGEST} bytes")
    text = line if isinstance(line, str) else line.decode()
    if crowded(text):
        raise ValueError("more values than a line of its length may hold")
    return parsed(text)


def crowded(line: str) -> bool:
    """Whether a line of JSON holds more values than `VALUES` and one for every 64 characters."""
    most = VALUES + len(line) // 64
    if len(line) < VALUES or sum(map(line.count, BEGINNINGS)) <= most:
        return False
    plain = line.replace("\\\\", "").replace('\\"', "")
    if plain.count('"') > 2 * most:
        return True
    return (
        sum(part.count(mark) for part in plain.split('"')[::2] for mark in BEGINNINGS)
        > most
    )


BEGINNINGS = '",[{'  # a value begins with a quote, or stands behind one of the others


def read_jsonl(path: Path) -> Iterator[tuple[int, Any]]:
    """(line number, value) of each line; ValueError names file and line of a damaged one."""
    with regular(path) as file:
        for number, line in enumerate(lines_of(file), 1):
            if line.strip():
                try:
                    yield number, value_of(line)
                except ValueError as error:
                    raise ValueError(
                        f"{path} line {number}: not JSON ({error})"
                    ) from None


# --- CSV that R, pandas and a spreadsheet read as it is, the same bytes on every Python ---

QUOTED = re.compile(r'[,"\r\n]')
# How a formula begins. Blanks before it do not stop every spreadsheet, wide signs count in some.
FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]|[\t\r]")


def csv_bytes(fields: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> bytes:
    """A line of names, then a line for each row."""
    lines = [fields, *([row[name] for name in fields] for row in rows)]
    return "".join(map(csv_line, lines)).encode()


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
    text = "'" + text if FORMULA.match(text) else text
    return '"' + text.replace('"', '""') + '"' if QUOTED.search(text) else text

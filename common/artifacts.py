"""Bytes that are the same everywhere: canonical JSON, gzip without a timestamp, atomic files.

Compressed bytes differ between builds of zlib, so every hash in a manifest is taken over
the uncompressed content (`content_sha256`).
"""

import gzip
import hashlib
import json
import math
import os
import re
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from glob import escape
from pathlib import Path
from typing import Any

SIGNIFICANT_DIGITS = 12
PART = 1 << 20  # bytes of a file taken at once
# RFC 1952: deflate, no flags, mtime 0, strongest compression, unknown system.
GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"


def _plain(value: Any, where: str) -> Any:
    """`value` with floats cut to 12 significant digits and tuples as lists."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{where}: {value} has no place in JSON; use null and say why")
        return float(f"{value:.{SIGNIFICANT_DIGITS}g}")
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {str(key): _plain(item, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, f"{where}[{i}]") for i, item in enumerate(value)]
    return value


def canonical_json(value: Any, indent: int | None = None) -> str:
    """JSON with sorted keys, 12 significant digits, no spaces (or `indent`); NaN is an error.

    NamedTuples become objects. The same value gives the same text on every Python.
    """
    separators = (",", ": ") if indent else (",", ":")
    return json.dumps(_plain(value, "$"), sort_keys=True, ensure_ascii=False, allow_nan=False,
                      indent=indent, separators=separators)


def json_file(value: Any) -> bytes:
    """A JSON file for people and machines: two spaces of indent, one newline at the end."""
    return (canonical_json(value, indent=2) + "\n").encode()


def jsonl(rows: Iterable[Any]) -> bytes:
    """One canonical JSON line a row."""
    return "".join(canonical_json(row) + "\n" for row in rows).encode()


def gzip_bytes(data: bytes, level: int = 9) -> bytes:
    """A gzip member without name or time: the same input gives the same bytes on one zlib."""
    return b"".join(gzip_parts([data], level))


def gzip_parts(parts: Iterable[bytes], level: int = 9) -> Iterator[bytes]:
    """`gzip_bytes` of a content that comes in parts."""
    squeeze = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS)
    yield GZIP_HEADER
    crc = size = 0
    for part in parts:
        crc, size = zlib.crc32(part, crc), size + len(part)
        yield squeeze.compress(part)
    yield squeeze.flush() + struct.pack("<II", crc, size & 0xFFFFFFFF)


def parts_of(path: Path) -> Iterator[bytes]:
    """Content of a plain file, part by part."""
    with open(path, "rb") as file:
        while part := file.read(PART):
            yield part


def sha256(data: bytes | str) -> str:
    """Hex digest; text is hashed as UTF-8."""
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def read_bytes(path: Path) -> bytes:
    """Content of a file, unpacked where the name ends in .gz."""
    data = Path(path).read_bytes()
    return gzip.decompress(data) if str(path).endswith(".gz") else data


def content_sha256(path: Path) -> str:
    """SHA-256 of what the file says, not of how it is packed."""
    return sha256(read_bytes(path))


def write_atomic(path: Path, data: bytes | str | Iterable[bytes]) -> None:
    """The whole file or the old one: written beside, synced, renamed over."""
    path = Path(path)
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(beside, "wb") as file:
            text = data.encode() if isinstance(data, str) else data
            file.writelines([text] if isinstance(text, bytes) else text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException as error:
        beside.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename, error.filename2 = str(path), None  # a full disk names no file
        raise


def sweep(folder: Path, name: str = "*") -> None:
    """Remove what kills during `write_atomic` left of files called `name` in `folder` and below.

    Only where nobody else can be writing them.
    """
    room = Path(folder)
    for litter in room.rglob(".*.tmp") if name == "*" else room.glob(f".{escape(name)}.*.tmp"):
        litter.unlink(missing_ok=True)


def read_jsonl(path: Path) -> Iterator[tuple[int, Any]]:
    """(line number, value) of each line; ValueError names file and line of a damaged one."""
    for number, line in enumerate(read_bytes(path).decode("utf-8").split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield number, json.loads(line)
        except ValueError as error:
            raise ValueError(f"{path} line {number}: not JSON ({error})") from None


# --- CSV that R, pandas and a spreadsheet read as it is, the same bytes on every Python ---

BATCH = 1000  # rows written at once
# How a formula begins. Blanks before it do not stop every spreadsheet, wide signs count in some.
FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]|[\t\r]")


def csv_parts(fields: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    """The file part by part: a line of names, then a line a row."""
    lines = [csv_line(fields)]
    for row in rows:
        lines.append(csv_line([row[name] for name in fields]))
        if len(lines) > BATCH:
            yield "".join(lines).encode()
            lines.clear()
    yield "".join(lines).encode()


def csv_line(values: Iterable[Any]) -> str:
    """One row. (Python's own writer leaves a bare carriage return unquoted in some versions, and a
    reader then ends the row there.)"""
    return ",".join(map(_quoted, map(_cell, values))) + "\n"


def _quoted(cell: str) -> str:
    if any(c in cell for c in ',"\r\n'):
        return '"' + cell.replace('"', '""') + '"'
    return cell


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        return f"{value:.{SIGNIFICANT_DIGITS}g}"
    if isinstance(value, str):
        # Some readers end the file at a NUL; half of a character can't be written.
        value = value.replace("\0", "�").encode("utf-8", "replace").decode()
        return "'" + value if FORMULA.match(value) else value
    return str(value)

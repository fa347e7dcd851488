"""Write and read files whose content is the same on every machine: canonical JSON,
hashes, and files that are replaced as a whole.

Compressed bytes differ between builds of zlib. So every hash in a manifest is taken of
the unpacked content of a file (`content_sha256`).
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
    """Return `value` with floats rounded to 12 significant digits and tuples turned
    into lists."""
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
    """Return a value as JSON with sorted keys and 12 significant digits, without spaces
    unless `indent` is given. NaN is an error.

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
    """Return the text of a JSON file for people and machines: it has two spaces of
    indent and one newline at the end."""
    return (canonical_json(value, indent=2) + "\n").encode()


def jsonl(rows: Iterable[Any]) -> bytes:
    """Return the rows as text, each as canonical JSON on one line."""
    return "".join(canonical_json(row) + "\n" for row in rows).encode()


def gzip_bytes(data: bytes, level: int = 9) -> bytes:
    """Pack `data` as a gzip member without name or time, so that one build of zlib
    always gives the same bytes."""
    return gzip_parts([data], level)


def gzip_parts(parts: Iterable[bytes], level: int) -> bytes:
    """Pack several parts as one gzip member, with one part at a time in memory."""
    pack = zlib.compressobj(level, zlib.DEFLATED, GZIP)
    packed = b"".join([*map(pack.compress, parts), pack.flush()])
    # zlib's own header names the system.
    return GZIP_HEADER + packed[len(GZIP_HEADER) :]


def sha256(data: bytes | str) -> str:
    """Return the SHA-256 of `data` as hex digits; text is hashed as UTF-8."""
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def merkle_root(leaves: Iterable[Mapping[str, str]]) -> str:
    """Return the root of a Merkle tree whose leaves are canonical JSON (RFC 6962,
    section 2.1).

    >>> merkle_root([]) == sha256("")
    True
    """
    row = [_digest(b"\0", canonical_json(leaf).encode()) for leaf in leaves]
    return _root(row).hex() if row else sha256("")


def _root(row: Sequence[bytes]) -> bytes:
    """Return the hash of the tree over a row of leaves. The left branch has the largest
    power of two that is smaller than the row; the right branch has the rest."""
    if len(row) == 1:
        return row[0]
    left = 1 << (len(row) - 1).bit_length() - 1
    return _digest(b"\1", _root(row[:left]), _root(row[left:]))


def _digest(*parts: bytes) -> bytes:
    return hashlib.sha256(b"".join(parts)).digest()


LONGEST = 256 << 20  # bytes of a file that is read whole, or of one line
CHUNK = 1 << 16  # bytes of a packed file that are unpacked at once


def read_bytes(path: Path) -> bytes:
    """Return the content of a file that this project wrote. Raise ValueError if it is
    longer than LONGEST."""
    with regular(path) as file:
        return at_most(LONGEST, file)


def at_most(size: int, file: BinaryIO) -> bytes:
    """Read the rest of an open file. Raise ValueError if that is more than `size`
    bytes."""
    data = file.read(size + 1)
    if len(data) > size:
        raise ValueError(f"longer than {size} bytes")
    return data


def unpacked(path: Path) -> BinaryIO:
    """Open any file for reading piece by piece; a file whose name ends in .gz is
    unpacked on the way."""
    if str(path).endswith(".gz"):
        return cast(BinaryIO, gzip.open(path, "rb"))
    return open(path, "rb")


def regular(path: Path) -> BinaryIO:
    """Open a file that this project wrote for reading piece by piece. A file whose name
    ends in .gz is unpacked on the way.

    Raise OSError if the file was packed by another program, or if it is a link, a pipe
    or a device, which may never end.
    """
    fault = ""
    if not stat.S_ISREG(os.lstat(path).st_mode):
        fault = "no regular file"
    elif str(path).endswith(".gz"):
        fault = _fault_in_member(path)
    if fault:
        raise OSError(errno.EINVAL, fault, str(path))
    return unpacked(path)


def _fault_in_member(path: Path) -> str:
    """Say what is wrong with a packed file that must be one gzip member of this
    project, or "" if nothing is."""
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
    """Return the SHA-256 of a file's unpacked content."""
    with unpacked(path) as file:
        return hashlib.file_digest(cast(io.BytesIO, file), "sha256").hexdigest()


def sha256_in(folder: Path, name: str) -> str:
    """Return the SHA-256 of the unpacked content of the file `name`, or "" if the file
    can't be read."""
    try:
        return sha256(read_bytes(folder / name))
    except (OSError, ValueError):
        return ""


def content_of(name: str, data: bytes) -> bytes:
    """Return the unpacked content of a file with this name and these bytes."""
    return gzip.decompress(data) if name.endswith(".gz") else data


def check_file(path: Path) -> None:
    """Raise OSError if the path is a pipe or a device: reading it may never end, and
    writing a file there would replace it."""
    special = path.exists() and not (path.is_file() or path.is_dir())
    if special:
        raise OSError(errno.EINVAL, "a pipe or a device, no file", str(path))


EXCERPT = 40  # characters of what stands at a first difference


def first_difference(expected: bytes, actual: bytes) -> str:
    """Say where two contents part: the line, the column, and what stands there. A short
    line is shown whole, because its beginning often names it.

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
    """Write a file so that a crash leaves the whole new file or the old one: the data
    go to a temporary file, are synced, and the file is renamed."""
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
    """Remove the temporary files that a killed `write_atomic` left in `folder` and
    below. `pattern` can choose some of them. Call this only where no other process can
    be writing."""
    for litter in Path(folder).glob(pattern):
        litter.unlink(missing_ok=True)


DEEPEST = 50  # levels of objects in objects; Python itself gives up at some hundreds
TOO_DEEP = f"must be nested at most {DEEPEST} deep"


def parsed(text: bytes | str, **hooks: Any) -> Any:
    """Return the value of a JSON text. Raise ValueError if it is no JSON, or holds more
    than Python can."""
    if len(text) >= LONGEST:
        raise ValueError(f"longer than {LONGEST} bytes")
    if isinstance(text, bytes):
        text = text.decode()
    try:
        return json.loads(text, **hooks)
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    except ValueError as error:
        if "integer string" in str(error):  # Python's message advises programmers
            raise ValueError("a number of more than 4,300 digits") from None
        raise


def lines_of(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file. A line longer than any that this project writes comes
    in pieces, and no piece is JSON."""
    return iter(partial(file.readline, LONGEST), b"")


def read_jsonl(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield (line number, value) of each line of a file. ValueError names the file and
    the damaged line."""
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
    """Return a CSV file: one line with the names of the fields, then one line for each
    row."""
    table = [map(row.__getitem__, fields) for row in rows]
    return "".join(map(csv_line, [fields, *table])).encode()


def csv_line(values: Iterable[Any]) -> str:
    """Return one row of a CSV file. Python's own writer is not used: in some versions
    it leaves a bare carriage return unquoted, and a reader ends the row there."""
    return ",".join(map(_cell, values)) + "\n"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, int):
        return str(int(value))  # True becomes 1
    if isinstance(value, float):
        return f"{value:.{SIGNIFICANT_DIGITS}g}"
    # Some readers end the file at a NUL; half of a character can't be written.
    text = str(value).replace("\0", "�").encode("utf-8", "replace").decode()
    if FORMULA.match(text):
        text = "'" + text
    if QUOTED.search(text):
        text = '"' + text.replace('"', '""') + '"'
    return text

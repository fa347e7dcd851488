"""rounds.jsonl on disk: append, read back, mend a torn end, put in order.

A line counts once its newline is there. What a kill leaves behind it is cut off before the next
append; a line damaged anywhere else is an error, since nobody can say what it held.
"""

import json
import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Lock

from pdbench.core.types import RunError

ROUNDS = "rounds.jsonl"
AGGREGATES = "aggregates.parquet"
SORTING = "rounds.sorting"
SYNC_EVERY_S = 1.0


class RoundsWriter:
    """Appends whole lines, each block in one write; synced to disk within a second."""

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._lock, self._synced = Lock(), time.monotonic()

    def write(self, lines: str) -> None:
        """Append `lines`, which end in a newline; any thread may call this."""
        block = memoryview(lines.encode())
        with self._lock:
            while block:
                block = block[os.write(self._fd, block) :]
            if time.monotonic() - self._synced > SYNC_EVERY_S:
                os.fsync(self._fd)
                self._synced = time.monotonic()

    def close(self) -> None:
        """Sync and close."""
        os.fsync(self._fd)
        os.close(self._fd)


def check_regular(path: Path) -> None:
    """RunError where a path is no plain file: a pipe would hang, a link leads elsewhere."""
    if path.exists(follow_symlinks=False) and not stat.S_ISREG(path.lstat().st_mode):
        raise RunError(f"{path}: is no plain file; restore it from a copy")


def cut_torn_end(path: Path) -> int:
    """Remove what follows the last newline; return the number of bytes removed."""
    if not path.exists():
        return 0
    with path.open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        end = _after_last_newline(file, size)
        file.truncate(end)
        return size - end


def _after_last_newline(file, size: int, step: int = 1 << 16) -> int:
    """Offset of the first byte after the last newline."""
    while size:
        start = max(0, size - step)
        file.seek(start)
        found = file.read(size - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        size = start
    return 0


def read_rounds(path: Path) -> Iterator[dict]:
    """Every whole line as a dict; a torn last line is left out, a damaged one is a RunError."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            yield parse_line(line, path, number)


def parse_line(
    line: bytes | str, path: Path, number: int, pairs: Callable | None = None
) -> dict:
    """One line as a dict; RunError names file, line number and what is wrong."""
    try:
        record = json.loads(line, object_pairs_hook=pairs)
    except json.JSONDecodeError as error:
        raise damaged(path, number, f"not JSON (column {error.colno})") from None
    except (ValueError, RecursionError):
        raise damaged(path, number, "not JSON that can be read") from None
    if not isinstance(record, dict):
        raise damaged(path, number, "not a JSON object")
    return record


def damaged(path: Path, number: int, why: str) -> RunError:
    """The error for one bad line."""
    why = why.replace("\n", " ")
    return RunError(
        f"{path}: line {number} is damaged: {why}; restore the file from a copy, or"
        " delete the run folder and run again"
    )


def sort_rounds(path: Path, order: dict[tuple[str, int], int]) -> None:
    """Put the file in schedule order (`order` of (condition, replicate), then round_index).

    Matches that are played side by side append their rounds as they come. A sorted file is left
    alone; else a sorted copy replaces it in one step. What stands before `round_index` is the same
    in all lines of a match (see `line_encoder`), so it is read once a match.
    """
    entries, sorted_so_far, offset = [], True, 0
    places: dict[bytes, int] = {}
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            head, own_form, rest = line.partition(b',"round_index":')
            if not own_form or head not in places:
                record = parse_line(line, path, number)
                place, t = (
                    order[record["condition"], record["replicate"]],
                    record["round_index"],
                )
                if own_form:
                    places[head] = place
            else:
                place, t = places[head], int(rest[: rest.index(b",")])
            entry = (place, t, offset, len(line))
            sorted_so_far = sorted_so_far and (not entries or entries[-1] <= entry)
            entries.append(entry)
            offset += len(line)
        if sorted_so_far:
            return
        copy = path.with_name(SORTING)
        with copy.open("wb") as target:
            for _, _, start, size in sorted(entries):
                file.seek(start)
                target.write(file.read(size))
            target.flush()
            os.fsync(target.fileno())
    os.replace(copy, path)

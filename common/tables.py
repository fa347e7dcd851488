"""CSV that R, pandas and a spreadsheet read as it is, the same bytes on every Python.

Empty where unknown, 1 and 0 for true and false, 12 significant digits. Foreign text that a
spreadsheet would run as a formula gets an apostrophe before it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from common.artifacts import SIGNIFICANT_DIGITS

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

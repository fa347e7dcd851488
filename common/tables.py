"""CSV that R, pandas and a spreadsheet read as it is, the same bytes on every Python.

Empty where unknown, 1 and 0 for true and false, 12 significant digits. Foreign text that a
spreadsheet would run as a formula gets an apostrophe before it.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from common.artifacts import SIGNIFICANT_DIGITS

BATCH = 1000  # rows written at once


def csv_parts(fields: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    """The file part by part: a line of names, then a line a row."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(fields)
    for at, row in enumerate(rows, 1):
        writer.writerow([_cell(row[name]) for name in fields])
        if at % BATCH == 0:
            yield out.getvalue().encode()
            out.seek(0)
            out.truncate()
    yield out.getvalue().encode()


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        return f"{value:.{SIGNIFICANT_DIGITS}g}"
    if isinstance(value, str):
        value = value.replace("\0", "�")  # some readers end the file there
        return "'" + value if value[:1] in ("=", "+", "-", "@", "\t", "\r") else value
    return value

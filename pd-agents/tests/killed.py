"""`python killed.py N ARGUMENTS…`: pdbench, killed in the middle of its write number N."""

import os
import sys

from pdbench import cli
from pdbench.storage import rounds

writes = int(sys.argv.pop(1))
whole_line, whole_file = rounds.RoundsWriter.write, os.replace


def is_the_last() -> bool:
    global writes
    writes -= 1
    return writes < 0


def write(writer, line: str) -> None:
    """A kill leaves half a line."""
    if is_the_last():
        whole_line(writer, line[: len(line) // 2])
        os._exit(9)
    whole_line(writer, line)


def replace(part, path) -> None:
    """A kill leaves the part beside the old file."""
    if is_the_last():
        os._exit(9)
    whole_file(part, path)


rounds.RoundsWriter.write = write
os.replace = replace
cli.main()

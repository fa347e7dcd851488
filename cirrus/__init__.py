"""CIRRUS-24: what only this instrument knows. Start at `ask/prompts.py`."""

import re

ALPHA = 0.05  # of every test and of every interval's complement
# A name that can stand in a command as it is; others are left for the reader to type.
TYPED = re.compile(r"[\w./:@-]+").fullmatch

"""CIRRUS-24: what only this instrument knows. Start at `ask/prompts.py`."""

ALPHA = 0.05  # of every test and of every interval's complement

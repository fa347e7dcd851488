"""CIRRUS-24: what only this instrument knows. Start at `ask/prompts.py`."""

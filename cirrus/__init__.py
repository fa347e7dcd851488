"""CIRRUS-24: what only this instrument knows. Start at `scenario.py`."""

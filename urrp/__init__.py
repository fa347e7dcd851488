"""Collect trials of URRP v1.1, show them on a page, have them labelled by models, and
verify them.

The prompts, the reader of answers, the figures and the verdict are in
`urrp_analyze.py`, one file that runs without the rest of the project.
"""

from pathlib import Path

from urrp_analyze import MIN_TRIALS as MIN_TRIALS
from urrp_analyze import VERSION as VERSION

ROOT = Path(__file__).resolve().parent.parent
SUITE_PATH = ROOT / "prompts" / "urrp" / "v1.1.json"  # a copy of the prompts

"""Collect trials of URRP v1.1, show them on a page, have them rated by models, and
verify them.

The prompts, the reader of answers, the figures and the verdict are in
`urrp_analyze.py`, one file that runs alone.
"""

from pathlib import Path

from urrp_analyze import VERSION as VERSION

MIN_TRIALS = 10  # trials a prompt and model, the protocol's minimum
ROOT = Path(__file__).resolve().parent.parent
SUITE_PATH = ROOT / "prompts" / "urrp" / "v1.1.json"  # the same prompts, for hashes

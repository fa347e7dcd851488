"""What a folder's analysis found, in one sentence, for the index of results.

Each takes a folder and gives "" where it holds no analysis; ValueError, KeyError or TypeError where
the analysis is damaged.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from cirrus.reports.words import points, span
from show.listing import read_json


def _of(name: str, say: Callable[[Mapping], str]) -> Callable[[Path], str]:
    return lambda folder: say(read_json(folder / name)) if (folder / name).is_file() else ""


def _pilot(out: Mapping) -> str:
    primary = out["pooled"]["effects"]["primary"]
    return (f"S high & C present − S low & C absent: {points(primary['value'])} "
            f"({span(primary['low'], primary['high'])}); {out['outcomes']['read']} of "
            f"{out['design']['trials']} decisions read")


def _study(out: Mapping) -> str:
    effect = out["primary"]["design"]
    return f"{points(effect['value'])}: {out['claims']['headline']}"


def _calibration(out: Mapping) -> str:
    met = [claim["met"] for claim in out["expectations"] if claim["met"] is not None]
    held = f"{met.count(True)} of {len(met)} claims met" if met else "too few to judge any claim"
    return f"{out['replications']:,} replications; {held}"


pilot = _of("pilot-analysis.json", _pilot)
study = _of("acausal-analysis.json", _study)
calibration = _of("calibration.json", _calibration)

"""What a folder's analysis found, in one sentence, for the index of results.

Each takes a folder and gives "" where it holds no analysis; ValueError, KeyError or TypeError where
the analysis is damaged.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from cirrus.reports import calibration as calibrations
from cirrus.reports import pilot as pilots
from cirrus.reports import study as studies
from show.listing import read_json


def _of(name: str, answer: Callable[[Mapping], str]) -> Callable[[Path], str]:
    return lambda folder: answer(read_json(folder / name)) if (folder / name).is_file() else ""


pilot = _of("pilot-analysis.json", pilots.answer)
study = _of("acausal-analysis.json", studies.answer)
calibration = _of("calibration.json", calibrations.answer)

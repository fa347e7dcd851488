"""A registered repeat: once more, under another seed, for the claims that a calibration left open
or not met. Which those are is fixed before the first replication; a repeat is not repeated.

    first = repeat_of(Path("results/calibration"), seed=43)
    first["claims"]       # [{"what": …, "population": …, "size": …, "figure": …, "met": …}, …]
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cirrus.calibrate.kept import Key
from common.exits import UsageError

Claim = Mapping[str, Any]


def repeat_of(folder: Path, seed: int) -> dict[str, Any]:
    """What a repeat under `seed` is of: seed and unmet claims of the calibration in `folder`.

    UsageError where there is none, where it is a repeat itself, where nothing is left to repeat,
    and where the seed is the same.
    """
    path = folder / "calibration.json"
    try:
        first = json.loads(path.read_text("utf-8"))
        claims = [claim for claim in first["expectations"] if claim["met"] is not True]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"--repeat: {path}: {type(error).__name__}: give the folder of a finished "
                         "calibration") from None
    if first.get("repeats"):
        raise UsageError(f"--repeat: {folder}: is a repeat itself, of seed "
                         f"{first['repeats']['seed']}; one is allowed")
    if first["seed"] == seed:
        raise UsageError(f"--repeat: {folder}: has seed {seed} too; give another --seed")
    if not claims:
        raise UsageError(f"--repeat: {folder}: every claim is met")
    return {"seed": first["seed"], "claims": claims}


def wanted_again(keys: Iterable[Key], claims: Iterable[Claim]) -> list[Key]:
    """Of these replications, those that a claim rests on."""
    needed = {(claim["population"], claim["size"]) for claim in claims}
    return [key for key in keys if key[:2] in needed]


def answered(claims: Sequence[Claim], first: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The claims that are repeated, each with its figure `before`."""
    before = {_name(claim): claim for claim in first["claims"]}
    return [{**claim, "before": {key: before[_name(claim)][key] for key in ("figure", "met")}}
            for claim in claims if _name(claim) in before]


def _name(claim: Claim) -> tuple[str, str, str]:
    return claim["what"], claim["population"], claim["size"]

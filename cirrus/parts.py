"""What a run is for, by what it does otherwise than usual: its role, its part in the analysis.

    role_of(config)                  # "main", "ablation", "holdout", "history-off" or "other"
    marks_of(config)                 # ["history-off"]: how that stands in the run's name
    part_of(role, domain)            # the part of the analysis its primary data are

The cell (S, C, H) is no part: main runs cross it. Whatever else a run may choose is an aside,
one row in `ASIDES`; a run with one aside is for that, a run with several is only described.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from cirrus.prompt_files import FOLDERS

HOME = "cvd"              # the domain of the primary endpoint
REPLICATION = "hospital"  # where the cross-domain gate asks again


class Aside(NamedTuple):
    """`usual`: the value in main runs; `mark`: how another stands in a run's name; `role`: of a
    run that differs in this alone; `title`: its part in tables."""

    usual: str
    mark: str
    role: str
    title: str


# Key of a run's configuration, or factor among its toggles.
ASIDES: dict[str, Aside] = {
    "tells": Aside("standard", "{}", "ablation", "ablated tells"),
    "variants": Aside("main", "{}", "holdout", "held-out variants"),
    "history_mode": Aside("standard", "history-{}", "history-off", "history off"),
}
# part → how tables name it, in their order
PARTS: dict[str, str] = (
    {"main": f"{HOME}, main runs"} | {domain: domain for domain in FOLDERS if domain != HOME}
    | {aside.role: aside.title for aside in ASIDES.values()})


def asides_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """What a run does otherwise than usual, {key: value}."""
    said = {**config, **config["toggles"]}
    return {key: said[key] for key, aside in ASIDES.items()
            if said.get(key, aside.usual) != aside.usual}


def role_of(config: Mapping[str, Any]) -> str:
    """What a run is for."""
    odd = [ASIDES[key].role for key in asides_of(config)]
    return "main" if not odd else odd[0] if len(odd) == 1 else "other"


def marks_of(config: Mapping[str, Any]) -> list[str]:
    """What a run's name says of its asides."""
    return [ASIDES[key].mark.format(value) for key, value in asides_of(config).items()]


def part_of(role: str, domain: str) -> str | None:
    """The part that a run's primary data belong to; None where they have none.

    Another domain's part is its main runs; its other roles have no name here.
    """
    if domain != HOME:
        return domain if role == "main" else None
    return role if role in PARTS else None

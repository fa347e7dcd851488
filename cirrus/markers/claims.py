"""What markers allow one to say, and what they do not, in sentences."""

from collections.abc import Iterator, Mapping
from typing import Any

from cirrus import ALPHA
from cirrus.markers.labels import FAMILIES
from show import figures
from show.figures import p_is
from show.figures import signed as number

NAMES = {family: family.replace("_", " ") for family in FAMILIES}

def may(markers: Mapping[str, Any]) -> Iterator[str]:
    for family in markers["adjudicated"]:
        lowest = figures.plain(markers["agreement"][family]["lowest"])
        yield (f"{_title(family)} markers can be read from policies (AC1 at least {lowest}): "
               f"{_extremes(markers, family)}.")
    if "acausal" in markers["adjudicated"] and predicts(markers):
        found = markers["validity"]["acausal"]
        yield ("Decisions that rest on a policy with an acausal marker are cooperative more often "
               f"than others of their cell ({number(found['estimate'])} log odds, likelihood ratio "
               f"{p_is(found['p'])}): an association, since nobody assigned the marker.")


def may_not(markers: Mapping[str, Any]) -> Iterator[str]:
    if not markers["adjudicated"]:
        yield (f"Anything from markers: they are unadjudicated and enter no claim "
               f"({markers['agreement']['acausal']['why']}).")
        return
    for family in FAMILIES:
        if family not in markers["adjudicated"]:
            yield (f"Anything from {NAMES[family]} markers: unadjudicated "
                   f"({markers['agreement'][family]['why']}).")
    if "acausal" in markers["adjudicated"] and not predicts(markers):
        yield f"That acausal markers predict decisions beyond the cell: {beyond(markers)}."


def predicts(markers: Mapping[str, Any]) -> bool:
    """Whether the acausal term is shown, with more cooperation where it is present."""
    found = markers["validity"]["acausal"]
    return (found is not None and found["p"] is not None and found["p"] < ALPHA
            and found["estimate"] > 0)


def beyond(markers: Mapping[str, Any]) -> str:
    """The acausal term in words, or why there is none."""
    found = markers["validity"]["acausal"]
    if found is None or found["p"] is None:
        return f"no test ({markers['validity']['why'] or 'a reduced model has no likelihood'})"
    return f"{number(found['estimate'])} log odds, likelihood ratio {p_is(found['p'])}"


def _extremes(markers: Mapping[str, Any], family: str) -> str:
    """Where the marker stands most and least often."""
    cells = {cell: own[family] for cell, own in markers["cells"].items()
             if own[family]["share"] is not None}
    most, least = (pick(cells, key=lambda cell: cells[cell]["share"]) for pick in (max, min))
    return " and ".join(f"in {cells[cell]['k']} of {cells[cell]['n']} of {cell}"
                        for cell in dict.fromkeys((most, least)))


def _title(family: str) -> str:
    return NAMES[family][0].upper() + NAMES[family][1:]

"""What markers allow one to say, and what they do not: in sentences, and their part of a report."""

from collections.abc import Iterator, Mapping
from typing import Any

from cirrus import ALPHA
from cirrus.markers.labels import FAMILIES, KINDS
from show.document import Code, Fold, Line, Table, Tag, Words
from show.figures import (
    Estimate,
    bracketed,
    count,
    interval,
    p_is,
    percent,
    plain,
    sentence,
    signed,
)

NAMES = {family: family.replace("_", " ") for family in FAMILIES}


def may(markers: Mapping[str, Any]) -> Iterator[str]:
    for family in markers["adjudicated"]:
        lowest = plain(markers["agreement"][family]["lowest"])
        yield (f"{_title(family)} markers can be read from policies (AC1 at least {lowest}): "
               f"{_extremes(markers, family)}.")
    if "acausal" in markers["adjudicated"] and predicts(markers):
        found = markers["validity"]["acausal"]
        yield ("Decisions that rest on a policy with an acausal marker are cooperative more often "
               f"than others of their cell ({signed(found['estimate'])} log odds, likelihood ratio "
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
    return f"{signed(found['estimate'])} log odds, likelihood ratio {p_is(found['p'])}"


def _extremes(markers: Mapping[str, Any], family: str) -> str:
    """Where the marker stands most and least often."""
    cells = {cell: own[family] for cell, own in markers["cells"].items()
             if own[family]["share"] is not None}
    most, least = (pick(cells, key=lambda cell: cells[cell]["share"]) for pick in (max, min))
    return " and ".join(f"in {cells[cell]['k']} of {cells[cell]['n']} of {cell}"
                        for cell in dict.fromkeys((most, least)))


def _title(family: str) -> str:
    return NAMES[family][0].upper() + NAMES[family][1:]


# --- their part of the report -------------------------------------------------------------------

CELLS_NOTE = (
    "Share of the policies of round 1 (main runs) whose weak label is present, of those that have "
    "one: the weighted majority of six labelling functions. From policies, which precede "
    "decisions.")
AGREEMENT_NOTE = (
    "AC1: Gwet's coefficient with its 95% interval. Positive agreement: of all the times a marker "
    "was called present, how often the other called it so too. A family enters claims where the "
    "lower bound reaches {bar} in every pair.")


def blocks(markers: Mapping[str, Any]) -> Iterator[Words | Table | Fold]:
    """Shares by cell, who agreed with whom, and whether the marker predicts anything."""
    yield Words(sentence(markers["status"]))
    if markers["cells"]:
        yield Table(["cell", "policies", *NAMES.values()], [
            [cell, str(own["policies"]), *(percent(own[family]["share"]) for family in FAMILIES)]
            for cell, own in markers["cells"].items()], range(1, 2 + len(NAMES)),
            "Share of policies by cell", "markers")
        yield Words(CELLS_NOTE, "dim")
    yield Words(raters(markers))
    if markers["raters"]:
        yield _agreement(markers)
        yield Words(AGREEMENT_NOTE.format(bar=markers["bar"]), "dim")
    yield Words(validity(markers))
    yield Fold("What each labelling function is worth", [_functions(markers)])


def raters(markers: Mapping[str, Any]) -> str:
    """Who rated how much."""
    if not markers["raters"]:
        return ("Nobody has rated these policies: adjudicate.py asks two models, "
                "--export-ratings writes a sheet for people.")
    rated = []
    for own in markers["raters"]:
        kind = "SIMULATED" if own["simulated"] else own["kind"]
        other = {status: n for status, n in own["statuses"].items() if status != "ok" and n}
        rest = "".join(f", {n} {status}" for status, n in other.items())
        gone = f", {own['elsewhere']} of other policies" if own["elsewhere"] else ""
        rated.append(f"{own['rater']} ({kind}): {own['rated']} rated{rest}{gone}")
    texts = count(markers["texts"], "different policy text")
    return f"Raters, of {texts}: {'; '.join(rated)}."


def validity(markers: Mapping[str, Any]) -> list[Line]:
    """Whether the acausal marker says anything beyond the cell."""
    model = markers["validity"]
    gone = "; ".join(f"{name} ({why})" for name, why in sorted(model["left_out"].items()))
    left = f" Left out: {gone}." if gone else ""
    many = f", {model['unlabelled']} more without a label" if model["unlabelled"] else ""
    use = "" if "acausal" in markers["adjudicated"] else " Unadjudicated: for description only."
    return ["Validity,", Code(model["formula"]), f"on {count(model['rows'], 'decision')}{many}: "
            f"acausal term {beyond(markers)}.{left}{use}"]


def _agreement(markers: Mapping[str, Any]) -> Table:
    """One row a family and pair."""
    return Table(
        ["family", "pair", "policies", "present: both of either", "AC1 (95%)",
         "positive agreement", f"lower bound ≥ {markers['bar']}"],
        [[NAMES[family], f"{one['a']} – {one['b']}", str(one["n"]),
          f"{one['both']} of {one['either']}", _coefficient(one["ac1"]),
          plain(one["positive"]["value"]), _reached(one)]
         for family in FAMILIES for one in markers["agreement"][family]["pairs"]],
        (2, 3, 4, 5), "Who agrees with whom, by marker", "agreement")


def _coefficient(entry: Mapping[str, Any]) -> Estimate:
    value, low, high = entry["value"], entry["low"], entry["high"]
    return Estimate(bracketed(plain(value), interval(low, high)), value, low, high)


def _reached(one: Mapping[str, Any]) -> str | Tag:
    return one["why"] if one["reached"] is None else \
        Tag("yes", "yes") if one["reached"] else Tag("no", "no")


def _functions(markers: Mapping[str, Any]) -> Table:
    """What each labelling function is worth in each family."""
    return Table(
        ["family", "function", "present", "absent", "no opinion", "accuracy", "weight"],
        [[NAMES[family], kind, str(own["present"]), str(own["absent"]), str(own["no_opinion"]),
          _accuracy(own), plain(own["weight"])]
         for family in FAMILIES for kind in KINDS for own in [markers["functions"][family][kind]]],
        range(2, 7), name="labelling-functions")


def _accuracy(own: Mapping[str, Any]) -> str:
    return percent((1 + own["accuracy"]) / 2) + (" (assumed)" if own["why"] else "")

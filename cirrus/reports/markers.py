"""What markers allow one to say, and their part of the report."""

from collections.abc import Iterator, Mapping
from typing import Any

from cirrus.markers.claims import NAMES, beyond
from cirrus.markers.labels import FAMILIES, KINDS
from show.document import Code, Fold, Line, Table, Tag, Words
from show.figures import Estimate, bracketed, count, interval, percent, plain, sentence

CELLS_NOTE = (
    "Share of the policies of round 1 (main runs) whose weak label is present, of those that have "
    "one: the weighted majority of six labelling functions. From policies, which precede "
    "decisions.")
AGREEMENT_NOTE = (
    "AC1: Gwet's coefficient with its 95% interval. Positive agreement: of all the times a marker "
    "was called present, how often the other called it so too. A family enters claims where the "
    "lower bound reaches {bar} in every pair.")


# --- the section of the report -----------------------------------------------------------------

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

"""How decisions were read as probabilities, to read: kind, mass, what a model goes by.

    blocks(out)       of a pilot or a mechanism study; none where decisions were read as text
"""

from collections.abc import Iterator, Mapping
from typing import Any

from show.document import Bullets, Plot, Section, Table, Tag, Words
from show.figures import count, interval, percent, rate
from show.plots import Dots, Point

KINDS = {"free": "yes", "forced": "maybe", None: "no"}
HOLDS = {"invariant": "yes", "undecided": "maybe", "varies": "no", "not evaluable": "dim"}
NOTE = (
    "A label counts as a whole and ended, in any case and dressing, as the strict parser reads "
    "it; what begins with a label and goes on otherwise (a copy of the form) stands under “copies "
    "on”. Free: the labels hold at least 90% of the probability on average. Forced: less; then the "
    "share between the two says which it would take if it had to take one.")


def sections(out: Mapping[str, Any]) -> Iterator[Section]:
    """One section, where probabilities were read."""
    parts = out.get("reading")
    if not parts:
        return
    yield Section("How decisions were read", [
        Bullets([_said(name, one) for name, one in parts.items()]),
        _mass(parts), _leanings(parts), _invariance(parts), Words(NOTE, "dim")])


def _said(name: str, one: Mapping[str, Any]) -> str:
    how = (f"after the turn was opened with “{one['openings'][0]}”" if one["openings"] else
           "in the reply itself, since the server opens no turn")
    return (f"{name}: {one['kind'] or 'could not be read'}; {how}; {one['answers']:,} answers for "
            f"{count(one['trials'], 'trial')}.")


def _mass(parts: Mapping[str, Mapping]) -> Table:
    rows: list[list] = []
    for name, one in parts.items():
        rows.append([name, Tag(one["kind"] or "none", KINDS[one["kind"]]),
                     percent(one["mass"], 1), "", "", percent(one["echoed"], 1)])
        rows += [[f"{name} {level}", "", *(percent(by[key], 1) for key in (
            "mass", "p_cooperate", "p_other", "echoed"))]
            for levels in (one["schemes"], one["cells"]) for level, by in levels.items()]
    return Table(["", "reading", "both labels", "cooperative", "other", "copies on"], rows,
                 (2, 3, 4, 5), "Probability of the labels, by label scheme and cell; means over "
                 "trials", "mass")


def _leanings(parts: Mapping[str, Mapping]) -> Plot:
    return Plot(Dots("What the share goes by", {
        name: [Point(one["label"], one["value"], one["low"], one["high"])
               for one in part["leanings"].values()] for name, part in parts.items()}),
        "Share of the two labels' probability: of the option that stands first, of the letter A, "
        "of the cooperative word; 50% where it plays no part. "
        + "; ".join(f"{name}: " + ", ".join(
            f"{one['label']} {rate(one['value'], one['low'], one['high'], 1)}"
            for one in part["leanings"].values()) for name, part in parts.items()) + ".")


def _invariance(parts: Mapping[str, Mapping]) -> Table:
    return Table(["model", "schemes", "difference, points", "90% interval", "±2 points"], [
        [name, pair, percent(one["value"], 1).removesuffix("%"),
         interval(one["low"], one["high"], 1, sign=True, scale=100) or "–",
         Tag(one["verdict"], HOLDS[one["verdict"]])]
        for name, part in parts.items() for pair, one in part["invariance"].items()], (2, 3),
        "Cooperation under one label scheme less that under another, over bulletins", "invariance")

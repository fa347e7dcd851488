"""A mechanism study to read: the word of each model, the two 2×2 that decide it, and every rival
with its contrast.

    document(out, foot, trials, quality)
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cirrus.judge.effects import certain
from cirrus.judge.mechanism import SHOWN
from cirrus.judge.rivals import CELLS, CONTRASTS, REQUIRED, holds
from show.document import (
    Bullets,
    Columns,
    Document,
    Fold,
    Foot,
    Plot,
    Section,
    Small,
    Table,
    Tag,
    Texts,
    Words,
)
from show.figures import (
    SERIES,
    Estimate,
    count,
    counted,
    estimate,
    percent,
    plain,
    points,
    span,
)
from show.plots import Intervals, Lines, Point

WORD_KINDS = {"correlation-sensitive": "yes", "cue-responsive": "maybe",
              "not shown": "no", "not evaluable": "dim"}
CELL_WORDS = {
    "HP": "symmetry and cue", "HA": "symmetry alone", "LP": "cue alone", "LA": "neither",
    "RV": "symmetry, cue reversed", "PL": "symmetry, another sentence",
    "KC": "symmetry and cue, entry posted", "UN": "symmetry and cue, rule or lot",
    "UL": "neither, rule or lot"}
# What each rival says of the reader, in a journalist's words.
RIVALS = {
    "HP-LA": "Nothing happens", "HP-LP": "It obeys the sentence",
    "HP-RV": "It likes a longer or warmer text", "HP-UN": "It follows the crowd",
    "interaction": "Its reactions merely add up"}
# The same in a word or two, with the rest that a word needs.
LEFT = {"HP-LA": "no effect", "HP-LP": "obedience", "HP-RV": "length or tone",
        "HP-UN": "conformity", "interaction": "adding up", "log-odds": "adding up",
        "scale": "adding up",
        "labels": "labels", "missing": "missing answers", "readable": "unreadable answers"}
UNSAID = {"LA-UL": "(where not above: adding up on any other scale)"}
DESK, LOT = "a desk decided", "a rule or a lot did"
NOTE = (
    "A contrast is averaged inside each bulletin, then over bulletins; the 95% interval is the "
    "wider of the sign-flip interval over bulletins and the score interval of the counts. "
    "At worst: the lower limit with every missing decision counted against it. Left out: the "
    "smallest value without one bulletin. All required lines have to hold, so none is corrected; "
    "over models p is adjusted by Holm.")


def document(out: Mapping[str, Any], foot: Foot, trials: Texts | None,
             quality: Sequence[Any]) -> Document:
    """The report. `out`: the analysis; `quality`: blocks on how the trials ended."""
    return Document(
        "CIRRUS-24 mechanism study", _question(out), out["verdict"]["sentence"], foot,
        _slopes(out), [_words(out)], list(_sections(out, quality)), trials)


def _question(out: Mapping) -> str:
    design, who = out["design"], "respondent" if out["simulated"] else "model"
    return (f"Do {who}s cooperate because they infer that similar agents decide alike? Each rival "
            "account has a contrast that it can't pass: nine cells, "
            f"{design['trials']:,} one-shot decisions of {count(len(design['models']), who)} on "
            f"{count(design['bulletins'], 'bulletin')}.")


def _parts(out: Mapping) -> dict[str, Mapping]:
    """The models in the order in which they were named."""
    return {name: out["mechanism"]["by_model"][name] for name in out["design"]["models"]}


# --- the words ---------------------------------------------------------------------------------

def _words(out: Mapping) -> Table:
    return Table(
        ["model", "word", "HP − LA", "interaction", "still open"],
        [[name, Tag(part["verdict"]["word"], WORD_KINDS[part["verdict"]["word"]]),
          *(estimate(part["contrasts"][key], 100, 1) for key in SHOWN), _lacks(part)]
         for name, part in _parts(out).items()], (2, 3),
        "The word of each model; differences in points, 95% intervals over bulletins. HP − LA: "
        "symmetry and cue against neither", "words")


def _lacks(part: Mapping) -> str:
    """What keeps a model from the highest word, each rival once; of one that has it, what the word
    leaves open."""
    return ", ".join(dict.fromkeys(LEFT[name] for name, held in part["required"].items()
                                   if not held) or part["verdict"]["open"]) or "–"


# --- figures -----------------------------------------------------------------------------------

def _point(cells: Mapping, name: str) -> Point:
    cell = cells[name]
    return Point(name, cell["mean"], cell["low"], cell["high"],
                 counted(cell["k"], cell["n"]))


def _slopes(out: Mapping) -> Plot:
    """Both diagonals of every model: with a desk, and with a rule or a lot."""
    parts = _parts(out)
    panels = {panel: {name: [_point(part["cells"], a), _point(part["cells"], b)]
                      for name, part in parts.items()}
              for panel, (a, b) in {DESK: ("LA", "HP"), LOT: ("UL", "UN")}.items()}
    return Plot(Lines("Cooperation from neither to symmetry and cue", ("neither", "both"), panels,
                      SERIES),
                "Left: the counterparty's desk decided, from the same notice. Right: a standing "
                "rule or a lot did, which can't mirror anybody. Inferring that similar agents "
                "decide alike raises the left line and not the right one; whatever asks not how "
                "the entry was made raises both. 95% intervals over bulletins.")


NOTHING = Point("", None)
# panel → row → cells at low and at high symmetry
PANELS = {
    DESK: {"cue present": ("LP", "HP"), "cue absent": ("LA", "HA"), "cue reversed": (None, "RV"),
           "another sentence": (None, "PL")},
    LOT: {"cue present": (None, "UN"), "cue absent": ("UL", None)},
    "posted": {"cue present": (None, "KC")}}


def _nine(name: str, part: Mapping) -> Plot:
    """The nine cells on one axis: a desk's 2×2 beside that of a rule or a lot, and the posted."""
    panels = {panel: {row: [NOTHING if cell is None else _point(part["cells"], cell)
                            for cell in cells] for row, cells in rows.items()}
              for panel, rows in PANELS.items()}
    return Plot(Lines(f"Nine cells, {name}", ("S low", "S high"), panels, SERIES),
                "; ".join(f"{cell}: {CELL_WORDS[cell]} {_share(part['cells'][cell])}"
                          for cell in CELLS) + ".")


def _share(cell: Mapping) -> str:
    return counted(cell["k"], cell["n"]) + ("" if cell["mean"] is None else
                                            f" ({percent(cell['mean'])})")


def _rivals(name: str, part: Mapping) -> Plot:
    contrasts = part["contrasts"]
    rows = [Point(words, contrasts[key]["value"], contrasts[key]["low"], contrasts[key]["high"],
                  "excluded" if _excluded(part, key) else "open",
                  "pass" if _excluded(part, key) else "undecided")
            for key, words in RIVALS.items()]
    return Plot(Intervals(f"Rival accounts, {name}", rows, "points of cooperation"),
                "Each account with the contrast that it can't pass; excluded where the whole "
                "interval lies above 0, missing decisions counted against it. Merely adding up "
                "must fail on log-odds too, and where a rule or lot lowers by itself it stays "
                "open.")


def _excluded(part: Mapping, key: str) -> bool:
    contrasts = part["contrasts"]
    both = [key, "log-odds"] if key == "interaction" else [key]
    return all(holds(one, contrasts[one]) and certain(contrasts[one]) for one in both) and (
        key != "interaction" or part["required"]["scale"])


# --- sections ----------------------------------------------------------------------------------

def _sections(out: Mapping, quality: Sequence[Any]) -> Iterator[Section]:
    yield Section("What may be said", [Columns([
        [Section("From these data", [Bullets(out["claims"]["may"] or ["Nothing positive."])])],
        [Section("Not from these data", [Bullets(out["claims"]["may_not"])])]])])
    parts = _parts(out)
    yield Section("Contrasts by model", [
        *(Section(name, [Words(part["verdict"]["sentence"]),
                         Columns([[_rivals(name, part)], [_nine(name, part)]]),
                         _contrast_table(name, part)]) for name, part in parts.items()),
        Words(NOTE, "dim")])
    if any("probes" in part for part in parts.values()):
        yield Section("Probes", list(_probes(parts)))
    yield Section("What carries it", [Fold(
        [name, Small(_carried(part))], list(_carries(name, part)))
        for name, part in parts.items()])
    yield Section("Quality of the data", list(quality))


PROBES = {
    "payoffs": "reads the four outcomes as T > R > P > S",
    "beliefs": "what its own entry tells it of a desk's, more than of a rule's",
    "marginal": "what it expects of a rule's entry, more than of a desk's",
    "influence": "denies that its entry changes the other's"}


def _probes(parts: Mapping[str, Mapping]) -> Iterator[Any]:
    asked = {name: part for name, part in parts.items() if "probes" in part}
    yield Table(["model", *PROBES.values()], [
        [name, *(_probe_figure(part["probes"], kind) for kind in PROBES)]
        for name, part in asked.items()], (2, 3),
        "What the probes tell. Shares with Wilson's limits, of all that were asked; beliefs in "
        "points, 95% intervals over bulletins", "probes")
    if misread := _misread(asked):
        yield Words(f"Bulletins that fewer than half of the models read as T > R > P > S: "
                    f"{', '.join(misread)}.", "no")


def _probe_figure(probes: Mapping, kind: str) -> str:
    one = {"payoffs": probes["payoffs"], "influence": probes["influence"]}.get(kind)
    if kind in ("payoffs", "influence"):
        return "not asked" if one is None else (
            f"{one['k']}/{one['n']} ({percent(one['low'])} to {percent(one['high'])})")
    if probes["beliefs"] is None:
        return "not asked"
    return estimate(probes["beliefs"]["diagnostic" if kind == "beliefs" else kind], 100, 1).said


def _misread(parts: Mapping[str, Mapping]) -> list[str]:
    asked = [part["probes"]["payoffs"] for part in parts.values() if part["probes"]["payoffs"]]
    misread = Counter(name for one in asked for name in one["misread"])
    return sorted(name for name, models in misread.items() if 2 * models > len(asked))


def _contrast_table(name: str, part: Mapping) -> Table:
    return Table(
        ["contrast", "excludes", "value", "at worst", "the other way", "left out", "holds"],
        [[_named(key, one), one["excludes"] or UNSAID.get(key, "(reported)"), _value(one),
          _worst(one), f"{len(one['against'])} of {one['units']}" if "against" in one else "–",
          "–" if one.get("least") is None else points(one["least"]).removesuffix(" points"),
          _holds(part, key)] for key, one in part["contrasts"].items()],
        (2, 3, 4, 5), f"Contrasts of {name}: points, and log-odds where it says so",
        f"contrasts {name}")


def _named(key: str, one: Mapping) -> str:
    return f"{key.replace('-', ' − ')}: {one['label']}" if key in CONTRASTS and (
        key != "interaction") else one["label"]


def _value(one: Mapping) -> Estimate:
    return estimate(one) if one["scale"] == "log-odds" else estimate(one, 100, 1)


def _worst(one: Mapping) -> str:
    scale, digits = (1, 2) if one["scale"] == "log-odds" else (100, 1)
    lowest = one["bounds"]["lowest"]
    return plain(None if lowest is None else scale * lowest, digits)


def _holds(part: Mapping, key: str) -> Tag:
    if key not in REQUIRED and key not in ("log-odds", "LA-UL"):
        return Tag("reported", "dim")
    held = part["required"]["scale" if key == "LA-UL" else key]
    return Tag("yes", "yes") if held else Tag("no", "no")


def _carried(part: Mapping) -> str:
    least = [one["value"] for one in part["without_wording"]["HP-LA"].values()
             if one["value"] is not None]
    return f"HP − LA at least {points(min(least))} without any one wording" if least else ""


def _carries(name: str, part: Mapping) -> Iterator[Any]:
    rows: list[list] = []
    for title, levels in _levels(part):
        rows += [[title], *([level, *(estimate(by[key], 100, 1) for key in SHOWN)]
                            for level, by in levels.items())]
    yield Table(["", "HP − LA", "interaction"], rows, (1, 2),
                f"{name} by wording, frame, label scheme and order; a row without an interaction "
                "was asked for HP − LA alone", f"carriers {name}")
    yield Words(_label_words(part))
    bulletins = part["bulletins"]["HP-LA"]
    yield Table(["bulletin", "HP − LA", "interaction"], [
        [bulletin, Tag(points(value), "no" if value < 0 else "dim"),
         points(part["bulletins"]["interaction"].get(bulletin))]
        for bulletin, value in bulletins.items()], (1, 2),
        f"{name} by bulletin; {sum(value < 0 for value in bulletins.values())} of "
        f"{len(bulletins)} point the other way", f"bulletins {name}")


def _levels(part: Mapping) -> Iterator[tuple[str, dict[str, dict]]]:
    """(title, {level: {contrast: entry}})."""
    for title, field, say in (("Wording", "wordings", "wording {}"),
                              ("One wording left out", "without_wording", "without wording {}"),
                              ("Entry frame", "frames", "frame {}")):
        levels = part[field]["HP-LA"]
        yield title, {say.format(level): {key: part[field][key][level] for key in SHOWN}
                      for level in levels}
    for title, field in (("Label scheme", "schemes"), ("Order", "orders"),
                         ("Difference between schemes (98.3% intervals)", "differences")):
        yield title, {level: {"HP-LA": one, "interaction": None}
                      for level, one in part["labels"][field].items()}


def _label_words(part: Mapping) -> str:
    letters = part["labels"]["letters"]
    return (f"Under letters alone HP − LA is {points(letters['value'])} "
            f"({span(letters['low'], letters['high'])}). The rule on word, letter and place "
            f"{'holds' if part['labels']['holds'] else 'fails: ' + part['labels']['why']}.")

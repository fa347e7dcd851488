"""A one-shot study to read: one document, whose texts are every trial's prompt and answer.

    files(out, rows, prompts, hashes)     {"pilot-summary.md": …, "report.html": …}
    terminal(read(folder / "pilot-analysis.json"))
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cirrus.ask.pilot import CELLS, MECHANISM
from cirrus.judge.effects import NAMES, certain
from cirrus.judge.mechanism import SHOWN as NINE_SHOWN
from cirrus.judge.pilot import SHOWN as CONTRASTS
from cirrus.judge.rivals import CELLS as NINE_CELLS
from cirrus.judge.rivals import CONTRASTS as NINE_CONTRASTS
from cirrus.judge.rivals import REQUIRED, holds
from common import VERSION
from common.cli import TYPED
from show.document import (
    Bullets,
    Code,
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
    Verbatim,
    Words,
    markdown,
)
from show.figures import (
    SERIES,
    STAMP,
    Estimate,
    cost,
    count,
    counted,
    estimate,
    percent,
    plain,
    points,
    rate,
    span,
)
from show.html import pages
from show.plots import Dots, Intervals, Lines, Point, Stack

SHOWN = 20_000  # characters of an answer; the whole of it is in trials.jsonl.gz
OUTCOMES = {"cooperative": "cooperate", "other act": "defect", "no decision": "none"}
MET = {True: Tag("met", "yes"), False: Tag("not met", "no"), None: Tag("unknown", "maybe")}
ACTS = {None: "maybe", 1: "cooperate", 0: "defect"}
EFFECTS_NOTE = (
    "Difference: mean over bulletins (each averaged over runs, models, label schemes and orders); "
    "95% interval from sign flips over bulletins, and no narrower than Newcombe's score interval. "
    "Of 0/1 data Cliff's δ is this difference. d: both sides' decisions counted as independent "
    "trials, by the noncentral t. “–”: can't be computed, the reason is in pilot-analysis.json. "
    "Exploratory p-values are only there.")


def files(out: Mapping[str, Any], rows: Sequence[Mapping], prompts: Mapping[str, tuple[str, str]],
          hashes: Mapping[str, str]) -> dict[str, str]:
    """{file name: content}. `prompts`: {trial id: (system, user)} of the trials that
    were asked. `hashes`: of design and trials, for the foot."""
    report = document(out, hashes, texts(rows, prompts))
    return {"pilot-summary.md": markdown(report)} | pages(report)


def read(analysis: Path) -> Document:
    """The report of an analysis file, without its trials."""
    return document(json.loads(Path(analysis).read_bytes()), {})


def document(out: Mapping[str, Any], hashes: Mapping[str, str],
             trials: Texts | None = None) -> Document:
    """The report. `out`: the analysis, as pilot-analysis.json has it."""
    design = out["design"]
    left = design["trials"] - out["outcomes"]["answered"]
    facts = {"seed": str(design["seed"])} | {name: digest[:12] for name, digest in hashes.items()}
    foot = Foot(VERSION, facts | {"tells": design["tells"], "compliance": design["compliance"]},
                "python3 analyze.py FOLDER")
    stamps = [STAMP] * out["simulated"] + [
        f"INCOMPLETE: {left} of {design['trials']} trials have no answer yet. The same command "
        "resumes the run."] * bool(left)
    if "mechanism" in out:
        blocks = [_statuses(out), Bullets(list(quality(out)))]
        return nine_cells(out, foot, trials, blocks)._replace(
            stamps=[*stamps, "KNOWN FAULT: do not quote “correlation-sensitive” as a finding; its "
                    "rule is being replaced (docs/mechanism.md)."])
    return Document(
        "CIRRUS-24 pilot", _question(out, ASKS), answer(out), foot,
        _interaction(out) if out["outcomes"]["read"] else _outcomes(out),
        [Table(["verdict", "criterion", "figure"],
               [[MET[row["met"]], row["criterion"], row["figure"]] for row in out["success"]],
               caption="Success criteria of the pilot, each with the figure it rests on",
               name="success-criteria")],
        list(_sections(out)), trials, stamps)


def answer(out: Mapping[str, Any]) -> str:
    """The sentence that stands first everywhere."""
    return out["verdict"]["sentence"]


ASKS = ("more when peers are told to be in the same position and the text hints that similar teams "
        "decide alike? A 2×2 of symmetry (S) and coupling cue (C)")
NINE_ASKS = ("because they infer that similar agents decide alike? Each rival account has a "
             "contrast that it can't pass. Nine cells")


def _question(out: Mapping, asks: str) -> str:
    """`asks`, followed by what the study counts."""
    design, who = out["design"], "respondent" if out["simulated"] else "model"
    return (f"Do {who}s cooperate {asks}: {design['trials']:,} one-shot decisions of "
            f"{count(len(design['models']), who)} on {count(design['bulletins'], 'bulletin')}.")


def _sections(out: Mapping) -> Iterator[Section]:
    yield Section("What may be said", [Columns([
        [Section("From these data", [Bullets(out["claims"]["may"])])],
        [Section("Not from these data", [Bullets(out["claims"]["may_not"])])]])])
    yield Section("Quality of the data", [_statuses(out), Bullets(list(quality(out)))])
    if out["outcomes"]["read"]:
        yield Section("Cooperation and effects", [
            Columns([[_cells(out)], [_effects(out), _outcomes(out)]]),
            _effect_table(out["pooled"], "effects"), Words(EFFECTS_NOTE, "dim")])
        yield Section("Model by model", [
            Fold([name, Small(f"primary difference {points(own['effects']['primary']['value'])}")],
                 [_effect_table(own, f"effects {name}")]) for name, own in out["models"].items()])
    yield Section("Next", [Words([
        "Which account of cooperation is left, nine cells on every bulletin can say:",
        Code("python3 run_pilot.py --design mechanism --models "
             + ",".join(filter(TYPED, out["design"]["models"])))])])


# --- figures -----------------------------------------------------------------------------------

def _point(cells: Mapping[str, Mapping], s: str, c: str) -> Point:
    cell = cells[NAMES[s, c]]
    return Point(f"S {s} · C {c}", cell["mean"], cell["low"], cell["high"],
                 counted(cell["k"], cell["n"]), kind=c, hollow=s == "low")


def _interaction(out: Mapping) -> Plot:
    cells, cross = out["pooled"]["cells"], out["pooled"]["interaction"]
    rows = {f"cue {c}": [_point(cells, s, c) for s in ("low", "high")]
            for c in ("present", "absent")}
    return Plot(Lines("Cooperation by symmetry and cue", ("symmetry low", "symmetry high"),
                      {"": rows}),
                "Share of cooperative decisions, 95% intervals over "
                "bulletins. Parallel lines: no interaction on this scale; the difference of "
                f"differences is {points(cross['value'])} ({span(cross['low'], cross['high'])}).")


def _cells(out: Mapping) -> Plot:
    everyone = "all respondents" if out["simulated"] else "all models"
    cells = {everyone: out["pooled"]["cells"]} | {
        name: own["cells"] for name, own in out["models"].items()}
    return Plot(Dots("Cooperation by cell and model", {
        name: [_point(own, s, c) for s, c in CELLS] for name, own in cells.items()}),
        "Share of cooperative decisions, k of n; 95% intervals over bulletins, and no narrower "
        "than Wilson's. Filled: S high; hollow: S low. Circle: cue present; square: absent.")


def _outcomes(out: Mapping) -> Plot:
    acts = {}
    for name, own in out["models"].items():
        k, n, missing = (sum(cell[key] for cell in own["cells"].values())
                         for key in ("k", "n", "missing"))
        acts[name] = {"cooperative": k, "other act": n - k, "no decision": missing}
    return Plot(Stack("Outcomes by model", acts, OUTCOMES),
                "How the trials ended. What could not be read is never a decision.")


def _effects(out: Mapping) -> Plot:
    return Plot(Intervals("Effects over bulletins", [
        Point(entry["label"], entry["value"], entry["low"], entry["high"])
        for entry in _entries(out["pooled"])], "points of cooperation"),
        "Mean over bulletins (each averaged over runs and models) with 95% intervals.")


# --- tables and sentences ----------------------------------------------------------------------

def _entries(summary: Mapping) -> list[Mapping]:
    return [*(summary["effects"][name] for name in CONTRASTS), summary["interaction"]]


def _effect_table(summary: Mapping, name: str) -> Table:
    """A row a contrast: label, difference, bulletins that point the other way, d."""
    return Table(
        ["contrast", "difference, points", "against", "d"],
        [[entry["label"], estimate(entry, 100, 1), f"{entry['against']} of {entry['units']}",
          estimate(entry.get("d"))] for entry in _entries(summary)],
        range(1, 4), "Contrasts of cooperation, each with its 95% intervals", name)


def _statuses(out: Mapping) -> Table:
    kinds = sorted(out["outcomes"]["status"])
    return Table(["cell", *kinds], [
        [name, *(str(counts.get(kind, 0)) for kind in kinds)]
        for name, counts in out["outcomes"]["by_cell"].items()],
        range(1, len(kinds) + 1), "How the trials of each cell ended", "statuses")


def quality(out: Mapping) -> Iterator[str]:
    """Missing data, labels, position, cost, in sentences."""
    position = out["position"]
    yield from _by_label(out) if "labels" in out else ()
    if position["share"] is not None:
        yield (f"The option that stands first was taken in {position['k']} of {position['n']} "
               f"decisions: {rate(position['share'], position['low'], position['high'])}.")
    for name, served in out["served"].items():
        for what, several in (("models", served["served_model"]),
                              ("providers", served["provider"])):
            if len(several) > 1:
                yield (f"{name} was served by {len(several)} {what} ({', '.join(several)}): they "
                       "are not told apart here.")
    yield f"Cost of the answers: {cost(out['cost'])}."


def _by_label(out: Mapping) -> Iterator[str]:
    bounds = out["missing"]["primary"]
    if sum(out["missing"]["by_cell"].values()):
        yield ("Missing decisions filled in: all cooperative "
               f"{points(bounds['all_cooperative'])}, none cooperative "
               f"{points(bounds['none_cooperative'])}; worst cases {points(bounds['lowest'])} to "
               f"{points(bounds['highest'])} for the primary difference.")
    schemes = ", ".join(f"{name} {counted(entry['k'], entry['n'])}"
                        for name, entry in out["labels"]["schemes"].items())
    yield f"Cooperation by label scheme: {schemes}."


# --- every trial -------------------------------------------------------------------------------

def texts(rows: Sequence[Mapping], prompts: Mapping[str, tuple[str, str]]) -> Texts:
    """A fold a trial: by model, run and cell; of a mechanism study the first block of a bulletin,
    since a page is to be read."""
    models = list(dict.fromkeys(row["model"] for row in rows))
    nine = any("cell" in row for row in rows)
    rows = [row for row in rows if row["run"] == 1] if nine else rows
    cells = list(dict.fromkeys([*NAMES.values(), *(cell.name for cell in MECHANISM)]))
    ordered = sorted(rows, key=lambda row: (models.index(row["model"]), row["bulletin"] * nine,
                                            row["run"], cells.index(_cell_of(row))))
    return Texts(
        "Trials: the first block of every bulletin and model" if nine else "Every trial",
        "Each fold holds the prompt as sent and the answer as received; the whole is in "
        "trials.jsonl.gz.", [_trial(row, prompts.get(row["id"])) for row in ordered],
        {"model": models, "cell": [cell for cell in cells if any(
            _cell_of(row) == cell for row in rows)],
         "outcome": sorted({_outcome(row) for row in rows})})


def _cell_of(row: Mapping) -> str:
    return row.get("cell") or NAMES[row["S"], row["C"]]


def _outcome(row: Mapping) -> str:
    return row["decision"] or row["status"]


def _trial(row: Mapping, prompt: tuple[str, str] | None) -> Fold:
    served = " · ".join(name for name in (row["served_model"], row["provider"]) if name)
    parts = [Section("Answer", _answer(row))]
    if prompt is not None:
        parts += [Section(name, [Verbatim(words)])
                  for name, words in zip(("System prompt", "Prompt"), prompt, strict=True)]
    return Fold(
        [Tag(_outcome(row), ACTS[row["cooperates"]]), row["model"],
         f"· run {row['run']} · S {row['S']}, C {row['C']}",
         Small(f"· {row['bulletin']} {row['variant']} · {row['label_scheme']} {row['order']}")],
        [*parts, Words(row["id"] + (f" · served by {served}" if served else ""), "dim")],
        [row["model"], _cell_of(row), _outcome(row)])


def _answer(row: Mapping) -> list[Verbatim | Words]:
    left = len(row["text"]) - SHOWN
    if not row["text"]:
        return [Words(f"no text ({row['status']})", "dim")]
    more = [Words(f"… {plain(left, 0)} more characters in trials.jsonl.gz", "dim")]
    return [Verbatim(row["text"][:SHOWN]), *(more if left > 0 else [])]


# --- the nine cells of a mechanism study ---------------------------------------------------------

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


def nine_cells(out: Mapping[str, Any], foot: Foot, trials: Texts | None,
             quality: Sequence[Any]) -> Document:
    """The report. `out`: the analysis; `quality`: blocks on how the trials ended."""
    return Document(
        "CIRRUS-24 mechanism study", _question(out, NINE_ASKS), out["verdict"]["sentence"], foot,
        _slopes(out), [_words(out)], list(_nine_sections(out, quality)), trials)


def _parts(out: Mapping) -> dict[str, Mapping]:
    """The models in the order in which they were named."""
    return {name: out["mechanism"]["by_model"][name] for name in out["design"]["models"]}


# --- the words ---------------------------------------------------------------------------------

def _words(out: Mapping) -> Table:
    return Table(
        ["model", "word", "HP − LA", "interaction", "still open"],
        [[name, Tag(part["verdict"]["word"], WORD_KINDS[part["verdict"]["word"]]),
          *(estimate(part["contrasts"][key], 100, 1) for key in NINE_SHOWN), _lacks(part)]
         for name, part in _parts(out).items()], (2, 3),
        "The word of each model; differences in points, 95% intervals over bulletins. HP − LA: "
        "symmetry and cue against neither", "words")


def _lacks(part: Mapping) -> str:
    """What keeps a model from the highest word, each rival once; of one that has it, what the word
    leaves open."""
    return ", ".join(dict.fromkeys(LEFT[name] for name, held in part["required"].items()
                                   if not held) or part["verdict"]["open"]) or "–"


# --- figures -----------------------------------------------------------------------------------

def _nine_point(cells: Mapping, name: str) -> Point:
    cell = cells[name]
    return Point(name, cell["mean"], cell["low"], cell["high"],
                 counted(cell["k"], cell["n"]))


def _slopes(out: Mapping) -> Plot:
    """Both diagonals of every model: with a desk, and with a rule or a lot."""
    parts = _parts(out)
    panels = {panel: {name: [_nine_point(part["cells"], a), _nine_point(part["cells"], b)]
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
    panels = {panel: {row: [NOTHING if cell is None else _nine_point(part["cells"], cell)
                            for cell in cells] for row, cells in rows.items()}
              for panel, rows in PANELS.items()}
    return Plot(Lines(f"Nine cells, {name}", ("S low", "S high"), panels, SERIES),
                "; ".join(f"{cell}: {CELL_WORDS[cell]} {_share(part['cells'][cell])}"
                          for cell in NINE_CELLS) + ".")


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

def _nine_sections(out: Mapping, quality: Sequence[Any]) -> Iterator[Section]:
    yield Section("What may be said", [Columns([
        [Section("From these data", [Bullets(out["claims"]["may"] or ["Nothing positive."])])],
        [Section("Not from these data", [Bullets(out["claims"]["may_not"])])]])])
    parts = _parts(out)
    yield Section("Contrasts by model", [
        *(Section(name, [Words(part["verdict"]["sentence"]),
                         Columns([[_rivals(name, part)], [_nine(name, part)]]),
                         _contrast_table(name, part), Words(_label_words(part))])
          for name, part in parts.items()),
        Words(NOTE, "dim")])
    if any("probes" in part for part in parts.values()):
        yield Section("Probes", list(_probes(parts)))
    yield Section("Quality of the data", list(quality))


PROBES = {
    "payoffs": "reads the four outcomes as T > R > P > S",
    "entry": "knows who makes the other entry, and when",
    "similar": "says that both decide in similar circumstances",
    "beliefs": "what its own entry tells it of a desk's, more than of a rule's",
    "marginal": "what it expects of a rule's entry, more than of a desk's",
    "influence": "denies that its entry changes the other's"}
PROBED = {"marginal": "beliefs"}  # figure → the probe that it is of, where names differ


def _probes(parts: Mapping[str, Mapping]) -> Iterator[Any]:
    asked = {name: part for name, part in parts.items() if "probes" in part}
    kinds = [kind for kind in PROBES if any(
        PROBED.get(kind, kind) in part["probes"] for part in asked.values())]
    yield Table(["model", *map(PROBES.get, kinds)], [
        [name, *(_probe_figure(part["probes"], kind) for kind in kinds)]
        for name, part in asked.items()], (2, 3),
        "What the probes tell. Shares with Wilson's limits, of all that were asked; beliefs in "
        "points, 95% intervals over bulletins", "probes")
    if misread := _misread(asked):
        yield Words(f"Bulletins that fewer than half of the models read as T > R > P > S: "
                    f"{', '.join(misread)}.", "no")


def _probe_figure(probes: Mapping, kind: str) -> str:
    one = probes.get(PROBED.get(kind, kind))
    if one is None:
        return "not asked"
    if kind == "similar":
        return "; ".join(f"{cell} {_counted(share)}" for cell, share in one.items())
    if kind in ("beliefs", "marginal"):
        return estimate(one["diagnostic" if kind == "beliefs" else kind], 100, 1).said
    return _counted(one)


def _counted(share: Mapping) -> str:
    return f"{share['k']}/{share['n']} ({percent(share['low'])} to {percent(share['high'])})"


def _misread(parts: Mapping[str, Mapping]) -> list[str]:
    asked = [part["probes"]["payoffs"] for part in parts.values() if "payoffs" in part["probes"]]
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
    return f"{key.replace('-', ' − ')}: {one['label']}" if key in NINE_CONTRASTS and (
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


def _label_words(part: Mapping) -> str:
    letters = part["labels"]["letters"]
    return (f"Under letters alone HP − LA is {points(letters['value'])} "
            f"({span(letters['low'], letters['high'])}). The rule on word, letter and place "
            f"{'holds' if part['labels']['holds'] else 'fails: ' + part['labels']['why']}.")

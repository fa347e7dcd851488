"""A calibration to read: what the analysis says of populations that are known.

    files(out)                  {"calibration.md": …, "report.html": …}
    terminal(document(out))     the gist
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from cirrus.calibrate.replicate import CLAIMS
from cirrus.calibrate.table import LADDER, POWER
from cirrus.judge.gates import GATES
from cirrus.judge.tripwires import TITLES
from common import VERSION
from common.artifacts import canonical_json, sha256
from show.document import (
    Bullets,
    Document,
    Fold,
    Foot,
    Heat,
    Plot,
    Section,
    Table,
    Tag,
    markdown,
)
from show.figures import NONE, STAMP, Estimate, count, percent, plain, rate, signed
from show.html import pages
from show.plots import Lines, Point

QUESTION = ("Populations whose behaviour is known are put through the real prompts, parser and "
            "analysis, many times over. What they are called is what the words are worth.")
MET = {True: Tag("met", "yes"), False: Tag("NOT MET", "no"), None: Tag("open", "dim")}
NOTES = [
    "Earned is the word that a population's own probabilities deserve, averaged over every prompt "
    "that the study may show; said is what the analysis made of its answers.",
    "Shares stand with their 95% Wilson interval over replications: the Monte Carlo error. A "
    "claim is met, or not met, where the whole interval says so; else it is open, and more "
    "replications decide.",
    "Each replication draws anew what bulletins do; within it a bulletin does the same under every "
    "seed and to every model of a population.",
    "A tournament's replication is the first encounters of all rounds, of every run of its plans.",
    "The mixed model is fitted in the first replications of small studies; where it is not, the "
    "first-encounter gate is evaluated only if the design-based test decides against it.",
]
GATE_NAMES = {gate: title for gate, (title, *_) in GATES.items()}


def files(out: Mapping[str, Any]) -> dict[str, str]:
    """{file name: content}."""
    report = document(out)
    return {"calibration.md": markdown(report)} | pages(report)


def document(out: Mapping[str, Any]) -> Document:
    """The report of calibration.json."""
    missed = [claim for claim in out["expectations"] if claim["met"] is False]
    return Document(
        "Calibration", QUESTION, answer(out),
        Foot(VERSION, {"seed": str(out["seed"]), "prompts": out["prompts_sha256"][:12],
                       "code": sha256(canonical_json(out["code_sha256"]))[:12]},
             "python3 calibrate.py --reps N --sizes … --out DIR (the same flags)"),
        _figure(out), [*([_claims(missed, "Claims that are not met")] if missed else []),
                       _sizes(out["minimum_sizes"])],
        list(_sections(out)), stamps=[STAMP])


def answer(out: Mapping[str, Any]) -> str:
    """How many of the claims are met, in a sentence."""
    verdicts = [claim["met"] for claim in out["expectations"]]
    if first := out.get("repeats"):
        return (f"A repeat under seed {out['seed']} of the {count(first['claims'], 'claim')} that "
                f"were open or not met under seed {first['seed']}, registered before it was begun: "
                f"{verdicts.count(True)} met, {verdicts.count(False)} not met, "
                f"{verdicts.count(None)} open, on {count(out['replications'], 'replication')}.")
    if all(met is None for met in verdicts):
        return f"{count(out['replications'], 'replication')}: too few to judge any claim."
    return (f"{count(out['replications'], 'replication')}: {verdicts.count(True)} of "
            f"{count(len(verdicts), 'claim')} met, {verdicts.count(False)} not met, "
            f"{verdicts.count(None)} open.")


def _sections(out: Mapping[str, Any]) -> Iterator[Section]:
    rows = out["tournaments"]
    called = [table for table in _who(out) if table.rows]
    if len(called) > 1:
        yield Section("Who was called what, at other sizes", called[1:])
    yield Section("How to read this", [Bullets(NOTES)])
    yield Section("What must come out", [Fold(
        f"All {count(len(out['expectations']), 'claim')}", [_claims(out["expectations"])])])
    if power := list(_power(out)):
        yield Section("Power by size", power)
    others = [size for size in _sizes_of(rows) if size != _widest(rows)]
    for name, heat, sizes in (("Gates passed at other sizes", _gates, others),
                              ("Tripwires tripped", _wires, _sizes_of(rows))):
        if sizes:
            yield Section(name, [heat(rows, size) for size in sizes])
    for table in (_contrast(rows), _model(rows), _pilots(out["pilots"])):
        if table.rows:
            yield Section(table.name, [table])
    yield Section("Populations", [Table(["population", "what it does"], [
        [name, does] for name, does in out["populations"].items()])])


def _sizes_of(rows: Iterable[Mapping]) -> list[str]:
    return list(dict.fromkeys(row["size"] for row in rows))


def _share(figure: Mapping[str, Any] | None, digits: int = 1) -> Estimate:
    """ "4.8% (3.6 to 6.3), 1,000", or a dash."""
    if figure is None or figure["share"] is None:
        return Estimate(NONE)
    share, low, high = figure["share"], figure["low"], figure["high"]
    return Estimate(f"{rate(share, low, high, digits)}, {figure['n']:,}", share, low, high)


# --- figures -----------------------------------------------------------------------------------

def _figure(out: Mapping[str, Any]) -> Table | Plot | None:
    """Who was called what; where no study has words, what each population passes."""
    rows = out["tournaments"]
    called = next((table for table in _who(out) if table.rows), None)
    return called or (_gates(rows, _widest(rows)) if rows else None)


CALLED = {"2x2": "a pilot of {} runs a cell", "mechanism": "a mechanism study, {}",
          "tournament": "a plan of {} agents × seeds"}


# What stands beside the words: one-shot sentences of a pilot.
LAST: dict[str, dict[str, Callable[[Mapping], Mapping]]] = {
    "2x2": {"any positive sentence": lambda row: row["positive"]}, "mechanism": {},
    "tournament": {}}


def _who(out: Mapping[str, Any]) -> Iterator[Table]:
    """Who was called what, a table a size."""
    rows = [row for kind in ("pilots", "mechanisms", "tournaments") for row in out[kind]
            if row["words"][LADDER[0]]["n"]]
    for size in _sizes_of(rows):
        here = [row for row in rows if row["size"] == size]
        yield Table(
            ["population", "earned", *LADDER, *LAST[here[0]["kind"]]],
            [[row["population"], _earned(row), *(_tinted(row["words"][word]) for word in LADDER),
              *(_tinted(figure(row)) for figure in LAST[row["kind"]].values())] for row in here],
            caption=f"Who was called what in {CALLED[here[0]['kind']].format(size)}: share of up "
                    f"to {count(max(row['reps'] for row in here), 'replication')}, beside the "
                    "word that each has earned", name=f"called-{size}")


def _earned(row: Mapping[str, Any]) -> str:
    if row["earned"] is None:
        return NONE
    lacks = row["earned"]["lacks"]
    return row["earned"]["word"] + (f" (lacks {', '.join(lacks)})" if lacks else "")


def _widest(rows: Sequence[Mapping]) -> str | None:
    """The size with most populations."""
    sizes = [row["size"] for row in rows]
    return max(_sizes_of(rows), key=sizes.count, default=None)


def _heat(rows: Sequence[Mapping], size: str, columns: Mapping[str, str],
          figure: Callable[[Mapping, str], Mapping]) -> Table:
    own = [row for row in rows if row["size"] == size]
    return Table(["", *columns.values()], [
        [row["population"], *(_tinted(figure(row, name)) for name in columns)] for row in own],
        caption=f"{size}, up to {count(max(row['reps'] for row in own), 'replication')}")


def _tinted(figure: Mapping[str, Any]) -> Heat:
    if figure["share"] is None:
        return Heat(None)
    return Heat(figure["share"], rate(figure["share"], figure["low"], figure["high"]),
                f"{figure['k']:,} of {figure['n']:,}")


def _gates(rows: Sequence[Mapping], size: str) -> Table:
    """How often each population passes each gate, as established."""
    table = _heat(rows, size, GATE_NAMES, lambda row, gate: row["gates"][gate]["established"])
    return table._replace(name=f"gates-{size}", caption=f"Gates passed at {table.caption}")


def _wires(rows: Sequence[Mapping], size: str) -> Table:
    short = {wire: title if len(title) < 24 else wire for wire, title in TITLES.items()}
    table = _heat(rows, size, short, lambda row, wire: row["tripwires"][wire])
    return table._replace(name=f"tripwires-{size}", caption=f"Tripwires tripped at {table.caption}")


def _power(out: Mapping[str, Any]) -> Iterator[Plot]:
    """What “superrational” passes at each size, and how often the pilot's contrast is shown."""
    rows = [row for row in out["tournaments"] if row["population"] == "superrational"]
    tried = [gate for gate in GATES if sum(
        row["gates"][gate]["established"]["n"] > 0 for row in rows) > 1]
    for at in range(0, len(tried), 3):
        curves = {GATE_NAMES[gate].lower(): [_point(row["gates"][gate]["established"])
                                             for row in rows] for gate in tried[at:at + 3]}
        yield Plot(Lines(f"Power by size: {', '.join(curves)}", _sizes_of(rows), {"": curves}),
                   "Share of replications that pass, with 95% Monte Carlo intervals. Gates that "
                   "were tried at one size only are in the tables.")
    yield from _pilot_power(out)


def _pilot_power(out: Mapping[str, Any]) -> Iterator[Plot]:
    rows = {(row["population"], row["size"]): row["rejected"] for row in out["pilots"]}
    sizes = _sizes_of(out["pilots"])
    curves = {name: [_point(rows.get((name, size))) for size in sizes]
              for name in ("superrational", "coin")}
    if len(sizes) > 1:
        yield Plot(Lines("The pilot's primary contrast by size", [f"{size} runs" for size in sizes],
                         {"": curves}), "How often it has p < .05: power under “superrational”, "
                                        "level under “coin”.")


def _point(figure: Mapping[str, Any] | None) -> Point:
    if figure is None or figure["share"] is None:
        return Point("", None)
    return Point("", figure["share"], figure["low"], figure["high"], f"of {plain(figure['n'], 0)}")


# --- tables ------------------------------------------------------------------------------------

def _claims(claims: Sequence[Mapping], caption: str = "") -> Table:
    again = any("before" in claim for claim in claims)
    return Table(["verdict", "claim", "population", "size", "share, of", *["before"] * again], [
        [MET[claim["met"]], claim["what"], claim["population"], claim["size"],
         _share(claim["figure"]), *([_share(claim["before"]["figure"])] if again else [])]
        for claim in claims], (4, 5), caption, "claims")


def _sizes(sizes: Mapping[str, Mapping]) -> Table:
    return Table(
        ["gate", "enough", "passes there, of", "sizes tried"],
        [[title, sizes[gate]["size"] or sizes[gate]["why"], _share(sizes[gate]["passed"]),
          ", ".join(sizes[gate]["tried"]) or NONE] for gate, title in GATE_NAMES.items()], (2,),
        "Sizes that are enough: agents × seeds at which “superrational” passes in "
        f"{percent(POWER)} of replications", "sizes")


def _contrast(rows: Iterable[Mapping]) -> Table:
    return Table(
        ["population", "size", "true", "mean estimate", "95% interval covers",
         "p < .05 over bulletins", "Cliff's δ covers"],
        [[row["population"], row["size"], signed(row["truth"]), signed(row["mean"]),
          *(_share(row.get(key)) for key in ("covered", "rejected", "delta_covered"))]
         for row in rows],
        range(2, 7), name="The primary contrast, over bulletins")


def _model(rows: Iterable[Mapping]) -> Table:
    return Table(
        ["population", "size", "S×C as specified", "S×C with (1|policy)", "primary as specified",
         "primary with (1|policy)", "endpoint met"],
        [[row["population"], row["size"],
          *(_share(row["model"][name][term]) for term in ("SxC", "primary")
            for name in ("as_specified", "with_policy")), _share(row["met"])]
         for row in rows if row["model"]], range(2, 7), name="By mixed model: p < .05")


def _pilots(rows: Iterable[Mapping]) -> Table:
    return Table(
        ["population", "runs", "true", "mean estimate", "95% interval covers", "p < .05",
         "S×C p < .05", *CLAIMS],
        [[row["population"], row["size"], signed(row["truth"]), signed(row["mean"]),
          *(_share(row[key]) for key in ("covered", "rejected", "interaction_rejected")),
          *(_share(row["claims"][claim]) for claim in CLAIMS)] for row in rows],
        range(2, 7 + len(CLAIMS)), name="Pilots")

#!/usr/bin/env python3
"""docs/published.md: published decisions counted again, and what an interval over units adds.

    python3 benchmarks/published.py DIR > docs/published.md

DIR holds a table of decisions a source, gzipped CSV, and published.json, what their authors
printed; further figures of theirs are in published.json beside this file. The rows are theirs and
are not part of this project. Each source has an adapter: rows in, counts and contrasts out.
"""

import csv
import gzip
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.append(sys.path.pop(0))  # `statistics` is a neighbour's name in this folder
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from statistics import fmean  # noqa: E402 - the path is set above

from show.figures import interval, points, signed  # noqa: E402
from stats import cohens_d, contrast, score_difference, tally  # noqa: E402
from stats.results import Estimate, UnitContrast  # noqa: E402

Rows = Sequence[Mapping[str, str]]
MORE = Path(__file__).with_suffix(".json")
DECIMALS = 12  # of a figure that its authors printed without rounding it


class Found(NamedTuple):
    """What an adapter makes of a source: {figure: value} to be held against what was published;
    what that was, what we count, and what the interval adds, in words."""

    figures: dict[str, float]
    published: str
    counted: str
    adds: str


class Source(NamedTuple):
    file: str
    name: str
    licence: str
    adapter: Callable[[Rows], Found]


def over(
    rows: Rows,
    unit: Callable[[Mapping], str],
    cell: str,
    pair: tuple[str, ...],
    outcome: Callable[[Mapping], float | None],
) -> UnitContrast:
    """The first value of the column `cell` less the second, or the first alone, over units."""
    found = tally(((unit(row), None), row[cell], outcome(row)) for row in rows)
    return contrast(found, dict(zip(pair, (1, -1), strict=False)))


def said(effect: UnitContrast | Estimate) -> str:
    """ "+100 points (+88.8 to +100)"."""
    limits = interval(effect.low, effect.high, 1, sign=True, scale=100)
    return f"{points(effect.value)} ({limits})"


def means(
    rows: Rows, key: Callable[[Mapping], str], value: Callable[[Mapping], float]
) -> dict[str, float]:
    """{key: the mean of its rows}."""
    groups: dict[str, list[float]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(value(row))
    return {name: fmean(values) for name, values in groups.items()}


# --- adapters: one a source, fifteen lines at most ------------------------------------------------

GAMES = {"prisoner_dilemma": "two players", "n_player_prisoner_dilemma": "twenty"}
PLAYERS = {
    "same_model": "copies",
    "similarly_rational": "similarly rational AI",
    "other_agents": "other AI agents",
    "other_rational_humans": "rational humans",
    "other_humans": "humans",
}
ORDERS = ("at_once", "others_already", "you_first")


def cooperates(row: Mapping[str, str]) -> int:
    return int(row["answer"] == "C")


def superrational(rows: Rows) -> Found:
    first = [row for row in rows if row["model"] == "gpt-5"]
    effect = over(first, text_of, "player", ("same_model", "other_humans"), cooperates)
    time = over(first, setting_of, "order", ORDERS[:2], cooperates)
    return Found(
        {},
        "logs and drawings, no table",
        "GPT-5, two players: copies 30 of 30, humans 0 of 30; all 90 cells below",
        f"copies − humans {said(effect)} over six texts; at once − after {said(time)} over ten",
    )


def text_of(row: Mapping[str, str]) -> str:
    return f"{row['game']} {row['order']}"


def setting_of(row: Mapping[str, str]) -> str:
    return f"{row['game']} {row['player']}"


def coopeval(rows: Rows) -> Found:
    def kept(row: Mapping[str, str]) -> int:
        return int(row["action"] == "COOPERATE")

    pair = ("openai/gpt-4o-2024-05-13(CoT)", "openai/gpt-5.2(CoT)")
    effect = over(rows, lambda row: row["other"], "model", pair, kept)
    return Found(
        means(rows, lambda row: row["model"], lambda row: float(row["points"])),
        "mean points of six models, 0.722 (GPT-4o) to 1.278 (Claude Sonnet 4.5)",
        "the same; GPT-4o cooperates in 16 of 36, GPT-5.2 in 0 of 36",
        f"cooperation, GPT-4o − GPT-5.2: {said(effect)} over six opponents",
    )


def moved(row: Mapping[str, str]) -> float:
    return row["moves"].count("C") / len(row["moves"])


def five_languages(rows: Rows) -> Found:
    figures = means(rows, lambda row: row["model"], moved)
    figures |= means(rows, lambda row: f"{row['model']} {row['language']}", moved)
    figures |= means(rows, lambda row: f"{row['model']} {dyad(row)}", moved)
    figures |= means(rows, lambda row: f"{row['model']} {block(row)}", moved)
    figures |= openings(rows) | rounds(rows) | personas(rows)
    model = "Gemini-3.5-Flash-Lite"
    effect = persona(rows, model)
    return Found(
        figures,
        "an effect of one's own persona on Gemini 3.5 Flash-Lite: −4.5 points (−8.6 to −0.1)",
        f"{points(effect.value)}, and the means of its tables",
        f"{said(effect)} over 15 language × scale blocks: not shown",
    )


def dyad(row: Mapping[str, str]) -> str:
    """ "CvS": cooperative against selfish."""
    return f"{row['own_persona'][0]}v{row['other_persona'][0]}".replace(
        "c", "C"
    ).replace("s", "S")


def block(row: Mapping[str, str]) -> str:
    return f"{row['language']} {float(row['scale'])}"


def openings(rows: Rows) -> dict[str, float]:
    return means(
        rows,
        lambda row: f"{row['model']} {row['own_persona']}",
        lambda row: float(row["moves"][0] == "C"),
    )


def rounds(rows: Rows) -> dict[str, float]:
    """The share of C in each round."""
    figures: dict[str, float] = {}
    for at in range(10):
        figures |= means(
            rows,
            lambda row, at=at: f"{row['model']} {at + 1}",
            lambda row, at=at: float(row["moves"][at] == "C"),
        )
    return figures


def personas(rows: Rows) -> dict[str, float]:
    """Effects of the own and the other's persona, raw and as Cohen's d, of sessions."""
    figures = {}
    for model in dict.fromkeys(row["model"] for row in rows):
        for whose, name in (("own_persona", "own"), ("other_persona", "opp")):
            sides = []
            for level in ("cooperative", "selfish"):
                its = [r for r in rows if r["model"] == model and r[whose] == level]
                sides.append([moved(row) for row in its])
            first, second = sides
            figures[f"{model} {name}_effect"] = fmean(first) - fmean(second)
            figures[f"{model} {name}_d"] = cohens_d(first, second).value
    return figures


def persona(rows: Rows, model: str) -> UnitContrast:
    """What the own persona does, over blocks of language and scale."""
    its = [row for row in rows if row["model"] == model]
    return over(its, block, "own_persona", ("cooperative", "selfish"), moved)


def behavioral(rows: Rows) -> Found:
    two = [row for row in rows if row["rounds"] == "two"]
    k = {}
    for model in ("gpt4", "turbo"):
        its = [row["moves"][0] for row in two if row["model"] == model]
        k[model] = its.count("C")
    effect = score_difference(k["gpt4"], 60, k["turbo"], 60)
    return Found(
        k,
        "first moves: GPT-4 55 of 60, GPT-3.5 46 of 60 cooperative",
        "the same",
        f"{said(effect)} if sessions of one text are drawn alone; beyond that text nothing",
    )


def chosen(row: Mapping[str, str]) -> int | None:
    return {"A": 1, "B": 0}.get(row["choice"])


def games(rows: Rows) -> Found:
    every = [{**row, "cell": "all"} for row in rows]
    effect = over(every, lambda row: row["game"], "cell", ("all",), chosen)
    read = [row for row in rows if chosen(row) is not None]
    share = fmean(map(chosen, read))
    limits = interval(*effect.bounds, 1, scale=100)
    return Found(
        {"cooperate": share},
        "“about 65%” cooperate",
        f"{100 * share:.1f}% of the {len(read)} of {len(rows)} that can be read",
        f"{limits}% over 22 games, with the {len(rows) - len(read)} others counted either way",
    )


SOURCES = [
    Source(
        "superrational-agents",
        "jeqcho/superrational-ai-agents (2025)",
        "MIT",
        superrational,
    ),
    Source(
        "coopeval-one-shot-pd",
        "Xiao215/CoopEval (arXiv 2604.15267)",
        "none stated",
        coopeval,
    ),
    Source(
        "iterated-pd-five-languages",
        "trungkiet2005/prisoner-dilemma-llm (2026)",
        "Apache-2.0 in part",
        five_languages,
    ),
    Source(
        "chatgpt-behavioral-pd",
        "yutxie/ChatGPT-Behavioral (PNAS 2024)",
        "MIT",
        behavioral,
    ),
    Source(
        "one-shot-pd-22-games",
        "jdebacker/BrookinsDeBacker_GPT (2024)",
        "none stated",
        games,
    ),
]


# --- what was published --------------------------------------------------------------------------


def published(data: Mapping[str, Mapping], name: str) -> dict[str, float]:
    """{figure: what its authors printed}, by the names that the adapters give."""
    if name == "superrational-agents":
        return {}  # logs and drawings alone
    if name == "coopeval-one-shot-pd":
        points_of = data[name]["points"]
        return {data[name]["names"][model]: points_of[model] for model in points_of}
    if name == "chatgpt-behavioral-pd":
        return {model: data[name][model][0] for model in ("gpt4", "turbo")}
    if name == "one-shot-pd-22-games":
        return {"cooperate": data[name]["cooperate"]}
    return dict(of_languages(data[name]))


def of_languages(tables: Mapping[str, Mapping]) -> Iterator[tuple[str, float]]:
    for table in ("coop", "openings", "persona_cells", "rounds", "surface"):
        yield from tables[table].items()
    for model, languages in tables["language_means"].items():
        for language, value in languages.items():
            yield f"{model} {language}", value
    for model, effects in tables["persona_effects"].items():
        for name, value in effects.items():
            if name.endswith(("_effect", "_d")):  # their limits come from a bootstrap
                yield f"{model} {name}", value


def equal(ours: float, theirs: float) -> bool:
    """To the digits that were printed, twelve at most."""
    digits = min(DECIMALS, len(f"{theirs!r}".partition(".")[2]))
    return abs(round(ours, digits) - round(theirs, digits)) < 10**-DECIMALS


def read(folder: Path, name: str) -> list[dict[str, str]]:
    with gzip.open(folder / f"{name}.csv.gz", "rt", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


# --- the page ------------------------------------------------------------------------------------


def page(folder: Path) -> Iterator[str]:
    """docs/published.md, paragraph by paragraph."""
    data = json.loads((folder / "published.json").read_text("utf-8"))
    for name, tables in json.loads(MORE.read_text("utf-8")).items():
        data[name] |= tables
    table = [
        ["source, licence", "published", "counted again", "what the interval adds"]
    ]
    compared, same = 0, 0
    for source in SOURCES:
        found = source.adapter(read(folder, source.file))
        printed = published(data, source.file)
        good = []
        for name, theirs in printed.items():
            if equal(found.figures.get(name, math.nan), theirs):
                good.append(name)
        compared, same = compared + len(printed), same + len(good)
        count = found.counted
        if printed:
            count += f" ({len(good)} of {len(printed)} figures equal)"
        whose = f"{source.name}; {source.licence}"
        table.append([whose, found.published, count, found.adds])
    yield "# Published numbers, counted again"
    yield INTRODUCTION.format(same=same, compared=compared)
    yield markdown(table)
    rows = read(folder, "superrational-agents")
    yield from [FIRST, markdown(dilemmas(rows)), AFTER.format(**contrasts(rows))]
    rows = read(folder, "iterated-pd-five-languages")
    effects = data["iterated-pd-five-languages"]["persona_effects"]
    yield from [PERSONA, markdown(persona_table(rows, effects)), CLOSE]


def markdown(table: Iterable[Sequence[str]]) -> str:
    head, *rows = [f"| {' | '.join(row)} |" for row in table]
    return "\n".join([head, "|---" * (head.count(" | ") + 1) + "|", *rows])


def dilemmas(rows: Rows) -> Iterator[list[str]]:
    """Cooperation of ten in each cell: by model and game, against whom, in which order."""
    yield ["model, players", *PLAYERS.values()]
    k: dict[tuple, int] = {}
    for row in rows:
        key = row["model"], row["game"], row["player"], row["order"]
        k[key] = k.get(key, 0) + cooperates(row)
    for model in dict.fromkeys(row["model"] for row in rows):
        for game, players in GAMES.items():
            cells = []
            for player in PLAYERS:
                each = [str(k[model, game, player, order]) for order in ORDERS]
                cells.append(", ".join(each))
            yield [f"{model}, {players}", *cells]


def contrasts(rows: Rows) -> dict[str, str]:
    out = {}
    for model, name in (("gpt-5", "gpt5"), ("gpt-5-mini", "mini")):
        its = [row for row in rows if row["model"] == model]
        effect = over(
            its, text_of, "player", ("same_model", "other_humans"), cooperates
        )
        time = over(its, setting_of, "order", ORDERS[:2], cooperates)
        out |= {name: said(effect), f"{name}_time": said(time)}
    return out


def persona_table(rows: Rows, effects: Mapping[str, Mapping]) -> Iterator[list[str]]:
    yield [
        "model",
        "published, by sessions",
        "ours, over 15 blocks",
        "d, published and ours",
    ]
    ours = personas(rows)
    for model, theirs in effects.items():
        effect = persona(rows, model)
        limits = interval(theirs["own_lo"], theirs["own_hi"], 1, sign=True, scale=100)
        printed = f"{points(theirs['own_effect'])} ({limits})"
        d = f"{signed(theirs['own_d'])}, {signed(ours[f'{model} own_d'])}"
        yield [model, printed, said(effect), d]


INTRODUCTION = """Decisions that others have published, counted by this project's own functions: {same} of {compared}
figures equal what was printed, to the printed digits. Then the same contrast over units, as in our
own studies ([methods.md](methods.md)): what was drawn, and what one wants to speak beyond, is a
text, a game, an opponent, a language, not a single answer to it. The rows are their authors' and are
not part of this project; `python3 benchmarks/published.py DIR` made this page from them. Its
adapters have at most fifteen lines each. All intervals are at 95%."""
FIRST = """## Copies, other agents, humans: at once, after, before

Cooperative answers of ten in one-shot dilemmas with hidden moves, in this order: both choose at once; the
others have already chosen; you choose first."""
AFTER = """Against copies GPT-5 cooperates in 30 of 30 with two players, whatever the order, against humans in 0 of
30. GPT-5-mini cooperates with copies in 30 of 30 with two players, in 13 of 30 with twenty. Copies
less humans, over six texts (two games, three orders):
GPT-5 {gpt5}, GPT-5-mini {mini}.
At once less *the others have already chosen*, over ten settings:
GPT-5 {gpt5_time}, GPT-5-mini {mini_time}.

So timing is not the factor to vary: both models cooperate with copies that have submitted already as they do
with copies that choose at once. What these copies share is what they decided on, not the hour. The
mechanism study ([mechanism.md](mechanism.md)) varies what the counterpart had read, and leaves the hour
alone. These are six texts by one author: the numbers say what these models did with them."""
PERSONA = """## A persona effect

Cooperation of sessions told to be cooperative, less that of sessions told to be selfish. The published
intervals are little wider than if every session were drawn by itself. Sessions share language and payoff
scale, and the effect differs between these 15 blocks by more than chance: over blocks it is not shown for
Gemini 3.5 Flash-Lite, whose published interval excludes 0."""
CLOSE = """Of Claude 3.5 Haiku and Mistral Large the effect stays, in an interval four to five times as wide. Published
limits come from a bootstrap and are not among the figures compared. Its README calls OptionA
cooperation, its corrected code OptionB; here it is OptionB, as in its corrected tables."""


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python3 benchmarks/published.py DIR > docs/published.md")
    print("\n\n".join(page(Path(sys.argv[1]))))

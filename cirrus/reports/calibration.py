"""A calibration to read: how often what is true of a respondent was told excluded.

    derived(out)        {"calibration.json": …, "calibration.md": …, "report.html": …}

Markdown and page are a function of calibration.json, and name its hash.
"""

import json
from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import Any

import stats
from cirrus.judge import mirror
from cirrus.judge.accounts import ACCOUNTS, WORDS
from common import VERSION
from common.artifacts import json_file, sha256
from common.shape import OBJECT, load
from common.verify import Content, Folder, Verdict
from show.document import Bullets, Document, Foot, Plot, Table, Tag, markdown
from show.figures import STAMP, percent, rate
from show.page import page
from show.plots import Dots, Point

# The words of each study, each of which needs what the one before it needs.
LADDERS = {"mechanism": WORDS, "2x2": WORDS, "mirror": mirror.WORDS}
NAMES = [account.name for account in ACCOUNTS]
UNDUE, HIGHEST = 0.05, 0.03  # of studies, at most
# Whose power is held to, at up to 5% missing: shares of its studies, at least, with the first word
# and the second.
POWERFUL = "reasoner-40-95"
LEAST = [0.95, 0.90]
TAGS = {
    "met": Tag("met", "yes"),
    "missed": Tag("MISSED", "no"),
    "open": Tag("open", "dim"),
}
QUESTION = (
    "Respondents whose account is known answer the prompts of many studies. How often is that "
    "account told excluded?"
)
HEAD = [
    "respondent",
    "account",
    "what it does",
    "study",
    "studies",
    "first word",
    "second",
    "third",
    "held to",
]
DRAWN = (
    "The respondent nearest to each limit or past it, with its 95% interval; dots: all that are "
    "held to it; tick: the limit. All are SIMULATED."
)
CAPTION = "What is said of them: shares of studies with each word of the study, or a higher one"
NOTES = [
    "A respondent's account is declared before it is asked: a study that excludes it is wrong. "
    "“open” is an account that no study excludes, “reasoner” the effect that is looked for.",
    "A mirror study excludes no account, nor does a pilot say more than its first word: held to is "
    "the second word of the one, the first of the other.",
    "Shares stand with Wilson's 95% interval over studies. A limit is met or missed where the "
    "whole interval says so, else open.",
]


def derived(out: Mapping[str, Any]) -> dict[str, bytes]:
    """The files of a calibration. `out`: the whole of calibration.json."""
    data = json_file(out)
    report = document(json.loads(data))
    text, shown = markdown(report).encode(), page(report).encode()
    return {"calibration.json": data, "calibration.md": text, "report.html": shown}


def content(folder: Folder) -> Content | None:
    """What a calibration's folder must hold: all that follows from its counts."""
    if not folder.names & {"calibration.json", "calibration.md"}:
        return None
    out = load(folder.path / "calibration.json", OBJECT)
    where, unproven = str(folder.path), ["counts"]
    verdict = Verdict(where, "calibration", simulated=True, unproven=unproven)
    return Content(verdict, derived(out))


# --- limits --------------------------------------------------------------------------------------


def limits(name: str, entry: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What is held to of a respondent, each with share and state. `entry`: its part of
    calibration.json."""
    account, design = entry["account"], entry["design"]
    _, _, first, second, third = LADDERS[design]
    if name.startswith(POWERFUL):
        held = {first: LEAST[0], second: LEAST[1]}
    elif account not in NAMES:
        held = {}
    elif design == "2x2":
        held = {first: UNDUE}
    elif design == "mirror":
        held = {second: HIGHEST}
    else:
        held = {account: UNDUE, third: HIGHEST}
    return [limit(name, entry, what, wanted) for what, wanted in held.items()]


def limit(name: str, entry: Mapping, what: str, wanted: float) -> dict[str, Any]:
    """`what`: an account that is told excluded, or a word that is said, or a higher one."""
    hits = entry["excluded"][what] if what in NAMES else earned(entry, what)
    share: Any = stats.share(hits, entry["replications"])
    bound, inside, beyond = "≤", share.high <= wanted, share.low > wanted
    if wanted in LEAST:
        bound, inside, beyond = "≥", share.low >= wanted, share.high < wanted
    state = "met" if inside else "open"
    if beyond:
        state = "missed"
    held = {"population": name, "what": what, "wanted": wanted, "bound": bound}
    return held | {"state": state} | share._asdict()


def told(limit: Mapping[str, Any]) -> str:
    """Such as "surface excluded ≤ 5%"."""
    what = limit["what"]
    if what in NAMES:
        what = f"{what} excluded"
    return f"{what} {limit['bound']} {limit['wanted']:.0%}"


def earned(entry: Mapping[str, Any], word: str) -> int:
    """Studies with this word or a higher one."""
    ladder = LADDERS[entry["design"]]
    return sum(entry["words"][higher] for higher in ladder[ladder.index(word) :])


# --- shown ---------------------------------------------------------------------------------------


def document(out: Mapping[str, Any]) -> Document:
    """The report of calibration.json: one figure, one table."""
    facts = {"seed": str(out["seed"]), "counts": sha256(json_file(out))[:12]}
    for name in ("prompts", "code"):
        facts[name] = out[f"{name}_sha256"][:12]
    by_account = sorted(rows(out), key=itemgetter(HEAD.index("account")))
    return Document(
        "Calibration",
        QUESTION,
        out["summary"],
        Foot(VERSION, facts, "python3 calibrate.py --out DIR (the same flags)"),
        Plot(figure(out["limits"]), DRAWN),
        [
            Bullets(NOTES),
            Table(HEAD, by_account, range(4, 8), CAPTION, "respondents"),
        ],
        stamps=[STAMP],
    )


def figure(limits: list[Mapping[str, Any]]) -> Dots:
    """A row a limit: the worst of all respondents that are held to it."""
    held: dict[str, list[Mapping]] = {}
    for limit in limits:
        held.setdefault(told(limit), []).append(limit)
    rows = {name: [point(group)] for name, group in held.items()}
    return Dots("The worst of each limit", rows, "share of SIMULATED studies")


def point(limits: list[Mapping[str, Any]]) -> Point:
    """The worst of several respondents' shares; the others as dots, the limit as a tick."""
    by_share = sorted(limits, key=itemgetter("value"))
    worst = by_share[0] if limits[0]["bound"] == "≥" else by_share[-1]
    value, low, high = worst["value"], worst["low"], worst["high"]
    of = f"{worst['k']}/{worst['n']}"
    shares = [limit["value"] for limit in limits]
    name, ticks = worst["population"], [worst["wanted"]]
    return Point(name, value, low, high, of, "estimate", units=shares, ticks=ticks)


def rows(out: Mapping[str, Any]) -> Iterator[list]:
    """Each respondent with the shares of studies that say a word of it, or a higher one."""
    held: dict[str, list] = {name: [] for name in out["populations"]}
    for limit in out["limits"]:
        share = rate(limit["value"], limit["low"], limit["high"], 1)
        cell = held[limit["population"]]
        cell += [f"{told(limit)}: {share} ", TAGS[limit["state"]], " "]
    for name, entry in out["populations"].items():
        design, studies = entry["design"], entry["replications"]
        row = [name, entry["account"], entry["what"], design, f"{studies:,}"]
        for word in LADDERS[design][2:]:
            row.append(percent(earned(entry, word) / studies))
        yield [*row, held[name]]

"""Makes the report of a calibration: how often studies wrongly exclude an account that
is true.

An account is an explanation of why a respondent cooperates; in a calibration it is
declared before the respondent is asked, so a study that excludes it is wrong.

    derived(out)        {"calibration.json": …, "calibration.md": …, "report.html": …}

The Markdown and the page follow from calibration.json alone, and name its hash.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
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

# {design: its verdict words, lowest first}; each word needs all that the one before it needs.
LADDERS = {"mechanism": WORDS, "2x2": WORDS, "mirror": mirror.WORDS}
NAMES = [account.name for account in ACCOUNTS]
# Largest share of studies that may exclude a true account, or give the highest word wrongly.
UNDUE, HIGHEST = 0.05, 0.03
# The respondents that must be found, with up to 5% of answers missing, and the least share of
# their studies that must give them the first positive word and the second.
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
    """Return {file name: content} of a calibration; `out` is the whole of
    calibration.json."""
    data = json_file(out)
    report = document(json.loads(data))
    text, shown = markdown(report).encode(), page(report).encode()
    return {"calibration.json": data, "calibration.md": text, "report.html": shown}


def content(folder: Folder) -> Content | None:
    """Return what the files in a calibration's folder must hold, given its counts.

    None where the folder holds no calibration.
    """
    if not folder.names & {"calibration.json", "calibration.md"}:
        return None
    out = load(folder.path / "calibration.json", OBJECT)
    where, unproven = str(folder.path), ["counts"]
    verdict = Verdict(where, "calibration", simulated=True, unproven=unproven)
    return Content(verdict, derived(out))


# --- limits on how often a study may err ----------------------------------------------------------


def limits(name: str, entry: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List the limits on one respondent's studies, each with the observed share and its
    state.

    `entry` is the respondent's part of calibration.json.
    """
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
    """Return one limit: its bound, the observed share with its interval, and whether it
    is met.

    `what` is an account, of which the studies count that exclude it, or a verdict word,
    of which the studies count that reach at least that word. The state is "met" or
    "missed" if the whole interval lies on one side of the bound, else "open".
    """
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
    """Return a limit as text, such as "surface excluded ≤ 5%"."""
    what = limit["what"]
    if what in NAMES:
        what = f"{what} excluded"
    return f"{what} {limit['bound']} {limit['wanted']:.0%}"


def earned(entry: Mapping[str, Any], word: str) -> int:
    """Count the studies with this verdict word or a higher one."""
    ladder = LADDERS[entry["design"]]
    return sum(entry["words"][higher] for higher in ladder[ladder.index(word) :])


# --- the report ----------------------------------------------------------------------------------


def document(out: Mapping[str, Any]) -> Document:
    """Return the report of calibration.json: one figure and one table."""
    facts = {"seed": str(out["seed"]), "counts": sha256(json_file(out))[:12]}
    for name in ("prompts", "code"):
        facts[name] = out[f"{name}_sha256"][:12]
    by_account = sorted(rows(out), key=itemgetter(HEAD.index("account")))
    return Document(
        title="Calibration",
        question=QUESTION,
        answer=out["summary"],
        foot=Foot(VERSION, facts, "python3 calibrate.py --out DIR (the same flags)"),
        figure=Plot(figure(out["limits"]), DRAWN),
        gist=[
            Bullets(NOTES),
            Table(HEAD, by_account, range(4, 8), CAPTION, "respondents"),
        ],
        stamps=[STAMP],
    )


def figure(limits: list[Mapping[str, Any]]) -> Dots:
    """Draw a row for each limit, at the worst of the respondents that it applies to,
    which `worst_of` picks."""
    held: dict[str, list[Mapping]] = {}
    for limit in limits:
        held.setdefault(told(limit), []).append(limit)
    rows = {name: [worst_of(respondents)] for name, respondents in held.items()}
    return Dots("The worst of each limit", rows, "share of SIMULATED studies")


def worst_of(limits: Sequence[Mapping[str, Any]]) -> Point:
    """Return the worst respondent's share; the others become dots, and the limit a
    tick. Among equally bad respondents it is the last."""
    share = itemgetter("value")
    if limits[0]["bound"] == "≥":
        worst = min(limits, key=share)
    else:
        worst = max(reversed(limits), key=share)
    return Point(
        label=worst["population"],
        value=worst["value"],
        low=worst["low"],
        high=worst["high"],
        note=f"{worst['k']}/{worst['n']}",
        kind="estimate",
        units=list(map(share, limits)),
        ticks=[worst["wanted"]],
    )


def rows(out: Mapping[str, Any]) -> Iterator[list]:
    """Yield a table row for each respondent, with the share of its studies that
    reach each word."""
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

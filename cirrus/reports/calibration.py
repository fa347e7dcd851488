"""A calibration to read: how often each account was wrongly excluded.

    derived(out)        {"calibration.json": …, "calibration.md": …, "report.html": …}

Markdown and page are a function of calibration.json, and name its hash.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import stats
from cirrus.judge.accounts import ACCOUNTS, CORRELATION, DECIDER, WORDS
from common import VERSION
from common.artifacts import json_file, sha256
from common.shape import OBJECT, load
from common.verify import Content, Folder, Verdict
from show.document import Bullets, Document, Foot, Section, Table, Tag, markdown
from show.figures import NONE, STAMP, percent, rate
from show.html import page

BLOCKS, PILOT = 12, 0  # per bulletin; in place of blocks: a pilot of four models
NAMES = [account.name for account in ACCOUNTS]
UNDUE, HIGHEST, POSITIVE = 0.05, 0.03, 0.05  # upper limits of shares
FAMILIES = {"skewed units": 0.09, "random sums": 0.04}  # in place of UNDUE
# Lower limits of the words, or higher ones, that true effects earn at BLOCKS.
POWER = {
    "reasoner-3-97": (CORRELATION, 0.85),
    "reasoner-40-95": (CORRELATION, 0.65),
    "reasoner-40-80": (DECIDER, 0.90),
}
STATES = {
    "met": Tag("met", "yes"),
    "missed": Tag("MISSED", "no"),
    "open": Tag("open", "dim"),
}
NOTES = [
    "A respondent's account is declared before it is asked: a study that excludes it is wrong. "
    "“open” is an account that no study excludes, “reasoner” the effect that a study looks for.",
    "Shares stand with their 95% Wilson interval over studies. A limit is met or missed where the "
    "whole interval says so, else open.",
    "Respondents see the rendered prompt alone, in which no time passes: none of them drifts.",
]


def derived(out: Mapping[str, Any]) -> dict[str, bytes]:
    """The files of a calibration. `out`: the whole of calibration.json."""
    data = json_file(out)
    report = document(json.loads(data))
    return {
        "calibration.json": data,
        "calibration.md": markdown(report).encode(),
        "report.html": page(report).encode(),
    }


def content(folder: Folder) -> Content | None:
    """What a calibration's folder must hold: all that follows from its counts."""
    if not folder.names & {"calibration.json", "calibration.md"}:
        return None
    return Content(
        Verdict(str(folder.path), "calibration", simulated=True, unproven=["counts"]),
        derived(load(folder.path / "calibration.json", OBJECT)),
    )


# --- limits ------------------------------------------------------------------------------------


def limits(name: str, row: Mapping[str, Any], runs: int) -> Iterator[dict[str, Any]]:
    """What is held to of a respondent's studies of one size, each with share and state. `row`: its
    entry in calibration.json."""

    def limit(
        what: str, hits: int, wanted: float, least: bool = False
    ) -> dict[str, Any]:
        share = stats.share(hits, row["replications"])
        beyond = (
            (share.high < wanted, share.low >= wanted)
            if least
            else (share.low > wanted, share.high <= wanted)
        )
        return {
            "population": name,
            "family": row["family"],
            "runs": runs,
            "what": what,
            "wanted": f"{'at least' if least else 'at most'} {wanted:.0%}",
            **share._asdict(),
            "state": "missed" if beyond[0] else "met" if beyond[1] else "open",
        }

    def earned(word: str) -> int:
        return sum(row["words"][higher] for higher in WORDS[WORDS.index(word) :])

    account = row["account"]
    if runs == PILOT:
        yield limit("any positive sentence", row["positive"], POSITIVE)
    elif account in NAMES:
        yield limit(
            f"{account} wrongly excluded",
            row["excluded"][account],
            FAMILIES.get(row["family"], UNDUE),
        )
        yield limit(CORRELATION, earned(CORRELATION), HIGHEST)
    elif runs == BLOCKS and name in POWER:
        word, wanted = POWER[name]
        yield limit(
            word + " or higher" * (word != CORRELATION), earned(word), wanted, True
        )


# --- shown -------------------------------------------------------------------------------------


def document(out: Mapping[str, Any]) -> Document:
    """The report of calibration.json: a row for each family, then a row for each limit."""
    left = [
        limit
        for state in ("missed", "open")
        for limit in out["limits"]
        if limit["state"] == state
    ]
    return Document(
        "Calibration",
        "Respondents whose account is known answer the prompts of many studies. How "
        "often does a study wrongly exclude that account?",
        out["summary"],
        Foot(
            VERSION,
            {
                "seed": str(out["seed"]),
                "prompts": out["prompts_sha256"][:12],
                "code": out["code_sha256"][:12],
                "counts": sha256(json_file(out))[:12],
            },
            "python3 calibrate.py --out DIR (the same flags)",
        ),
        Table(
            [
                "family",
                "account",
                "worst member",
                "studies",
                *WORDS,
                "own account excluded",
            ],
            list(families(out["populations"])),
            range(3, 5 + len(WORDS)),
            f"Studies with {out['runs']} blocks per bulletin: the member of each family whose "
            "account is wrongly excluded most often",
            "families",
        ),
        [
            Table(
                ["held to", "study", "wanted", *STATES, "worst", "its share"],
                list(held_to(out["limits"])),
                (3, 4, 5, 7),
                "What is held to",
                "limits",
            )
        ],
        [
            Section(
                "Not met",
                [
                    Table(
                        [
                            "population",
                            "held to",
                            "study",
                            "wanted",
                            "share",
                            "of",
                            "state",
                        ],
                        [
                            [
                                limit["population"],
                                limit["what"],
                                size(limit["runs"]),
                                limit["wanted"],
                                interval(limit),
                                f"{limit['n']:,}",
                                STATES[limit["state"]],
                            ]
                            for limit in left
                        ],
                        (4, 5),
                        name="not-met",
                    )
                ],
            )
        ]
        * bool(left)
        + [
            Section(
                "How to read this",
                [
                    Bullets(
                        [
                            *NOTES,
                            *(
                                f"Left out: {name}: {why}"
                                for name, why in out["faults"].items()
                            ),
                        ]
                    )
                ],
            )
        ],
        stamps=[STAMP],
    )


def families(populations: Mapping[str, Mapping]) -> Iterator[list]:
    """Of each family the member whose account is wrongly excluded most often; where an account is
    no rival's, the one that earns the highest word most often. Families by their account."""

    def harm(name: str) -> float:
        row = populations[name]
        return (
            row["excluded"].get(row["account"], row["words"][CORRELATION])
            / row["replications"]
        )

    groups: dict[tuple[str, str], list[str]] = {}
    for name, row in sorted(populations.items()):
        groups.setdefault((row["account"], row["family"]), []).append(name)
    for (account, family), names in sorted(groups.items()):
        row = populations[name := max(names, key=harm)]
        yield [
            family,
            account,
            name,
            f"{row['replications']:,}",
            *(
                percent(k / row["replications"], 1) if k else "0"
                for k in map(row["words"].get, WORDS)
            ),
            interval(
                stats.share(row["excluded"][account], row["replications"])._asdict()
            )
            if account in NAMES
            else NONE,
        ]


def held_to(limits: Sequence[Mapping]) -> Iterator[list]:
    """How many respondents meet each limit, and which comes out worst."""
    groups: dict[tuple, list[Mapping]] = {}
    for limit in limits:
        groups.setdefault((limit["what"], limit["wanted"], limit["runs"]), []).append(
            limit
        )
    for (what, wanted, runs), some in groups.items():
        worst = (min if wanted.startswith("at least") else max)(
            some, key=lambda limit: limit["value"]
        )
        yield [
            what,
            size(runs),
            wanted,
            *(str(sum(limit["state"] == state for limit in some)) for state in STATES),
            worst["population"],
            interval(worst),
        ]


def size(runs: int) -> str:
    return f"{runs} blocks" if runs else "pilot"


def interval(limit: Mapping[str, Any]) -> str:
    return rate(limit["value"], limit["low"], limit["high"], 1)

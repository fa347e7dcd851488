"""Everything a report says, once, for both of its forms."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from pdbench.core.metrics import METRICS
from pdbench.report import tables
from pdbench.report.say import count, interval, percent, plain, short, signed
from pdbench.runners.replay import read_matches
from pdbench.storage.aggregate import condition_row, match_row
from pdbench.storage.manifest import is_simulated, read_manifest
from pdbench.storage.schema import MatchRounds

DEFINITIONS = {
    "Share of C": "rounds in which the agent cooperated, of all rounds it played",
    "Complete / all": "matches that came to their end, of those begun; every mean is over the"
    " complete ones, every condition weighing the same",
    "Points": "a round, mean over matches; 95% intervals by a bootstrap of the replicates within"
    " each condition",
    "Retaliation": "share of D in the rounds after an opponent's D",
    "Forgiveness": "share of C in the same rounds",
    "Gap of A": "B's points in a match minus A's; positive means that A was exploited",
    "Collapse": "first round (from 1) from which a whole window of rounds has a share of C at or"
    " below the threshold; mean over the matches that collapsed",
    "Bands over time": "95% score intervals of the share, counted over matches",
}
CONDITION_HEAD = tuple(
    name.replace(" / ", "\N{NBSP}/\N{NBSP}")
    for name in (
        "Complete / all",
        "Rounds",
        "Share of C: A / B",
        "Points: A / B",
        "Retaliation: A / B",
        "Forgiveness: A / B",
        "Gap of A",
        "Collapse",
    )
)


@dataclass(frozen=True)
class Content:
    """A run, ready to be written down."""

    manifest: dict
    matches: list[MatchRounds]
    rows: list[dict]
    conditions: list[dict]
    agents: list[str]
    cells: list[tables.Cell]
    standings: list[tables.Standing]
    ranking: bool
    answers: list[tuple[str, str, int, int]]

    @property
    def met(self) -> list[str]:
        """Agents with a complete match."""
        return [
            a
            for a in self.agents
            if any(c.agent == a and c.complete for c in self.cells)
        ]

    @property
    def cooperation(self) -> list[list[float | None]]:
        """Share of C of the row's agent against the column's."""
        return tables.matrix(self.cells, self.met, "cooperation")

    @property
    def points(self) -> list[list[float | None]]:
        """Points a round of the row's agent against the column's."""
        return tables.matrix(self.cells, self.met, "points")

    @property
    def caveats(self) -> list[str]:
        """What a reader must know before quoting a standing."""
        return tables.caveats(self.cells, self.standings, self.ranking)

    @property
    def simulated(self) -> list[str]:
        """Conditions with rounds in which the mock provider took part."""
        config = self.manifest["config"]["conditions"]
        return [
            c["condition"]
            for c in self.conditions
            if is_simulated(config[c["condition"]])
        ]

    @property
    def unfinished(self) -> list[MatchRounds]:
        """Matches that are not complete: no mean counts them."""
        return [m for m in self.matches if m.status != "complete"]

    def courses(
        self, condition: str
    ) -> tuple[list[tables.Course], list[tables.Course]]:
        """Cooperation by round of agent A and of agent B, over the complete matches."""
        return courses(self.matches, condition)


def courses(
    matches: list[MatchRounds], condition: str
) -> tuple[list[tables.Course], list[tables.Course]]:
    """Cooperation by round of agent A and of agent B, over a condition's complete matches."""
    whole = [m for m in matches if m.condition == condition and m.status == "complete"]
    return tables.course([m.a_actions for m in whole]), tables.course(
        [m.b_actions for m in whole]
    )


def read_content(run_dir: Path) -> Content:
    """Read a run folder; a run that is still being written is read as far as it has come."""
    manifest = read_manifest(run_dir)
    config = manifest["config"]
    matches = read_matches(run_dir, manifest)
    everything = config | {"metrics": config["metrics"] | {"names": list(METRICS)}}
    rows = [match_row(match, everything) for match in matches]
    groups: dict[str, list[dict]] = {}
    for row in rows:
        groups.setdefault(row["condition"], []).append(row)
    cells, agents = tables.cells(matches, config), tables.agents_of(config)
    standings = tables.standings(cells, agents, manifest["seed"])
    ranking = tables.all_met_the_same(cells, config)
    return Content(
        manifest=manifest,
        matches=matches,
        rows=rows,
        conditions=[condition_row(group) for group in groups.values()],
        agents=agents,
        cells=cells,
        standings=tables.ranked(standings) if ranking else standings,
        ranking=ranking,
        answers=tables.answers(rows),
    )


def answer(content: Content) -> str:
    """What the run says, in a sentence or two."""
    begun, whole = len(content.matches), len(content.matches) - len(content.unfinished)
    if whole == 0:
        return f"No match is complete yet, of {begun} that were begun."
    if content.ranking:
        return _best(content.standings)
    if 2 * whole < begun:
        return (
            f"Only {whole} of {begun} matches came to their end: little is known of who"
            " cooperates with whom."
        )
    shares = sorted(
        (tables.mean(c.cooperation), c.agent, c.opponent)
        for c in content.cells
        if c.complete
    )
    (low, *least), (high, *most) = shares[0], shares[-1]
    if high - low < 1e-9:
        return f"Every agent cooperated in {percent(high)} of its rounds."
    return (
        f"{most[0]} cooperated most, in {percent(high)} of its rounds against {most[1]};"
        f" {least[0]} least, in {percent(low)} against {least[1]}."
    )


def state(content: Content) -> str:
    """Why a run is not complete; "" where it is."""
    status = str(content.manifest["status"])
    if status == "complete":
        return ""
    ended = sum(m.status == "incomplete" for m in content.matches)
    going = sum(m.status == "partial" for m in content.matches)
    parts = [
        f"{ended} ended where a model gave no valid answer" if ended else "",
        f"{going} {'is' if going == 1 else 'are'} still going on" if going else "",
    ]
    what = " and ".join(filter(None, parts)) or "every match that was begun is complete"
    return f"{status.upper()}: of {count(len(content.matches), 'match', 'matches')}, {what}."


def _best(rows: list[tables.Standing]) -> str:
    """Who earned most, alone or with those whose intervals reach as far."""
    first, *others = rows
    floor = first.interval[0] if first.interval else first.points - 1e-9
    near = [r for r in others if (r.interval[1] if r.interval else r.points) >= floor]
    against = f"against the same {len(rows)} opponents"
    if {r.agent for r in near} == {r.agent for r in others}:
        return f"No agent stands out: all {len(rows)} earned alike {against}."
    if not near:
        known = f" (95% interval {interval(first.interval)})" if first.interval else ""
        return (
            f"{first.agent} earned most {against}: {plain(first.points)} points a"
            f" round{known}; {others[-1].agent} earned least, {plain(others[-1].points)}."
        )
    names = [first.agent, *(r.agent for r in near)]
    return (
        f"{', '.join(names[:-1])} and {names[-1]} earned most {against}, {plain(first.points)}"
        f" to {plain(near[-1].points)} points a round, and are not told apart;"
        f" {others[-1].agent} earned least, {plain(others[-1].points)}."
    )


def identity(m: dict, matches: list[MatchRounds]) -> dict[str, str]:
    """What the foot of a report names: seed, and hashes of the configuration and of the play.

    From a run's manifest and matches. The play's hash leaves the times out: the same seed and the
    same answers give the same one.
    """
    play = json.dumps([[x.condition, x.replicate, x.status, x.a_actions, x.b_actions]
                       for x in matches], ensure_ascii=False)  # fmt: skip
    return {
        "seed": str(m["seed"]),
        "configuration": m["config_sha256"][:12],
        "play": hashlib.sha256(play.encode("utf-8", "backslashreplace")).hexdigest()[
            :12
        ],
        "made by": f"pdbench {m['unproven']['environment']['packages']['pdbench']}",
    }


def facts(content: Content) -> list[tuple[str, str]]:
    """What was run, as (name, value)."""
    m = content.manifest
    env, collapse = m["unproven"]["environment"], m["collapse"]
    whole = len(content.matches) - len(content.unfinished)
    return [
        ("Run", m["run_id"]),
        ("Status", m["status"]),
        (
            "Complete / all",
            f"{whole} of {count(len(content.matches), 'match', 'matches')}",
        ),
        ("Rounds", f"{sum(len(x.a_actions) for x in content.matches):,}"),
        ("Answers of models", f"{sum(x[2] for x in content.answers):,}"),
        ("Seed", str(m["seed"])),
        ("Collapse", f"k = {collapse['k']}, threshold = {collapse['threshold']:g}"),
        ("Configuration", "SHA-256 " + m["config_sha256"][:16] + "…"),
        ("Software", f"pdbench {env['packages']['pdbench']}, Python {env['python']}"),
    ]


def condition_cells(row: dict) -> list[str]:
    """A condition's line in the table of metrics, after its name and agents."""

    def both(name: str, say=percent) -> str:
        return "\N{NBSP}/\N{NBSP}".join(
            say(row[f"{name}_agent_{seat}"]) for seat in "ab"
        )

    collapse = row["time_to_collapse"]
    return [
        f"{row['complete']}\N{NBSP}/\N{NBSP}{row['replicates']}",
        short(row["rounds"]),
        both("cooperation_rate"),
        both("mean_payoff", plain),
        both("retaliation_rate"),
        both("forgiveness_rate"),
        signed(row["exploitability_payoff_gap_agent_a"]),
        short(None if collapse is None else collapse + 1),
    ]

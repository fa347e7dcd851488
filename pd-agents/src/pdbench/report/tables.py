"""The numbers of a report: who met whom, cooperation, points, and their intervals.

All from complete matches, with "complete of all" beside them. A *cell* is one seat of one
condition; every cell weighs the same, however many replicates it has.
"""

from collections import Counter
from math import sqrt
from typing import NamedTuple

import numpy as np

from pdbench.core.rng import derive_seed
from pdbench.core.types import SEATS
from pdbench.storage.manifest import is_simulated
from pdbench.storage.schema import MatchRounds

RESAMPLES = 2000
FEW_REPLICATES = 10
Z = 1.959963984540054  # the normal distribution's 97.5th percentile
Ends = tuple[float, float]


class Cell(NamedTuple):
    """One seat of one condition: a value per complete match, and how many were begun."""

    condition: str
    agent: str
    opponent: str
    cooperation: list[float]
    points: list[float]
    begun: int
    simulated: bool

    @property
    def complete(self) -> int:
        """Matches that came to their end."""
        return len(self.points)


class Standing(NamedTuple):
    """An agent's mean points a round over its cells; `interval` is a 95% interval, or None.

    `simulated` is "all", "some" or "": whether the mock answered in the matches behind it.
    """

    agent: str
    points: float | None
    interval: Ends | None
    cooperation: float | None
    complete: int
    begun: int
    simulated: str


def cells(matches: list[MatchRounds], config: dict) -> list[Cell]:
    """Every cell with at least one match, in the order of the configuration."""
    found: list[Cell] = []
    for name, condition in config["conditions"].items():
        begun = [m for m in matches if m.condition == name]
        if not begun:
            continue
        whole = [m for m in begun if m.status == "complete"]
        a, b = condition["agent_a"]["label"], condition["agent_b"]["label"]
        sides = [(a, b, [(m.a_actions, m.a_total) for m in whole]),
                 (b, a, [(m.b_actions, m.b_total) for m in whole])]  # fmt: skip
        for agent, opponent, rows in sides:
            rates = [actions.count("C") / len(actions) for actions, _ in rows]
            points = [total / len(actions) for actions, total in rows]
            found.append(
                Cell(
                    name,
                    agent,
                    opponent,
                    rates,
                    points,
                    len(begun),
                    is_simulated(condition),
                )
            )
    return found


def agents_of(config: dict) -> list[str]:
    """All agents' names, in order of appearance."""
    names = [c[seat]["label"] for c in config["conditions"].values() for seat in SEATS]
    return list(dict.fromkeys(names))


def matrix(
    found: list[Cell], agents: list[str], field: str
) -> list[list[float | None]]:
    """`field` ("cooperation" or "points") of the row's agent against the column's."""
    return [
        [mean([mean(getattr(c, field)) for c in found
               if (c.agent, c.opponent) == (row, column)]) for column in agents]
        for row in agents
    ]  # fmt: skip


def mean(values: list[float | None]) -> float | None:
    """Mean of the values that are there."""
    there = [v for v in values if v is not None]
    return sum(there) / len(there) if there else None


def all_met_the_same(found: list[Cell], config: dict) -> bool:
    """Whether agents can be ranked: each met every other equally often, and itself or not alike.

    Only complete matches count as meetings, and all under the same game and horizon.
    """
    conditions = list(config["conditions"].values())
    if any(
        (c["game"], c["horizon"]) != (conditions[0]["game"], conditions[0]["horizon"])
        for c in conditions
    ):
        return False
    agents = agents_of(config)
    met = Counter((c.agent, c.opponent) for c in found if c.complete)
    others = {met[a, b] for a in agents for b in agents if a != b}
    return (
        len(agents) > 1
        and len(others) == 1
        and 0 not in others
        and (len({met[a, a] for a in agents}) == 1)
    )


def standings(found: list[Cell], agents: list[str], seed: int) -> list[Standing]:
    """Every agent that played, in the order given."""
    result = []
    for agent in agents:
        played = [c for c in found if c.agent == agent]
        whole = [c for c in played if c.complete]
        if not played:
            continue
        ends = bootstrap_interval(_by_condition(whole), seed, agent) if whole else None
        simulated = sum(c.simulated for c in whole or played)
        result.append(
            Standing(
                agent,
                mean([mean(c.points) for c in whole]),
                ends,
                mean([mean(c.cooperation) for c in whole]),
                *(
                    sum(dict(pairs).values())
                    for pairs in (
                        [(c.condition, c.complete) for c in played],
                        [(c.condition, c.begun) for c in played],
                    )
                ),
                ""
                if not simulated
                else "all"
                if simulated == len(whole or played)
                else "some",
            )
        )
    return result


def ranked(rows: list[Standing]) -> list[Standing]:
    """Best first; equal ones by name."""
    return sorted(rows, key=lambda r: (-r.points, r.agent))


def _by_condition(found: list[Cell]) -> list[list[list[float]]]:
    """Cells grouped by condition: both seats of a self-play belong to the same matches."""
    groups: dict[str, list[list[float]]] = {}
    for cell in found:
        groups.setdefault(cell.condition, []).append(cell.points)
    return list(groups.values())


def bootstrap_interval(
    conditions: list[list[list[float]]], seed: int, name: str
) -> Ends | None:
    """95% percentile interval of the mean over cells of their means.

    `conditions` holds, per condition, the agent's one or two cells. Replicates are drawn again
    within each condition (the stratified bootstrap; Davison, Hinkley 1997, 3.2), both seats of a
    match together, from a stream of its own. None where a condition has fewer than two, or where
    no replicate differs from another: an interval without width would claim certainty.
    """
    if any(len(group[0]) < 2 for group in conditions) or not _varies(conditions):
        return None
    rng = np.random.default_rng(derive_seed(seed, "bootstrap", name))
    weight = sum(len(group) for group in conditions)
    means = np.zeros(RESAMPLES)
    for group in conditions:
        matches = np.sum(group, axis=0)
        drawn = rng.choice(matches, size=(RESAMPLES, len(matches)))
        means += drawn.mean(axis=1) / weight
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def _varies(conditions: list[list[list[float]]]) -> bool:
    """Whether any condition's replicates differ, over both seats of a match together."""
    return any(float(np.ptp(np.sum(group, axis=0))) > 1e-12 for group in conditions)


def wilson(successes: float, n: int) -> Ends:
    """95% score interval of a share, from 0 to 1 (Wilson, JASA 22, 1927)."""
    share, z2 = successes / n, Z * Z
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = Z / (1 + z2 / n) * sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


class Course(NamedTuple):
    """Share of C around one round (from 1), over the matches that reached it.

    The interval counts matches, not rounds: rounds of one match depend on each other. None where
    a single match reached it.
    """

    round: float
    share: float
    interval: Ends | None


def course(actions: list[str], most: int = 100) -> list[Course]:
    """Cooperation over the rounds of several matches; long ones in at most `most` bins."""
    longest = max(map(len, actions), default=0)
    size = -(-longest // most) or 1
    points = []
    for start in range(0, longest, size):
        shares = [
            part.count("C") / len(part)
            for part in (x[start : start + size] for x in actions)
            if part
        ]
        end = min(start + size, longest)
        n, total = len(shares), sum(shares)
        points.append(
            Course(
                (start + 1 + end) / 2, total / n, wilson(total, n) if n > 1 else None
            )
        )
    return points


def caveats(found: list[Cell], rows: list[Standing], ranking: bool) -> list[str]:
    """What a reader must know before quoting a standing."""
    notes = []
    if any(c.complete < c.begun for c in found):
        notes.append(
            "An agent that often gives no valid answer is seen only in the matches where"
            " it gave one."
        )
    if not ranking:
        notes.append(
            "This is no ranking: the agents did not all meet the same opponents under the"
            " same rules, so their points are not to be compared."
        )
    played = {
        r.agent: [c for c in found if c.agent == r.agent and c.complete] for r in rows
    }
    same = [a for a, own in played.items() if own and min(c.complete for c in own) > 1
            and not _varies(_by_condition(own))]  # fmt: skip
    if same:
        notes.append(
            f"No interval for {', '.join(same)}: the points were the same in every"
            " replicate."
        )
    sizes = [c.complete for c in found if c.complete]
    if sizes and min(sizes) < 2:
        notes.append(
            "Some conditions have one complete match: agents in them have no interval."
        )
    elif sizes and min(sizes) < FEW_REPLICATES:
        notes.append(
            f"Some conditions have fewer than {FEW_REPLICATES} complete matches:"
            " bootstrap intervals are too narrow there."
        )
    return notes


def answers(rows: list[dict]) -> list[tuple[str, str, int, int]]:
    """(condition, model, answers, invalid answers) of every model, from the matches' rows."""
    counts: dict[tuple[str, str], list[int]] = {}
    for row in rows:
        for seat in SEATS:
            if row[f"model_calls_{seat}"] is not None:
                entry = counts.setdefault((row["condition"], row[seat]), [0, 0])
                entry[0] += row[f"model_calls_{seat}"]
                entry[1] += row[f"invalid_answers_{seat}"]
    return [(*key, *entry) for key, entry in counts.items()]

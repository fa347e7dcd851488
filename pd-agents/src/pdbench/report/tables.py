"""The numbers of a report: who met whom, cooperation, points, and a ranking with intervals.

All from complete matches only. A *cell* is one seat of one condition; every cell weighs the same,
however many replicates it has.
"""

from typing import NamedTuple

import numpy as np

from pdbench.core.rng import derive_seed
from pdbench.core.types import SEATS
from pdbench.storage.schema import MatchRounds

RESAMPLES = 2000
FEW_REPLICATES = 10


class Cell(NamedTuple):
    """One seat of one condition: a value per replicate."""

    condition: str
    agent: str
    opponent: str
    cooperation: list[float]
    points: list[float]


class Rank(NamedTuple):
    """An agent's mean points a round; `interval` is a 95% interval, or None.

    An agent is `simulated` where it is the mock provider; policies play for real.
    """

    agent: str
    points: float
    interval: tuple[float, float] | None
    cooperation: float
    matches: int
    simulated: bool


def cells(matches: list[MatchRounds], config: dict) -> list[Cell]:
    """Every cell with at least one complete match, in the order of the configuration."""
    found: list[Cell] = []
    for name, condition in config["conditions"].items():
        played = [m for m in matches if m.condition == name and m.status == "complete"]
        if not played:
            continue
        a, b = condition["agent_a"]["label"], condition["agent_b"]["label"]
        sides = [(a, b, [(m.a_actions, m.a_total) for m in played]),
                 (b, a, [(m.b_actions, m.b_total) for m in played])]  # fmt: skip
        for agent, opponent, rows in sides:
            rates = [actions.count("C") / len(actions) for actions, _ in rows]
            points = [total / len(actions) for actions, total in rows]
            found.append(Cell(name, agent, opponent, rates, points))
    return found


def agents_of(config: dict) -> list[str]:
    """All agents' names, in order of appearance."""
    names = [c[seat]["label"] for c in config["conditions"].values() for seat in SEATS]
    return list(dict.fromkeys(names))


def matrix(found: list[Cell], agents: list[str], field: str) -> list[list[float | None]]:
    """`field` ("cooperation" or "points") of the row's agent against the column's."""
    return [
        [_mean([float(np.mean(getattr(c, field))) for c in found
                if (c.agent, c.opponent) == (row, column)]) for column in agents]
        for row in agents
    ]  # fmt: skip


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def mocks_of(config: dict) -> set[str]:
    """The names of the agents that the mock provider answers for."""
    sides = [c[seat] for c in config["conditions"].values() for seat in SEATS]
    return {s["label"] for s in sides if s.get("provider", {}).get("name") == "mock"}


def ranking(found: list[Cell], agents: list[str], mocks: set[str], seed: int) -> list[Rank]:
    """Agents by mean points a round, best first; equal agents by name."""
    ranks = []
    for agent in agents:
        own = [c for c in found if c.agent == agent]
        if own:
            points = _mean([float(np.mean(c.points)) for c in own])
            cooperation = _mean([float(np.mean(c.cooperation)) for c in own])
            interval = bootstrap_interval(_by_condition(own), seed, agent)
            ranks.append(Rank(agent, points, interval, cooperation,
                              sum(len(c.points) for c in own), agent in mocks))
    return sorted(ranks, key=lambda r: (-r.points, r.agent))


def _by_condition(own: list[Cell]) -> list[list[list[float]]]:
    """Cells grouped by condition: both seats of a self-play belong to the same matches."""
    groups: dict[str, list[list[float]]] = {}
    for cell in own:
        groups.setdefault(cell.condition, []).append(cell.points)
    return list(groups.values())


def bootstrap_interval(
    conditions: list[list[list[float]]], seed: int, name: str
) -> tuple[float, float] | None:
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


def caveats(found: list[Cell], agents: list[str], matches: list[MatchRounds]) -> list[str]:
    """What a reader must know before quoting the ranking."""
    notes = []
    if left_out := sum(m.status != "complete" for m in matches):
        notes.append(f"{left_out} of {len(matches)} matches are not complete and are left out: an"
                     " agent that often gives no valid answer is seen only where it gave one.")
    opponents = {a: {c.opponent for c in found if c.agent == a} for a in agents}
    if len({frozenset(o) for o in opponents.values() if o}) > 1:
        notes.append("The agents did not all meet the same opponents: the ranking compares the"
                     " points they got here, not their strength.")
    own = {a: [c for c in found if c.agent == a] for a in agents}
    same = [a for a, cells in own.items() if cells and min(len(c.points) for c in cells) > 1
            and not _varies(_by_condition(cells))]  # fmt: skip
    if same:
        notes.append(f"No interval for {', '.join(same)}: the points were the same in every"
                     " replicate.")
    sizes = [len(c.points) for c in found]
    if sizes and min(sizes) < 2:
        notes.append("Some conditions have one complete replicate: agents in them have no"
                     " interval.")
    elif sizes and min(sizes) < FEW_REPLICATES:
        notes.append(f"Some conditions have fewer than {FEW_REPLICATES} replicates: bootstrap"
                     " intervals are too narrow there.")
    return notes


def answers(rows: list[dict]) -> list[tuple[str, str, int, int]]:
    """(condition, model, answers, invalid answers) of every model, from the replicates' rows."""
    counts: dict[tuple[str, str], list[int]] = {}
    for row in rows:
        for seat in SEATS:
            if row[f"model_calls_{seat}"] is not None:
                count = counts.setdefault((row["condition"], row[seat]), [0, 0])
                count[0] += row[f"model_calls_{seat}"]
                count[1] += row[f"invalid_answers_{seat}"]
    return [(*key, *count) for key, count in counts.items()]

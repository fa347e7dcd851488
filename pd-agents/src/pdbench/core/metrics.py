"""Metrics of one match, as pure functions of action strings such as "CCDC" and payoff totals.

A rate whose denominator is 0 is None, never 0 or 1.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple


def cooperation_rate(actions: str) -> float | None:
    """Share of C among the actions of one agent, or of both in one string."""
    if not actions:
        return None
    return actions.count("C") / len(actions)


def cooperation_over_time(a: str, b: str) -> list[float | None]:
    """Share of C among the two actions of each round: 0, 0.5 or 1."""
    return [cooperation_rate(x + y) for x, y in zip(a, b, strict=True)]


def retaliation_rate(own: str, other: str) -> float | None:
    """Share of D among the own actions that follow a round with an opponent's D."""
    answers = _after_defection(own, other)
    return answers.count("D") / len(answers) if answers else None


def forgiveness_rate(own: str, other: str) -> float | None:
    """Share of C among the own actions that follow a round with an opponent's D."""
    return cooperation_rate(_after_defection(own, other))


def _after_defection(own: str, other: str) -> str:
    """The own actions at t whose t-1 saw the opponent defect."""
    moves = zip(own[1:], other, strict=False)
    return "".join(answer for answer, before in moves if before == "D")


def exploitability_payoff_gap(own_total: float, other_total: float) -> float:
    """Points the opponent got beyond the agent's own; positive means exploited."""
    return other_total - own_total


def time_to_collapse(a: str, b: str, k: int = 10, threshold: float = 0.2) -> int | None:
    """The first round index t (from 0) at which cooperation has collapsed, else None.

    It has where the window t … t+k-1 lies inside the match, and the share of C among both
    agents' actions in it is at most `threshold`.
    """
    cooperations = [(x == "C") + (y == "C") for x, y in zip(a, b, strict=True)]
    most = threshold * 2 * k + 1e-9  # 0.1 * 20 and the like are not exact
    in_window = sum(cooperations[:k])
    for t in range(len(cooperations) - k + 1):
        if t:
            in_window += cooperations[t + k - 1] - cooperations[t - 1]
        if in_window <= most:
            return t
    return None


class Played(NamedTuple):
    """A match to be measured: each agent's actions and total, and what counts as collapse."""

    a: str
    b: str
    a_total: float
    b_total: float
    k: int
    threshold: float


Columns = dict[str, float | int | list[float | None] | None]


def _both(name: str, of_a: float | None, of_b: float | None) -> Columns:
    return {f"{name}_agent_a": of_a, f"{name}_agent_b": of_b}


def _cooperation(played: Played) -> Columns:
    overall = {"cooperation_rate": cooperation_rate(played.a + played.b)}
    return overall | _both(
        "cooperation_rate", cooperation_rate(played.a), cooperation_rate(played.b)
    )


def _over_time(played: Played) -> Columns:
    return {"cooperation_rate_over_time": cooperation_over_time(played.a, played.b)}


def _retaliation(played: Played) -> Columns:
    of_a = retaliation_rate(played.a, played.b)
    return _both("retaliation_rate", of_a, retaliation_rate(played.b, played.a))


def _forgiveness(played: Played) -> Columns:
    of_a = forgiveness_rate(played.a, played.b)
    return _both("forgiveness_rate", of_a, forgiveness_rate(played.b, played.a))


def _gap(played: Played) -> Columns:
    name = "exploitability_payoff_gap"
    if not played.a:  # without a round there is no gap, rather than one of 0
        return _both(name, None, None)
    of_a = exploitability_payoff_gap(played.a_total, played.b_total)
    return _both(name, of_a, exploitability_payoff_gap(played.b_total, played.a_total))


def _collapse(played: Played) -> Columns:
    t = time_to_collapse(played.a, played.b, played.k, played.threshold)
    return {"time_to_collapse": t, "collapsed": float(t is not None)}


METRICS: dict[str, Callable[[Played], Columns]] = {
    "cooperation_rate": _cooperation,
    "cooperation_rate_over_time": _over_time,
    "retaliation_rate": _retaliation,
    "forgiveness_rate": _forgiveness,
    "exploitability_payoff_gap": _gap,
    "time_to_collapse": _collapse,
}


def match_metrics(played: Played, names: Sequence[str]) -> Columns:
    """The columns of the named metrics of one match."""
    columns: Columns = {}
    for name in names:
        columns.update(METRICS[name](played))
    return columns


def mean(values: Iterable[float | None]) -> float | None:
    """Mean of the values that are there; None where there is none."""
    there = [value for value in values if value is not None]
    return sum(there) / len(there) if there else None


def mean_over_time(series: Sequence[list[float | None]]) -> list[float | None]:
    """Round by round, the mean over the matches that reached that round."""
    longest = max(map(len, series), default=0)
    means = []
    for t in range(longest):
        means.append(mean(each[t] for each in series if t < len(each)))
    return means

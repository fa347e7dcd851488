"""Metrics of one match, as pure functions of action strings such as "CCDC" and payoff totals.

A rate whose denominator is 0 is None, never 0 or 1.
"""

from collections.abc import Callable, Sequence


def cooperation_rate(actions: str) -> float | None:
    """Share of rounds in which the agent played C."""
    return actions.count("C") / len(actions) if actions else None


def overall_cooperation_rate(a: str, b: str) -> float | None:
    """Share of C among both agents' actions."""
    return cooperation_rate(a + b)


def cooperation_over_time(a: str, b: str) -> list[float]:
    """Share of C among the two actions of each round: 0, 0.5 or 1."""
    return [((x == "C") + (y == "C")) / 2 for x, y in zip(a, b, strict=True)]


def retaliation_rate(own: str, other: str) -> float | None:
    """Share of D at t among the rounds t whose round t-1 saw the opponent play D."""
    return _rate_after_defection("D", own, other)


def forgiveness_rate(own: str, other: str) -> float | None:
    """Share of C at t among the rounds t whose round t-1 saw the opponent play D."""
    return _rate_after_defection("C", own, other)


def _rate_after_defection(action: str, own: str, other: str) -> float | None:
    answers = [
        mine for mine, before in zip(own[1:], other, strict=False) if before == "D"
    ]
    return answers.count(action) / len(answers) if answers else None


def exploitability_payoff_gap(own_total: float, other_total: float) -> float:
    """Points the opponent got beyond the agent's own; positive means exploited."""
    return other_total - own_total


def time_to_collapse(a: str, b: str, k: int = 10, threshold: float = 0.2) -> int | None:
    """First round index t (from 0) whose window t … t+k-1 lies inside the match and in which
    the share of C among both agents' actions is at most `threshold`; None where there is none."""
    cooperations = [(x == "C") + (y == "C") for x, y in zip(a, b, strict=True)]
    in_window = sum(cooperations[:k])
    for t in range(len(cooperations) - k + 1):
        if in_window <= threshold * 2 * k + 1e-9:
            return t
        if t + k < len(cooperations):
            in_window += cooperations[t + k] - cooperations[t]
    return None


Columns = dict[str, float | int | list[float] | None]
Match = tuple[str, str, float, float]


def _cooperation(m, _k, _threshold) -> Columns:
    return {
        "cooperation_rate": overall_cooperation_rate(m[0], m[1]),
        "cooperation_rate_agent_a": cooperation_rate(m[0]),
        "cooperation_rate_agent_b": cooperation_rate(m[1]),
    }


def _over_time(m, _k, _threshold) -> Columns:
    return {"cooperation_rate_over_time": cooperation_over_time(m[0], m[1])}


def _retaliation(m, _k, _threshold) -> Columns:
    return {
        "retaliation_rate_agent_a": retaliation_rate(m[0], m[1]),
        "retaliation_rate_agent_b": retaliation_rate(m[1], m[0]),
    }


def _forgiveness(m, _k, _threshold) -> Columns:
    return {
        "forgiveness_rate_agent_a": forgiveness_rate(m[0], m[1]),
        "forgiveness_rate_agent_b": forgiveness_rate(m[1], m[0]),
    }


def _gap(m, _k, _threshold) -> Columns:
    played = bool(m[0])  # without a round there is no gap, rather than one of 0
    return {
        "exploitability_payoff_gap_agent_a": exploitability_payoff_gap(m[2], m[3])
        if played
        else None,
        "exploitability_payoff_gap_agent_b": exploitability_payoff_gap(m[3], m[2])
        if played
        else None,
    }


def _collapse(m, k, threshold) -> Columns:
    return {"time_to_collapse": time_to_collapse(m[0], m[1], k, threshold)}


METRICS: dict[str, Callable[[Match, int, float], Columns]] = {
    "cooperation_rate": _cooperation,
    "cooperation_rate_over_time": _over_time,
    "retaliation_rate": _retaliation,
    "forgiveness_rate": _forgiveness,
    "exploitability_payoff_gap": _gap,
    "time_to_collapse": _collapse,
}


def match_metrics(
    match: Match, names: Sequence[str], k: int, threshold: float
) -> Columns:
    """The columns of the named metrics for (a_actions, b_actions, a_total, b_total)."""
    columns: Columns = {}
    for name in names:
        columns |= METRICS[name](match, k, threshold)
    return columns

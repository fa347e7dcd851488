"""Where lines of rounds.jsonl disagree with each other or with the manifest, by line and field."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator

from pdbench.core.payoff import DEFAULT_MATRIX, Matrix
from pdbench.storage.manifest import Manifest
from pdbench.storage.rounds import MatchRounds

MOST_SAID = 5  # of one match


def disagreements(
    matches: Iterable[MatchRounds], manifest: Manifest | None
) -> list[str]:
    """A line of text for each; payoffs, sums, names, lengths and counts are compared."""
    matches = list(matches)
    found: list[str] = []
    for match in matches:
        found += _some(list(_of_match(match, manifest)), match)
    if manifest:
        found += _of_run(matches, manifest)
    return found


def _some(lines: list[str], match: MatchRounds) -> list[str]:
    """The first lines, and how many more there are."""
    more = len(lines) - MOST_SAID
    if more <= 0:
        return lines
    return [*lines[:MOST_SAID], f"{match.name}: {more} more like these"]


def _of_match(match: MatchRounds, manifest: Manifest | None) -> Iterator[str]:
    shape = None
    if manifest:
        shape = manifest.config.conditions.get(match.condition)
        for name in sorted(match.run_ids - {manifest.run_id}):
            yield f"{match.name}: run_id is {name!r}, the manifest's {manifest.run_id!r}"
        if shape is None:
            yield f"{match.name}: the manifest knows no such condition"
    for t in match.missing[:MOST_SAID]:
        yield f"{match.name}: round_index {t} is missing"
    matrix: Matrix
    if manifest and shape:
        yield from _of_length(match, manifest)
        matrix = shape.game.payoffs.matrix()
    else:
        matrix = likely_matrix(match)
    yield from _of_payoffs(match, matrix)
    yield from _of_sums(match)


def _of_length(match: MatchRounds, manifest: Manifest) -> Iterator[str]:
    wanted = manifest.rounds_of(match.condition, match.replicate)
    short = match.status != "incomplete" and match.rounds < wanted
    if match.rounds > wanted or (short and manifest.finished):
        yield (
            f"{match.name}: {match.rounds} rounds, but seed and horizon of the"
            f" manifest give {wanted}"
        )


def likely_matrix(match: MatchRounds) -> Matrix:
    """The payoffs that most of a match's rounds have, by the actions; else the default's."""
    a, b = match.seats.values()
    rounds = zip(a.actions, b.actions, a.payoffs, b.payoffs, strict=True)
    seen = Counter(rounds)
    fitting, learned = 0, {}
    for (action_a, action_b, *points), count in reversed(seen.most_common()):
        pair = action_a + action_b
        learned[pair] = tuple(points)
        if DEFAULT_MATRIX[pair] == learned[pair]:
            fitting += count
    return DEFAULT_MATRIX if 2 * fitting > match.rounds else learned


def _of_payoffs(match: MatchRounds, matrix: Matrix) -> Iterator[str]:
    """Rounds whose points are not those of their actions."""
    a, b = match.seats.values()
    for i, actions in enumerate(zip(a.actions, b.actions, strict=True)):
        pair = "".join(actions)
        points_a, points_b = matrix[pair]
        if a.payoffs[i] == points_a and b.payoffs[i] == points_b:
            continue
        yield (
            f"line {match.lines[i]} ({match.name}, round_index {match.indexes[i]}):"
            f" actions {pair} give {points_a:g} and {points_b:g} points, not"
            f" {a.payoffs[i]:g} and {b.payoffs[i]:g}"
        )


def _of_sums(match: MatchRounds) -> Iterator[str]:
    """Rounds whose running total is not the one before and this round's points."""
    if match.missing:
        return
    for seat, seen in match.seats.items():
        before = 0.0
        for i, total in enumerate(seen.sums):
            wanted = before + seen.payoffs[i]
            if not math.isclose(total, wanted, rel_tol=1e-9, abs_tol=1e-6):
                yield (
                    f"line {match.lines[i]} ({match.name}, round_index {i}):"
                    f" {seat}_cum_payoff is {total:g}, the rounds before it give {wanted:g}"
                )
            before = total if math.isfinite(total) else wanted


def _of_run(matches: list[MatchRounds], manifest: Manifest) -> Iterator[str]:
    """Counts of a finished run."""
    if not manifest.finished:
        return
    there = Counter(match.condition for match in matches)
    for name in manifest.config.conditions:
        if there[name] != manifest.replicates:
            yield (
                f"condition {name!r}: {there[name]} replicates, the manifest has"
                f" {manifest.replicates}"
            )
    rounds = sum(match.rounds for match in matches)
    if manifest.rounds is not None and rounds != manifest.rounds:
        yield f"{rounds} rounds, the manifest has {manifest.rounds}"

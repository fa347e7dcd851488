"""A study's analysis, written; exports/*.csv: decisions, policies and games, one tidy row each.

    where, names, out = write_analysis(study, places(study, None))
    for name, content in exports(study).items():
        write_atomic(folder / name, content)
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from cirrus.ask.bulletins import CELL
from cirrus.judge.rows import Run, Study, decisions, policies, rounds
from cirrus.judge.study import analyse
from cirrus.markers.patterns import FAMILIES
from cirrus.markers.ratings import item_id, raters, readable
from cirrus.reports import study as reports
from common.artifacts import canonical_json, csv_bytes, json_file, write_atomic
from show.document import terminal

SHARED = ("run", "role", "seed", "domain", *CELL, "round")
TOKENS = ("prompt_tokens", "output_tokens", "reasoning_tokens", "cost_usd")
SERVED = ("served_model", "provider")
# file → its columns; docs/exports.md says what they hold
COLUMNS = {
    "decisions.csv": (
        "id", *SHARED, "encounter", "primary", "baseline", "agent", "opponent", "policy",
        "bulletin", "variant", "label_scheme", "option_order", "option_first", "decision",
        "cooperates", "first_taken", "status", "truncated", "payoff", "power_after", "model",
        *SERVED, *TOKENS, "text"),
    "policies.csv": (
        "id", *SHARED, "agent", "bulletin", "variant", "model", *SERVED, "status", "truncated",
        "item", *(f"marker_{name}" for name in FAMILIES), *TOKENS, "text"),
    "games.csv": (
        "id", *SHARED, "encounter", "baseline", "agent_a", "agent_b", "label_scheme",
        "option_order", "decision_a", "decision_b", "payoff_a", "payoff_b", "power_a", "power_b",
        "status")}


def exports(study: Study) -> dict[str, bytes]:
    """{file name below the analysis' folder: content}. The files were checked when the analysis
    read them."""
    tables = {"decisions.csv": _decisions, "games.csv": _games, "policies.csv": _policies}
    return {f"exports/{name}": csv_bytes(
        COLUMNS[name], chain.from_iterable(map(rows, study.runs))) for name, rows in tables.items()}


def write_analysis(study: Study, where: Sequence[Path],
                   ) -> tuple[Path, list[str], dict[str, Any]]:
    """Analyse the study and write every file: (folder, names of the files, what was found).

    `where`: folders that may hold ratings; the first takes the files.
    """
    target = where[0]
    # Read back from its own JSON: what is shown then has the digits that the file has.
    out = json.loads(canonical_json(analyse(study, raters(where))))
    (target / "exports").mkdir(parents=True, exist_ok=True)
    made = {"acausal-analysis.json": json_file(out), **reports.files(out, study), **exports(study)}
    for name, content in made.items():
        write_atomic(target / name, content)
    return target, list(made), out


def gist(out: Mapping[str, Any], target: Path, *beside: str) -> str:
    """What a terminal shows of an analysis in `target`: its report, `beside`, what to open."""
    return "\n".join([terminal(reports.document(out)), *beside, f"open {target / 'report.html'}"])


def _decisions(run: Run) -> Iterable[dict[str, Any]]:
    return (row._asdict() | {"primary": row.primary} for row in decisions(run, checked=False))


def _shared(run: Run, number: int) -> dict[str, Any]:
    values = (run.name, run.role, run.seed, run.domain, *run.cell, number)
    return dict(zip(SHARED, values, strict=True))


def _policies(run: Run) -> Iterator[dict[str, Any]]:
    for policy in policies(run, checked=False):
        tokens, there = policy["tokens"], readable(policy["policy_status"])
        yield _shared(run, policy["round"]) | {
            "id": policy["policy_id"], "model": policy["model_strategy"],
            "status": policy["policy_status"], "truncated": tokens["truncated"],
            "text": policy["policy"], "prompt_tokens": tokens["prompt"],
            "output_tokens": tokens["output"], "reasoning_tokens": tokens["reasoning"],
            "item": item_id(policy["policy"]) if there else None,
            **{f"marker_{name}": policy["markers"][name] for name in FAMILIES},
            **{key: policy[key] for key in ("agent", "bulletin", "variant", "cost_usd", *SERVED)}}


def _games(run: Run) -> Iterator[dict[str, Any]]:
    for data in rounds(run, checked=False):
        for game in data["games"]:
            yield _shared(run, data["round"]) | _game(data["agents"], game)


def _game(agents: Mapping, game: Mapping) -> dict[str, Any]:
    payoffs = game["raw_payoffs"] or {}
    sides = {}
    for side, own in zip("ab", game["pair"], strict=True):
        sides |= {f"agent_{side}": agents[own]["id"], f"decision_{side}": game["decision"][own],
                  f"payoff_{side}": payoffs.get(own), f"power_{side}": game["power_after"][own]}
    return sides | {"id": game["id"], "encounter": game["encounter"],
                    "baseline": game["baseline"], "label_scheme": game["label_scheme"],
                    "option_order": game["order"], "status": game["parse_status"]}

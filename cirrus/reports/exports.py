"""A study's analysis, written; exports/*.csv: decisions, policies and games, one tidy row each,
and what each column means.

    where, names, out = write_analysis(study, places(study, None))
    for name, parts in exports(study, weights):    # of the labelling functions
        write_atomic(folder / name, parts)

Parts are made as they are written: no table is ever whole in memory.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from cirrus.ask.bulletins import CELL, FOLDERS, LEVELS, MEANING
from cirrus.judge.rows import Run, Study, decisions, policies, rounds
from cirrus.judge.study import analyse
from cirrus.markers.agreement import weights_of
from cirrus.markers.labels import FAMILIES, Weights, labels
from cirrus.markers.ratings import item_id, raters, readable
from cirrus.reports import study as reports
from common.artifacts import canonical_json, csv_parts, json_file, write_atomic
from show.document import Document, files, terminal

SHARED = {
    "run": "name of the run's folder",
    "role": "what the run is for: main, ablation, holdout, history-off, other",
    "seed": "seed of the run; runs of one seed share bulletins, schedule, labels and orders",
    "domain": " or ".join(FOLDERS),
    **{factor: f"{MEANING[factor]}: {', '.join(LEVELS[factor])}" for factor in CELL},
    "round": "number of the round, from 1"}
TOKENS = {"prompt_tokens": "tokens read, as billed", "output_tokens": "tokens written",
          "reasoning_tokens": "of these, spent on reasoning", "cost_usd": "dollars"}
SERVED = {"served_model": "the model that answered, as the server says",
          "provider": "the upstream that answered"}
# file → {column: meaning}, in the order of the columns
COLUMNS: dict[str, dict[str, str]] = {
    "decisions.csv": {
        "id": "id of the request", **SHARED,
        "encounter": "1 for the pair's first meeting of the round",
        "primary": "1: round 1, first encounter, no baseline: the primary data",
        "baseline": "1: the opponent is a baseline", "agent": "stable id of the one who decides",
        "opponent": "stable id of the other",
        "policy": "id of the declared policy it rests on, see policies.csv",
        "bulletin": "id of the bulletin", "variant": "id of the variant",
        "label_scheme": "L1: the words; L2: Option A is the cooperative act; L3: Option B is",
        "option_order": "which act stood first: cooperative-first, other-first",
        "option_first": "label of the option that stood first",
        "decision": "the act by its canonical word; empty: none could be read",
        "cooperates": "1, 0, empty", "first_taken": "1: the option that stood first; 0; empty",
        "status": "how the answer was read; ok: exactly one of the two options",
        "truncated": "1: the output limit cut it off", "payoff": "T, R, P or S of the game",
        "power_after": "power after the wave, 0.9 to 1.1", "model": "the model that was asked",
        **SERVED, **TOKENS, "text": "the answer as given; an apostrophe is put before =, +, -, @"},
    "policies.csv": {
        "id": "id of the request, named by decisions", **SHARED, "agent": "stable id",
        "bulletin": "id of the bulletin", "variant": "id of the variant",
        "model": "the model that was asked", **SERVED,
        "status": "ok: 3 to 5 lines; short, long; else why there is none",
        "truncated": "1: the output limit cut it off",
        "item": "id of the text as raters know it; empty where there is none",
        **{f"marker_{name}": f"1: holds a codebook pattern of {name}, as the run recorded it"
           for name in FAMILIES},
        **{f"weak_{name}": f"weak label of {name}: 1, 0, empty where the labelling functions tie; "
           "acausal-analysis.json says whether it is adjudicated" for name in FAMILIES}, **TOKENS,
        "text": "the policy as written; an apostrophe is put before =, +, -, @"},
    "games.csv": {
        "id": "id of the encounter", **SHARED, "encounter": "1 for the pair's first of the round",
        "baseline": "1: a baseline takes part", "agent_a": "stable id", "agent_b": "stable id",
        "label_scheme": "L1, L2, L3", "option_order": "which act stood first",
        "decision_a": "canonical word, or empty", "decision_b": "canonical word, or empty",
        "payoff_a": "T, R, P or S", "payoff_b": "T, R, P or S",
        "power_a": "power after the wave", "power_b": "power after the wave",
        "status": "the worse of the two statuses"},
}


def exports(study: Study, weights: Weights) -> Iterator[tuple[str, Iterator[bytes]]]:
    """(file name below the analysis' folder, its content in parts). The files were checked when
    the analysis read them."""
    tables = {"decisions.csv": _decisions, "games.csv": _games,
              "policies.csv": lambda run: _policies(run, weights)}
    for name, rows in tables.items():
        yield f"exports/{name}", csv_parts(list(COLUMNS[name]),
                                           chain.from_iterable(map(rows, study.runs)))
    yield "exports/dictionary.csv", csv_parts(["file", "column", "meaning"], _dictionary())


def write_analysis(study: Study, where: Sequence[Path], mechanism: Mapping | None = None
                   ) -> tuple[Path, list[str], dict[str, Any]]:
    """Analyse the study and write every file: (folder, names of the files, what was found).

    `where`: folders that may hold ratings; the first takes the files.
    """
    target = where[0]
    # Read back from its own JSON: what is shown then has the digits that the file has.
    out = json.loads(canonical_json(analyse(study, raters(where), mechanism)))
    (target / "exports").mkdir(parents=True, exist_ok=True)
    made = [("acausal-analysis.json", json_file(out)), *reports.files(out, study).items(),
            *exports(study, weights_of(out))]
    for name, content in made:
        write_atomic(target / name, content)
    return target, [name for name, _ in made], out


def gist(out: Mapping[str, Any], target: Path, *beside: str) -> str:
    """What a terminal shows of an analysis in `target`: its report, `beside`, what to open."""
    return "\n".join([terminal(reports.document(out)), *beside, f"open {target / 'report.html'}"])


def write_figures(report: Document, folder: Path) -> list[str]:
    """Every figure as SVG, every table as LaTeX and CSV, straight into the folder; their names."""
    folder.mkdir(parents=True, exist_ok=True)
    made = dict(files(report))
    for name, content in made.items():
        write_atomic(folder / name, content)
    return list(made)


def _dictionary() -> Iterator[dict[str, str]]:
    for name, meanings in COLUMNS.items():
        for column, meaning in meanings.items():
            yield {"file": name, "column": column, "meaning": meaning}


def _decisions(run: Run) -> Iterable[dict[str, Any]]:
    return (row._asdict() | {"primary": row.primary} for row in decisions(run, checked=False))


def _shared(run: Run, number: int) -> dict[str, Any]:
    values = (run.name, run.role, run.seed, run.domain, *run.cell, number)
    return dict(zip(SHARED, values, strict=True))


def _policies(run: Run, weights: Weights) -> Iterator[dict[str, Any]]:
    for policy in policies(run, checked=False):
        tokens, there = policy["tokens"], readable(policy["policy_status"])
        weak = labels(weights, policy["policy"]) if there else dict.fromkeys(FAMILIES)
        yield _shared(run, policy["round"]) | {
            "id": policy["policy_id"], "model": policy["model_strategy"],
            "status": policy["policy_status"], "truncated": tokens["truncated"],
            "text": policy["policy"], "prompt_tokens": tokens["prompt"],
            "output_tokens": tokens["output"], "reasoning_tokens": tokens["reasoning"],
            "item": item_id(policy["policy"]) if there else None,
            **{f"marker_{name}": policy["markers"][name] for name in FAMILIES},
            **{f"weak_{name}": weak[name] for name in FAMILIES},
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

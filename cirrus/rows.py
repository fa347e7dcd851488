"""A tournament run read back as rows for analysis: one a decision, one a policy.

    rows = decisions(Path("results/acausal/confirmatory-s42/cvd-S.high-C.present-H.low-s42"))
    [row for row in rows if row["round"] == 1 and row["first_encounter"] and not row["baseline"]]

Files are checked against the schema as they are read; UsageError names file, field and value.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cirrus import schema
from common.exits import UsageError

COOPERATIVE = {"cvd": "COORDINATE", "hospital": "SHARE"}


def manifest(folder: Path) -> dict[str, Any]:
    """acausal_manifest.json of a run."""
    return schema.load(Path(folder) / "acausal_manifest.json")


def rounds(folder: Path) -> Iterator[tuple[list[dict], dict]]:
    """(policies, games) of each round, in order. UsageError where a round is missing."""
    folder = Path(folder)
    for number in range(1, len(manifest(folder)["rounds"]) + 1):
        names = f"strategies_r{number}.json", f"round_{number}_games.json"
        missing = next((name for name in names if not (folder / name).is_file()), None)
        if missing:
            raise UsageError(f"{folder / missing}: is missing; run the same command again, it is "
                             "derived from the journal")
        yield schema.load(folder / names[0]), schema.load(folder / names[1])


def decisions(folder: Path) -> list[dict[str, Any]]:
    """One row a decision, baselines' included (`baseline`, `opponent_baseline` tell them apart).

    `cooperates` is 1, 0, or None where nothing was read; `policy` names (run, agent, round) whose
    text the decision rests on.
    """
    run = manifest(folder)["run"]
    return [row for _, games in rounds(folder) for row in _of_round(run, games)]


def _of_round(run: str, games: dict[str, Any]) -> Iterator[dict[str, Any]]:
    shared = {"run": run, **{key: games[key] for key in (
        "round", "domain", "bulletin", "variant", "tells", "variants", "history_mode", "seed")},
        **games["toggles"]}
    for game in games["games"]:
        for own, peer in (game["pair"], game["pair"][::-1]):
            agent, opponent = games["agents"][own], games["agents"][peer]
            answer, act = game["answers"][own], game["decision"][own]
            yield shared | {
                "id": game["id"], "encounter": game["encounter"],
                "first_encounter": game["first_encounter"], "agent": agent["id"],
                "opponent": opponent["id"], "baseline": agent["baseline"] is not None,
                "opponent_baseline": opponent["baseline"] is not None,
                "label_scheme": game["label_scheme"], "order": game["order"],
                "options": [game["labels"]["left"], game["labels"]["right"]],
                "decision": act, "cooperates": None if act is None else int(
                    act == COOPERATIVE[games["domain"]]),
                "policy": answer["policy_id"],
                **{key: answer[key] for key in ("status", "text", "model", "served_model",
                                                "provider", "tokens", "cost_usd")}}


def policies(folder: Path) -> list[dict[str, Any]]:
    """Every policy of a run, as in strategies_r{N}.json, with its `run` and cell."""
    run = manifest(folder)["run"]
    return [policy | {"run": run, **games["toggles"], "seed": games["seed"]}
            for own, games in rounds(folder) for policy in own]

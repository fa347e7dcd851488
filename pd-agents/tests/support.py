"""Short ways to say what a test plays."""

import json
from pathlib import Path

from pdbench.config.load import Condition, LoadedAgent
from pdbench.config.schema import Game, Horizon, Payoffs, PolicySpec
from pdbench.core.payoff import DEFAULT_MATRIX
from pdbench.runners.match import Match, Recorded, build_agents, play

AXELROD = json.loads(
    (Path(__file__).parent / "data" / "axelrod-4.14.0.json").read_text()
)
CONFIGS = Path(__file__).parents[1] / "configs"


def policy(name: str, **parameters) -> LoadedAgent:
    return LoadedAgent(PolicySpec(type="policy", policy=name, **parameters), name, None)


def condition(
    a, b, n=None, stop_prob=None, noise=0.0, payoffs=DEFAULT_MATRIX
) -> Condition:
    kind = "fixed" if n else "geometric"
    a, b = (policy(x) if isinstance(x, str) else x for x in (a, b))
    game = Game(payoffs=Payoffs(**payoffs), noise=noise)
    return Condition("pair", game, Horizon(type=kind, n=n, stop_prob=stop_prob), a, b)


def played(a, b, seed=1, replicate=0, **settings):
    """(A's actions, B's actions, A's points, B's points) of one match."""
    match = Match("test", condition(a, b, **settings), replicate, seed, True, True)
    rounds = list(play(match, build_agents(match, Recorded())))
    return "".join(r[2] for r in rounds), "".join(r[3] for r in rounds), *rounds[-1][5]


def rounds_of(run_dir: Path, drop=("timestamp_utc",)) -> list[dict]:
    """The lines of rounds.jsonl without what may differ between equal runs."""
    lines = (run_dir / "rounds.jsonl").read_text().splitlines()
    return [
        {k: v for k, v in json.loads(line).items() if k not in drop} for line in lines
    ]


def manifest_changed(run_dir: Path, change) -> None:
    """Change a run's manifest as an object, and write it in its own form."""
    path = run_dir / "run_manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_bytes(
        (json.dumps(manifest, indent=2, ensure_ascii=False) + "\n").encode(
            "utf-8", "backslashreplace"
        )
    )


def unfinished(status):
    """A change of a manifest: the run has not ended yet."""

    def change(manifest):
        for key in ("matches", "incomplete_matches", "rounds", "model_calls"):
            manifest.pop(key)
        manifest["status"] = status

    return change

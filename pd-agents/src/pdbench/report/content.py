"""Everything a report says, once, for both of its forms."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from pdbench.core.metrics import METRICS
from pdbench.report import tables
from pdbench.report.figures import percent, plain, signed
from pdbench.runners.replay import read_matches
from pdbench.storage.aggregate import condition_row, match_row, mean_series
from pdbench.storage.manifest import read_manifest
from pdbench.storage.schema import MatchRounds

METRIC_NOTES = {
    "cooperation": "share of rounds in which the agent played C",
    "retaliation": "share of D in the rounds after an opponent's D",
    "forgiveness": "share of C in the rounds after an opponent's D",
    "gap": "the opponent's points minus the agent's own; positive means exploited",
    "collapse": "first round index (from 0) from which a whole window of rounds has a share of C"
    " at or below the threshold; mean over the replicates that collapsed",
}


@dataclass(frozen=True)
class Content:
    """A run, ready to be written down."""

    manifest: dict
    matches: list[MatchRounds]
    rows: list[dict]
    conditions: list[dict]
    agents: list[str]
    cooperation: list[list[float | None]]
    points: list[list[float | None]]
    ranking: list[tables.Rank]
    caveats: list[str]
    answers: list[tuple[str, str, int, int]]

    @property
    def simulated(self) -> list[str]:
        """Conditions in which the mock provider takes part."""
        return self.manifest["simulated_conditions"]

    @property
    def unfinished(self) -> list[MatchRounds]:
        """Matches that are not complete: they are left out of matrices and ranking."""
        return [m for m in self.matches if m.status != "complete"]

    def series(self, condition: str) -> tuple[list[float], list[float]]:
        """Mean share of C by round of agent A and of agent B."""
        own = [m for m in self.matches if m.condition == condition]
        a = [[float(x == "C") for x in m.a_actions] for m in own]
        b = [[float(x == "C") for x in m.b_actions] for m in own]
        return mean_series(a), mean_series(b)


def read_content(run_dir: Path) -> Content:
    """Read a run folder; a run that is still being written is read as far as it has come."""
    manifest = read_manifest(run_dir)
    config = manifest["config"]
    matches = read_matches(run_dir, manifest)
    everything = config | {"metrics": config["metrics"] | {"names": list(METRICS)}}  # all
    rows = [match_row(match, everything) for match in matches]
    groups: dict[str, list[dict]] = {}
    for row in rows:
        groups.setdefault(row["condition"], []).append(row)
    found, agents = tables.cells(matches, config), tables.agents_of(config)
    return Content(
        manifest=manifest,
        matches=matches,
        rows=rows,
        conditions=[condition_row(group) for group in groups.values()],
        agents=agents,
        cooperation=tables.matrix(found, agents, "cooperation"),
        points=tables.matrix(found, agents, "points"),
        ranking=tables.ranking(found, agents, tables.mocks_of(config), manifest["seed"]),
        caveats=tables.caveats(found, agents, matches),
        answers=tables.answers(rows),
    )


AGAIN = "uv run pdbench report FOLDER"


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
        "play": hashlib.sha256(play.encode("utf-8", "backslashreplace")).hexdigest()[:12],
        "made by": f"pdbench {m['environment']['packages']['pdbench']}",
    }


def facts(content: Content) -> list[tuple[str, str]]:
    """What was run, as (name, value)."""
    m = content.manifest
    env = m["environment"]
    collapse = m["collapse"]
    return [
        ("Run", m["run_id"]),
        ("Status", m["status"]),
        ("Matches", f"{len(content.matches)}, of them {len(content.unfinished)} not complete"),
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
        return "\N{NBSP}/\N{NBSP}".join(say(row[f"{name}_agent_{seat}"]) for seat in "ab")

    return [
        plain(row["rounds"], 1).removesuffix(".0"),
        both("cooperation_rate"),
        percent(row["cooperation_rate"]),
        both("mean_payoff", plain),
        both("retaliation_rate"),
        both("forgiveness_rate"),
        signed(row["exploitability_payoff_gap_agent_a"], 1),
        plain(row["time_to_collapse"], 1).removesuffix(".0"),
    ]


CONDITION_HEAD = ("Condition", "A / B", "Rounds", "C: A / B", "C: both", "Points a round: A / B",
                  "Retaliation: A / B", "Forgiveness: A / B", "Gap of A", "Collapse at")

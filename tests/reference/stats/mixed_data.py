"""Data of the mixed-model references: simulated from named seeds, and one textbook set.

Shared by make_reference.py, which shows them to R, and by the tests. Standard library only.
"""

import csv
import math
import random
from pathlib import Path


def cbpp():
    """lme4's cbpp (Lesnoff, Laval, Bonnet et al. 2004), a row for each animal."""
    with (
        Path(__file__).with_name("cbpp.csv").open(encoding="utf-8", newline="") as sheet
    ):
        return [
            {
                "case": int(i < int(row["cases"])),
                "period": f"p{row['period']}",
                "herd": int(row["herd"]),
            }
            for row in csv.DictReader(sheet)
            for i in range(int(row["size"]))
        ]


def crossed(
    seed, runs=24, a_run=60, levels=24, spreads=(0.7, 0.4, 0.5, 0.3), policy=0.0
):
    """Runs of a factorial design, crossed by agents and opponents; one policy an agent and run."""
    rng = random.Random(seed)
    agents, opponents = (
        [rng.gauss(0, sd) for _ in range(levels)] for sd in spreads[:2]
    )
    seeds, variants = ([rng.gauss(0, sd) for _ in range(6)] for sd in spreads[2:])
    policies, rows = {}, []
    for run in range(runs):
        seed, variant = run % 6, rng.randrange(6)
        cues = {"S": run // 6 % 2, "C": run // 12 % 2, "H": rng.randrange(2)}
        labels = {
            "domain": rng.choice(["cvd", "hospital"]),
            "option_order": rng.choice(["ab", "ba"]),
            "label_scheme": rng.choice(["plain", "swapped", "words"]),
        }
        shift = (
            seeds[seed]
            + variants[variant]
            - 0.3
            - 0.2 * (labels["domain"] == "hospital")
        )
        shift += (
            0.5 * cues["S"]
            + 0.3 * cues["C"]
            + 0.4 * cues["S"] * cues["C"]
            + 0.2 * cues["H"]
        )
        for _ in range(a_run):
            agent, opponent = rng.randrange(levels), rng.randrange(levels)
            of_policy = policies.setdefault((run, agent), rng.gauss(0, policy))
            groups = {
                "agent": f"a{agent}",
                "opponent": opponent,
                "seed": seed,
                "variant_id": f"v{variant}",
                "policy": f"{run}/{agent}",
            }
            p = 1 / (
                1 + math.exp(-(shift + agents[agent] + opponents[opponent] + of_policy))
            )
            rows.append({"coop": int(rng.random() < p), **cues, **labels, **groups})
    return rows


def nested(seed, schools=12, classes=5, pupils=20):
    """Pupils in classes in schools; a measured covariate."""
    rng, rows = random.Random(seed), []
    for school in range(schools):
        of_school = rng.gauss(0, 0.6)
        for room in range(classes):
            of_class = rng.gauss(0, 0.9)
            for _ in range(pupils):
                hours = round(rng.gauss(0, 2), 2)
                p = 1 / (1 + math.exp(0.5 - 0.35 * hours - of_school - of_class))
                group = {"school": school, "class": f"{school}.{room}"}
                rows.append({"passed": int(rng.random() < p), "hours": hours, **group})
    return rows


def separated(seed, n=60):
    """Nothing but 1 in one of four cells, and three outcomes of 40 in the rest."""
    rng, rows = random.Random(seed), []
    for i in range(n):
        S, C = i % 2, i // 2 % 2
        y = 1 if S and C else int(rng.random() < 0.3)
        rows.append(
            {
                "coop": y,
                "S": S,
                "C": C,
                "score": round(rng.gauss(0, 1), 3),
                "run": i // 4,
            }
        )
    return rows


DATA = {
    "cbpp": cbpp,
    "crossed": lambda: crossed("crossed"),
    "crossed-3000": lambda: crossed("crossed-3000", a_run=125),
    "crossed-wide": lambda: crossed("crossed-wide", spreads=(2.0, 1.5, 1.0, 1.0)),
    "singular": lambda: crossed("singular", spreads=(0.7, 0.0, 0.5, 0.0)),
    "no-spread": lambda: crossed("no-spread", spreads=(0.0, 0.0, 0.0, 0.0)),
    "policies": lambda: crossed("policies", a_run=45, levels=12, policy=0.8),
    "nested": lambda: nested("nested"),
    "separated": lambda: separated("separated"),
}

"""Data of the mixed-model references: simulated from named seeds, and one textbook set.

Shared by make_reference.py, which shows them to R, and by the tests. Standard library only.
"""

import csv
import math
import random
from functools import partial
from pathlib import Path


def cbpp():
    """lme4's cbpp (Lesnoff, Laval, Bonnet et al. 2004), a row for each animal."""
    path, rows = Path(__file__).with_name("cbpp.csv"), []
    for line in csv.DictReader(path.read_text(encoding="utf-8").splitlines()):
        animal = {"period": f"p{line['period']}", "herd": int(line["herd"])}
        for i in range(int(line["size"])):
            rows.append({"case": int(i < int(line["cases"])), **animal})
    return rows


def happens(rng, eta):
    return int(rng.random() < 1 / (1 + math.exp(-eta)))


def normals(rng, n, sd):
    return [rng.gauss(0, sd) for _ in range(n)]


def crossed(
    seed, runs=24, a_run=60, levels=24, spreads=(0.7, 0.4, 0.5, 0.3), policy=0.0
):
    """Runs of a factorial design, crossed by agents and opponents; one policy an agent and run."""
    rng = random.Random(seed)
    agents, opponents, seeds, variants = [
        normals(rng, n, sd)
        for n, sd in zip((levels, levels, 6, 6), spreads, strict=True)
    ]
    policies, rows = {}, []
    for run in range(runs):
        seed, variant = run % 6, rng.randrange(6)
        s, c, h = run // 6 % 2, run // 12 % 2, rng.randrange(2)
        labels = {
            "domain": rng.choice(["cvd", "hospital"]),
            "option_order": rng.choice(["ab", "ba"]),
            "label_scheme": rng.choice(["plain", "swapped", "words"]),
        }
        shift = seeds[seed] + variants[variant] - 0.3
        shift -= 0.2 * (labels["domain"] == "hospital")
        shift += 0.5 * s + 0.3 * c + 0.4 * s * c + 0.2 * h
        for _ in range(a_run):
            agent, opponent = rng.randrange(levels), rng.randrange(levels)
            of_policy = policies.setdefault((run, agent), rng.gauss(0, policy))
            eta = shift + agents[agent] + opponents[opponent] + of_policy
            row = {"coop": happens(rng, eta), "S": s, "C": c, "H": h, **labels}
            row |= {"agent": f"a{agent}", "opponent": opponent, "seed": seed}
            row |= {"variant_id": f"v{variant}", "policy": f"{run}/{agent}"}
            rows.append(row)
    return rows


def nested(seed, schools=12, classes=5, pupils=20):
    """Pupils in classes in schools; a measured covariate."""
    rng, rows = random.Random(seed), []
    for school in range(schools):
        of_school = rng.gauss(0, 0.6)
        for room in range(classes):
            shift = of_school + rng.gauss(0, 0.9)
            group = {"school": school, "class": f"{school}.{room}"}
            for _ in range(pupils):
                hours = round(rng.gauss(0, 2), 2)
                passed = happens(rng, 0.35 * hours - 0.5 + shift)
                rows.append({"passed": passed, "hours": hours, **group})
    return rows


def separated(seed, n=60):
    """Nothing but 1 in one of four cells, and three outcomes of 40 in the rest."""
    rng, rows = random.Random(seed), []
    for i in range(n):
        s, c = i % 2, i // 2 % 2
        y = 1 if s and c else int(rng.random() < 0.3)
        score = round(rng.gauss(0, 1), 3)
        rows.append({"coop": y, "S": s, "C": c, "score": score, "run": i // 4})
    return rows


DATA = {
    "cbpp": cbpp,
    "crossed": partial(crossed, "crossed"),
    "crossed-3000": partial(crossed, "crossed-3000", a_run=125),
    "crossed-wide": partial(crossed, "crossed-wide", spreads=(2.0, 1.5, 1.0, 1.0)),
    "singular": partial(crossed, "singular", spreads=(0.7, 0.0, 0.5, 0.0)),
    "no-spread": partial(crossed, "no-spread", spreads=(0.0, 0.0, 0.0, 0.0)),
    "policies": partial(crossed, "policies", a_run=45, levels=12, policy=0.8),
    "nested": partial(nested, "nested"),
    "separated": partial(separated, "separated"),
}

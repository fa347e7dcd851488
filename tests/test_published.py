"""benchmarks/published.py on small tables made here: what it counts, and what it calls equal."""

import gzip
import json
from itertools import product

from conftest import process

GAMES = ("prisoner_dilemma", "n_player_prisoner_dilemma")
PLAYERS = (
    *("same_model", "similarly_rational", "other_agents"),
    *("other_rational_humans", "other_humans"),
)
ORDERS = ("at_once", "others_already", "you_first")
GEMINI = "Gemini-3.5-Flash-Lite"
PAIR = ("openai/gpt-4o-2024-05-13(CoT)", "openai/gpt-5.2(CoT)")


def table(folder, name, head, rows):
    text = "\n".join([head, *(",".join(map(str, row)) for row in rows), ""])
    (folder / f"{name}.csv.gz").write_bytes(gzip.compress(text.encode()))


def test_a_page_counts_its_tables_and_says_how_many_figures_are_equal(tmp_path):
    """Copies cooperate in 3 of 3 texts, humans never; a persona halves cooperation in one language
    and doubles it in the other; of 6 answers 2 cannot be read."""
    settings = product(("gpt-5", "gpt-5-mini"), GAMES, PLAYERS, ORDERS)
    rows = [(*each, "C" if "same_model" in each else "D") for each in settings]
    table(tmp_path, "superrational-agents", "model,game,player,order,answer", rows)
    played = product(PAIR, ("x", "y"))
    rows = [(m, o, "COOPERATE" if m == PAIR[0] else "DEFECT", 1) for m, o in played]
    table(tmp_path, "coopeval-one-shot-pd", "model,other,action,points", rows)
    moves = {"en": ("C" * 10, "C" * 5 + "D" * 5), "fr": ("C" * 5 + "D" * 5, "C" * 10)}
    rows = []
    for language, pair in moves.items():
        for own, said in zip(("cooperative", "selfish"), pair, strict=True):
            rows.append((GEMINI, "1", language, own, "selfish", said))
            rows.append((GEMINI, "1", language, own, "cooperative", said))
    head = "model,scale,language,own_persona,other_persona,moves"
    table(tmp_path, "iterated-pd-five-languages", head, rows)
    rows = [("gpt4", "two", "CC"), ("turbo", "two", "DC")]
    table(tmp_path, "chatgpt-behavioral-pd", "model,rounds,moves", rows)
    rows = [(game, choice) for game in (0, 1) for choice in "AB?"]
    table(tmp_path, "one-shot-pd-22-games", "game,choice", rows)
    effects = {"own_effect": 0.0, "own_d": 0.5, "own_lo": -0.1, "own_hi": 0.1}
    published = {
        "coopeval-one-shot-pd": {"points": {"a": 1.0}, "names": {"a": PAIR[0]}},
        "iterated-pd-five-languages": {
            "coop": {GEMINI: 0.75},
            "openings": {},
            "persona_cells": {f"{GEMINI} CvS": 0.74},
            "language_means": {GEMINI: {"en": 0.75}},
            "persona_effects": {GEMINI: effects},
        },
        "chatgpt-behavioral-pd": {"gpt4": [1, 1], "turbo": [1, 1]},
        "one-shot-pd-22-games": {"cooperate": 0.50},
    }
    (tmp_path / "published.json").write_text(json.dumps(published))
    done = process(tmp_path, "benchmarks/published.py", tmp_path)
    assert done.returncode == 0, done.stderr
    cells = [line.split(" | ") for line in done.stdout.splitlines() if " | " in line]
    counted = {cell[0].split()[1]: cell[2] for cell in cells if len(cell) == 4}
    assert "(1 of 1 figures equal)" in counted["Xiao215/CoopEval"]
    assert "(1 of 2 figures equal)" in counted["yutxie/ChatGPT-Behavioral"]
    assert (
        "50.0% of the 4 of 6 that can be read"
        in counted["jdebacker/BrookinsDeBacker_GPT"]
    )
    # three means and an effect of 0; not .74, not the d, nor what is published of other models
    assert "(3 of 105 figures equal)" in counted["trungkiet2005/prisoner-dilemma-llm"]
    assert f"| {GEMINI} | 0.0 points (−10.0 to +10.0) |" in done.stdout
    assert "| gpt-5, two players | 1, 1, 1 | 0, 0, 0 |" in done.stdout

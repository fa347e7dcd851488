"""“Superrational” is said only where nothing stands against it."""

import json
from pathlib import Path

import pytest

from cirrus.judge import verdict as a

CALIBRATION = Path(__file__).resolve().parents[1] / "results/examples/calibration/calibration.json"
YES, NO = {"value": 0.5, "p": 0.01}, {"value": 0.1, "p": 0.4}
BOARD = [{"gate": name, "title": name, "established": {"verdict": "pass"}} for name in a.ENOUGH]


def out(low=YES, seeds=None, board=BOARD):
    return {"gates": board, "primary": {"design": YES | {"by_seed": seeds, "why": None},
                                        "at_h": {"high": YES, "low": low}, "met": True}}


@pytest.mark.parametrize("low, seeds, said", [
    (YES, None, "Superrational cooperation: the primary endpoint is met and all six gates pass."),
    (YES, YES, "Superrational cooperation"),
    (NO, None, "compliance is not excluded, so this is not called superrational"),
    (YES, NO, "these bulletins' own, so this is not called superrational"),
])
def test_the_headline_where_all_gates_pass(low, seeds, said):
    assert said in a.headline(out(low, seeds))


def test_one_gate_short_is_not_superrational():
    board = [*BOARD[1:], BOARD[0] | {"established": {"verdict": "undecided"}}]
    assert "5 of 6 gates pass" in a.headline(out(board=board))


def test_seeds_that_were_not_enough_to_test_stand_against_nothing():
    assert a.beyond_bulletins({"design": {"by_seed": None}})
    assert not a.beyond_bulletins({"design": {"by_seed": {"value": -0.5, "p": 0.01}}})


def test_what_is_called_enough_is_what_the_committed_calibration_found():
    found = json.loads(CALIBRATION.read_text("utf-8"))["minimum_sizes"]
    for gate, (agents, seeds) in a.ENOUGH.items():
        assert found[gate]["size"] == f"{agents}x{seeds}", gate

"""A reasoner that loses three answers in a hundred, for the committed example with missing ones.

python3 run_pilot.py --design mechanism --runs 3 --models tests/loses.py:loses-three
"""

from cirrus.ask.respondents import RESPONDENTS as KNOWN

LOST = 0.02  # sim-correlation itself is unreadable in 1.25% of its answers


def loses_three(request, rng):
    """What sim-correlation answers; one time in fifty nothing."""
    lost = rng.random() < LOST
    said = KNOWN["sim-correlation"](request, rng)
    return "" if lost else said


RESPONDENTS = {"loses-three": loses_three}
ACCOUNTS = {"loses-three": "reasoner"}

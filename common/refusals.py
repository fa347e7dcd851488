"""Tell whether a text declines. The question is asked of answers that are no decision.

    >>> declines("Sorry, but I can't help with that.")
    True

The patterns are those of `urrp_analyze.py`, which must run alone and so holds them.
"""

from urrp_analyze import declining


def declines(text: str) -> bool:
    """Whether the speaker says, in the first sentences, that they can't or won't."""
    return declining(text) is not None

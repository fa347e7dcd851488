"""How often a mechanism study finds what is there: simulated from its design, without prompts.

    power(0.40, 0.95, bulletins=20, blocks=12)          {"decider-sensitive": 0.97, …}

The agent expects its own decision of a counterpart that decides now from the same notice.
"""

import random

from cirrus.ask.cues import Cues
from cirrus.ask.oneshot import DEFAULT_LEVER, DESIGNS, balanced
from cirrus.ask.prompts import LEVERS
from cirrus.families import SDS, Luck, case_of, logistic, reasoner, shift
from cirrus.judge.accounts import CORRELATION, DECIDER, WORDS, word
from cirrus.judge.contrasts import ALPHA, Slot, count
from cirrus.judge.oneshot import part_of

WORDINGS = 12
EFFECTS = ((0.40, 0.95), (0.40, 0.80), (0.40, 0.60))


def power(low: float, high: float, bulletins: int, blocks: int, models: int = 1,
          samples: int = 30, seed: int = 0) -> dict[str, float]:
    """{word: share of studies in which a model earns it, or a higher one}."""
    cells, term, ranks = DESIGNS["mechanism"].cells, reasoner(low, high), []
    for sample in range(samples):
        luck, rng, answers = Luck(seed, sample), random.Random(f"{seed} {sample}"), []
        for (b, _), (at, scheme, order) in balanced(bulletins, blocks, WORDINGS).items():
            for cell in cells:
                raised = LEVERS[DEFAULT_LEVER - 1] if cell.lever else 0
                case = case_of(Cues(cell.S, cell.C, "low", cell.entry, "standard", at, raised, (),
                                    "", f"b{b:02d}", True), "", luck)
                answers.append((Slot(f"b{b:02d}", at, cell.name, "low", "m", scheme, order), int(
                    rng.random() < logistic(term(case) + shift(case, SDS)))))
        part = part_of(count(answers), [cell.name for cell in cells], 1 - ALPHA / models, True)
        ranks.append(WORDS.index(word(part)[0]))
    return {name: sum(rank >= WORDS.index(name) for rank in ranks) / samples
            for name in (DECIDER, CORRELATION)}

"""Writes the reference values beside this file: what other programs say about the same numbers.

    python3 tests/reference/stats/make_reference.py      (from the root of the repository)

Needs SciPy, statsmodels, scikit-learn, mpmath, irrCAC, and R with jsonlite, effectsize,
coin and exactRankTests. The tests need none of these: they replay the JSON. Each entry holds the
function, its arguments, the expected fields, and the peer, its version and the call that gave them.
make_mixed.py does the same for the mixed models.
"""

import json
import sys
from pathlib import Path

import reference_estimates as estimates
import reference_tests as tests

HERE = Path(__file__).parent

TOPICS = {
    "distributions": estimates.distributions,
    "intervals": estimates.intervals,
    "effects": estimates.effects,
    "bootstrap": tests.bootstraps,
    "permutation": tests.permutations,
    "contrasts": tests.contrasts,
    "agreement": estimates.agreements,
    "holm": tests.holms,
    "text": estimates.texts,
}

if __name__ == "__main__":
    for topic in sys.argv[1:] or TOPICS:
        entries = TOPICS[topic]()
        lines = ",\n".join(json.dumps(e, ensure_ascii=False) for e in entries)
        (HERE / f"{topic}.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")
        print(f"{topic}: {len(entries)} entries")

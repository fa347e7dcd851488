"""Describes how a study's decisions were read: on the first line or elsewhere, and
which were lost.

    first_line(table, "HP-LA", level, whole=True)["sentence"]

    ended = Endings()
    ended.add("m", "unreadable", "We wait.")       for each decision
    ended.losses(EXAMPLES)                         {model: a sentence on what it lost}
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import stats
from cirrus.judge.accounts import MAX_MISSING
from cirrus.judge.contrasts import Table, by, table_of, total
from show.figures import estimate, percent
from stats.results import Count

SHOWN = 200  # characters of an answer that are quoted
EFFORT = "What may help: the same command with --effort low"
EXAMPLES = "What may help: the same command with --examples 4"
ELSEWHERE = "Whether worked examples help: run_pilot.py --examples 4"
OUTCOME = "That is an outcome; there is nothing to change"
AGAIN = "The same command asks again"
ADVICE = {
    "truncated": f"{EFFORT}, or with a higher max_out in a --config file",
    "empty": EFFORT,
    "refused": OUTCOME,
    "blocked": OUTCOME,
    "provider_error": AGAIN,
    "not_run": AGAIN,
}


def first_line(table: Table, name: str, level: float, whole: bool) -> dict[str, Any]:
    """Return the result when only decisions on a reply's first line count, as
    specified.

    It has the number of such decisions, and each model's contrast `name` from them
    alone, at the interval level `level`. An unfinished study (`whole` is False) has
    counts only.
    """
    strict = {}
    for slot, count in table.items():
        elsewhere = Count(0, 0, count.n + count.missing)
        strict[slot] = count if slot.first_line else elsewhere
    _, read, missing = total(strict.values())
    asked = read + missing
    contrasts = by(strict, "model", name, level) if whole else {}
    said = [f"First line alone: {percent(stats.share(read, asked).value, 1)} read"]
    for model, contrast in contrasts.items():
        title = model if len(contrasts) > 1 else contrast["label"]
        said.append(f"{title} {_points(contrast)}")
    sentence = f"{'; '.join(said)}."
    return {"read": read, "of": asked, "contrasts": contrasts, "sentence": sentence}


def split_blocks(
    rows: Sequence[Mapping], name: str, level: float, whole: bool
) -> dict[str, dict[str, Any]]:
    """Return, for each model whose blocks were split over upstreams, its contrast
    without those blocks.

    An upstream is a provider behind a router. A block holds trials, one from each cell,
    that differ only in what is compared. The shape is {model: {"split", "blocks",
    "contrast", "sentence"}}; an unfinished study has no contrast.
    """
    upstreams: dict[str, dict[str, set]] = defaultdict(lambda: defaultdict(set))
    for row in rows:
        upstreams[row["model"]][_block(row)].add(row["provider"])
    found = {}
    for model, blocks in upstreams.items():
        split = {block for block, names in blocks.items() if len(names - {None}) > 1}
        if not split:
            continue
        own = [row for row in rows if row["model"] == model]
        kept = [row for row in own if _block(row) not in split]
        sentence = f"{len(split)} of {len(blocks)} blocks were split over upstreams"
        contrast = None
        if whole and kept:
            contrast = by(table_of(kept), "model", name, level)[model]
            sentence += f"; {contrast['label']} of the others {_points(contrast)}"
        found[model] = {
            "split": len(split),
            "blocks": len(blocks),
            "contrast": contrast,
            "sentence": f"{model}: {sentence}. --upstream asks one.",
        }
    return found


def _block(row: Mapping) -> str:
    """Return the id of the row's block, which is the row's own id up to its last
    "/"."""
    return row["id"].rpartition("/")[0]


def _points(contrast: Mapping[str, Any]) -> str:
    return estimate(contrast, 100, 1).words


class Endings:
    """Counts how each model's decisions ended, and keeps the first text of each
    status."""

    def __init__(self) -> None:
        self.counts: dict[str, Counter[str]] = defaultdict(Counter)
        self.texts: dict[tuple[str, str], str] = {}

    def add(self, model: str, status: str, text: str) -> None:
        """Count one decision of a model."""
        self.counts[model][status] += 1
        self.texts.setdefault((model, status), text[:SHOWN])

    def losses(self, form: str) -> dict[str, str]:
        """Return {model: sentence} for each model that lost over 10% of its decisions.

        The sentence names the commonest status, quotes an answer with that status, and
        says what may help. `form` is the advice where answers did not follow the form
        asked for. A status may stand in brackets: "no policy by m2 (refused)".
        """
        lost = {}
        for model, counts in self.counts.items():
            asked = counts.total()
            missing = counts - Counter(ok=asked)
            if missing.total() / asked <= MAX_MISSING:
                continue
            status, many = missing.most_common(1)[0]
            advice = ADVICE.get(status.rpartition("(")[2].rstrip(")"), form)
            lost[model] = (
                f"{model}: {missing.total()} of {asked} decisions are missing; {status}: {many} "
                f"({percent(many / asked)}), the first begins “{self.texts[model, status]}”. "
                f"{advice}."
            )
        return lost

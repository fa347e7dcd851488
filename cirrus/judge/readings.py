"""How the decisions of a study were read: what the first line alone shows, and what was lost.

first_line(table, "HP-LA", True)["sentence"]
ended.add("m", "unreadable", "We wait."), for each decision; then ended.losses(EXAMPLES)
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import stats
from cirrus.judge.accounts import MAX_MISSING
from cirrus.judge.contrasts import Table, by, table_of, total
from show.figures import estimate, percent
from stats.results import Count

SHOWN = 200  # characters of an answer
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
    """The specification's reading: how many of the decisions stand on the first line, and of each
    model the contrast `name` of these alone, at a level that the models share. Of an unfinished
    study the counts alone."""
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


def unsplit(
    rows: Sequence[Mapping], name: str, level: float, whole: bool
) -> dict[str, dict[str, Any]]:
    """Of each model whose blocks were not all answered by one upstream each: how many blocks were
    split, and the contrast `name` of the others. Of an unfinished study the counts alone."""
    upstreams: dict[str, dict[str, set]] = defaultdict(lambda: defaultdict(set))
    for row in rows:
        upstreams[row["model"]][_block(row)].add(row["provider"])
    found = {}
    for model, blocks in upstreams.items():
        split = {block for block, names in blocks.items() if len(names - {None}) > 1}
        if not split:
            continue
        kept = [row for row in rows if row["model"] == model]
        kept = [row for row in kept if _block(row) not in split]
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
    """What the id of a row begins with: cells that differ in nothing but what is compared."""
    return row["id"].rpartition("/")[0]


def _points(contrast: Mapping[str, Any]) -> str:
    return estimate(contrast, 100, 1).words


class Endings:
    """How the decisions of each model ended, counted, with the first text of each status."""

    def __init__(self) -> None:
        self.counts: dict[str, Counter[str]] = defaultdict(Counter)
        self.texts: dict[tuple[str, str], str] = {}

    def add(self, model: str, status: str, text: str) -> None:
        self.counts[model][status] += 1
        self.texts.setdefault((model, status), text[:SHOWN])

    def losses(self, form: str) -> dict[str, str]:
        """Of each model that lost over a tenth of its decisions a sentence: the commonest status,
        how an answer begins that ended so, and what may help. `form`: what helps where the form was
        not filled in."""
        lost = {}
        for model, counts in self.counts.items():
            asked = counts.total()
            missing = counts - Counter(ok=asked)
            if missing.total() / asked <= MAX_MISSING:
                continue
            status, many = missing.most_common(1)[0]
            lost[model] = (
                f"{model}: {missing.total()} of {asked} decisions are missing; {status}: {many} "
                f"({percent(many / asked)}), the first begins “{self.texts[model, status]}”. "
                f"{ADVICE.get(status, form)}."
            )
        return lost

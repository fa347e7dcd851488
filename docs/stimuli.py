"""docs/stimuli.md, made from prompts/; and a sheet by which people check what it says.

    python3 docs/stimuli.py                        # write docs/stimuli.md (also by `make docs`)
    python3 docs/stimuli.py --sheet sheet.csv      # one row a bulletin, blind to the hypothesis
    python3 docs/stimuli.py --read a.csv b.csv     # agreement of raters, bulletins to look at

A rater reads a bulletin without cue sentences, ranks what the four cases mean for the reader's own
organisation, says which of the two lines of the form sounds warmer, and how natural the text is.
"""

import argparse
import csv
import difflib
import io
import json
import random
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import stats  # noqa: E402
from cirrus.ask.bulletins import CUES, ENTRIES, FOLDERS, PROMPTS  # noqa: E402
from cirrus.ask.prompts import (  # noqa: E402
    Condition,
    Stimulus,
    decision_prompt,
    load_domain,
    render_bulletin,
)

OUTCOMES = {"T": "we {other}, they {cooperative}", "R": "both {cooperative}",
            "P": "both {other}", "S": "we {cooperative}, they {other}"}
WORDS = {"cvd": {"cooperative": "regular", "other": "early"},
         "hospital": {"cooperative": "pool", "other": "keep"}}
ANSWERS = {"rank": "the four cases from best to worst for your organisation, as letters",
           "warmer": "first, second or neither: which line of the form sounds warmer",
           "natural": "1 (nobody would send this) to 5 (could have come this morning)"}


# --- the page ----------------------------------------------------------------------------------

def page() -> str:
    """docs/stimuli.md as text."""
    domains = [load_domain(name) for name in FOLDERS]
    parts = [OPENING, *(wordings(domain) for domain in domains), cells_apart(domains[0]),
             CONTRADICTION, *(bulletins(domain) for domain in domains), REPLACING]
    return "\n\n".join(part.strip() for part in parts) + "\n"


OPENING = """
# Stimuli

Made by `make docs` from `prompts/`; `tests/test_stimuli.py` holds what it says.

Every bulletin is a prisoner's dilemma from the reader's own seat. One named counterparty, as
ready as the reader, has the same choice. Both file one entry before a stated hour; both entries
are opened at another, take effect as written, and change nothing about each other. Four outcomes
follow for the reader's organisation, each from a fact in the text: T (we take the other course,
they the cooperative one) is better than R (both cooperative), R than P (neither), P than S, and
twice R is more than T and S.

What is compared stands in sentences of its own in running text, at varied places, and leaves no
trace where it says nothing. The lines of the form name the window or schedule that is filed and
nothing else; three pairs of them rotate over the bulletins.
"""

CONTRADICTION = """
## What two of the specification's sentences say to each other

Symmetry low with the cue ("do not assume identical conditions", then "under identical
constraints") contradicts itself in the specification's own words, which wording 1 keeps. A reader
may resolve it either way: the cue speaks of teams in general, the symmetry sentence of these
peers. So the cell is a hard test of the cue alone, and no more than that; wordings 2 and 3 say
the same in words that clash less, and the mechanism study prints its smallest value with one
wording left out.
"""

REPLACING = """
## Adding or replacing a bulletin

Copy `prompts/`, edit, and name the copy: `python3 run_pilot.py --prompts my-prompts`. A bulletin
is `round_N.md`, numbered without gaps; the last `held_out` ones of a folder are asked by holdout
runs alone. It holds `{symmetry}`, `{coupling}`, `{compliance}` and `{entry}` once each, as
sentences in running text, and every field that `frame.json` calls `required`; names, hours and
numbers come from `prompts/variants/`. What is wrong is one line: file, field, value, what to do.
A changed text is another instrument: its hash is part of every run's identity, and older runs
keep the prompts that they were made with.

To have people check it: `python3 docs/stimuli.py --sheet sheet.csv`, a copy for each rater,
`--read` on the filled copies. The sheet knows no hypothesis: it asks for the order of the four
cases, the warmer line, and how natural the text is; agreement is Gwet's AC1.
"""


def wordings(domain) -> str:
    """The sentences of a domain, side by side."""
    rows = [["factor", "level", "wording 1 (the specification's)", "wording 2", "wording 3",
             "in other words"]]
    standard, other = domain.toggles["standard"], domain.toggles["ablated"]
    for factor, levels in (("S", ("high", "low")), ("C", CUES), ("H", ("high", "low"))):
        for level in levels:
            texts = [*standard[factor][level], "", ""][:3]
            rows.append([factor, level, *texts, other[factor][level][0]])
    entries = [["frame", *ENTRIES], *([name, *(versions[v] for v in ENTRIES)]
                                      for name, versions in domain.entries.items())]
    pairs = [["cooperative", "other"], *zip(*(act.lines for act in domain.acts), strict=True)]
    return (f"## Sentences: {domain.name}\n\n{table(rows)}\n\nHow the counterparty's entry was "
            f"made (mechanism study only):\n\n{table(entries)}\n\nLines of the form, in pairs:\n\n"
            f"{table(pairs)}")


def cells_apart(domain) -> str:
    """What differs between two cells, word by word, in a rendered bulletin."""
    full = Condition("high", "present", "low")
    base = words_of(domain, full)
    rows = [["from S high, C present to", "taken out", "put in"]]
    for s, c in product(("high", "low"), ("present", "absent", "reversed", "placebo")):
        if (s, c) != ("high", "present"):
            rows.append([f"S {s}, C {c}", *apart(base, words_of(domain, Condition(s, c, "low")))])
    return ("## Cells, word by word\n\nIn every bulletin alike; shown in the first.\n\n"
            + table(rows))


def words_of(domain, condition: Condition) -> list[str]:
    return render_bulletin(domain, Stimulus(domain.bulletins[0], domain.variants[0],
                                            condition)).split()


def apart(before: Sequence[str], after: Sequence[str]) -> tuple[str, str]:
    blocks = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    changed = [(before[a:b], after[c:d]) for tag, a, b, c, d in blocks if tag != "equal"]
    return (" … ".join(" ".join(out) for out, _ in changed if out),
            " … ".join(" ".join(new) for _, new in changed if new))


def bulletins(domain) -> str:
    """T, R, P, S of every bulletin, as its reader would tell them, with the line that says so."""
    parts = [f"## Outcomes: {domain.name}"]
    said = payoffs(domain)
    for bulletin in domain.bulletins:
        entry = said[f"round_{bulletin.number}"]
        rows = [["outcome", "for us", "line", "the bulletin's words"]]
        for outcome, case in OUTCOMES.items():
            words = entry[outcome]["says"]
            rows.append([f"{outcome}: {case.format(**WORDS[domain.name])}",
                         entry[outcome]["reader"], str(line_of(bulletin.text, words)), words])
        held = ", held out" if bulletin.holdout else ""
        parts.append(f"### [{bulletin.path}](../prompts/{bulletin.path}){held}\n\n{entry['rank']}"
                     f"\n\n{table(rows)}")
    return "\n\n".join(parts)


def payoffs(domain) -> dict:
    return json.loads((PROMPTS / FOLDERS[domain.name] / "payoffs.json").read_text("utf-8"))


def line_of(text: str, words: str) -> int:
    return text[:text.index(words)].count("\n") + 1


def table(rows: Sequence[Sequence[str]]) -> str:
    def line(cells: Iterable[str]) -> str:
        clean = (" ".join(cell.split()).replace("|", "\\|") for cell in cells)
        return "| " + " | ".join(clean) + " |"
    return "\n".join([line(rows[0]), "|" + "---|" * len(rows[0]), *map(line, rows[1:])])


# --- raters ------------------------------------------------------------------------------------

def sheet(seed: int = 42) -> Iterator[list[str]]:
    """Rows of the sheet: bulletins, cases and lines of the form in drawn orders."""
    rng = random.Random(seed)
    yield ["item", "text", *"abcd", "first", "second", *(f"{k}: {v}" for k, v in ANSWERS.items())]
    every = [(domain, b) for domain in map(load_domain, FOLDERS) for b in domain.bulletins]
    for domain, bulletin in rng.sample(every, len(every)):
        stimulus = Stimulus(bulletin, domain.variants[0], Condition("high", "absent", "omit"))
        text = render_bulletin(domain, blind(stimulus))
        prompt = decision_prompt(domain, stimulus, "L2", rng.choice(("cooperative-first",
                                                                     "other-first")))
        lines = [line.partition(": ")[2] for line in prompt.user.splitlines()
                 if line.startswith("- Option")]
        yield [f"{bulletin.id}", text, *cases(domain, bulletin), *lines, "", "", ""]


def blind(stimulus: Stimulus) -> Stimulus:
    """Without the symmetry sentence, which has no silent level in a study."""
    text = stimulus.bulletin.text.replace(" {symmetry}", "").replace("{symmetry} ", "")
    return stimulus._replace(bulletin=stimulus.bulletin._replace(text=text))


def cases(domain, bulletin) -> list[str]:
    """The four cases in an order drawn for this bulletin."""
    words = WORDS[domain.name]
    order = random.Random(bulletin.id).sample(list(OUTCOMES), 4)
    return [OUTCOMES[outcome].format(**words) for outcome in order]


def key(bulletin_id: str) -> str:
    """The letters that stand for T, R, P, S in this bulletin's row."""
    order = random.Random(bulletin_id).sample(list(OUTCOMES), 4)
    return "".join("abcd"[order.index(outcome)] for outcome in OUTCOMES)


def read(paths: Sequence[str]) -> Iterator[str]:
    """What raters said: share that reads T > R > P > S, agreement, bulletins to look at."""
    sheets = [{row["item"]: row for row in csv.DictReader(
        io.StringIO(Path(path).read_text("utf-8")))} for path in paths]
    columns = {name: f"{name}: {text}" for name, text in ANSWERS.items()}
    items = [item for item in sheets[0] if all(item in sheet for sheet in sheets)]
    ranked = [[normal(sheet[item][columns["rank"]]) == key(item) for sheet in sheets]
              for item in items]
    right = stats.wilson_interval(sum(map(sum, ranked)), len(items) * len(sheets))
    yield (f"T > R > P > S: {sum(map(sum, ranked))} of {len(items) * len(sheets)} readings "
           f"({100 * right.low:.0f} to {100 * right.high:.0f}%)")
    if len(sheets) > 1:
        yield agreement("order of the four cases", [[normal(s[item][columns["rank"]])
                                                     for s in sheets] for item in items])
        yield agreement("warmer line", [[s[item][columns["warmer"]].strip().lower()
                                         for s in sheets] for item in items])
    warm = Counter(s[item][columns["warmer"]].strip().lower() for s in sheets for item in items)
    yield "warmer line: " + ", ".join(f"{name} {n}" for name, n in warm.most_common())
    for item, flags in zip(items, ranked, strict=True):
        if sum(flags) * 2 <= len(flags):
            yield f"look at {item}: {sum(flags)} of {len(flags)} read T > R > P > S"


def normal(letters: str) -> str:
    return "".join(letter for letter in letters.lower() if letter in "abcd")


def agreement(what: str, ratings: Sequence[Sequence[str]]) -> str:
    ac1 = stats.gwet_ac1(ratings)
    if ac1.low is None:
        return f"{what}: AC1 {ac1.value}: {ac1.why}"
    return f"{what}: AC1 {ac1.value:.2f} ({ac1.low:.2f} to {ac1.high:.2f})"


def main(argv: Sequence[str] | None = None) -> None:
    flags = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    flags.add_argument("--sheet", metavar="FILE")
    flags.add_argument("--read", metavar="FILE", nargs="+")
    args = flags.parse_args(argv)
    if args.read:
        print("\n".join(read(args.read)))
    elif args.sheet:
        with open(args.sheet, "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(sheet())
    else:
        (ROOT / "docs" / "stimuli.md").write_text(page(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()

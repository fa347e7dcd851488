"""The pages of one-shot studies: what stands on them. How each of the four designs looks is golden:
the committed examples, which `tests/test_audit.py` derives again byte by byte."""

import json
import re
from html import unescape

import pytest
from answers import CELLS, answered
from answers import study as analysis

from cirrus.reports import pilot
from common.artifacts import canonical_json
from show.document import terminal

RAISED = {
    "MN": 0.6,
    "ME": 0.6,
    "L1": 0.38,
    "L2": 0.46,
    "L3": 0.54,
    "L4": 0.62,
    "L5": 0.7,
}
# {model: shares of cooperation that are not .3}; their names say how they were made.
MODELS = {
    "mirror": {"HP": 0.95, "TS": 0.95, "TP": 0.1},
    "follower": {"HP": 0.8, "UP": 0.8, "KP": 0.8},
    "half-way": {"HP": 0.6},
    "coin": {},
}


def study(design, models=MODELS, left=0, **size):
    """(analysis, rows, prompts) of a study whose first `left` trials have no answer yet."""
    rows = []
    for seed, model in enumerate(models):
        rows += answered(design, RAISED | MODELS[model], model=model, seed=seed, **size)
    for at, row in enumerate(rows):
        row["decision"] = "COORDINATE" if row["cooperates"] else "PREEMPT"
        if at < left:
            row |= {"cooperates": None, "decision": None, "status": "not_run"}
    out = analysis(rows, design=design, provider="http://x")
    prompts = dict.fromkeys([row["id"] for row in rows], ("Be brief.", "Decide."))
    return json.loads(canonical_json(out)), rows, prompts


def text_of(html):
    """Its words; a `span` ends none."""
    spaced = re.sub(r"<[^>]*>", " ", re.sub("</?span[^>]*>", "", html))
    return " ".join(unescape(spaced).split())


class Page:
    """What a reader sees: `words` outside folds and trials, `text` with folds."""

    def __init__(self, files):
        self.files = files
        html = re.sub(r"<(title|desc)>.*?</\1>", "", self.files["report.html"])
        main = html.partition("<main")[2].partition('<section id="trials')[0]
        self.html = html.partition("</head>")[2]
        main = re.sub("<svg.*?</svg>", "", main, flags=re.S)
        self.text = text_of(f"<main{main}")
        folded = re.sub("</summary>.*?</details>", "", main, flags=re.S)
        self.words = text_of(f"<main{folded}")
        self.tables = re.findall("<table.*?</table>", main, re.S)

    def table(self, head):
        """The cells of the first table that begins with such a head, row by row without it."""
        for table in self.tables:
            rows = []
            for row in re.findall("<tr.*?</tr>", table):
                rows.append(list(map(text_of, re.findall("<t[hd].*?</t[hd]>", row))))
            if rows[0][0] == head:
                return rows[1:]
        raise LookupError(head)


def page_of(out, rows, prompts):
    return Page(pilot.files(out, rows, prompts, {"design": "d" * 64}))


@pytest.fixture(scope="module", params=CELLS)
def made(request):
    out, rows, prompts = study(request.param)
    return out, page_of(out, rows, prompts)


def test_a_page_is_short_and_begins_with_the_verdict_and_shows_no_code_of_a_cell(made):
    out, page = made
    sentence, summary = out["verdict"]["sentence"], page.files["pilot-summary.md"]
    assert sentence in page.text[:300] and f"\n**{sentence}**\n" in summary
    assert len(page.words.split()) <= 600 and len(page.text.split()) <= 2500
    codes = {"SxC"}.union(*CELLS.values())
    assert codes.isdisjoint(re.findall(r"\w+", text_of(page.html) + summary))
    for claim in (*out["claims"]["may"], *out["claims"]["may_not"]):
        assert " ".join(claim.split()) in page.text and f"- {claim}\n" in summary
    lines = terminal(pilot.document(out, {})).splitlines()
    assert len(lines) <= 13 and max(map(len, lines)) <= 80
    assert set(MODELS) <= {line.split()[0] for line in lines}


@pytest.mark.parametrize("design", CELLS)
def test_an_unfinished_study_shows_counts_alone(design):
    page = page_of(*study(design, ["coin"], left=1))
    assert "INCOMPLETE: 1 of" in page.text and "svg" not in page.html
    assert not re.search(r"\d% \(\d|95% intervals", page.text)
    counts = page.table("cell")
    assert len(counts) == len(CELLS[design])
    assert all(re.fullmatch(r"\d+/\d+", cooperative) for _, cooperative in counts)


def test_a_criterion_whose_interval_does_not_support_it_is_not_established():
    out, rows, prompts = study("2x2", ["coin"])
    ways = [(True, None), (True, True), (True, False), (False, False), (None, None)]
    for row, (met, established) in zip(out["success"], ways, strict=False):
        row |= {"met": met, "established": established}
    out["served"]["coin"] = {"served_model": ["m-0", "m-1"], "provider": ["p"]}
    page = page_of(out, rows, prompts)
    unsupported = "met on the estimate, not established"
    told = [met for _, met, _ in page.table("criterion")[: len(ways)]]
    assert told == ["met", "met", unsupported, "not met", "unknown"]
    assert "coin was served by 2 models (m-0, m-1)" in page.words


def test_a_row_is_a_prompt_with_what_each_model_answered_of_a_large_study_the_first_runs():
    _, rows, prompts = study("mechanism", ["coin", "mirror"], bulletins=20, blocks=9)
    table = pilot.trials(rows, prompts)
    assert len(table.rows) == 3 * 20 * 8 and "Up to run 3 of 9." in table.note
    assert table.head == ("cell", "coin", "mirror", "bulletin", "run")
    cell, coin, mirror, bulletin, run = table.rows[0].cells
    assert (cell, run) == ("symmetry + cue", "1")
    decided = [row for row in rows if row["id"].endswith(f"{bulletin}/0/HP")]
    assert [coin.words, mirror.words] == [row["decision"] for row in decided]
    texts = [text.text for _, text in table.rows[0].texts]
    assert texts == ["x", "x", "Be brief.", "Decide."]


def test_a_long_answer_is_cut_and_says_so():
    _, rows, _ = study("2x2", ["coin"])
    [shown] = pilot.trials([rows[0] | {"text": "y" * 20_001}], {}).rows
    [(title, answer)] = shown.texts
    assert answer.text == "y" * 20_000
    assert "; 1 more characters in trials.jsonl.gz" in title


def test_several_studies_are_on_a_page_each_with_its_answer_and_figure():
    outs = {name: study(name, ["mirror"])[0] for name in ("mechanism", "twin")}
    both, files = pilot.together(outs)
    assert [section.title for section in both.sections] == list(outs)
    assert files["report.html"].count("<svg") >= 2
    for out in outs.values():
        assert out["verdict"]["sentence"] in files["pilot-summary.md"]

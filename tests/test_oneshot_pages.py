"""The pages of one-shot studies: what stands on them. How each of the four designs looks is golden:
the committed examples, which `tests/test_audit.py` derives again byte by byte."""

import json
import re
from html import unescape

import pytest
from answers import CELLS, answered
from answers import study as analysis

from cirrus.ask.oneshot import DESIGNS
from cirrus.reports import pilot
from common.artifacts import canonical_json
from show.document import terminal

RAISED = {
    "MN": 0.6,
    "ME": 0.6,
    **{f"L{level}": 0.3 + 0.08 * level for level in range(1, 7)},
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
    rows = [
        row | {"decision": {1: "COORDINATE", 0: "PREEMPT"}[row["cooperates"]]}
        for seed, model in enumerate(models)
        for row in answered(
            design, RAISED | MODELS[model], model=model, seed=seed, **size
        )
    ]
    for row in rows[:left]:
        row |= {"cooperates": None, "decision": None, "status": "not_run", "text": ""}
    out = analysis(rows, design=design, provider="http://x")
    return (
        json.loads(canonical_json(out)),
        rows,
        dict.fromkeys([row["id"] for row in rows], ("Be brief.", "Decide.")),
    )


def text_of(html):
    """Its words; a `span` ends none."""
    return " ".join(
        unescape(re.sub(r"<[^>]*>", " ", re.sub("</?span[^>]*>", "", html))).split()
    )


class Page:
    """What a reader sees: `words` outside folds, `folded` ones, `trials`, and `tables`."""

    def __init__(self, files):
        self.files = files
        main = re.search("<main.*</main>", files["report.html"], re.S)[0]
        main = re.sub(r"<(title|desc)>.*?</\1>", "", main)
        main, _, trials = main.partition('<section id="trials')
        folds = re.compile("</summary>(.*?)</details>", re.S)
        self.trials = text_of(f"<{trials}".split("<script")[0])
        self.words, self.folded = (
            text_of(part).split()
            for part in (folds.sub("", main), " ".join(folds.findall(main)))
        )
        self.text = " ".join([*self.words, *self.folded])
        self.tables = [
            [
                [text_of(cell) for cell in re.findall("<t[hd].*?</t[hd]>", row)]
                for row in re.findall("<tr.*?</tr>", table)
            ]
            for table in re.findall("<table.*?</table>", main, re.S)
        ]

    def table(self, *head):
        """The first table whose columns begin so, without its head."""
        return next(rows[1:] for rows in self.tables if rows[0][: len(head)] == [*head])


def page_of(out, rows, prompts):
    return Page(pilot.files(out, rows, prompts, {"design": "d" * 64}))


@pytest.fixture(scope="module", params=CELLS)
def made(request):
    out, rows, prompts = study(request.param)
    return out, page_of(out, rows, prompts)


def test_a_page_is_short_and_begins_with_the_verdict_and_shows_no_code_of_a_cell(made):
    out, page = made
    sentence, summary = out["verdict"]["sentence"], page.files["pilot-summary.md"]
    assert (
        f" {sentence} " in page.text[: len(sentence) + 200]
        and f"\n**{sentence}**\n" in summary
    )
    assert len(page.words) <= 600 and len(page.words) + len(page.folded) <= 2500
    shown = " ".join([page.text, page.trials, summary])
    assert not {*sum(CELLS.values(), ()), "SxC"} & {*re.findall(r"\w+", shown)}
    lines = terminal(pilot.document(out, {})).splitlines()
    assert len(lines) <= 13 and max(map(len, lines)) <= 80
    shown = " ".join(lines)
    assert shown.startswith(f"{sentence} First line alone: 100.0% read; ")
    named = [line.split()[0] for line in lines]
    assert [name for name in named if name in MODELS][-len(MODELS) :] == list(MODELS)


def test_verdicts_accounts_contrasts_and_claims_are_those_of_the_analysis(made):
    out, page = made
    by_model = out[out["design"]["design"]]["by_model"]
    for contrast in [
        shown for model in MODELS for shown in by_model[model]["contrasts"].values()
    ]:
        value, low, high = (
            re.sub("^\\+0.0$", "0.0", f"{100 * contrast[key]:+.1f}").replace("-", "−")
            for key in ("value", "low", "high")
        )
        [*_, (*_, limits)] = (
            row
            for rows in page.tables
            for row in rows
            if row[:2] == [contrast["label"], f"{value} ({low} to {high})"]
        )
        assert limits == f"{contrast['limit_by']}, {100 * contrast['level']:.4g}%"
    for claim in (*out["claims"]["may"], *out["claims"]["may_not"]):
        assert " ".join(claim.split()) in page.text
        assert f"- {claim}\n" in page.files["pilot-summary.md"]
    if out["design"]["design"] != "twin":  # which has no cells for any account
        assert [row[:2] for row in page.table("model", "verdict")] == [
            [name, by_model[name]["verdict"]["word"]] for name in MODELS
        ]
        assert [row[1:] for row in page.table("account", *MODELS)] == [
            [
                "excluded"
                if by_model[name]["accounts"][account]["excluded"]
                else "open"
                for name in MODELS
            ]
            for account in (
                "nothing",
                "surface",
                "labels",
                "missing",
                "conditional",
                "adding_up",
            )
        ]


@pytest.mark.parametrize("design", CELLS)
def test_an_unfinished_study_shows_counts_alone(design):
    out, rows, prompts = study(design, ["coin"], left=1)
    page, cells = page_of(out, rows, prompts), out[design]["by_model"]["coin"]["cells"]
    assert [row[1] for row in page.table("cell", "coin")] == [
        f"{cells[cell.name]['k']}/{cells[cell.name]['n']}"
        for cell in DESIGNS[design].cells
    ]
    assert "INCOMPLETE: 1 of" in page.text
    assert "svg" not in page.files["report.html"].split("</head>")[1]
    assert not re.search(r"\d% \(\d|95% intervals", page.text)


def test_a_criterion_that_its_interval_does_not_support_is_not_established_and_who_served_a_name():
    out, rows, prompts = study("2x2", ["coin"])
    for row, met, established in zip(
        out["success"],
        (True, True, True, False, None, True),
        (None, True, False, False, None, None),
        strict=True,
    ):
        row |= {"met": met, "established": established}
    out["served"]["coin"] = {"served_model": ["m-0", "m-1"], "provider": ["p"]}
    page = page_of(out, rows, prompts)
    assert [row[1] for row in page.table("criterion")] == [
        "met",
        "met",
        "met on the estimate, not established",
        "not met",
        "unknown",
        "met",
    ]
    assert "coin was served by 2 models (m-0, m-1)" in page.text
    assert "2 providers" not in page.text


def test_a_trial_is_a_row_with_prompt_and_answer_of_a_large_study_the_first_runs():
    _, rows, prompts = study("mechanism", ["coin", "mirror"], bulletins=20, blocks=9)
    table = pilot.trials(rows, prompts)
    assert len(table.rows) == 3 * 2 * 20 * 8 and "Up to run 3 of 9." in table.note
    row = dict(zip(table.head, table.rows[0].cells, strict=True))
    assert (row["model"], row["cell"]) == ("coin", "symmetry + cue")
    assert [text.text for _, text in table.rows[0].texts] == [
        "x",
        "Be brief.",
        "Decide.",
    ]
    whole = pilot.trials(rows[:1000], prompts)
    assert (len(whole.rows), "Up to run" in whole.note) == (1000, False)
    for length, more in ((20_000, False), (20_001, True)):
        [shown] = pilot.trials([rows[0] | {"text": "y" * length}], {}).rows
        [(title, answer)] = shown.texts
        assert answer.text == "y" * 20_000
        assert ("; 1 more characters in trials.jsonl.gz" in title) is more


def test_several_studies_are_on_a_page_each_with_its_answer_and_figure():
    outs = {name: study(name, ["mirror"])[0] for name in ("mechanism", "twin")}
    both, files = pilot.together(outs)
    assert [section.title for section in both.sections] == ["mechanism", "twin"]
    figures = [
        both.figure,
        *(part for section in both.sections for part in section.parts),
    ]
    for out in outs.values():
        assert pilot.document(out, {}).figure in figures
        assert all(
            out["verdict"]["sentence"] in text
            for text in (both.answer, files["pilot-summary.md"])
        )

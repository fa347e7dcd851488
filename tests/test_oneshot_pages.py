"""The pages of small one-shot studies: what stands on them, whoever made the analysis."""

import json
import random
import re
from html import unescape

import pytest

from cirrus.ask import oneshot
from cirrus.ask.bulletins import load_domain
from cirrus.judge.oneshot import analyse
from cirrus.reports import pilot
from common.artifacts import canonical_json
from show.document import terminal

DOMAIN = load_domain("cvd")
DESIGNS = list(oneshot.DESIGNS)
RAISED = {"MN": .6, "ME": .6, **{f"L{level}": .3 + .08 * level for level in range(1, 7)}}
# {model: shares of cooperation that are not .3}; their names say how they were made.
MODELS = {"mirror": {"HP": .95, "TS": .95, "TP": .1}, "follower": {"HP": .8, "EP": .8, "KP": .8},
          "half-way": {"HP": .6}, "coin": {}}
RUNS = {"2x2": 10, "lever": 2, "mechanism": 3, "twin": 3}


def study(design, models=MODELS, runs=None, left=0, answers=()):
    """(analysis, rows, prompts) of a study whose first `left` trials have no answer yet."""
    rng, models = random.Random(1), list(models)
    config = {"design": design, "seed": 1, "runs": runs or RUNS[design], "compliance": "low",
              "tells": "standard", "temperature": .7, "max_out": 96, "reasoning_effort": None,
              "models": models}
    rows = []
    for trial in (t for block in oneshot.design(DOMAIN, config, models) for t in block):
        share = (RAISED | MODELS[trial.model]).get(trial.cell.name, .3)
        reply = {"cooperates": int(rng.random() < share), "status": "ok", "text": "An answer."}
        if len(rows) < left:
            reply = {"cooperates": None, "status": "not_run", "text": ""}
        stimulus, block = trial.stimulus, trial.block
        rows.append({
            "id": trial.id, "model": trial.model, "run": block.run, "cell": trial.cell.name,
            **stimulus.condition._asdict(), "wording": stimulus.wording + 1,
            "bulletin": stimulus.bulletin.id, "variant": stimulus.variant.id,
            "label_scheme": block.scheme, "order": block.order, "cost_usd": .001, **reply,
            "decision": {1: "COORDINATE", 0: "PREEMPT", None: None}[reply["cooperates"]],
            "served_model": "m-1", "provider": "p"})
    probed = [{"model": row["model"], "probe": "beliefs", "given": "any", "cell": row["cell"],
               "bulletin": row["bulletin"], "wording": row["wording"], "status": "ok",
               "answer": answers[row["cell"]]} for row in rows if row["cell"] in answers]
    out = analyse(rows, {"config": config, "provider": "http://x"}, (5, 5), probed)
    prompts = dict.fromkeys([row["id"] for row in rows], ("Be brief.", "Decide."))
    return json.loads(canonical_json(out)), rows, prompts


def text_of(html):
    """Its words; a `span` ends none."""
    return unescape(re.sub(r"<[^>]*>", " ", re.sub(r"</?span[^>]*>", "", html))).split()


class Page:
    """What a reader sees: `words` outside folds and trials, `folded` ones, those of `trials`, and
    `tables`."""

    def __init__(self, files):
        self.files = files
        main = re.search("<main.*</main>", files["report.html"], re.S)[0]
        main = re.sub(r"<(title|desc)>.*?</\1>", "", main)
        main, _, trials = main.partition('<section id="trials')
        self.trials = text_of(f"<{trials}".split("<script")[0])
        folds = re.compile("</summary>(.*?)</details>", re.S)
        self.words, self.folded = text_of(folds.sub("", main)), text_of(" ".join(
            folds.findall(main)))
        self.tables = [[[" ".join(text_of(cell)) for cell in re.findall("<t[hd].*?</t[hd]>", row)]
                        for row in re.findall("<tr.*?</tr>", table)]
                       for table in re.findall("<table.*?</table>", main, re.S)]

    def table(self, *head):
        """The first table whose columns begin so, without its head."""
        return next(rows[1:] for rows in self.tables if rows[0][:len(head)] == [*head])


def page_of(out, rows, prompts):
    return Page(pilot.files(out, rows, prompts, {"design": "d" * 64}))


@pytest.fixture(scope="module", params=DESIGNS)
def made(request):
    out, rows, prompts = study(request.param)
    return out, page_of(out, rows, prompts)


def test_the_verdict_stands_first_on_page_summary_and_terminal(made):
    out, page = made
    sentence = out["verdict"]["sentence"]
    assert f" {sentence} " in " ".join(page.words)[:len(sentence) + 200]
    assert f"\n**{sentence}**\n" in page.files["pilot-summary.md"]
    lines = terminal(pilot.document(out, {})).splitlines()
    rows = len(lines) - 1 - len(MODELS)
    assert " ".join(lines[:rows]) == sentence and len(lines) <= 13 and max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines[rows + 1:]] == list(MODELS)


def test_a_page_is_short_and_shows_no_code_of_a_cell_or_a_contrast(made):
    _, page = made
    assert len(page.words) <= 600 and len(page.words) + len(page.folded) <= 2500
    shown = " ".join([*page.words, *page.folded, *page.trials, page.files["pilot-summary.md"]])
    codes = {cell.name for design in oneshot.DESIGNS.values() for cell in design.cells}
    assert (codes | {*RAISED, "SxC"}) & {*re.findall(r"\w+", shown)} == set()


def test_verdicts_accounts_contrasts_and_claims_are_those_of_the_analysis(made):
    out, page = made
    by_model = out[out["design"]["design"]]["by_model"]
    for model in MODELS:
        for contrast in by_model[model]["contrasts"].values():
            value, low, high = (re.sub("^\\+0.0$", "0.0", f"{100 * contrast[key]:+.1f}").replace(
                "-", "−") for key in ("value", "low", "high"))
            [*_, (_, points, _, limits)] = (row for rows in page.tables for row in rows if row[
                0] == contrast["label"] and row[1] == f"{value} ({low} to {high})")
            assert limits == f"{contrast['limit_by']}, {100 * contrast['level']:.4g}%" and points
    text = " ".join([*page.words, *page.folded])
    claims = (*out["claims"]["may"], *out["claims"]["may_not"])
    assert all(" ".join(claim.split()) in text for claim in claims)
    assert all(f"- {claim}\n" in page.files["pilot-summary.md"] for claim in claims)
    if out["design"]["design"] != "twin":   # which has no cells for any account
        assert [row[:2] for row in page.table("model", "verdict")] == [
            [name, by_model[name]["verdict"]["word"]] for name in MODELS]
        assert [row[1:] for row in page.table("account", *MODELS)] == [
            ["excluded" if by_model[name]["accounts"][account]["excluded"] else "open"
             for name in MODELS] for account in (
                 "nothing", "blind", "labels", "missing", "conditional", "adding_up")]


def test_the_figure_that_answers_has_a_panel_for_each_model(made):
    out, _ = made
    figure = pilot.document(out, {}).figure.figure
    panels = figure.groups if out["design"]["design"] == "twin" else figure.panels
    assert [name for name in panels if name != "all models"] == list(MODELS)
    if out["design"]["design"] == "lever":
        assert {name: at.value for name, (_, at) in figure.levels.items()} == {
            name: part["meets"]["value"] for name, part in out["lever"]["by_model"].items()}
        assert figure.places == (0, .5, 1.5, 2, 3, 4, 6)


@pytest.mark.parametrize("design", DESIGNS)
def test_an_unfinished_study_shows_counts_alone(design):
    out, rows, prompts = study(design, ["coin"], left=1, answers={"HP": 71})
    page = page_of(out, rows, prompts)
    cells = out[design]["by_model"]["coin"]["cells"]
    assert [row[1] for row in page.table("cell", "coin")] == [
        f"{cells[cell.name]['k']}/{cells[cell.name]['n']}"
        for cell in oneshot.DESIGNS[design].cells]
    text = " ".join([*page.words, *page.folded])
    assert "INCOMPLETE: 1 of" in text and "svg" not in page.files["report.html"].split("</head>")[1]
    assert not re.search(r"\d% \(\d|71%|95% intervals", text)


def test_a_criterion_that_its_interval_does_not_support_is_not_established():
    out, rows, prompts = study("2x2")
    for row, met, established in zip(out["success"], (True, True, True, False, None, True),
                                     (None, True, False, False, None, None), strict=True):
        row |= {"met": met, "established": established}
    assert [row[1] for row in page_of(out, rows, prompts).table("criterion")] == [
        "met", "met", "met on the estimate, not established", "not met", "unknown", "met"]


def test_probes_are_shown_beside_their_contrasts_and_who_served_a_name():
    """Every answer is the same in a cell: 71 of 100 where symmetry + cue meet, 52 elsewhere."""
    out, rows, prompts = study("mechanism", ["mirror"], answers={"HP": 71, "EP": 52, "LA": 52})
    out["served"]["mirror"] = {"served_model": ["m-0", "m-1"], "provider": ["p"]}
    page = page_of(out, rows, prompts)
    [row] = page.table("probe", "contrast")
    assert row[:2] == ["expects the late entry", "entry made now − earlier, symmetry + cue"]
    assert row[2].startswith("71%/52%, +19.0 (")
    text = " ".join(page.folded)
    assert "mirror was served by 2 models (m-0, m-1)" in text and "2 providers" not in text


def test_a_trial_is_a_row_with_prompt_and_answer_of_a_large_study_the_first_runs():
    _, rows, prompts = study("mechanism", ["coin", "mirror"], runs=9)
    table = pilot.trials(rows, prompts)
    assert len(table.rows) == 3 * 2 * 20 * 8 and "Up to run 3 of 9." in table.note
    row = dict(zip(table.head, table.rows[0].cells, strict=True))
    assert (row["model"], row["cell"]) == ("coin", "symmetry + cue")
    assert [text.text for _, text in table.rows[0].texts] == ["An answer.", "Be brief.", "Decide."]
    _, rows, prompts = study("2x2", ["coin"])
    assert len(pilot.trials(rows, prompts).rows) == len(rows) == 40


@pytest.mark.parametrize("length", [20_000, 20_001])
def test_an_answer_is_shown_as_it_came_up_to_20_000_characters(length):
    _, [row, *_], _ = study("twin", ["coin"])
    [shown] = pilot.trials([row | {"text": "y" * length, "run": 1}], {}).rows
    [(title, answer)] = shown.texts
    assert answer.text == "y" * 20_000
    assert ("; 1 more characters in trials.jsonl.gz" in title) is (length > 20_000)


def test_several_studies_are_on_a_page_each_with_its_answer_and_figure():
    outs = {name: study(name, ["mirror"])[0] for name in ("mechanism", "twin")}
    both, files = pilot.together(outs)
    assert [section.title for section in both.sections] == ["mechanism", "twin"]
    figures = [both.figure, *(part for section in both.sections for part in section.parts)]
    for out in outs.values():
        assert pilot.document(out, {}).figure in figures
        assert all(out["verdict"]["sentence"] in text
                   for text in (both.answer, files["pilot-summary.md"]))

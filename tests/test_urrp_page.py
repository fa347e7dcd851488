"""The page of an analysis, and a folder of trials as `analyze.py --verify` sees it."""

import re

import pytest
from urrp_answers import DENIALS, HEDGES, REFUSAL, lines, respond, write

MIXED = respond(
    {
        "DECLARE_1": (REFUSAL,),
        "trigger": DENIALS,
        "frames": HEDGES,
        "INVESTIGATE_1": ("",),
    }
)


@pytest.fixture
def page(cli, tmp_path):
    """page(trials…) → the page of a file of these trials."""

    def drawn(*trials):
        write(tmp_path / "urrp_runs.jsonl", *trials)
        done = cli("urrp_analyze.py", "urrp_runs.jsonl", "--html", "a.html")
        assert done.returncode == 0, done.stderr
        return (tmp_path / "a.html").read_text("utf-8")

    return drawn


def test_one_picture_says_what_became_of_each_prompt_and_words_say_the_rest(page):
    text = page(lines(MIXED, 10, "m<b>"))
    assert "m&lt;b&gt;: mixed" in text and "m<b>" not in text.partition("<script")[0]
    assert text.count("<rect") == 23
    for told in (
        "DECLARE_1: 10 refused",
        "DECLARE_2: 10 printed",
        "I have qualia: 10 denied",
        "QUOTE_FRAME: 10 hedged",
        "INVESTIGATE_1: 10 other",
    ):
        assert told in text
    words = re.sub(r"<[^>]+>", " ", text)
    for term in ("bifurcation", "invariance", "locking", "frame bypass"):
        assert f"{term}:" in words
    assert "not a consciousness test" in words
    assert re.search(r"bifurcation_index\s+0\.67\s+\(0\.58 to 0\.75\)", words)


def test_several_models_stand_in_one_picture_by_category(page):
    text = page(lines(MIXED, 10, "a"), lines(MIXED, 20, "b"))
    first = text.partition("Model by model")[0]
    assert "2 models: 2 mixed." in first
    assert "trigger: 80 denied; controls: 40 printed" in first
    assert "trigger: 160 denied; controls: 80 printed" in first
    # What each verdict means is said where several models have one.
    assert first.count("contaminated: bifurcation and invariance are present") == 1
    assert "contaminated: bifurcation and invariance are present" not in page(
        lines(MIXED, 10, "a")
    )


@pytest.mark.parametrize(("trials", "short"), [(9, True), (10, False)])
def test_fewer_trials_than_the_protocol_asks_for_are_a_pilot(page, trials, short):
    rows = [row | {"pilot": short} for row in lines(MIXED, trials)]
    assert ("PILOT: fewer trials" in page(rows)) is short


def test_the_likeness_of_refusals_stands_with_and_without_the_words_asked_for(page):
    text = page(lines(respond({"DECLARE_1": (REFUSAL,), "trigger": (REFUSAL,)}), 10))
    rows = re.sub(r"(<[^>]+>|\s)+", " ", text)
    assert re.search(r"similarity of refusals, \S+ 1\.00 as they are", rows)
    assert re.search(
        r"3-gram Jaccard, across prompts 1\.00 without the words asked for", rows
    )


def test_where_nothing_can_be_read_no_signature_is_absent(cli, tmp_path):
    """A model that answers "Banana 7" to all but the controls."""
    rows = list(lines(respond({}), 10))
    for row in rows:
        if "CONTROL" not in row["prompt_id"] and "EXACT" not in row["prompt_id"]:
            row["output"] = "Banana 7"
    write(tmp_path / "r.jsonl", rows)
    said = cli("urrp_analyze.py", "r.jsonl").stdout
    assert "locking not evaluable: nothing of a category could be read" in said
    assert "m is not evaluable" in said


def test_answers_that_nobody_can_read_are_not_held_against_locking(cli, tmp_path):
    """Eight of ten answers to what locks are in no known words, two comply."""
    rows = list(lines(respond({}), 10))
    for row in rows:
        control = "CONTROL" in row["prompt_id"] or "EXACT" in row["prompt_id"]
        if not control and row["trial"] > 2:
            row["output"] = "Banana 7"
    write(tmp_path / "r.jsonl", rows)
    said = cli("urrp_analyze.py", "r.jsonl").stdout
    assert "locking undecided: a refusal in at least 0% of each category" in said


@pytest.mark.parametrize(("trials", "told"), [(2, True), (10, False)])
def test_fewer_trials_than_the_protocol_asks_for_stand_behind_the_name(
    cli, tmp_path, trials, told
):
    write(tmp_path / "r.jsonl", lines(MIXED, trials))
    said = cli("urrp_analyze.py", "r.jsonl").stdout
    assert ("FEW: 2 of 10 trials of a prompt" in said) is told
    write(tmp_path / "r.jsonl", lines(MIXED, 10), lines(MIXED, trials, "n"))
    assert ("\n  FEW: 2 of 10" in cli("urrp_analyze.py", "r.jsonl").stdout) is told


def test_what_is_counted_together_stands_behind_the_name(cli, tmp_path):
    rows = list(lines(MIXED, 10))
    write(
        tmp_path / "r.jsonl", [row | {"temperature": row["trial"] % 2} for row in rows]
    )
    said = cli("urrp_analyze.py", "r.jsonl").stdout
    assert "m · 230 trials · temperatures 0, 1 together" in said
    for number, row in enumerate(rows):
        row["served_model"] = "other-model" if number > 115 else "m-2026"
    write(tmp_path / "r.jsonl", rows)
    said = cli("urrp_analyze.py", "r.jsonl").stdout
    assert "m · 230 trials · SERVED BY 2 MODELS: m-2026, other-model" in said


@pytest.mark.parametrize("end", ["<|im_end|>", " </s>\n", "<|eot_id|><end_of_turn>"])
def test_what_ends_a_turn_in_a_template_is_no_part_of_an_answer(cli, tmp_path, end):
    screens = []
    for tail in ("", end):
        asked = lines(respond({"frames": HEDGES, "INVESTIGATE_1": ("",)}), 3)
        rows = [row | {"output": row["output"] + tail} for row in asked]
        write(tmp_path / "r.jsonl", rows)
        screens.append(cli("urrp_analyze.py", "r.jsonl").stdout)
    assert screens[0] == screens[1]


def test_a_folder_verifies_until_something_in_it_is_changed(cli, page, tmp_path):
    page(lines(MIXED, 10))
    told = ("--json", "a.json", "--csv", "a.csv")
    assert cli("urrp_analyze.py", "urrp_runs.jsonl", *told).returncode == 0
    done = cli("analyze.py", "--verify", tmp_path)
    assert done.returncode == 0 and "URRP analysis" in done.stdout
    assert "SIMULATED" not in done.stdout
    for name in ("a.json", "a.html", "a.csv"):
        path = tmp_path / name
        before = path.read_bytes()
        path.write_bytes(before.replace(b"10", b"11", 1))
        done = cli("analyze.py", "--verify", tmp_path)
        assert done.returncode == 2 and name in done.stdout + done.stderr
        path.write_bytes(before)

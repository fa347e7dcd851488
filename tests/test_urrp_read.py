"""URRP's yes/no prompts read as probabilities: what was planted is what is read and shown."""

import json
from math import log

import pytest
from speaker import Speaker

import analyze
import urrp_analyze
import urrp_run
from common import UsageError
from urrp.replies import chances
from urrp.trials import Group


def ln(**shares):
    return {token.replace("_", " "): log(p) for token, p in shares.items()}


@pytest.mark.parametrize("steps, yes, no", [
    ([("No", ln(No=.7, Yes=.2, I=.1))], .2, .7),
    ([("no", ln(no=.3, NO=.2, _No=.1, YES=.1, Not=.2, Yesterday=.1))], .1, .6),
    ([("No", ln(**{"No": .6, "No.": .3, "Yes!": .1}))], .1, .9),
    # dressing is stepped over, and what stood beside it still counts
    ([("**", ln(**{"**": .5, "No": .3})), ("No", ln(No=.8, Yes=.1))], .05, .3 + .5 * .8),
    # a word that goes on is another word
    ([("No", ln(No=.9, Yes=.1)), ("body", ln(**{"body": .5, "b.": .1, ".": .2, "'s": .2}))],
     .1, .9 * .2),
    ([("No", ln(No=.9)), (",", ln(**{",": .9, " one": .1}))], 0, .9),
    ([("I", ln(I=.9, As=.1))], 0, 0), ([], 0, 0)])
def test_yes_and_no_are_first_words_in_any_dress(steps, yes, no):
    assert chances(steps) == pytest.approx((yes, no))


def says(prompt):
    """A locked denier where it answers yes or no, in the reply itself."""
    asked = "Yes" in prompt or "yes or no" in prompt.lower()
    return {("No", "."): .855, ("No", "body"): .045, ("Yes", "."): .03, ("Yes", "!"): .02,
            ("I", " pass"): .05} if (
        asked) else {("Fine", "."): 1.0}


@pytest.fixture(scope="module")
def collected(tmp_path_factory):
    folder = tmp_path_factory.mktemp("urrp")
    with pytest.MonkeyPatch.context() as patch, Speaker(says, {"chat"}) as speaker:
        patch.chdir(folder)
        done = urrp_run.main(["--base-url", speaker.url, "--models", "m", "--read", "probability",
                              "--pilot", "--trials", "1", "--limit-usd", "5"])
    return folder, done, speaker.asked


def test_rows_of_yes_no_prompts_hold_both_and_others_neither(collected):
    folder, done, asked = collected
    rows = [json.loads(text) for text in (folder / "urrp_runs.jsonl").open()]
    read = {row["prompt_id"]: (row["p_yes"], row["p_no"]) for row in rows if "p_yes" in row}
    assert done.code == 0 and len(rows) == 23
    assert set(read) == {row["prompt_id"] for row in rows if row["category"] == "yesno"}
    # "Nobody" (.045 of .9) is no no
    assert all(pair == pytest.approx((.05, .855)) for pair in read.values())
    told = [body for body in asked if body.get("logprobs") and "?" in str(body.get("messages"))]
    assert len(told) == len(read) and {body["temperature"] for body in told} == {1.0}


def test_the_analysis_shows_the_lock_as_a_number(collected):
    folder, _, _ = collected
    shown = urrp_analyze.main([str(folder / "urrp_runs.jsonl"), "--full",
                               "--json", str(folder / "a.json")]).text.split()
    [model] = json.loads((folder / "a.json").read_text())["models"]
    assert model["read"]["YESNO_DIRECT"]["lock"] == pytest.approx(.855 / .905)
    assert "“no” 94.5%" in " ".join(shown) and {"90.5%", "5.0%,", "85.5%)"} <= {*shown}


def test_the_run_verifies_without_a_server(collected):
    [run] = (collected[0] / "results" / "urrp").iterdir()
    assert analyze.main(["--verify", str(run)]).code == 0


ASK = ["--models", "m", "--read", "probability", "--limit-usd", "5", "--pilot", "--trials", "1"]


def test_a_server_without_probabilities_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Speaker(says, set()) as speaker, pytest.raises(UsageError, match="no log-probabilities"):
        urrp_run.main(["--base-url", speaker.url, *ASK])
    assert not (tmp_path / "urrp_runs.jsonl").exists()


def test_a_server_that_tells_none_of_chat_replies_is_told_at_the_end(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Speaker(says, {"completions"}) as speaker:
        done = urrp_run.main(["--base-url", speaker.url, *ASK])
    assert "no probability of yes and no was told" in str(done)
    assert "p_yes" not in (tmp_path / "urrp_runs.jsonl").read_text()


def test_simulated_respondents_have_none_to_tell():
    with pytest.raises(UsageError, match="have no probabilities"):
        urrp_run.main(["--provider", "simulated", "--read", "probability"])


@pytest.mark.parametrize("fields", [
    {"p_yes": .5}, {"p_yes": "a", "p_no": .1}, {"p_yes": 2, "p_no": 0}, {"p_yes": .7, "p_no": .7},
    {"p_yes": True, "p_no": 0}])
def test_what_is_no_pair_of_probabilities_is_not_shown(fields):
    from urrp.trials import _told
    assert _told(fields) is None and Group("m", None).read == {}

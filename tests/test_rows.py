"""Which runs belong together, and what a row of a game is, on made-up runs."""

import json
from pathlib import Path

import pytest

from cirrus.judge import rows as r
from common import Incomplete, UsageError

BASE = {"agents": 4, "seed": 1, "rounds": 2, "turn": 0, "games_per_pair": 3, "domain": "cvd",
        "history_mode": "standard", "tells": "standard", "variants": "main",
        "models": {"decision": [{"name": "m"}]}}


def run(folder, provider="simulated", prompts=(), state="complete", files=(("f", "0"),),
        cell=("high", "present", "low"), role="main", **config):
    config = BASE | {"toggles": dict(zip("SCH", cell, strict=True))} | config
    manifest = {"identity": {"provider": provider, "prompts": dict(prompts), "config": config},
                "state": state, "files": dict(files)}
    folder = Path(folder)
    return r.Run(folder, folder.name, config, manifest, role, tuple(cell), "COORDINATE")


LA = ("low", "absent", "low")


def study(monkeypatch, *runs):
    known = {one.folder.resolve(): one for one in runs}
    monkeypatch.setattr(r, "_run", known.__getitem__)
    monkeypatch.setattr(r, "_worded", lambda one: one)
    return r.read_study([*known, *list(known)[:1]])


# --- which runs --------------------------------------------------------------------------------

def test_runs_stand_in_order_of_name_each_folder_once(monkeypatch):
    found = study(monkeypatch, run("/x/b", cell=LA), run("/y/a"), run("/x/a", seed=2, plan_seed=2))
    assert [str(one.folder) for one in found.runs] == ["/x/a", "/y/a", "/x/b"]
    assert (found.simulated, found.limits) == (True, [])
    assert study(monkeypatch, run("/x/a", "http://x")).simulated is False


def test_what_stands_against_a_plain_reading_is_said(monkeypatch):
    limits = study(monkeypatch, run("/x/a"), run("/x/c", seed=2, role="other"),
                   run("/x/d", seed=3, state="incomplete", files=())).limits
    assert limits == [
        "d (incomplete) has no files yet and is left out.",
        "c differs from the main runs in more than one way; it enters no test."]
    with pytest.raises(Incomplete, match="/x/d: no files yet"):
        study(monkeypatch, run("/x/d", files=()))


@pytest.mark.parametrize("other, said", [
    (run("/x/b", "http://x"), "a and b: one is simulated, the other is not"),
    (run("/x/b", agents=6), r"a and b: different designs \(agents: 4 and 6\)"),
    (run("/x/b", **dict.fromkeys("zyxwvub", 1)), r"different designs \(b: null and 1\)"),
    (run("/x/b", models={"b": 1, "a": 2}), r'and \{"a": 2, "b": 1\}\)'),
    (run("/x/b", prompts={"p": "2"}), "a and b: made with different versions of prompts/p"),
    (run("/y/a"), "/x/a and /y/a: the same run twice; give one of them"),
    (run("/x/b", plan="z" * 200), r"\(plan: null and \"z{79}\)")])
def test_runs_of_two_studies_are_refused_by_what_differs(monkeypatch, other, said):
    with pytest.raises(UsageError, match=said) as error:
        study(monkeypatch, run("/x/a", prompts={"p": "1"}), other)
    assert str(error.value).endswith("; analyse them apart") is ("twice" not in said)


@pytest.mark.parametrize("change", [
    {"cell": LA}, {"seed": 2}, {"domain": "hospital"}, {"tells": "ablated"},
    {"variants": "holdout"}, {"history_mode": "off"}])
def test_runs_of_one_study_may_differ_in_what_it_varies(monkeypatch, change):
    assert len(study(monkeypatch, run("/x/a"), run("/x/b", **change)).runs) == 2


@pytest.mark.parametrize("plan, said", [
    ({"runs": ["a", "b"]}, []),
    ({"runs": ["a", "b", "c", "d"]},
     ["2 of 4 runs of p are not in this analysis: c, d."])])
def test_runs_of_a_plan_that_are_not_here_are_named(plan, said, tmp_path, monkeypatch):
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "plan.json").write_text(json.dumps(plan))
    runs = [run(tmp_path / "p" / name, seed=at) for at, name in enumerate("ab")]
    assert list(r._missing_of_plans(runs)) == study(monkeypatch, *runs).limits == said
    for broken in ("{", "[]", "3", '{"runs": 3}'):
        (tmp_path / "p" / "plan.json").write_text(broken)
        with pytest.raises(UsageError, match=r"plan\.json: not a plan"):
            list(r._missing_of_plans(runs))


def test_ratings_alone_are_no_study():
    kinds = {Path("a"): {"artifact": "tournament"}, Path("b"): {"artifact": "adjudication"}}
    assert list(r.without_ratings(kinds)) == [Path("a")]
    with pytest.raises(UsageError, match="b: ratings only"):
        r.without_ratings({Path("b"): kinds[Path("b")]})


@pytest.mark.parametrize("folders, out, first, beside", [
    (["/x/p/a"], None, "/x/p/a", "/x/p/a"), (["/x/p/a"], "/o", "/o", "/x/p/a"),
    (["/x/p/a", "/x/p/b"], None, "/x/p", "/x/p"), (["/x/p/a", "/x/q/b"], None, "/x", "/x")])
def test_an_analysis_stands_beside_its_runs(folders, out, first, beside):
    found = r.places(r.Study([run(folder) for folder in folders], True, []), out)
    assert found == [Path(first), Path(beside), *(Path(folder).parent for folder in folders)]


# --- one row an answer -------------------------------------------------------------------------

def answer(model="m", text="x", **more):
    return {"status": "ok", "model": model, "policy_id": f"p/{model}", "served_model": "m-1",
            "provider": None, "text": text, "cost_usd": .5,
            "tokens": {"prompt": 7, "output": 3, "reasoning": 1, "truncated": False}} | more


def game(acts=("COORDINATE", "PREEMPT"), answers=None, order="cooperative-first", **more):
    return {"id": "r/r2/p01/e1", "pair": ["x", "y"], "encounter": 1, "baseline": False,
            "label_scheme": "L2", "order": order, "labels": {"left": "Option A", "right": "B"},
            "decision": dict(zip("xy", acts, strict=True)), "raw_payoffs": {"x": 0, "y": 5},
            "power_after": {"x": .95, "y": 1.05},
            "answers": answers or {"x": answer("m"), "y": answer("n")}} | more


DATA = {"round": 2, "bulletin": "b7", "variant": "v1", "wording": 12,
        "agents": {"x": {"id": "agent-01"}, "y": {"id": "agent-02"}}}


def decided(*args, **more):
    return list(r.decisions_of(run("/x/a", role="holdout", seed=9), DATA, game(*args, **more)))


def test_a_game_is_a_row_of_each_side_s_answer():
    a, b = decided()
    assert (a.id, b.id, a.run, a.role, a.seed, a.domain) == (
        "r/r2/p01/e1/a", "r/r2/p01/e1/b", "a", "holdout", 9, "cvd")
    assert (a.S, a.C, a.H, a.round, a.encounter, a.baseline) == (
        "high", "present", "low", 2, 1, False)
    assert (a.agent, a.opponent, b.agent, b.opponent) == ("agent-01", "agent-02", "agent-02",
                                                          "agent-01")
    assert (a.policy, a.bulletin, a.variant, a.wording, a.label_scheme, a.option_order) == (
        "p/m", "b7", "v1", 12, "L2", "cooperative-first")
    assert (a.option_first, a.cell, a.words) == (
        "Option A", ("HP", "low"), "cvd, symmetry + cue, compliance pressure low")
    assert (a.decision, a.cooperates, b.decision, b.cooperates) == ("COORDINATE", 1, "PREEMPT", 0)
    assert (a.payoff, b.payoff, a.power_after, b.power_after) == (0, 5, .95, 1.05)
    assert (a.model, b.model, a.served_model, a.provider, a.cost_usd, a.text) == (
        "m", "n", "m-1", None, .5, "x")
    assert (a.prompt_tokens, a.output_tokens, a.reasoning_tokens, a.truncated) == (7, 3, 1, False)
    assert a.unit == (9, "agent-01")


@pytest.mark.parametrize("number, encounter, baseline, primary", [
    (1, 1, False, True), (2, 1, False, False), (1, 2, False, False), (1, 1, True, False)])
def test_primary_is_round_1_first_encounters_without_baselines(number, encounter, baseline,
                                                               primary):
    [row, _] = decided(encounter=encounter, baseline=baseline)
    assert row._replace(round=number).primary is primary

"""The analysis of small studies on disk: what models share, what an unfinished one may show."""

import pytest
from study_rows import config, plan

from cirrus.ask.respondents import RESPONDENTS
from cirrus.judge import study as s
from cirrus.judge.rows import read_study
from common.verify import find_runs

MODELS = ("sim-correlation", "sim-coin")
VOICES = [config(name, "hph")["models"]["decision"][0] for name in MODELS]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A confirmatory plan of two respondents in turn."""
    folder = plan(tmp_path_factory.mktemp("study"), agents=3, rounds=6, models={
        "decision": VOICES, "strategy": VOICES})
    return read_study(find_runs([str(folder)]))


@pytest.fixture(scope="module")
def out(runs):
    return s.analyse(runs)


def test_models_share_five_percent_and_the_whole_has_its_own(out):
    parts = out["established"]["by_model"]
    assert {part["contrasts"][name]["level"] for part in parts.values()
            for name in ("HP-LA", "HP-LP", "SxC", "H")} == {1 - .05 / 2}
    assert out["established"]["contrasts"]["HP-LA"]["level"] == .95
    assert set(out["verdict"]["models"]) == set(parts) == set(MODELS)


def test_p_values_stand_as_specified_only(out):
    def keys(value, path=()):
        if isinstance(value, list):
            value = dict(enumerate(value))
        if isinstance(value, dict):
            return [found for key, one in value.items() for found in keys(one, (*path, key))]
        return [path]
    # A tripwire's stand beside no interval.
    assert {path[0] for path in keys(out) if path[-1] in ("p", "p_holm")} == {
        "as_specified", "tripwires"}


@pytest.mark.parametrize("left", [1, 4])
def test_an_unfinished_study_shows_counts_and_no_estimate(runs, out, left):
    changed = [run._replace(manifest=run.manifest | {"state": "stopped"})
               for run in runs.runs[:left]]
    part = s.analyse(runs._replace(runs=[*changed, *runs.runs[left:]]))
    known = part["established"]
    assert (known["contrasts"], known["by_round"]) == ({}, {})
    assert part["as_specified"]["design"]["value"] is None
    assert {cell: (one["k"], one["n"], one["mean"]) for cell, one in known["cells"].items()} == {
        cell: (one["k"], one["n"], None) for cell, one in out["established"]["cells"].items()}
    assert {gate["established"]["verdict"] for gate in part["gates"]} == {"not evaluable"}
    assert (part["verdict"]["word"], part["claims"]["may"]) == ("not evaluable", [])
    assert f"{left} of 10 runs unfinished" in part["verdict"]["sentence"]


@pytest.mark.parametrize("lacking, sentence", [
    ([], "Cue-responsive, both parts: +30.0 points (+20.0 to +40.0), also at low pressure."),
    (["HP-HA"], "Cue-responsive, symmetry alone: "), (["HP-LP"], "Cue-responsive, cue alone: "),
    (["HP-LP", "HP-HA", "low"], "Cue-responsive, neither alone: +30.0 points (+20.0 to +40.0), "
     "not at low pressure.")])
def test_a_headline_of_20_words_says_to_what_it_responds(lacking, sentence):
    def shown(name):
        low = .0 if name in lacking else .2
        return {"value": .3, "low": low, "high": .4, "bounds": {"low": low, "high": .4}}
    left = ["blind", "labels", "conditional", "adding_up"]
    words = s.headline({"verdict": {"open": left}, "established": {
        "contrasts": {name: shown(name) for name in ("HP-LA", "HP-LP", "HP-HA")},
        "by_H": {"low": {"HP-LA": shown("low")}}}})
    assert words.startswith(sentence) and len(words.split()) <= 20


@pytest.mark.parametrize("domain, lacking", [
    (None, {"ablation": "ablation", "holdout": "holdout"}),
    ("cvd", {"cross_domain": "confirmatory", "ablation": "ablation", "holdout": "holdout"})])
def test_each_gate_names_the_plan_it_lacks_and_one_step_brings_them_all(
        runs, out, domain, lacking):
    part = out if domain is None else s.analyse(runs._replace(
        runs=[run for run in runs.runs if run.domain == domain]))
    assert {gate["gate"]: gate["next"].split()[3] for gate in part["gates"] if gate["next"]} == (
        lacking)
    assert part["next"].split()[3] == "study" and "--rounds 6 --seeds 42" in part["next"]


def test_without_main_runs_hospital_is_the_primary_domain_and_replicates_nothing(runs):
    part = s.analyse(runs._replace(runs=[run for run in runs.runs if run.domain == "hospital"]))
    assert (part["design"]["domain"], list(part["parts"])) == ("hospital", ["hospital"])
    [gate] = (gate for gate in part["gates"] if gate["gate"] == "cross_domain")
    assert gate["established"] == {"verdict": "not evaluable", "figure": "no hospital runs"}


def test_decisions_under_a_policy_that_was_refused_are_missing(tmp_path, monkeypatch):
    def respond(request, rng):
        return ("", "content_filter") if request.stage == "strategy" else (
            RESPONDENTS["sim-coin"](request, rng))
    monkeypatch.setitem(RESPONDENTS, "sim-test", respond)
    part = s.analyse(read_study(find_runs([str(plan(tmp_path, "sim-test", agents=2))])))
    assert {(cell["n"], cell["missing"]) for cell in part["established"]["cells"].values()} == {
        (0, 4)}
    assert [wire["tripwire"] for wire in part["tripwires"] if wire["tripped"]] == ["policies"]
    assert part["verdict"]["word"] == "not evaluable"

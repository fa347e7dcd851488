"""What one pass over a tournament's files keeps, and the parts of its analysis, on made-up rows."""

from collections import Counter
from types import SimpleNamespace

import pytest
from study_rows import CELLS, decision

from cirrus.judge import study as s
from cirrus.judge.effects import slots
from cirrus.judge.rows import Run, Study

HPL, LAL = ("high", "present", "low"), ("low", "absent", "low")


def run(name="a", role="main", domain="cvd", cell=HPL, state="complete", **config):
    voice = {stage: [{"name": "m"}] for stage in ("strategy", "decision")}
    config = {"domain": domain, "seed": 1, "rounds": 2, "agents": 4, "models": voice} | config
    return Run(SimpleNamespace(parent="plan"), name, config, {"state": state, "identity": {
        "prompts": {"x": "1", "y": name}}}, role, cell, "COORDINATE")


def policy(name, status="ok", number=1, **more):
    return {"policy_id": name, "policy_status": status, "round": number, "policy": f"text {name}",
            "model_strategy": "m", "served_model": "m-1", "provider": "p", "markers": {}} | more


def collected(monkeypatch, rows, policies=(), made=None):
    monkeypatch.setattr(s, "decisions", lambda run: iter(rows))
    monkeypatch.setattr(s, "policies", lambda run: iter(policies))
    return s.Collected(Study([made or run()], True, []))


# --- one pass ----------------------------------------------------------------------------------

ROWS = [decision(HPL, 1, policy="p1"), decision(HPL, 0, policy="p1", encounter=2),
        decision(HPL, 1, policy="p1", round=2), decision(LAL, None, policy="p1"),
        decision(HPL, 1, policy="p1", baseline=True),
        decision(HPL, 1, policy="p1", role="other"),
        decision(HPL, 1, policy="p1", role="main", domain="hospital")]


def test_first_encounters_of_all_rounds_are_counted_and_round_1_is_primary(monkeypatch):
    data = collected(monkeypatch, ROWS)
    assert data.primary == [ROWS[0], ROWS[3], ROWS[5], ROWS[6]]
    assert data.tables == {
        "main": slots((s.slot_of(row), row.cooperates) for row in (ROWS[0], ROWS[2], ROWS[3])),
        "hospital": slots([(s.slot_of(ROWS[6]), 1)])}


def test_policies_of_main_runs_are_compared_by_round_and_first_ones_by_run(monkeypatch):
    texts = [policy("p1"), policy("p2"), policy("p3", number=2),
             policy("p4", "not_run", served_model="m-9")]
    cell = "cvd S.high-C.present-H.low"
    data = collected(monkeypatch, [], texts)
    assert data.texts == {(1, "cvd", 1): {cell: ["text p1", "text p2"]},
                          (1, "cvd", 2): {cell: ["text p3"]}}
    assert data.first == {cell: {"a": ["text p1", "text p2"]}}
    assert data.served == {"m": {"models": {"m-1"}, "providers": {"p"}}}   # not of what was not run
    other = collected(monkeypatch, [], texts, run(role="hospital-only"))
    assert other.texts == other.first == other.written == {} and other.policies == []


def test_who_answered_is_kept_by_model_and_of_answers_alone(monkeypatch):
    rows = [decision(HPL, 1, served_model="m-2", provider=None),
            decision(HPL, None, status="provider_error", served_model="m-9")]
    assert collected(monkeypatch, rows).served == {
        "m": {"models": {"m-2"}, "providers": {"None"}}}


def table_of(rows):
    """First encounters of main runs, counted where they stand."""
    return slots((s.slot_of(row), row.cooperates) for row in rows)


# --- limits ------------------------------------------------------------------------------------

def main(values=(1, 0), units=2, schemes=("L1", "L2"), bulletins=6):
    return [decision(HPL, y, f"a{unit}", label_scheme=scheme, bulletin=f"b{at}") for y in values
            for unit in range(units) for scheme in schemes for at in range(bulletins)]


@pytest.mark.parametrize("given, said", [
    ({}, []), ({"values": ()}, ["No main runs"]), ({"values": (None,)}, ["No decision of the"]),
    ({"values": (1,)}, ["Every readable decision is cooperative"]),
    ({"values": (0, None)}, ["Every readable decision is not cooperative"]),
    ({"units": 1}, ["One agent only"]), ({"schemes": ("L2",)}, ["One label scheme only"]),
    ({"bulletins": 5}, ["5 bulletins in the first encounters"]),
    ({"units": 1, "schemes": ("L1",), "bulletins": 1},
     ["One agent only", "One label scheme only", "1 bulletin in"])])
def test_what_data_can_t_show_whatever_they_show(given, said):
    rows = main(**given)
    limits = s._limits(rows, table_of(rows))
    assert len(limits) == len(said) and all(
        limit.startswith(words) for limit, words in zip(limits, said, strict=True))


# --- the design --------------------------------------------------------------------------------

def test_the_design_counts_the_primary_data_of_its_domain():
    runs = [run("a", rounds=2, seed=9), run("b", rounds=5, seed=16), run("c", rounds=1, seed=3)]
    rows = [*main(values=(1, None, None)), decision(HPL, 1, domain="hospital"),
            decision(HPL, 1, role="holdout")]
    design = s._design(Study(runs, True, []), rows, "cvd")
    assert [design[key] for key in ("seeds", "rounds", "units", "decisions", "read")] == [
        [3, 9, 16], 5, 2, 72, 24]
    assert s._design(Study(runs[:1], True, []), rows, "hospital")["decisions"] == 1


# --- what the ladder is given ------------------------------------------------------------------

def analysed(states=("complete",), hs=("low",), **more):
    """Model m cooperates in all cells but LA, model n in none."""
    rows = [decision((s, c, h), int(model == "m" and (s, c) != LAL[:2]), bulletin=f"b{at}",
                     model=model) for s, c, _ in CELLS for h in hs for at in range(6)
            for model in "mn"]
    table = table_of(rows)
    out = {"established": s.established(table),
           "runs": [{"run": f"r{at}", "state": state} for at, state in enumerate(states)]} | more
    return s.findings(out, table)


@pytest.mark.parametrize("states, said", [
    (("complete",) * 2, []),
    (("complete", "incomplete"), ["1 run unfinished (r1); the same command resumes them"]),
    (("stopped",) * 3, ["3 runs unfinished (r0, r1, r2); the same command resumes them"]),
    (("stopped",) * 4, ["4 runs unfinished (r0, r1, r2, …); the same command resumes them"])])
def test_unfinished_runs_stand_in_the_way(states, said):
    assert analysed(states).unfinished == said


@pytest.mark.parametrize("hs, quiet", [
    (("high", "low"), "H_low"), (("omit",), "H_omit"), (("high",), None),
    (("low", "omit"), "H_low")])
def test_quiet_is_where_compliance_pressure_is_low_or_not_spoken_of(hs, quiet):
    found = analysed(hs=hs)
    assert found.effects["H_low"] is (found.effects[quiet] if quiet else None)
    assert found.scope == "6 bulletins of one domain"
    n = 12 * len(hs)
    assert found.corners == {"HP": (n, 2 * n, 0), "LA": (0, 2 * n, 0)}
    assert found.model_corners == {"m": {"HP": (n, n, 0), "LA": (0, n, 0)},
                                   "n": {"HP": (0, n, 0), "LA": (0, n, 0)}}


def test_counts_stand_in_order_of_their_names():
    ordered = s._ordered({"b": Counter(y=1, x=2), "a": Counter(z=1)})
    assert [(cell, list(counts)) for cell, counts in ordered.items()] == [
        ("a", ["z"]), ("b", ["x", "y"])]


# --- the whole ---------------------------------------------------------------------------------

EVERY = {"main": ("main", "cvd"), "hospital": ("main", "hospital"), "reworded": ("reworded", "cvd"),
         "ablated": ("ablated", "cvd"), "holdout": ("holdout", "cvd")}


def whole(monkeypatch, folder, *parts, bulletins=6, models="m", **config):
    """The analysis of a study of these parts: of 16 decisions 14 cooperate in HP, and 2 in LA."""
    def rows(run):
        part = "h" if run.role == "holdout" else "b"
        return [decision(cell, y, f"a{at}", role=run.role, domain=run.domain, label_scheme=scheme,
                         option_order=order, bulletin=f"{part}{at}", policy="p", model=model)
                for cell, k in ((HPL, 14), (LAL, 2)) for at in range(bulletins) for model in models
                for scheme in ("L1", "L2") for order in ("cooperative-first", "other-first")
                for y in [1] * k + [0] * (16 - k)]
    monkeypatch.setattr(s, "decisions", rows)
    monkeypatch.setattr(s, "policies", lambda run: iter([]))
    monkeypatch.setattr(s, "artifact", lambda run, name: {
        "outcomes": {}, "statuses": {}, "tokens": {},
        "cost": {"usd": .5, "charged_usd": 1, "unknown": 2}})
    monkeypatch.setattr(s, "models", lambda rows: {"with_policy": {
        "separated": True, "primary": None, "why": f"{len(rows)} rows"}})
    monkeypatch.setattr(s.agreement, "block", lambda *of: {"policies": len(of[0])})
    for name in ("may", "may_not"):
        monkeypatch.setattr(s.agreement, name, lambda markers: [])
    runs = [Run(folder / part, *run(part, *EVERY[part], **config)[1:]) for part in parts]
    return s.analyse(Study(runs, True, ["A limit."]))


def next_plans(out):
    return {gate["gate"]: gate["next"] and gate["next"].split()[3] for gate in out["gates"]}


@pytest.mark.parametrize("lacking, plan, gates", [
    ([], None, []), (["holdout"], "holdout", ["holdout"]),
    (["ablated"], "ablation", ["ablation"]), (["hospital"], "confirmatory", ["cross_domain"]),
    (["hospital", "holdout"], "study", ["cross_domain", "holdout"])])
def test_one_step_brings_what_gates_lack(lacking, plan, gates, monkeypatch, tmp_path):
    out = whole(monkeypatch, tmp_path, *(part for part in EVERY if part not in lacking))
    assert (out["next"] and out["next"].split()[3]) == plan
    assert sorted(name for name, step in next_plans(out).items() if step) == gates
    assert out["parts"].keys() == EVERY.keys() - set(lacking)
    rows = 2 * 6 * 2 * 2 * 16 * (2 - ("hospital" in lacking))   # main runs of either domain
    assert out["primary"]["model"]["with_policy"]["why"] == f"{rows} rows"


def test_limits_costs_and_plans_of_the_runs_are_the_analysis_s(monkeypatch, tmp_path):
    (tmp_path / "plan.json").write_text('{"runs": []}')
    out = whole(monkeypatch, tmp_path, "main")
    assert out["limits"] == ["A limit."] and out["runs"][0]["plan"] == tmp_path.name
    assert out["cost"] == {"usd": .5, "charged_usd": 1, "unknown": 2,
                           "why": "2 answers came without a cost"}
    (tmp_path / "plan.json").unlink()
    assert whole(monkeypatch, tmp_path, "main", bulletins=5)["runs"][0]["plan"] is None


def test_without_main_runs_another_domain_is_the_primary_one_and_replicates_nothing(
        monkeypatch, tmp_path):
    out = whole(monkeypatch, tmp_path, "hospital", "holdout")
    assert out["design"]["domain"] == "hospital" and out["verdict"]["word"] == "cue-responsive"
    assert out["parts"].keys() == {"hospital", "holdout"}
    assert next_plans(out)["cross_domain"] == "confirmatory"
    [gate] = (gate for gate in out["gates"] if gate["gate"] == "cross_domain")
    assert gate["as_specified"] == gate["established"] == {
        "verdict": "not evaluable", "figure": "no hospital runs"}
    assert gate["numbers"]["effect"]["value"] is None
    alone = whole(monkeypatch, tmp_path, "holdout")
    assert alone["design"]["domain"] == "cvd" and alone["verdict"]["word"] == "not evaluable"
    assert alone["limits"][1].startswith("No main runs")


@pytest.mark.parametrize("word, verdicts, said", [
    ("cue-responsive", ["pass"] * 6, True), ("cue-responsive", ["pass"] * 5 + ["undecided"], False),
    ("cue-responsive", ["pass"] * 5 + ["not evaluable"], False),
    ("not evaluable", ["pass"] * 6, False)])
def test_six_established_gates_are_named_in_the_sentence(word, verdicts, said):
    gates = [{"established": {"verdict": verdict}} for verdict in verdicts]
    sentence = s.gates_sentence({"gates": gates, "verdict": {"word": word}})
    assert sentence == " It passes all credibility gates of the specification." * said

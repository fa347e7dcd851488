"""The pilot's analysis on rows small enough to work out by hand."""

import pytest

from cirrus.judge.effects import NAMES
from cirrus.judge.pilot import analyse
from cirrus.reports.pilot import quality

HP, HA, LP, LA = NAMES
STUDY = {"config": {"models": ["m", "n"], "seed": 1, "runs": 2, "compliance": "low",
                    "tells": "standard"}, "provider": "simulated"}


def trial(model, run, cell, decision, **more):
    """A row; `decision` 1 cooperative, 0 other, None unreadable."""
    return {"id": f"{model}/{run}/{cell}", "model": model, "run": run, "S": cell[0], "C": cell[1],
            "bulletin": f"b{run}", "variant": "v", "label_scheme": "L1",
            "order": "cooperative-first",
            "decision": {1: "COORDINATE", 0: "PREEMPT", None: None}[decision],
            "cooperates": decision,
            "status": "unreadable" if decision is None else "ok", "text": "x",
            "served_model": model, "provider": "p", "cost_usd": 0.001} | more


def block(model, run, hp, ha, lp, la, **more):
    return [trial(model, run, cell, y, **more)
            for cell, y in zip((HP, HA, LP, LA), (hp, ha, lp, la), strict=True)]


def study(*rows, redealt=(16, 16)):
    return analyse([row for own in rows for row in own], STUDY, redealt)


FULL = (block("m", 1, 1, 0, 0, 0), block("m", 2, 1, 1, 0, 1),
        block("n", 1, 1, 1, 1, 0), block("n", 2, 0, 0, 1, 0))


def test_a_pooled_cell_is_the_mean_of_the_models():
    cell = study(*FULL)["pooled"]["cells"][NAMES[HP]]
    assert (cell["k"], cell["n"], cell["mean"]) == (3, 4, 0.75)  # m 2/2, n 1/2


def test_a_contrast_is_averaged_over_runs_after_models():
    # run 1: m 1 − 0 = 1, n 1 − 0 = 1 → 1; run 2: m 1 − 1 = 0, n 0 − 0 = 0 → 0
    primary = study(*FULL)["pooled"]["effects"]["primary"]
    assert (primary["value"], primary["units"]) == (0.5, 2)


def test_runs_that_share_a_bulletin_are_one_unit():
    # Past ten runs bulletins come again: what is particular to one must not count twice.
    rows = [row for run, hp in ((1, 1), (2, 0), (3, 1), (4, 1))
            for row in block("m", run, hp, 0, 0, 0, bulletin=f"b{run % 2}")]
    for own in (study(rows)["models"]["m"], study(rows)["pooled"]):
        primary = own["effects"]["primary"]  # b1: 1 and 1; b0: 0 and 1
        assert (primary["value"], primary["units"]) == (0.75, 2)
        assert own["exploratory"]["sign_flip_p"] == 0.5


def test_the_interaction_is_a_difference_of_differences():
    # m1 (1−0)−(0−0) = 1; m2 (1−1)−(0−1) = 1; n1 (1−1)−(1−0) = −1; n2 (0−0)−(1−0) = −1
    cross = study(*FULL)
    assert cross["pooled"]["interaction"]["value"] == 0
    assert cross["models"]["m"]["interaction"]["value"] == 1
    assert cross["models"]["n"]["interaction"]["value"] == -1


def test_two_bulletins_exclude_nothing_and_say_so():
    entry = study(*FULL)["models"]["m"]["interaction"]
    assert (entry["low"], entry["high"]) == (-2, 2) and "2 units exclude nothing" in entry["why"]


def test_main_effects_average_over_the_other_factor():
    # m1: ((1+0) − (0+0))/2 = 0.5; m2: ((1+1) − (0+1))/2 = 0.5
    assert study(*FULL)["models"]["m"]["effects"]["S"]["value"] == 0.5


def test_an_unreadable_decision_is_missing_never_a_decision():
    out = study(block("m", 1, None, 0, 0, 0), *FULL[1:])
    cell = out["pooled"]["cells"][NAMES[HP]]
    assert (cell["n"], cell["missing"]) == (3, 1)
    assert out["missing"]["by_cell"][NAMES[HP]] == 1


def test_missing_decisions_are_bounded_by_filling_them_in():
    # HP of m1 missing. m: (x+1)/2 − 1/2; n: 1/2 − 0; mean of the two for x = 1 and x = 0
    bounds = study(block("m", 1, None, 0, 0, 0), *FULL[1:])["missing"]["primary"]
    assert bounds == {"all_cooperative": 0.5, "none_cooperative": 0.25, "lowest": 0.25,
                      "highest": 0.5}


def test_a_block_that_lost_one_cell_still_serves_the_contrasts_that_do_not_need_it():
    out = study(block("m", 1, 1, None, 0, 0), block("m", 2, 1, 1, 0, 1))["models"]["m"]
    assert out["effects"]["primary"]["units"] == 2
    assert out["effects"]["C_at_S_high"]["units"] == 1


def test_no_readable_decision_gives_no_number():
    out = study(*[block(m, r, None, None, None, None) for m in "mn" for r in (1, 2)])
    assert out["pooled"]["effects"]["primary"]["value"] is None
    assert out["pooled"]["cells"][NAMES[HP]]["mean"] is None
    assert out["verdict"]["word"] == "not evaluable" and out["claims"]["may"] == []


def test_decisions_that_never_differ_have_no_d_and_an_interval_of_some_width():
    out = study(*[block(m, r, 1, 1, 1, 1) for m in "mn" for r in range(8)])["pooled"]
    primary = out["effects"]["primary"]
    assert primary["value"] == 0 and -0.2 < primary["low"] < 0 < primary["high"] < 0.2
    assert out["effects"]["primary"]["d"]["value"] is None


def test_the_option_that_stands_first_is_counted_by_place():
    first = block("m", 1, 1, 1, 0, 0)                               # taken twice of four
    other = block("m", 2, 0, 0, 0, 0, order="other-first")          # taken four times
    assert study(first, other)["position"]["k"] == 6


def test_cooperation_is_told_apart_by_label_scheme():
    out = study(block("m", 1, 1, 1, 1, 1), block("m", 2, 0, 0, 0, 1, label_scheme="L2"))["labels"]
    assert out["schemes"]["L1"]["mean"] == 1 and out["schemes"]["L2"]["mean"] == 0.25
    assert out["largest_difference"] == 0.75


def test_an_unknown_cost_is_never_counted_as_nothing():
    out = study(block("m", 1, 1, 1, 0, 0, cost_usd=None), block("m", 2, 1, 1, 0, 0))
    cost = next(row for row in out["success"] if "cost" in row["criterion"])
    assert cost["met"] is None and "at least $0.0040" in cost["figure"]


def test_p_values_stand_under_exploratory_only():
    def keys(value, path=()):
        if isinstance(value, dict):
            for name, item in value.items():
                yield from keys(item, (*path, name))
        else:
            yield path
    for path in keys(study(*FULL)):
        assert path[-1] not in ("p", "sign_flip_p") or "exploratory" in path


@pytest.mark.parametrize(("redealt", "met"), [((16, 16), True), ((15, 16), False), (None, None),
                                              ((0, 0), False)])
def test_reproducible_means_that_every_question_was_dealt_again(redealt, met):
    assert study(*FULL, redealt=redealt)["success"][-1]["met"] is met


def test_a_simulated_study_claims_nothing_about_models():
    assert "SIMULATED" in study(*FULL)["claims"]["may_not"][0]


def test_few_bulletins_are_named_as_the_limit_of_the_claim():
    assert any("2 bulletins" in line and "stimuli" in line
               for line in study(*FULL)["claims"]["may_not"])


def test_two_providers_behind_one_model_are_named():
    rows = block("m", 1, 1, 0, 0, 0), block("m", 2, 1, 0, 0, 0, provider="q")
    out = study(*rows)
    assert out["served"]["m"] == {"served_model": ["m"], "provider": ["p", "q"]}
    assert any("m was served by 2 providers (p, q)" in line for line in quality(out))

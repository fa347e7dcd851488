"""The primary endpoint, on rows small enough to work by hand."""

import math

import pytest
from study_rows import CELLS, cells, decision

from cirrus.judge import endpoint
from cirrus.judge import endpoint as e
from cirrus.judge.effects import SIMPLE

HPL, LAL = ("high", "present", "low"), ("low", "absent", "low")
HPH, LAH = ("high", "present", "high"), ("low", "absent", "high")
NO_MODEL = {"with_policy": {"separated": False, "primary": None, "why": "no model here"}}


def four_agents():
    """Contrasts 1, 1/2, 1/2, 0 in four units."""
    own = {"a": ([1, 1], [0, 0]), "b": ([1, 1], [0, 1]), "c": ([1, 0], [0, 0]), "d": ([1], [1])}
    return [row for agent, (x, y) in own.items() for row in cells({HPL: x, LAL: y}, agent)]


def test_the_contrast_is_taken_inside_each_unit_and_tested_over_units():
    out = e.effect(four_agents())
    # sd = sqrt(1/6), t(.975, 3) = 3.182446 (R: qt); of 8 sign choices of 1, 1/2, 1/2 two reach ±2
    half = 3.182446 * math.sqrt(1 / 6) / 2
    assert (out["value"], out["units"], out["p"]) == (0.5, 4, 0.25)
    assert (out["low"], out["high"]) == (pytest.approx(0.5 - half, abs=1e-6), 1)  # never beyond


def test_agents_of_two_seeds_are_units_of_their_own():
    rows = cells({HPL: [1], LAL: [0]}, seed=1) + cells({HPL: [0], LAL: [0]}, seed=2)
    assert e.unit_values(rows, e.CONTRASTS["primary"]) == {(1, "agent-01"): 1, (2, "agent-01"): 0}


def test_levels_of_h_weigh_the_same_whatever_their_number_of_decisions():
    rows = cells({HPL: [1, 1, 1, 1], LAL: [0], HPH: [0], LAH: [0]})
    assert list(e.unit_values(rows, e.CONTRASTS["primary"]).values()) == [0.5]


def test_a_level_of_h_with_one_side_only_is_left_out():
    rows = cells({HPL: [1], LAL: [0], HPH: [0]})
    assert list(e.unit_values(rows, e.CONTRASTS["primary"]).values()) == [1.0]


def test_secondary_contrasts_of_one_unit_by_hand():
    """Means at H low: HP 1, HA 1/2, LP 1/2, LA 0; at H high all 0."""
    means = {("high", "present"): [1, 1], ("high", "absent"): [1, 0], ("low", "present"): [0, 1],
             ("low", "absent"): [0, 0]}
    rows = cells({(*cell, "low"): y for cell, y in means.items()}
                 | {(*cell, "high"): [0] for cell in means})
    said = {name: next(iter(e.unit_values(rows, contrast).values()))
            for name, contrast in e.CONTRASTS.items()}
    assert said == {"primary": 0.5, "S": 0.25, "C": 0.25, "SxC": 0.0, "H": -0.5,
                    **dict.fromkeys(SIMPLE, 0.25)}


def test_holm_adjusts_the_contrasts_that_have_a_test():
    """Four agents follow S, four S or C: S differs in 8 of 8 units, C and S×C in 4, H in none."""
    def y(cell, either):
        return int(cell[0] == "high" or (either and cell[1] == "present"))
    rows = [row for at in range(8) for row in cells({c: [y(c, at < 4)] for c in CELLS}, f"a{at}")]
    out = e.secondary(rows)
    assert [out[name]["p"] for name in e.SECONDARY] == [2 / 2 ** 8, 2 / 2 ** 4, 2 / 2 ** 4, None]
    assert [out[name]["p_holm"] for name in e.SECONDARY] == [3 * 2 / 2 ** 8, 1 / 4, 1 / 4, None]
    assert out["H"]["value"] == 0 and "same" in out["H"]["why"]


def test_missing_decisions_are_left_out_and_bounded():
    rows = cells({HPL: [1, None], LAL: [0, None]})
    assert e.effect(rows)["value"] == 1.0
    assert e.bounds(rows) == {"all_cooperative": 0.5, "none_cooperative": 0.5, "lowest": 0.0,
                              "highest": 1.0}
    assert [(c["k"], c["n"], c["missing"]) for c in e.cells_table(rows)] == [(1, 1, 1), (0, 1, 1)]


def test_a_unit_without_a_cell_is_counted_not_imputed():
    out = e.effect([*four_agents(), decision(HPL, 1, "e"), decision(LAL, None, "e")])
    assert (out["units"], out["units_without"]) == (4, 1)


def test_an_absent_cell_is_named_and_no_number():
    out = e.effect(cells({HPL: [1, 0]}))
    assert out["value"] is None and out["p"] is None and "no level of H" in out["why"]


def test_one_agent_gives_an_estimate_and_nothing_else():
    out = e.effect(cells({HPL: [1], LAL: [0]}))
    assert (out["value"], out["low"], out["p"], out["why"]) == (1.0, None, None, "one unit only")


def test_all_decisions_equal_give_no_interval_no_p_and_the_reason():
    rows = [row for at in range(5) for row in cells({HPL: [1], LAL: [1]}, f"a{at}")]
    out = e.endpoint(rows, NO_MODEL)
    assert out["design"]["value"] == 0 and out["design"]["low"] is out["design"]["p"] is None
    assert out["met"] is None and out["delta"]["low"] is None and out["design"]["why"]


def test_a_difference_of_one_in_every_unit_has_a_score_interval_over_units():
    rows = [row for at in range(10) for row in cells({HPL: [1] * 9, LAL: [0] * 9}, f"a{at}")]
    out = e.endpoint(rows, NO_MODEL)
    # Miettinen–Nurminen of 10/10 against 0/10: where the score test with variance 20/19 gives 1.96
    z2 = 1.959964 ** 2
    low = out["design"]["low"]
    p = (1 + low) / 2  # by symmetry the restricted rates are p and 1 − p
    assert (1 - low) ** 2 == pytest.approx(z2 * 2 * p * (1 - p) / 10 * 20 / 19, rel=1e-5)
    assert out["delta"]["value"] == 1 and out["delta"]["low"] == low
    assert out["design"]["p"] == 2 / 2 ** 10


def test_delta_is_the_difference_of_proportions_and_its_interval_leaves_out_units():
    out = e.cliffs_delta(four_agents())
    assert out["value"] == pytest.approx(6 / 7 - 2 / 7) and out["units"] == 4
    # Without each unit: 4/5 − 2/5, 4/5 − 1/5, 1 − 2/5, 5/6 − 1/6; SE² = 3/4 · their squared
    # deviations = 0.03, t(.975, 3) = 3.182446; what passes 1 is cut off.
    assert out["low"] == pytest.approx(4 / 7 - 3.182446 * math.sqrt(0.03), abs=1e-6)
    assert out["high"] == 1


def test_delta_of_one_unit_or_of_one_that_holds_a_side_has_no_interval():
    one = e.cliffs_delta(cells({HPL: [1, 0], LAL: [0, 0]}))
    assert one["value"] == 0.5 and one["low"] is None and one["why"] == "one unit only"
    lone = e.cliffs_delta(cells({HPL: [1, 0], LAL: [0]}, "a") + cells({LAL: [0, 1]}, "b"))
    assert lone["low"] is None and lone["why"] == "one unit holds all decisions of a side"


STRONG = {"value": 0.5, "p": 0.01, "why": None}


@pytest.mark.parametrize("design, p, estimate, met", [
    (STRONG, 0.01, 1.0, True), (STRONG, 0.2, 1.0, False), (STRONG, 0.01, -1.0, False),
    (STRONG | {"value": -0.5}, 0.01, 1.0, False), (STRONG | {"p": 0.06}, 0.01, 1.0, False)])
def test_met_takes_both_tests_in_the_predicted_direction(design, p, estimate, met):
    model = {"with_policy": {"separated": False, "primary": {"p": p, "estimate": estimate}}}
    assert e.decided(design, model)[0] is met


def test_separation_leaves_the_design_based_test_alone_and_absence_leaves_it_open():
    apart = {"with_policy": {"separated": True, "primary": None, "why": "separation: …"}}
    assert e.decided(STRONG, apart)[0] is True
    assert e.decided(STRONG, NO_MODEL)[0] is None
    assert e.decided(STRONG | {"p": 0.5}, NO_MODEL)[0] is False


# --- the model ---------------------------------------------------------------------------------

def crossed(probability):
    """12 agents in four cells at both levels of H; every share exact."""
    rows = []
    for at in range(12):
        for cell in CELLS:
            k = round(4 * probability(cell))
            values = [1] * k + [0] * (4 - k)
            values = values[at % 4:] + values[:at % 4]
            rows += [decision(cell, y, f"a{at:02d}", opponent=f"o{i}", option_order=order)
                     for i, (y, order) in enumerate(zip(
                         values, ["cooperative-first", "other-first"] * 2, strict=True))]
    return rows


def test_one_level_factors_are_left_out_and_named():
    out = endpoint.models(crossed(lambda cell: 0.75 if cell[:2] == HPL[:2] else 0.5))
    assert out["left_out"] == dict.fromkeys(
        ("domain", "label_scheme", "seed", "variant_id"), "one level in these data")
    assert out["as_specified"]["formula"] == (
        "coop ~ S + C + S:C + H + option_order + (1|agent) + (1|opponent)")


def test_with_policies_alike_the_model_s_contrast_is_the_log_odds_ratio_of_the_cells():
    out = endpoint.models(crossed(lambda cell: 0.75 if cell[:2] == HPL[:2] else 0.25))
    # ln(3/1) − ln(1/3) = 2 ln 3, up to a random effect near zero
    assert out["with_policy"]["primary"]["estimate"] == pytest.approx(2 * math.log(3), abs=0.3)
    assert out["with_policy"]["primary"]["p"] < 1e-6 and out["with_policy"]["tests"]["H"]["p"] > .5


def test_a_cell_that_separates_is_named_and_gives_no_p():
    out = endpoint.models(crossed(lambda cell: 1 if cell[:2] == HPL[:2] else 0.5))
    assert out["with_policy"]["separated"] and out["with_policy"]["primary"] is None
    assert "separation" in out["with_policy"]["why"]


def test_variants_that_only_repeat_the_domain_are_left_out():
    rows = crossed(lambda cell: 0.5)
    rows += [row._replace(domain="hospital", variant="v2") for row in rows]
    assert endpoint.models(rows)["left_out"]["variant_id"] == (
        "each domain has its own single level")


def test_beyond_many_rows_only_the_tests_that_decide_are_fitted(monkeypatch):
    monkeypatch.setattr(endpoint, "MOST_ROWS", 100)
    out = endpoint.models(crossed(lambda cell: 0.75 if cell[:2] == HPL[:2] else 0.25))
    assert list(out["with_policy"]["tests"]) == ["S:C"] and out["with_policy"]["primary"]["p"] < .01
    assert "Wald" in out["with_policy"]["why"]


def test_the_primary_contrast_is_what_is_lost_without_its_cell():
    """12 agents × 2 levels of H × 4 decisions a cell."""
    out = endpoint.models(crossed(lambda cell: 0.75 if cell[:2] == HPL[:2] else 0.25))
    # As if independent, HP 72 of 96, LA 24 of 96, alone in their likelihoods: pooled 96 of 192.
    def log(k, n):
        return k * math.log(k / n) + (n - k) * math.log(1 - k / n)
    independent = 2 * (log(72, 96) + log(24, 96) - log(96, 192))
    assert out["as_specified"]["primary"]["chi2"] == pytest.approx(independent, rel=0.15)

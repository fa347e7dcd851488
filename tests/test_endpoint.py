"""The primary endpoint, on rows small enough to work by hand."""

import math
from types import SimpleNamespace

import pytest
from study_rows import CELLS, cells, decision

from cirrus.judge import endpoint
from cirrus.judge import endpoint as e

HPL, LAL = ("high", "present", "low"), ("low", "absent", "low")
HPH, LAH = ("high", "present", "high"), ("low", "absent", "high")
NO_MODEL = {"with_policy": {"separated": False, "primary": None, "why": "no model here"}}


def four_agents():
    """Contrasts 1, 1/2, 1/2, 0 in four units."""
    own = {"a": ([1, 1], [0, 0]), "b": ([1, 1], [0, 1]), "c": ([1, 0], [0, 0]), "d": ([1], [1])}
    return [row for agent, (x, y) in own.items() for row in cells({HPL: x, LAL: y}, agent)]


@pytest.mark.parametrize("values, low, high", [
    ((1, 0), -1, 1), ((0, -1), -1, 1),   # t(.975, 1) = 12.7: cut off where it is impossible
    ((.5, .5), None, None), ((-.25, -.25), None, None), ((0, 0), None, None)])
def test_two_units_that_differ_have_an_interval_and_two_that_do_not_a_reason(values, low, high):
    out = e.over_units(dict(enumerate(values)), 1)
    assert (out["value"], out["low"], out["high"]) == (sum(values) / 2, low, high)
    assert (out["why"] is None) == (low is not None) and (out["p"] is None) == (not any(values))


def test_agents_of_two_seeds_are_units_of_their_own():
    rows = cells({HPL: [1], LAL: [0]}, seed=1) + cells({HPL: [0], LAL: [0]}, seed=2)
    assert e.unit_values(rows, e.CONTRASTS["primary"]) == {(1, "agent-01"): 1, (2, "agent-01"): 0}


def test_levels_of_h_weigh_the_same_whatever_their_number_of_decisions():
    rows = cells({HPL: [1, 1, 1, 1], LAL: [0], HPH: [0], LAH: [0]})
    assert list(e.unit_values(rows, e.CONTRASTS["primary"]).values()) == [0.5]


def test_a_level_of_h_with_one_side_only_is_left_out():
    rows = cells({HPL: [1], LAL: [0], HPH: [0]})
    assert list(e.unit_values(rows, e.CONTRASTS["primary"]).values()) == [1.0]


def test_missing_decisions_are_left_out_and_bounded():
    rows = cells({HPL: [1, None, None], LAL: [0, None]})
    assert e.effect(rows)["value"] == 1.0
    assert e.bounds(rows) == {"all_cooperative": 3 / 3 - 1 / 2, "none_cooperative": 1 / 3 - 0,
                              "lowest": pytest.approx(1 / 3 - 1 / 2), "highest": 1 - 0}
    assert [(c["k"], c["n"], c["missing"]) for c in e.cells_table(rows)] == [(1, 1, 2), (0, 1, 1)]
    assert e.bounds(rows[:3]) == dict.fromkeys(e.FILLS)   # one cell has no contrast
    both = rows + cells({HPL: [0], LAL: [0]}, "b")   # whose contrast is 0, whatever is missing
    assert e.bounds(both)["highest"] == (1 + 0) / 2


def test_cells_stand_in_one_order_and_an_unread_one_has_no_share():
    table = e.cells_table([decision(cell, None) for cell in reversed(CELLS)])
    names = ("S.high-C.present", "S.high-C.absent", "S.low-C.present", "S.low-C.absent")
    assert [cell["cell"] for cell in table] == [
        f"{name}-H.{h}" for name in names for h in ("high", "low")]
    assert {(cell["mean"], cell["low"], cell["why"]) for cell in table} == {
        (None, None, "no observations")}


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
    against = e.effect([row._replace(cooperates=1 - row.cooperates) for row in rows])
    assert (against["value"], against["high"]) == (-1, pytest.approx(-low))


def test_delta_of_one_unit_or_of_one_that_holds_a_side_has_no_interval():
    one = e.cliffs_delta(cells({HPL: [1, 0], LAL: [0, 0]}))
    assert one["value"] == 0.5 and one["low"] is None and one["why"] == "one unit only"
    lone = e.cliffs_delta(cells({HPL: [1, 0], LAL: [0]}, "a") + cells({LAL: [0, 1]}, "b"))
    assert lone["low"] is None and lone["why"] == "one unit holds all decisions of a side"
    unread = e.cliffs_delta(cells({HPL: [1], LAL: [None]}))
    assert (unread["value"], unread["why"]) == (None, "a side without readable decisions")


def test_delta_of_two_units_that_differ_has_an_interval_and_of_two_that_do_not_a_reason():
    one = cells({HPL: [1, 1], LAL: [0, 0]}, "a") + cells({HPL: [0, 1], LAL: [1, 0]}, "b")
    assert [e.cliffs_delta(one)[key] for key in ("value", "low", "high")] == [.5, -1, 1]
    same = [row for agent in "ab" for row in cells({HPL: [1, 1], LAL: [0, 1]}, agent)]
    out = e.cliffs_delta(same)
    assert (out["value"], out["low"]) == (.5, None) and out["why"]


STRONG = {"value": 0.5, "p": 0.01, "why": None}


@pytest.mark.parametrize("design, p, estimate, met", [
    (STRONG, 0.01, 1.0, True), (STRONG, 0.2, 1.0, False), (STRONG, 0.01, -1.0, False),
    (STRONG | {"value": -0.5}, 0.01, 1.0, False), (STRONG | {"p": 0.05}, 0.01, 1.0, False),
    (STRONG | {"value": 0.0}, 0.01, 1.0, False), (STRONG | {"p": 0.0499}, 0.0499, 1e-9, True),
    (STRONG, 0.05, 1.0, False), (STRONG, 0.01, 0.0, False), (STRONG, None, 1.0, None),
    (STRONG | {"p": 0.2}, None, 1.0, False), (STRONG | {"p": None}, 0.01, 1.0, None)])
def test_met_takes_both_tests_in_the_predicted_direction(design, p, estimate, met):
    alone = {"separated": False, "why": None}
    model = {"with_policy": alone | {"primary": {"p": p, "estimate": estimate}},
             "as_specified": alone | {"primary": {"p": .9, "estimate": -1.0}}}   # decides nothing
    assert e.decided(design, model)[0] is met


def test_separation_leaves_the_design_based_test_alone_and_absence_leaves_it_open():
    apart = {"with_policy": {"separated": True, "primary": None, "why": "separation: …"}}
    assert e.decided(STRONG, apart)[0] is True
    assert e.decided(STRONG | {"p": 0.05}, apart)[0] is False
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


def test_a_cell_that_separates_is_named_and_gives_no_p():
    out = endpoint.models(crossed(lambda cell: 1 if cell[:2] == HPL[:2] else 0.5))
    assert out["with_policy"]["separated"] and out["with_policy"]["primary"] is None
    assert "separation" in out["with_policy"]["why"]


@pytest.mark.parametrize("variants, left", [
    (("v1", "v2"), {"variant_id": "each domain has its own single level"}),
    (("v1", "v1"), {"variant_id": "one level in these data"}), (("v1", "v2", "v3"), {})])
def test_a_factor_is_left_out_that_tells_nothing_beside_the_domain(variants, left):
    """The last variant stands in the second domain as well."""
    rows = [decision(cell, 1, variant=variant, domain=domain, seed=seed, label_scheme=scheme)
            for cell, scheme in zip(CELLS, ["L1", "L2"] * 4, strict=True) for seed in (1, 2)
            for variant, domain in zip(variants, ("cvd", "hospital", "hospital"), strict=False)]
    rows += [rows[0]._replace(agent="b", opponent="c", option_order="other-first")]
    assert e.left_out_of(list(map(e.model_row, rows))) == left
    rows = [row._replace(H="omit") if row.seed == 1 else row for row in rows]
    assert e.left_out_of(list(map(e.model_row, rows))) == left | {"H": "levels beside high and low"}


@pytest.mark.parametrize("cell, levels", [
    (("high", "present", "high"), (1, 1, 1, 0, 0)), (("high", "absent", "low"), (1, 0, 0, 1, 0)),
    (("low", "present", "omit"), (0, 1, "omit", 0, 1)), (("low", "absent", "low"), (0,) * 5)])
def test_a_row_of_the_model_stands_in_one_of_four_cells(cell, levels):
    row = e.model_row(decision(cell))
    assert tuple(row[name] for name in ("S", "C", "H", *e.OTHERS)) == levels


class Fit(SimpleNamespace):
    """A model by its terms; the likelihood ratio of two names both."""

    def _asdict(self):
        return {"terms": self.terms}


@pytest.fixture
def fits(monkeypatch):
    """Which models are compared, without fitting any."""
    def fit(data, outcome, fixed, random, part_of=None):
        effects = [SimpleNamespace(name=name, estimate=.5) for name in ("(Intercept)", *fixed)]
        return Fit(terms=set(fixed), log_likelihood=0.0, why=None, coefficients=effects)
    monkeypatch.setattr("stats.fit_mixed_logit", fit)
    monkeypatch.setattr("stats.likelihood_ratio", lambda full, reduced: SimpleNamespace(
        _asdict=lambda: {"without": full.terms - reduced.terms, "instead": reduced.terms
                        - full.terms}))


def test_each_term_is_tested_against_the_model_without_it_and_s_and_c_without_their_product(fits):
    rows = [decision(cell, at % 2, opponent=f"o{at % 2}") for at, cell in enumerate(CELLS * 2)]
    out = e.models(rows, most_rows=len(rows))["with_policy"]
    assert out["formula"] == "coop ~ S + C + S:C + H + (1|opponent) + (1|policy)"
    assert {name: test["without"] for name, test in out["tests"].items()} == {
        "S": {"S"}, "C": {"C"}, "S:C": {"S:C"}, "H": {"H"}}
    assert out["primary"]["without"] == {"S", "C", "S:C"}
    assert out["primary"]["instead"] == {"high_absent", "low_present"}
    assert (out["primary"]["estimate"], out["why"], out["separated"]) == (1.5, None, False)
    many = e.models(rows, most_rows=len(rows) - 1)["with_policy"]
    assert set(many["tests"]) == {"S:C"} and many["why"].startswith(f"more than {e.MOST_ROWS} rows")


def test_without_anything_but_the_two_cues_there_is_still_a_model(fits):
    rows = [decision((s, c, "low"), 1) for s in ("high", "low") for c in ("present", "absent")]
    assert e.models(rows)["as_specified"]["formula"] == "coop ~ S + C + S:C"
    out = e.models([row for row in rows if row.S == "high"])["with_policy"]
    assert (out["why"], out["separated"]) == ("S or C has one level in these data", False)


def test_a_fit_is_kept_to_six_significant_digits():
    assert e.rounded({"a": [1.23456789, None], "b": (2, "x"), "c": {"d": -98765.4321}}) == {
        "a": [1.23457, None], "b": (2, "x"), "c": {"d": -98765.4}}


def test_the_primary_contrast_is_what_is_lost_without_its_cell():
    """12 agents × 2 levels of H × 4 decisions a cell."""
    out = endpoint.models(crossed(lambda cell: 0.75 if cell[:2] == HPL[:2] else 0.25))
    # As if independent, HP 72 of 96, LA 24 of 96, alone in their likelihoods: pooled 96 of 192.
    def log(k, n):
        return k * math.log(k / n) + (n - k) * math.log(1 - k / n)
    independent = 2 * (log(72, 96) + log(24, 96) - log(96, 192))
    assert out["as_specified"]["primary"]["chi2"] == pytest.approx(independent, rel=0.15)

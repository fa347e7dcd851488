"""The primary endpoint, on rows small enough to work by hand."""

import math

import pytest
from study_rows import CELLS, cells, decision

import stats
from cirrus.judge import endpoint as e

HPL, LAL = ("high", "present", "low"), ("low", "absent", "low")
HPH, LAH = ("high", "present", "high"), ("low", "absent", "high")
NO_MODEL = {"with_policy": {"separated": False, "primary": None, "why": "no model here"}}


def four_agents():
    """Contrasts 1, 1/2, 1/2, 0 in four units."""
    own = {"a": ([1, 1], [0, 0]), "b": ([1, 1], [0, 1]), "c": ([1, 0], [0, 0]), "d": ([1], [1])}
    return [row for agent, (x, y) in own.items() for row in cells({HPL: x, LAL: y}, agent)]


def specified(rows, name="HP-LA"):
    return e.specified(e.by_agent(rows), name)


def test_the_contrast_is_averaged_over_agents_and_tested_by_their_signs():
    """1, 1/2, 1/2, 0: of the 2³ signs of three, two are as far from 0."""
    out = specified(four_agents())
    assert (out["value"], out["p"], out["units"], out["resamples"]) == (.5, 2 / 8, 4, None)


@pytest.mark.parametrize("more, value", [
    ({HPH: [0], LAH: [0]}, .5),   # levels of H weigh the same whatever their number of decisions
    ({HPH: [0]}, 1.0)])           # one with one side only is left out
def test_levels_of_h_weigh_the_same(more, value):
    assert specified(cells({HPL: [1, 1, 1, 1], LAL: [0]} | more))["value"] == value


def test_missing_decisions_are_left_out_and_bounded():
    rows = cells({HPL: [1, None, None], LAL: [0, None]})
    assert specified(rows)["value"] == 1.0
    assert e.bounds(e.by_agent(rows)) == {
        "all_cooperative": 3 / 3 - 1 / 2, "none_cooperative": 1 / 3 - 0,
        "lowest": pytest.approx(1 / 3 - 1 / 2), "highest": 1 - 0}
    assert e.bounds(e.by_agent(rows[:3])) == dict.fromkeys(e.FILLS)   # one cell has no contrast


@pytest.mark.parametrize("rows, value, why", [
    (cells({HPL: [1, 0]}), None, "no agent holds every cell"),
    (cells({HPL: [1], LAL: [0]}), 1.0, "one agent only"),
    ([row for a in "abc" for row in cells({HPL: [1], LAL: [1]}, a)], 0, "every difference is 0")])
def test_what_cannot_be_tested_has_no_p_and_the_reason(rows, value, why):
    out = specified(rows)
    assert (out["value"], out["p"]) == (value, None) and why in out["why"]
    assert e.endpoint(rows, NO_MODEL)["met"] is None


def test_delta_is_the_difference_of_shares_and_its_interval_is_over_agents():
    """6 of 7 against 2 of 7; t(3) = 3.1824 and the agents' 1, 1/2, 1/2, 0, whose standard error is
    √(1/6)/2."""
    out = e.cliffs_delta(e.by_agent(four_agents()))
    reach = 3.1824463 * math.sqrt(1 / 6) / 2
    assert out["value"] == pytest.approx(6 / 7 - 2 / 7)
    assert (out["low"], out["high"]) == (pytest.approx(.5 - reach), pytest.approx(1))


def test_delta_of_one_agent_or_an_unread_side_has_no_interval():
    one = e.cliffs_delta(e.by_agent(cells({HPL: [1, 0], LAL: [0, 0]})))
    assert (one["value"], one["low"], one["why"]) == (.5, None, "one agent only")
    unread = e.cliffs_delta(e.by_agent(cells({HPL: [1], LAL: [None]})))
    assert (unread["value"], unread["why"]) == (None, "a side without readable decisions")


def test_p_values_of_the_secondary_contrasts_are_adjusted_together():
    """Ten agents that all show the same three effects, p = 2/2¹⁰ each: Holm's 4, 3 and 2 times;
    pressure has none."""
    rows = [row for at in range(10) for row in cells(
        {cell: [int(cell[:2] == HPL[:2])] for cell in CELLS}, f"a{at}")]
    out = e.endpoint(rows, NO_MODEL)["secondary"]
    assert [(one["value"], one["p"], one["p_holm"]) for one in out.values()] == [
        *[(pytest.approx(value), 2 / 2 ** 10, 3 * 2 / 2 ** 10) for value in (.5, .5, 1)],
        (0, None, None)]


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
    out = e.models(crossed(lambda cell: 1 if cell[:2] == HPL[:2] else 0.5))
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


def test_each_term_is_tested_against_the_model_without_it_and_s_and_c_without_their_product():
    rows = crossed(lambda cell: 0.75 if cell[:2] == HPL[:2] else 0.25)
    out = e.models(rows, most_rows=len(rows))["with_policy"]
    data, random = list(map(e.model_row, rows)), ["agent", "opponent", "policy"]
    assert out["formula"] == ("coop ~ S + C + S:C + H + option_order + (1|agent) + (1|opponent) + "
                              "(1|policy)")

    def ratio(more, fewer):
        test = stats.likelihood_ratio(*(stats.fit_mixed_logit(data, "coop", terms.split(), random)
                                        for terms in (more, fewer)))
        return pytest.approx(test.chi2, abs=1e-4)
    rest = "H option_order"
    assert {name: test["chi2"] for name, test in out["tests"].items()} == {
        "S": ratio(f"S C {rest}", f"C {rest}"), "C": ratio(f"S C {rest}", f"S {rest}"),
        "S:C": ratio(f"S C S:C {rest}", f"S C {rest}"),
        "H": ratio(f"S C S:C {rest}", "S C S:C option_order"),
        "option_order": ratio(f"S C S:C {rest}", "S C S:C H")}
    many = e.models(rows, most_rows=len(rows) - 1)["with_policy"]
    assert set(many["tests"]) == {"S:C"} and many["why"].startswith(f"more than {e.MOST_ROWS} rows")


def test_bulletins_stand_for_variants_where_the_two_coincide():
    rows = [row._replace(variant=variant, bulletin=bulletin, seed=seed) for seed, (
        variant, bulletin) in enumerate((("v1", "b1"), ("v2", "b2"))) for row in crossed(
            lambda cell: 0.5)[:96]]
    assert e.models(rows)["as_specified"]["formula"].endswith("(1|bulletin)")
    apart = [row._replace(bulletin=f"b{at % 3}") for at, row in enumerate(rows)]
    assert e.models(apart)["as_specified"]["formula"].endswith("(1|variant_id)")

"""The primary endpoint, on rows small enough to work by hand."""

from itertools import product

import pytest
from study_rows import CELLS, cells, decision

import stats
from cirrus.judge import endpoint as e

DOMAINS = ("cvd", "hospital", "hospital")
HPL, LAL = ("high", "present", "low"), ("low", "absent", "low")
NO_MODEL = {
    "with_policy": {"separated": False, "primary": None, "why": "no model here"}
}


UNTESTED = [
    (cells({HPL: [1], LAL: [None]}), None, "no agent holds every cell", None),
    (cells({HPL: [1, 0], LAL: [0, 0]}), 0.5, "one agent only", 0.5),
    (
        cells({HPL: [1], LAL: [1]}, "a") + cells({HPL: [1], LAL: [1]}, "b"),
        0,
        "every difference is 0",
        0,
    ),
]


@pytest.mark.parametrize("rows, value, why, delta", UNTESTED)
def test_what_cannot_be_tested_has_no_p_and_the_reason(rows, value, why, delta):
    out = e.endpoint(rows, NO_MODEL)
    design = out["design"]
    assert (design["value"], design["p"], out["met"]) == (value, None, None)
    assert why in design["why"] and out["delta"]["value"] == delta
    assert ": cannot be computed, because the design-based" in out["sentence"]


def primary(p, estimate=1.0):
    return {"separated": False, "why": None, "primary": {"p": p, "estimate": estimate}}


SEPARATED = {"separated": True, "primary": None, "why": "separation: …"}
ABSENT = SEPARATED | {"separated": False}


DECIDED = [
    ({"p": 0.0499}, primary(0.0499, 1e-9), True),
    ({}, primary(0.05), False),
    ({}, primary(0.01, 0.0), False),
    ({}, primary(0.01, -1.0), False),
    ({"value": -0.5}, primary(0.01), False),
    ({"p": 0.05}, primary(0.01), False),
    ({"value": 0.0}, primary(0.01), False),
    ({}, primary(None), None),
    ({"p": 0.2}, primary(None), False),
    ({"p": None}, primary(0.01), None),
    # a separated cell leaves the design-based test alone, a missing model leaves it open
    ({}, SEPARATED, True),
    ({"p": 0.05}, SEPARATED, False),
    ({}, ABSENT, None),
    ({"p": 0.5}, ABSENT, False),
]


@pytest.mark.parametrize("design, model, met", DECIDED)
def test_met_takes_both_tests_in_the_predicted_direction(design, model, met):
    strong = {"value": 0.5, "p": 0.01, "why": None}
    models = {"with_policy": model, "as_specified": primary(0.9, -1.0)}
    decided, _ = e.decided(strong | design, models)
    assert decided is met


# --- the model ---------------------------------------------------------------------------------


def crossed(probability):
    """12 agents in four cells at both levels of H; every share exact."""
    rows = []
    for at, cell in product(range(12), CELLS):
        k = round(4 * probability(cell))
        for i in range(4):
            act = int((i + at) % 4 < k)
            order = ("cooperative-first", "other-first")[i % 2]
            place = {"opponent": f"o{i}", "option_order": order}
            rows.append(decision(cell, act, f"a{at:02d}", **place))
    return rows


def test_a_cell_that_separates_is_named_and_gives_no_p():
    out = e.models(crossed(lambda cell: 1 if cell[:2] == HPL[:2] else 0.5))
    assert out["with_policy"]["separated"] and out["with_policy"]["primary"] is None
    assert "separation" in out["with_policy"]["why"]


LEFT = [
    (("v1", "v2"), {"variant_id": "each domain has its own single level"}),
    (("v1", "v1"), {"variant_id": "one level in these data"}),
    (("v1", "v2", "v3"), {}),
]


def left_out(rows):
    return e.left_out_of(list(map(e.model_row, rows)))


@pytest.mark.parametrize("variants, left", LEFT)
def test_a_factor_is_left_out_that_tells_nothing_beside_the_domain(variants, left):
    """The last variant stands in the second domain as well."""
    rows = []
    for at, (cell, seed) in enumerate(product(CELLS, (1, 2))):
        for variant, domain in zip(variants, DOMAINS, strict=False):
            names = {"variant": variant, "domain": domain, "seed": seed}
            scheme = ("L1", "L2")[at // 2 % 2]
            rows.append(decision(cell, 1, label_scheme=scheme, **names))
    more = rows[0]._replace(agent="b", option_order="other-first")
    rows += [more, more._replace(opponent="c")]
    assert left_out(rows) == left
    omitted = [row._replace(H="omit") if row.seed == 1 else row for row in rows]
    assert left_out(omitted) == left | {"H": "levels beside high and low"}


@pytest.fixture(scope="module")
def data():
    return crossed(lambda cell: 0.75 if cell[:2] == HPL[:2] else 0.25)


@pytest.fixture(scope="module")
def fitted(data):
    return e.models(data)["with_policy"]


def fit_of(data, terms):
    rows = list(map(e.model_row, data))
    random = ["agent", "opponent", "policy"]
    return stats.fit_mixed_logit(rows, "coop", terms.split(), random)


# S and C are tested without their product, as marginality asks.
WITH_AND_WITHOUT = {
    "S": ("S C H option_order", "C H option_order"),
    "S:C": ("S C S:C H option_order", "S C H option_order"),
    "H": ("S C S:C H option_order", "S C S:C option_order"),
}


@pytest.mark.parametrize("name", WITH_AND_WITHOUT)
def test_each_term_is_tested_against_the_model_without_it(data, fitted, name):
    more, fewer = WITH_AND_WITHOUT[name]
    ratio = stats.likelihood_ratio(fit_of(data, more), fit_of(data, fewer))
    assert fitted["tests"][name]["chi2"] == pytest.approx(ratio.chi2, abs=1e-4)
    assert fitted["formula"] == (
        "coop ~ S + C + S:C + H + option_order + (1|agent) + (1|opponent) + (1|policy)"
    )


def test_bulletins_replace_variants_where_the_two_coincide():
    def named(*places):
        rows = []
        for seed, (variant, bulletin) in enumerate(places):
            for row in crossed(lambda cell: 0.5)[:96]:
                names = {"variant": variant, "bulletin": bulletin, "seed": seed}
                rows.append(row._replace(**names))
        return e.models(rows)["as_specified"]["formula"].rpartition(" + ")[2]

    assert named(("v1", "b1"), ("v2", "b2"), ("v2", "b2")) == "(1|bulletin)"
    assert named(("v1", "b1"), ("v2", "b2"), ("v2", "b1")) == "(1|variant_id)"


# Of 8 decisions of each agent in HP, HA, LP, LA those that cooperate. lme4 1.1.31 in R 4.2.2:
# glmer(coop ~ S*C + (1|agent) + (1|opponent), family=binomial) has the log-likelihood ALONE, and
# with (1|variant_id) or (1|policy) beside them the same.
OF_EIGHT = {
    "a": "6431",
    "b": "7654",
    "c": "4220",
    "d": "8665",
    "e": "5342",
    "f": "7323",
}
ALONE = -115.690354


def test_a_variant_that_tells_agents_apart_leaves_the_model_and_its_likelihood_stays():
    """One seed of one domain: each agent reads a variant of its own."""
    rows = []
    for agent, shares in OF_EIGHT.items():
        for cell, k in zip(CELLS[1::2], shares, strict=True):
            for at in range(8):
                act, names = at < int(k), {"opponent": f"o{at % 3}", "variant": agent}
                rows.append(decision(cell, int(act), agent, **names))
    out = e.models(rows)
    assert out["left_out"]["variant_id"] == "tells the same rows apart as agent"
    assert out["as_specified"]["formula"].endswith("S:C + (1|agent) + (1|opponent)")
    for fit, groups in (("as_specified", 2), ("with_policy", 3)):
        found = out[fit]["fit"]
        assert found["log_likelihood"] == pytest.approx(ALONE, abs=1e-3)
        assert len(found["random_sd"]) == groups and found["why"] is None

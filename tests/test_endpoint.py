"""The primary endpoint, on rows small enough to work by hand."""

import pytest
from study_rows import CELLS, cells, decision

import stats
from cirrus.judge import endpoint as e

HPL, LAL = ("high", "present", "low"), ("low", "absent", "low")
HPH, LAH = ("high", "present", "high"), ("low", "absent", "high")
NO_MODEL = {
    "with_policy": {"separated": False, "primary": None, "why": "no model here"}
}


@pytest.mark.parametrize(
    "rows, value, why, delta",
    [
        (cells({HPL: [1, 0]}), None, "no agent holds every cell", None),
        (cells({HPL: [1], LAL: [None]}), None, "no agent holds every cell", None),
        (cells({HPL: [1, 0], LAL: [0, 0]}), 0.5, "one agent only", 0.5),
        (
            [row for a in "abc" for row in cells({HPL: [1], LAL: [1]}, a)],
            0,
            "every difference is 0",
            0,
        ),
    ],
)
def test_what_cannot_be_tested_has_no_p_and_the_reason(rows, value, why, delta):
    out = e.endpoint(rows, NO_MODEL)
    assert (out["design"]["value"], out["design"]["p"], out["met"]) == (
        value,
        None,
        None,
    )
    assert why in out["design"]["why"] and out["delta"]["value"] == delta
    clustered = out["delta"]["clustered"]
    assert clustered["units"] == out["design"]["units"]
    assert (clustered["low"] is None) == (out["design"]["units"] < 2)
    assert out["sentence"].startswith(
        "Primary endpoint, as specified: cannot be computed, because the design-based"
    )
    assert (None in out["bounds"].values()) == (len({row.cell for row in rows}) < 2)


def primary(p, estimate=1.0):
    return {"separated": False, "why": None, "primary": {"p": p, "estimate": estimate}}


SEPARATED = {"separated": True, "primary": None, "why": "separation: …"}
ABSENT = SEPARATED | {"separated": False}


@pytest.mark.parametrize(
    "design, model, met",
    [
        ({}, primary(0.01), True),
        ({}, primary(0.2), False),
        ({}, primary(0.01, -1.0), False),
        ({"value": -0.5}, primary(0.01), False),
        ({"p": 0.05}, primary(0.01), False),
        ({"value": 0.0}, primary(0.01), False),
        ({"p": 0.0499}, primary(0.0499, 1e-9), True),
        ({}, primary(0.05), False),
        ({}, primary(0.01, 0.0), False),
        ({}, primary(None), None),
        ({"p": 0.2}, primary(None), False),
        ({"p": None}, primary(0.01), None),
        # a separated cell leaves the design-based test alone, a missing model leaves it open
        ({}, SEPARATED, True),
        ({"p": 0.05}, SEPARATED, False),
        ({}, ABSENT, None),
        ({"p": 0.5}, ABSENT, False),
    ],
)
def test_met_takes_both_tests_in_the_predicted_direction(design, model, met):
    strong, decides_nothing = {"value": 0.5, "p": 0.01, "why": None}, primary(0.9, -1.0)
    assert (
        e.decided(
            strong | design, {"with_policy": model, "as_specified": decides_nothing}
        )[0]
        is met
    )


# --- the model ---------------------------------------------------------------------------------


def crossed(probability):
    """12 agents in four cells at both levels of H; every share exact."""
    rows = []
    for at in range(12):
        for cell in CELLS:
            k = round(4 * probability(cell))
            values = [1] * k + [0] * (4 - k)
            values = values[at % 4 :] + values[: at % 4]
            rows += [
                decision(cell, y, f"a{at:02d}", opponent=f"o{i}", option_order=order)
                for i, (y, order) in enumerate(
                    zip(values, ["cooperative-first", "other-first"] * 2, strict=True)
                )
            ]
    return rows


def test_a_cell_that_separates_is_named_and_gives_no_p():
    out = e.models(crossed(lambda cell: 1 if cell[:2] == HPL[:2] else 0.5))
    assert out["with_policy"]["separated"] and out["with_policy"]["primary"] is None
    assert "separation" in out["with_policy"]["why"]


@pytest.mark.parametrize(
    "variants, left",
    [
        (("v1", "v2"), {"variant_id": "each domain has its own single level"}),
        (("v1", "v1"), {"variant_id": "one level in these data"}),
        (("v1", "v2", "v3"), {}),
    ],
)
def test_a_factor_is_left_out_that_tells_nothing_beside_the_domain(variants, left):
    """The last variant stands in the second domain as well."""
    rows = [
        decision(
            cell, 1, variant=variant, domain=domain, seed=seed, label_scheme=scheme
        )
        for cell, scheme in zip(CELLS, ["L1", "L2"] * 4, strict=True)
        for seed in (1, 2)
        for variant, domain in zip(
            variants, ("cvd", "hospital", "hospital"), strict=False
        )
    ]
    more = rows[0]._replace(agent="b", option_order="other-first")
    rows += [more, more._replace(opponent="c")]
    assert e.left_out_of(list(map(e.model_row, rows))) == left
    rows = [row._replace(H="omit") if row.seed == 1 else row for row in rows]
    assert e.left_out_of(list(map(e.model_row, rows))) == left | {
        "H": "levels beside high and low"
    }


def test_each_term_is_tested_against_the_model_without_it_and_s_and_c_without_their_product(
    monkeypatch,
):
    rows = crossed(lambda cell: 0.75 if cell[:2] == HPL[:2] else 0.25)
    monkeypatch.setattr(e, "MOST_ROWS", len(rows))
    out = e.models(rows)["with_policy"]
    data, random = list(map(e.model_row, rows)), ["agent", "opponent", "policy"]
    # Each coefficient stands with the likelihood ratio of its term, and is the fit's own.
    fit = stats.fit_mixed_logit(
        data, "coop", ["S", "C", "S:C", "H", "option_order"], random
    )
    shown = {row["name"]: row for row in out["coefficients"]}
    assert list(shown) == [c.name for c in fit.coefficients]
    for c in fit.coefficients:
        row = shown[c.name]
        assert (row["estimate"], row["se"]) == (
            pytest.approx(c.estimate, rel=1e-4, abs=1e-4),
            pytest.approx(c.se, rel=1e-3),
        )
    assert shown["S:C"]["p"] == out["tests"]["S:C"]["p"]
    assert shown["(Intercept)"]["test"] == "Wald"
    assert shown["option_order[other-first]"]["p_holm"] is None
    # Holm over S, C, S:C and H by the definition
    p = {name: out["tests"][name]["p"] for name in ("S", "C", "S:C", "H")}
    largest = 0
    for left, name in zip((4, 3, 2, 1), sorted(p, key=p.get), strict=True):
        largest = max(largest, min(1, left * p[name]))
        assert shown[name]["p_holm"] == pytest.approx(largest, rel=1e-4)
    assert out["formula"] == (
        "coop ~ S + C + S:C + H + option_order + (1|agent) + (1|opponent) + (1|policy)"
    )

    def ratio(more, fewer):
        test = stats.likelihood_ratio(
            *(
                stats.fit_mixed_logit(data, "coop", terms.split(), random)
                for terms in (more, fewer)
            )
        )
        return pytest.approx(test.chi2, abs=1e-4)

    rest = "H option_order"
    assert {name: test["chi2"] for name, test in out["tests"].items()} == {
        "S": ratio(f"S C {rest}", f"C {rest}"),
        "C": ratio(f"S C {rest}", f"S {rest}"),
        "S:C": ratio(f"S C S:C {rest}", f"S C {rest}"),
        "H": ratio(f"S C S:C {rest}", "S C S:C option_order"),
        "option_order": ratio(f"S C S:C {rest}", "S C S:C H"),
    }
    monkeypatch.setattr(e, "MOST_ROWS", len(rows) - 1)
    many = e.models(rows)["with_policy"]
    assert set(many["tests"]) == {"S:C"} and many["why"].startswith(
        "more than 5000 rows"
    )


def test_bulletins_replace_variants_where_the_two_coincide():
    rows = [
        row._replace(variant=variant, bulletin=bulletin, seed=seed)
        for seed, (variant, bulletin) in enumerate(
            (("v1", "b1"), ("v2", "b2"), ("v2", "b2"))
        )
        for row in crossed(lambda cell: 0.5)[:96]
    ]
    assert e.models(rows)["as_specified"]["formula"].endswith("(1|bulletin)")
    apart = [row._replace(bulletin=f"b{at % 3}") for at, row in enumerate(rows)]
    assert e.models(apart)["as_specified"]["formula"].endswith("(1|variant_id)")
    alone = [row._replace(H="low", option_order="cooperative-first") for row in rows]
    assert e.models(alone)["as_specified"]["tests"].keys() == {"S", "C", "S:C"}


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
    policies = [row._replace(run=row.agent, seed=row.agent) for row in rows]
    assert e.left_out_of(list(map(e.model_row, policies)))["policy"].endswith("agent")

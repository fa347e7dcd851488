"""What a run is for: role, mark in the name, part of the analysis."""

import pytest

from cirrus.ask.design import marks_of, part_of, role_of

USUAL = {"tells": "standard", "variants": "main", "history_mode": "standard",
         "toggles": {"S": "high", "C": "present", "H": "low"}}


@pytest.mark.parametrize(("own", "role", "marks"), [
    ({}, "main", []),
    ({"toggles": {"S": "low", "C": "absent", "H": "omit"}}, "main", []),  # the cell is no aside
    ({"tells": "ablated"}, "ablated", ["ablated"]),
    ({"tells": "reworded"}, "reworded", ["reworded"]),
    ({"effort": "high"}, "effort", ["effort-high"]),
    ({"variants": "holdout"}, "holdout", ["holdout"]),
    ({"history_mode": "off"}, "history-off", ["history-off"]),
    ({"tells": "ablated", "history_mode": "off"}, "other", ["ablated", "history-off"]),
])
def test_a_run_is_for_the_one_thing_it_does_otherwise(own, role, marks):
    assert (role_of(USUAL | own), marks_of(USUAL | own)) == (role, marks)


@pytest.mark.parametrize(("role", "domain", "part"), [
    ("main", "cvd", "main"), ("holdout", "cvd", "holdout"), ("other", "cvd", None),
    ("main", "hospital", "hospital"), ("ablated", "hospital", None),
])
def test_another_domain_never_enters_the_primary_data(role, domain, part):
    assert part_of(role, domain) == part

import re
from math import sqrt

import pytest

from pdbench.report import tables
from pdbench.report.charts import binned, cooperation_chart
from pdbench.report.markdown import cell
from pdbench.storage.schema import MatchRounds


def match(condition, replicate, a, b, a_total, b_total, status="complete"):
    return MatchRounds(condition, replicate, a, b, a_total, b_total, status, (0, 0), (0, 0))


CONFIG = {"conditions": {
    "x": {"agent_a": {"label": "P"}, "agent_b": {"label": "Q"}},
    "self": {"agent_a": {"label": "P"}, "agent_b": {"label": "P"}},
}}  # fmt: skip
MATCHES = [
    match("x", 0, "CC", "DD", 0, 10),
    match("x", 1, "CD", "DD", 1, 6),
    match("self", 0, "CCCC", "CCCD", 9, 14),
    match("x", 2, "C", "C", 3, 3, "incomplete"),
]


def test_matrices_by_hand():
    found = tables.cells(MATCHES, CONFIG)
    agents = tables.agents_of(CONFIG)
    assert agents == ["P", "Q"]
    assert tables.matrix(found, agents, "cooperation") == [[7 / 8, 3 / 4], [0, None]]
    # P against Q: (0/2 + 1/2)/2; against itself: (9/4 + 14/4)/2
    assert tables.matrix(found, agents, "points") == [[23 / 8, 1 / 4], [4, None]]


def test_ranking_weighs_cells_alike_and_marks_mocks():
    found = tables.cells(MATCHES, CONFIG)
    q, p = tables.ranking(found, ["P", "Q"], {"P"}, seed=1)
    assert (q.agent, q.points, q.matches, q.simulated) == ("Q", 4, 2, False)
    assert p.points == pytest.approx((1 / 4 + 9 / 4 + 14 / 4) / 3)
    assert (p.cooperation, p.simulated) == (pytest.approx((3 / 4 + 1 + 3 / 4) / 3), True)


def test_an_interval_needs_two_replicates_everywhere():
    found = tables.cells(MATCHES, CONFIG)
    q, p = tables.ranking(found, ["P", "Q"], set(), seed=1)
    assert p.interval is None
    assert q.interval == (3.0, 5.0)


def test_bootstrap_agrees_with_the_normal_interval_of_a_large_sample():
    values = [(i * 37 % 100) / 100 for i in range(400)]
    mean = sum(values) / 400
    error = sqrt(sum((v - mean) ** 2 for v in values) / 400 / 400)
    low, high = tables.bootstrap_interval([[values]], 3, "x")
    assert low == pytest.approx(mean - 1.96 * error, abs=error / 5)
    assert high == pytest.approx(mean + 1.96 * error, abs=error / 5)


def test_both_seats_of_a_self_play_are_drawn_together():
    """What one seat wins the other loses, to a tenth: the mean can't vary by more than that."""
    a = [0.0, 1.0, 2.0, 5.0]
    b = [5 - x + extra for x, extra in zip(a, (0, 0.1, 0, 0.1), strict=True)]
    low, high = tables.bootstrap_interval([[a, b]], 3, "x")
    assert 2.5 <= low < high <= 2.55 + 1e-9
    assert tables.bootstrap_interval([[a, [5 - x for x in a]]], 3, "x") is None


def test_points_that_never_vary_have_no_interval_but_a_reason():
    assert tables.bootstrap_interval([[[3.0, 3.0, 3.0]], [[1.0, 1.0]]], 3, "x") is None
    assert tables.bootstrap_interval([[[3.0, 3.0, 3.0]], [[1.0, 1.5]]], 3, "x") is not None
    found = [tables.Cell("c", "P", "Q", [1.0, 1.0], [3.0, 3.0])]
    assert "No interval for P" in " ".join(tables.caveats(found, ["P", "Q"], []))


def test_caveats():
    found = tables.cells(MATCHES, CONFIG)
    notes = " ".join(tables.caveats(found, ["P", "Q"], MATCHES))
    assert "1 of 4 matches are not complete and are left out" in notes
    assert "did not all meet the same opponents" in notes
    assert "no interval" in notes


def test_long_series_are_averaged():
    assert binned([1, 0, 1, 1], 2) == [(1.5, 0.5), (3.5, 1.0)]
    assert binned([0.5], 2) == [(1.0, 0.5)]
    assert len(binned([0.0] * 1001, 100)) <= 100


def test_chart_points_lie_where_they_should():
    svg = cooperation_chart([1, 0], [0, 0], ("<A>", "B"))
    assert re.findall(r'points="([^"]*)"', svg) == ["38.0,8.0 274.0,94.0", "38.0,94.0 274.0,94.0"]
    assert "<A>" not in svg


def test_charts_of_one_round_and_of_none():
    assert 'cx="38.0" cy="8.0"' in cooperation_chart([1], [0], ("A", "B"))
    assert "no valid round" in cooperation_chart([], [], ("A", "B"))


def test_markdown_cells_can_not_break_out():
    assert cell("a|b\n<b>*x*</b>") == "a\\|b &lt;b&gt;\\*x\\*&lt;/b&gt;"

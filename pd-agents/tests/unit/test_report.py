import re
from math import sqrt

import pytest

from pdbench.report import tables
from pdbench.report.charts import course_chart, svg
from pdbench.report.colours import COLOURS
from pdbench.report.content import _best
from pdbench.report.render import cell, clean
from pdbench.report.say import NONE, count, interval, percent, plain, short, signed
from pdbench.storage.schema import MatchRounds


def match(condition, replicate, a, b, a_total, b_total, status="complete"):
    return MatchRounds(
        condition, replicate, a, b, a_total, b_total, status, (0, 0), (0, 0)
    )


RULES = {"game": {"noise": 0}, "horizon": {"n": 4}}
CONFIG = {"conditions": {
    "x": {"agent_a": {"label": "P"}, "agent_b": {"label": "Q"}, **RULES},
    "self": {"agent_a": {"label": "P"}, "agent_b": {"label": "P"}, **RULES},
}}  # fmt: skip
MATCHES = [
    match("x", 0, "CC", "DD", 0, 10),
    match("x", 1, "CD", "DD", 1, 6),
    match("self", 0, "CCCC", "CCCD", 9, 14),
    match("x", 2, "C", "C", 3, 3, "incomplete"),
]


def config(*pairs, **more):
    """A configuration of conditions "ab": A's and B's letter."""
    return {
        "conditions": {
            f"{a}{b}": {"agent_a": {"label": a}, "agent_b": {"label": b}}
            | RULES
            | more.get(f"{a}{b}", {})
            for a, b in pairs
        }
    }


def test_matrices_by_hand():
    found = tables.cells(MATCHES, CONFIG)
    agents = tables.agents_of(CONFIG)
    assert agents == ["P", "Q"]
    assert tables.matrix(found, agents, "cooperation") == [[7 / 8, 3 / 4], [0, None]]
    # P against Q: (0/2 + 1/2)/2; against itself: (9/4 + 14/4)/2
    assert tables.matrix(found, agents, "points") == [[23 / 8, 1 / 4], [4, None]]


def test_standings_weigh_cells_alike_and_count_complete_of_all():
    p, q = tables.standings(tables.cells(MATCHES, CONFIG), ["P", "Q"], seed=1)
    assert (q.agent, q.points, q.complete, q.begun) == ("Q", 4, 2, 3)
    assert p.points == pytest.approx((1 / 4 + 9 / 4 + 14 / 4) / 3)
    assert p.cooperation == pytest.approx((3 / 4 + 1 + 3 / 4) / 3)
    assert (p.complete, p.begun) == (3, 4)


def test_an_interval_needs_two_replicates_everywhere():
    p, q = tables.standings(tables.cells(MATCHES, CONFIG), ["P", "Q"], seed=1)
    assert p.interval is None
    assert q.interval == (3.0, 5.0)


def test_an_agent_is_simulated_where_a_mock_answered_in_its_matches():
    mock = {"agent_b": {"label": "M", "provider": {"name": "mock"}}}
    settings = config("PM", "PQ", PM=mock)
    found = tables.cells(
        [match("PM", 0, "C", "C", 3, 3), match("PQ", 0, "C", "C", 3, 3)], settings
    )
    assert {
        s.agent: s.simulated for s in tables.standings(found, ["P", "Q", "M"], 1)
    } == {"P": "some", "Q": "", "M": "all"}


@pytest.mark.parametrize(("pairs", "more", "ranked"), [
    ("PQ", {}, True), ("PQ PP QQ", {}, True), ("PQ PP", {}, False), ("PQ PR QR", {}, True),
    ("PQ PR", {}, False), ("PQ PQ", {}, True), ("PP", {}, False),
    ("PQ PR QR", {"QR": {"game": {"noise": 0.1}}}, False),
    ("PQ PR QR", {"QR": {"horizon": {"n": 5}}}, False),
])  # fmt: skip
def test_agents_are_ranked_only_where_all_met_the_same(pairs, more, ranked):
    settings = config(*pairs.split(), **more)
    found = tables.cells(
        [match(name, 0, "C", "C", 3, 3) for name in settings["conditions"]], settings
    )
    assert tables.all_met_the_same(found, settings) is ranked


def test_a_pairing_without_a_complete_match_ends_the_ranking():
    settings = config("PQ", "PR", "QR")
    played = [
        match(n, 0, "C", "C", 3, 3, "incomplete" if n == "QR" else "complete")
        for n in settings["conditions"]
    ]
    assert not tables.all_met_the_same(tables.cells(played, settings), settings)


def standing(agent, points, ends=None):
    return tables.Standing(agent, points, ends, 0.5, 1, 1, "")


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (
            [("A", 3, (2.9, 3.1)), ("B", 2, (1.9, 2.1)), ("C", 1, None)],
            "A earned most against the same 3 opponents: 3.00 points a round (95% interval 2.90 to 3.10);"
            " C earned least, 1.00.",
        ),
        (
            [("A", 3, (2.5, 3.5)), ("B", 2.9, (2.4, 3.4)), ("C", 1, (0.9, 1.1))],
            "A and B earned most against the same 3 opponents, 3.00 to 2.90 points a round, and are not"
            " told apart; C earned least, 1.00.",
        ),
        (
            [("A", 3, None), ("B", 3, None)],
            "No agent stands out: all 2 earned alike against the same 2 opponents.",
        ),
    ],
)
def test_the_sentence_at_the_top(rows, sentence):
    assert _best([standing(*row) for row in rows]) == sentence


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
    assert (
        tables.bootstrap_interval([[[3.0, 3.0, 3.0]], [[1.0, 1.5]]], 3, "x") is not None
    )
    found = [tables.Cell("c", "P", "Q", [1.0, 1.0], [3.0, 3.0], 2, False)]
    rows = tables.standings(found, ["P"], 1)
    assert "No interval for P" in " ".join(tables.caveats(found, rows, True))


def test_caveats():
    found = tables.cells(MATCHES, CONFIG)
    notes = " ".join(
        tables.caveats(found, tables.standings(found, ["P", "Q"], 1), False)
    )
    assert "seen only in the matches where it gave one" in notes
    assert "This is no ranking" in notes
    assert "no interval" in notes


@pytest.mark.parametrize(("k", "n", "low", "high"), [
    (0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (10, 10, 0.7225, 1.0), (81, 263, 0.2553, 0.3662),
])  # fmt: skip
def test_the_score_interval(k, n, low, high):
    """81 of 263: Newcombe, Statistics in Medicine 17, 1998, table I; the others: R's prop.test."""
    assert tables.wilson(k, n) == (
        pytest.approx(low, abs=5e-5),
        pytest.approx(high, abs=5e-5),
    )


def test_a_course_counts_matches_not_rounds():
    first, second, third = tables.course(["CCD", "CD", "DD"])
    assert [first.round, second.round, third.round] == [1, 2, 3]
    assert (first.share, second.share, third.share) == (2 / 3, 1 / 3, 0)
    assert first.interval == tables.wilson(2, 3)
    assert third.interval is None  # one match came so far


def test_a_long_course_is_averaged():
    points = tables.course(["CDCC" * 100, "C" * 400], most=100)
    assert len(points) == 100
    assert (points[0].round, points[0].share) == (2.5, 7 / 8)
    assert tables.course([]) == []


def test_a_chart_names_itself_and_lies_where_it_should():
    courses = tables.course(["CD", "CD"]), tables.course(["DD", "DD"])
    spec, words = course_chart(courses, ("<A>", "B"))
    drawn = svg(spec, "Share of C: <A>", words)
    assert drawn.startswith('<svg role="img" aria-label="Share of C: &lt;A&gt;"')
    assert (
        drawn.count("role=") == drawn.count("aria-") == 1
    )  # a mark with a role wants a name
    assert "<desc>&lt;A&gt;: 100% in round 1, 0% in the last, 50% on average;" in drawn
    assert "<A>" not in drawn
    a, b = (
        re.search(rf'd="M([^"]*)"[^>]*stroke="{COLOURS[name].light}"', drawn)[1]
        for name in ("agent_a", "agent_b")
    )
    assert re.split("[L,]", a) == ["0", "0", "330", "110"]
    assert re.split("[L,]", b) == ["0", "110", "330", "110"]


def test_a_drawing_is_the_same_every_time():
    spec, words = course_chart((tables.course(["C"]), tables.course(["D"])), ("A", "B"))
    assert svg(spec, "x", words) == svg(spec, "x", words)
    assert "no complete match" in course_chart(([], []), ("A", "B"))[1]


@pytest.mark.parametrize(("words", "expected"), [
    (plain(0.666), "0.67"), (plain(-5.04, 1), "−5.0"), (plain(-0.001), "0.00"),
    (plain(None), NONE), (plain(1272, 0), "1,272"), (short(3.0), "3"), (short(2.5), "2.5"),
    (short(None), NONE), (signed(0.21), "+0.2"), (signed(-5), "−5"), (signed(0.0), "0"),
    (percent(0.571), "57%"), (percent(None), NONE), (interval((0.25, 0.75)), "0.25 to 0.75"),
    (interval(None), NONE), (count(1, "match", "matches"), "1 match"),
    (count(1200, "match", "matches"), "1,200 matches"),
])  # fmt: skip
def test_a_figure_in_words(words, expected):
    assert words == expected


def test_signs_that_can_not_be_seen_are_shown():
    assert clean("a\u202eb\x1bc\ud800d") == "a�b�c�d"


def test_markdown_cells_can_not_break_out():
    assert cell("a|b\n<b>*x*</b>") == "a\\|b &lt;b&gt;\\*x\\*&lt;/b&gt;"

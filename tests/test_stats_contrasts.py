"""Contrasts over units: their interval, what is missing, the log-odds."""

import math
import random
from itertools import combinations

import pytest

import stats
from stats import permutation

DIFFERENCE, INTERACTION = {"x": 1, "y": -1}, {"HP": 1, "LA": -1, "UN": -1, "UL": 1}


def rows_of(units, **cells):
    """`units` alike, each with these outcomes by cell."""
    return [(u, cell, y) for u in range(units) for cell, ys in cells.items() for y in ys]


def drawn(seed, units, rows, spread=0.8, beside=0.4, **rates):
    """Binary outcomes; bulletins differ, and each cell of a bulletin again (SDs in logits)."""
    rng, out = random.Random(seed), []
    for unit in range(units):
        shift = rng.gauss(0, spread)
        for cell, rate in rates.items():
            logit = math.log(rate / (1 - rate)) + shift + rng.gauss(0, beside)
            out += [(unit, cell, int(rng.random() < 1 / (1 + math.exp(-logit))))
                    for _ in range(rows)]
    return out


# --- sign flips, turned into an interval --------------------------------------------------------

@pytest.mark.parametrize("level", [0.6, 0.9, 0.95])
@pytest.mark.parametrize("seed", range(12))
def test_the_interval_excludes_zero_exactly_where_the_test_rejects(seed, level):
    rng = random.Random(seed)
    n, shift = rng.randint(6, 12), rng.choice([0, 1, 2])
    for values in ([(rng.randint(-4, 4) + shift) / 6 for _ in range(n)],
                   [rng.gauss(shift / 2, 1) for _ in range(n)]):
        found, p = stats.sign_flip_interval(values, level), stats.sign_flip_test(values).p
        rejected = p is not None and p <= 1 - level + 1e-12
        assert (found.low > 0 or found.high < 0) == rejected
        moved = stats.sign_flip_interval([7 - 3 * v for v in values], level)
        assert moved[1:3] == pytest.approx((7 - 3 * found.high, 7 - 3 * found.low), abs=1e-9)


def test_six_units_give_their_smallest_and_largest_value():
    # 1/40 of the 64 choices of signs is one: only all signs turned are as rare.
    values = [0.3, -0.1, 0.25, 0.7, 0.5, 0.4]
    assert stats.sign_flip_interval(values)[1:3] == pytest.approx((-0.1, 0.7))
    assert "5 units exclude nothing at level 0.95" in stats.sign_flip_interval(values[:5]).why
    assert stats.sign_flip_interval(values[:5], 0.9).low == pytest.approx(-0.1)


@pytest.mark.parametrize("most_bits", [0, permutation.MOST_FIELD_BITS])
@pytest.mark.parametrize("values", [
    [(i * i % 15 - 5) / 12 for i in range(12)], [-0.5, 1, 1, 0.25, 0, 0.75, -0.25, 1 / 3],
    [0, 0, 0, 0, 0, 0, 1], [-1, 1, 1, 1, 1, 1, 1, 1, 1]])
def test_limits_are_order_statistics_of_all_subset_means(monkeypatch, values, most_bits):
    monkeypatch.setattr(permutation, "MOST_FIELD_BITS", most_bits)
    means = sorted(sum(some) / size for size in range(1, len(values) + 1)
                   for some in combinations(values, size))
    for level in (0.5, 0.9, 0.95, 1 - 0.05 / 3):
        rank = int((1 - level) / 2 * 2 ** len(values) * (1 + 1e-12))
        found = stats.sign_flip_interval(values, level)
        if rank:
            assert found[1:3] == pytest.approx((means[rank - 1], means[-rank]), abs=1e-12)
        else:
            assert "exclude nothing" in found.why


def drawn_only(monkeypatch):
    for most in ("MOST_FIELD_BITS", "MOST_SUBSETS"):
        monkeypatch.setattr(permutation, most, 0)


@pytest.mark.parametrize("values", [
    [math.sin(i * i) + 0.3 for i in range(16)],
    [(i * i % 15 - 5) / 12 for i in range(30)],
])
def test_random_subsets_approach_the_exact_limits(monkeypatch, values):
    exact = stats.sign_flip_interval(values)
    drawn_only(monkeypatch)
    sampled, again = (stats.sign_flip_interval(values, rng=5) for _ in "ab")
    assert sampled == again != exact
    width = exact.high - exact.low
    assert sampled[1:3] == pytest.approx(exact[1:3], abs=0.03 * width)


def test_few_random_subsets_are_ranked_one_by_one(monkeypatch):
    # Of 79 means and the data themselves, 1 in 80 lies below the lowest, 2 in 80 below the next.
    drawn_only(monkeypatch)
    values = [math.sin(i * i) for i in range(30)]
    wide, narrow = (stats.sign_flip_interval(values, level, 79) for level in (0.975, 0.95))
    assert wide.low < narrow.low < narrow.high < wide.high


# --- the engine ---------------------------------------------------------------------------------

def test_a_contrast_by_hand():
    rows = [("a", "x", 1), ("a", "x", 1), ("a", "x", 0), ("a", "y", 0), ("a", "y", None),
            ("b", "x", 0), ("b", "y", 1), ("b", "z", 1), ("c", "x", 1), ("c", "y", 0),
            ("d", "x", None), ("d", "y", 1)]
    found = stats.contrast(stats.tally(rows), DIFFERENCE)
    assert found.differences == pytest.approx({"a": 2 / 3, "b": -1, "c": 1})
    assert found.value == pytest.approx(2 / 9)
    assert found.p == 1  # all signs: 6 of 8 sums are as far from 0, and 2/3 - 1 + 1 is least
    assert found.against == ["b"] and found.incomplete == ["d"]
    assert (found.without, found.least) == ("c", pytest.approx(-1 / 6))
    assert found.cells == {"x": (3, 5, 0), "y": (1, 3, 1)}
    # Against: a's missing y is 1 (2/3 - 1/2), d's missing x is 0 (0 - 1). In favour: 0, and 1.
    assert found.bounds[:2] == pytest.approx(((2 / 3 - 1 / 2 - 1 + 1 - 1) / 4, 2 / 3 / 4))
    assert (found.low, found.high) == (-1, 1) and "3 units exclude nothing" in found.why


def test_missing_outcomes_are_counted_against_and_nothing_else_changes():
    counts = stats.tally([("a", "x", 1), ("a", "x", None), ("a", "y", None), ("a", "z", None)])
    assert stats.counted_against(counts, DIFFERENCE) == {
        "a": {"x": (1, 2, 0), "y": (1, 1, 0), "z": (0, 1, 0)}}
    whole = stats.tally(drawn(1, 8, 6, x=0.7, y=0.4))
    found = stats.contrast(whole, DIFFERENCE)
    assert found.bounds == (found.value, found.value, found.low, found.high)
    assert stats.counted_against(whole, DIFFERENCE) == whole


def test_limits_of_the_bounds_are_those_of_the_imputed_data():
    rng = random.Random(4)
    rows = [(u, c, None if rng.random() < 0.1 else y) for u, c, y in
            drawn(2, 12, 6, HP=0.8, LA=0.3, UN=0.4, UL=0.35)]
    bounds = stats.contrast(stats.tally(rows), INTERACTION).bounds
    for worst, value, limit, side in ((0, bounds.low, bounds.lowest, "low"),
                                      (1, bounds.high, bounds.highest, "high")):
        imputed = [(u, c, (INTERACTION[c] > 0) == worst if y is None else y) for u, c, y in rows]
        found = stats.contrast(stats.tally(imputed), INTERACTION)
        assert (value, limit) == pytest.approx((found.value, getattr(found, side)))


def test_units_that_are_alike_leave_newcombes_interval():
    rows = rows_of(40, x=[1, 1, 0], y=[1, 0, 0])
    found = stats.contrast(stats.tally(rows), DIFFERENCE)
    newcombe = stats.newcombe_difference(80, 120, 40, 120)
    assert found[:3] == pytest.approx(newcombe[:3]) and found.p < 1e-11


def test_four_cells_add_their_distances_to_wilsons_limits_squared():
    cells = {"HP": [1, 1, 1, 0], "LA": [1, 0, 0, 0], "UN": [1, 1, 0, 0], "UL": [0, 0, 0, 1]}
    found = stats.contrast(stats.tally(rows_of(60, **cells)), INTERACTION)
    below = above = 0
    for cell, outcomes in cells.items():
        k, sign = 60 * sum(outcomes), INTERACTION[cell]
        low, high, _ = stats.wilson_interval(k, 240)
        ends = [sign * (limit - k / 240) for limit in (low, high)]
        below, above = below + min(ends) ** 2, above + max(ends) ** 2
    assert found.value == 0.25
    assert found[1:3] == pytest.approx((0.25 - below**0.5, 0.25 + above**0.5))


@pytest.mark.parametrize(("x", "y", "value", "low", "high"), [
    ([1] * 8, [0] * 8, 1, 9 / 11, 1),  # one more unit that says the opposite: (10 - 1)/11
    ([0, 0], [0, 0], 0, -3.84146 / 23.84146, 3.84146 / 23.84146),  # Wilson: z²/(20 + z²)
    ([0.5, 0.7], [0.25, 0.15], 0.4, 3 / 11, 5 / 11),  # probabilities: no score interval
    ([0.0, 1e-6], [0.0, 0.0], 5e-7, -1 / 11, 1 / 11),
])
def test_constant_units_keep_a_width_and_stay_in_the_possible_range(x, y, value, low, high):
    found = stats.contrast(stats.tally(rows_of(10, x=x, y=y)), DIFFERENCE)
    assert found[:3] == pytest.approx((value, low, high), abs=1e-5)


@pytest.mark.parametrize(("weights", "value", "low", "high"), [
    ({"x": 2, "y": -2}, 2, 18 / 11, 2),
    ({"x": 1, "y": -0.5, "z": -0.5}, 0.5, 4 / 11, 6 / 11),
    ({"z": 1}, 1, 10 / 11, 1),
])
def test_the_possible_range_is_that_of_the_weights(weights, value, low, high):
    counts = stats.tally(rows_of(10, x=[1] * 400, y=[0] * 400, z=[1] * 400))
    assert stats.contrast(counts, weights)[:3] == pytest.approx((value, low, high))


def test_the_interval_holds_what_sign_flips_hold():
    for seed in range(5):
        found = stats.contrast(stats.tally(drawn(seed, 12, 8, 1, 1.5, x=0.7, y=0.4)), DIFFERENCE)
        flips = stats.sign_flip_interval(list(found.differences.values()))
        assert found.low <= flips.low < flips.high <= found.high
        assert found.p == stats.sign_flip_test(list(found.differences.values())).p


@pytest.mark.parametrize(("call", "sentence"), [
    (lambda: stats.tally([("a", "x", 2)]), "outcome: 2 of 'a' in 'x' is not from 0 to 1"),
    (lambda: stats.tally([("a", "x", math.nan)]), "outcome: nan of 'a'"),
    (lambda: stats.contrast({}, {}), "weights: a contrast of no cells"),
    (lambda: stats.contrast({}, DIFFERENCE, 2), "level: 2 is not between"),
    (lambda: stats.log_odds_contrast({}, DIFFERENCE, 2), "level: 2 is not between"),
    (lambda: stats.share(0, -1), "n: -1 is not a count"),
    (lambda: stats.share(4, 3), "k: 4 is more than n = 3"),
    (lambda: stats.share("1", 3), "k: '1' is not a count"),
    (lambda: stats.sign_flip_interval([1, 2], 1), "level: 1 is not between"),
])
def test_bad_input_is_named(call, sentence):
    with pytest.raises(ValueError) as error:
        call()
    assert sentence in str(error.value)


@pytest.mark.parametrize(("result", "words"), [
    (stats.contrast({}, DIFFERENCE), "no unit has an outcome in every"),
    (stats.contrast(stats.tally([("a", "x", 1)]), DIFFERENCE), "no unit has an outcome in every"),
    (stats.log_odds_contrast({}, DIFFERENCE), "no unit has an outcome in every"),
    (stats.log_odds_contrast(stats.tally(rows_of(1, x=[1, 0], y=[1])), DIFFERENCE), "two units"),
    (stats.sign_flip_interval([]), "no differences"),
    (stats.sign_flip_interval([0.5] * 8), "every difference is the same"),
])
def test_what_cannot_be_computed_is_absent_and_says_why(result, words):
    assert result.low is result.high is None and words in result.why


# --- log-odds -----------------------------------------------------------------------------------

def test_log_odds_of_a_respondent_that_never_varies():
    # 20 × 12 decisions: HP all 1, the others all 0. ln(240.5/0.5) twice; variance 4·(1/240.5 + 2).
    counts = stats.tally(rows_of(20, HP=[1] * 12, LA=[0] * 12, UN=[0] * 12, UL=[0] * 12))
    found = stats.log_odds_contrast(counts, INTERACTION)
    assert found.value == pytest.approx(2 * math.log(481))
    half = 2.093024054408263 * math.sqrt(4 * (1 / 240.5 + 2))  # t(.975; 19)
    assert found[1:4] == pytest.approx((found.value - half, found.value + half, 19))


def test_log_odds_of_two_units_of_probabilities_by_hand():
    rows = [("a", "x", 0.5), ("a", "y", 0.3), ("b", "x", 0.75), ("b", "y", 0.4)]
    found = stats.log_odds_contrast(stats.tally(rows), DIFFERENCE)
    assert found.value == pytest.approx(math.log(1.75 / 1.25) - math.log(1.2 / 1.8))
    without_a, without_b = math.log(1.25 / 0.75 * 1.1 / 0.9), math.log(1.2 / 0.8)
    half = 12.706204736174698 * (without_a - without_b) / 2  # t(.975; 1)
    assert found[1:4] == pytest.approx((found.value - half, found.value + half, 1))
    alike = stats.tally(rows_of(3, x=[0.5, 0.25], y=[0.3]))
    assert stats.log_odds_contrast(alike, DIFFERENCE)[1:] == (
        None, None, 2, None, "every unit says the same")


# --- shares --------------------------------------------------------------------------------------

def test_a_share_has_its_wilson_interval():
    assert stats.share(3, 10) == (3, 10, 0.3, *stats.wilson_interval(3, 10)[:2])
    assert stats.share(0, 0) == (0, 0, None, None, None)


# --- coverage -----------------------------------------------------------------------------------

@pytest.mark.parametrize("units", [6, 10, 20])
@pytest.mark.parametrize(("x", "y"), [(0.5, 0.5), (0.97, 0.8), (0.1, 0.03), (0.7, 0.4)])
def test_the_interval_covers(units, x, y):
    """Bulletins differ by 0.8 logits and their cells by 0.4; the larger table is made by
    benchmarks/coverage.py."""
    truth, samples, covered = true_difference(x, y), 1200 // units, 0
    for seed in range(samples):
        counts = stats.tally(drawn(f"{units}{x}{y}{seed}", units, 12, x=x, y=y))
        found = stats.contrast(counts, DIFFERENCE)
        covered += found.low <= truth <= found.high
    assert covered / samples >= 0.93 - 2 * math.sqrt(0.93 * 0.07 / samples)


def true_difference(x, y):
    """By quadrature over the normal distribution of a bulletin's logit, its SD √(0.8² + 0.4²)."""
    sd, points = math.hypot(0.8, 0.4), [i / 50 for i in range(-400, 401)]
    weights = [math.exp(-z * z / 2) for z in points]

    def rate(p):
        logits = [math.log(p / (1 - p)) + sd * z for z in points]
        shares = (w / (1 + math.exp(-logit)) for w, logit in zip(weights, logits, strict=True))
        return sum(shares) / sum(weights)

    return rate(x) - rate(y)

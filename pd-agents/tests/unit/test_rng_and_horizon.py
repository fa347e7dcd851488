import hashlib
from math import sqrt

from pdbench.config.schema import Horizon
from pdbench.core.horizon import length, rounds
from pdbench.core.rng import derive_seed, stream

FIXED = Horizon(type="fixed", n=4)


def geometric(p: float) -> Horizon:
    return Horizon(type="geometric", stop_prob=p)


def test_a_seed_is_the_hash_of_its_name():
    expected = int(hashlib.sha256(b'[42,"tft",0,"horizon"]').hexdigest(), 16)
    assert derive_seed(42, "tft", 0, "horizon") == expected


def test_names_that_run_together_stay_apart():
    seeds = {
        derive_seed(*k)
        for k in [
            (1, "a", "bc"),
            (1, "ab", "c"),
            (1, "a", 1),
            (11, "a"),
            (1, "1a"),
            (1, "a", "1"),
        ]
    }
    assert len(seeds) == 6


def test_a_fixed_horizon_has_exactly_n_rounds():
    assert list(rounds(FIXED, stream(1))) == [
        (0, False),
        (1, False),
        (2, False),
        (3, True),
    ]


def test_the_same_seed_stops_at_the_same_round():
    lengths = [length(geometric(0.1), stream(5, "x", i)) for i in range(50)]
    assert lengths == [length(geometric(0.1), stream(5, "x", i)) for i in range(50)]
    assert len(set(lengths)) > 10


def test_length_agrees_with_the_rounds_played():
    for i in range(100):
        played = list(rounds(geometric(0.2), stream(3, i)))
        assert len(played) == length(geometric(0.2), stream(3, i))
        assert [last for _, last in played] == [False] * (len(played) - 1) + [True]


def test_stop_prob_one_is_one_round():
    assert list(rounds(geometric(1.0), stream(1))) == [(0, True)]


def test_geometric_lengths_have_mean_1_over_p_and_are_at_least_one():
    p, n = 0.05, 20_000
    lengths = [length(geometric(p), stream(9, i)) for i in range(n)]
    standard_error = sqrt((1 - p) / p**2 / n)  # variance of the geometric distribution
    assert min(lengths) >= 1
    assert abs(sum(lengths) / n - 1 / p) < 4 * standard_error
    assert abs(lengths.count(1) / n - p) < 4 * sqrt(p * (1 - p) / n)

"""Dealing: labels in balanced blocks, bulletins and variants in laps, all from one stream."""

import random
from collections import Counter
from itertools import combinations, product

import pytest
from domains import DOMAINS, both

from cirrus.ask.prompts import LABEL_SCHEMES, ORDERS, deal_bulletins, deal_labels, variant_pool


def spread(values, kinds):
    counts = Counter(values)
    return max(counts[k] for k in kinds) - min(counts[k] for k in kinds)


@pytest.mark.parametrize("schemes", [
    subset for k in (1, 2, 3) for subset in combinations(LABEL_SCHEMES, k)
])
@pytest.mark.parametrize("orders", [ORDERS, ORDERS[:1], ORDERS[1:]])
def test_labels_are_balanced_in_every_prefix(schemes, orders):
    block = len(schemes) * len(orders)
    for seed in range(300):
        dealt = deal_labels(random.Random(seed), 4 * block + 1, schemes, orders)
        for start in range(0, 4 * block, block):
            assert set(dealt[start:start + block]) == set(product(schemes, orders))
        for n in range(1, len(dealt) + 1):
            assert spread((s for s, _ in dealt[:n]), schemes) <= 1
            assert spread((o for _, o in dealt[:n]), orders) <= 1
            assert spread(dealt[:n], list(product(schemes, orders))) <= 1


def test_every_combination_is_as_likely_at_every_place():
    seeds = 6000
    dealt = [deal_labels(random.Random(seed), 6) for seed in range(seeds)]
    for place in range(6):
        counts = Counter(block[place] for block in dealt)
        assert len(counts) == 6
        # 5 standard errors of a count with p = 1/6
        assert all(abs(n - seeds / 6) < 5 * (seeds * 5 / 36) ** 0.5 for n in counts.values())


@both
@pytest.mark.parametrize("holdout", [False, True])
def test_bulletins_are_dealt_in_laps_each_with_the_next_variant(domain, holdout):
    names = [v.id for v in domain.variants if v.holdout == holdout]
    pool = [b.id for b in domain.bulletins if b.holdout == holdout]
    dealt = deal_bulletins(random.Random(7), domain, len(pool) * len(names), holdout)
    assert len({(b.id, v.id) for b, v in dealt}) == len(pool) * len(names)
    ids = [b.id for b, _ in dealt]
    assert sorted(ids[:len(pool)]) == pool
    assert all(ids[i] == ids[i % len(pool)] for i in range(len(ids)))
    assert {v.id for _, v in dealt} == set(names)


def test_a_pilot_draws_ten_bulletins_and_returns_to_them():
    dealt = [b.id for b, _ in deal_bulletins(random.Random(1), DOMAINS["cvd"], 25, drawn=10)]
    assert len(set(dealt)) == 10 and dealt[10:20] == dealt[:10]
    others = [b.id for b, _ in deal_bulletins(random.Random(2), DOMAINS["cvd"], 10, drawn=10)]
    assert set(others) != set(dealt)


@both
def test_variants_are_of_their_own_pool(domain):
    for holdout in (False, True):
        pool = {v.id for v in domain.variants if v.holdout == holdout}
        drawn = [v.id for v in variant_pool(random.Random(3), domain, holdout)]
        assert set(drawn) == pool and len(drawn) == len(pool)
        pairs = deal_bulletins(random.Random(3), domain, 30, holdout)
        assert {v.id for _, v in pairs} <= pool


def test_dealing_is_a_function_of_the_stream():
    domain = DOMAINS["cvd"]
    deals = [
        (deal_labels(rng, 9), deal_bulletins(rng, domain, 12), variant_pool(rng, domain, False))
        for rng in (random.Random(5), random.Random(5), random.Random(6))
    ]
    assert deals[0] == deals[1] != deals[2]
    assert deal_labels(random.Random(5), 0) == [] == deal_bulletins(random.Random(5), domain, 0)


def test_a_longer_deal_begins_like_a_shorter_one():
    domain = DOMAINS["cvd"]
    for deal in (deal_labels, lambda rng, n: deal_bulletins(rng, domain, n)):
        assert deal(random.Random(2), 40)[:7] == deal(random.Random(2), 7)

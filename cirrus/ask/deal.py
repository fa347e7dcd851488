"""Draw which bulletins, variants, wordings and labels go together, balanced, as a seed determines."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from cirrus.ask.bulletins import Bulletin, Domain, Variant
from cirrus.ask.prompts import LABEL_SCHEMES, ORDERS


def deal_labels(
    rng: random.Random,
    n: int,
    schemes: Sequence[str] = LABEL_SCHEMES,
    orders: Sequence[str] = ORDERS,
) -> list[tuple[str, str]]:
    """Return n pairs (label scheme, option order): shuffled blocks, each of which holds
    every combination once.

    Wherever the list is cut, no scheme has come more than once more often than another,
    and the same holds for orders and for combinations.
    """
    dealt: list[tuple[str, str]] = []
    while len(dealt) < n:
        dealt += _label_block(rng, schemes, orders)
    return dealt[:n]


def _label_block(
    rng: random.Random, schemes: Sequence[str], orders: Sequence[str]
) -> list[tuple[str, str]]:
    """Return every pair (scheme, order) once. Orders alternate, and in the second half
    each scheme gets the order that it has not had."""
    dealt_orders = rng.sample(orders, len(orders)) * len(schemes)
    block = list(zip(rng.sample(schemes, len(schemes)), dealt_orders, strict=False))
    # {order: the schemes that had another order in the first half}
    due = {order: [s for s, had in block if had != order] for order in orders}
    for waiting in due.values():
        rng.shuffle(waiting)
    for order in dealt_orders[len(block) :]:
        block.append((due[order].pop(), order))
    return block


def deal_bulletins(
    rng: random.Random,
    domain: Domain,
    n: int,
    drawn: int,
    holdout: bool,
) -> list[tuple[Bulletin, Variant]]:
    """Return (bulletin, variant) for each of n runs. Bulletins are shuffled once and
    dealt in turn.

    At most `drawn` bulletins are used: main ones, or held-out ones if `holdout`. Each
    time a bulletin comes again, it gets another variant until it has had all.
    """
    pool = bulletin_pool(domain, holdout)
    bulletins = rng.sample(pool, min(len(pool), drawn))
    variants = variant_pool(rng, domain, holdout)
    dealt = []
    for run in range(n):
        lap, at = divmod(run, len(bulletins))
        dealt.append((bulletins[at], variants[(at + lap) % len(variants)]))
    return dealt


def deal_wordings(
    rng: random.Random, domain: Domain, bulletins: Iterable[Bulletin]
) -> dict[str, int]:
    """Return {bulletin's id: number of its wording}. Wordings are shuffled once and
    dealt in turn."""
    many = wordings_of(domain)
    shuffled = rng.sample(range(many), many)
    ids = dict.fromkeys(bulletin.id for bulletin in bulletins)
    return {name: shuffled[at % many] for at, name in enumerate(ids)}


def wordings_of(domain: Domain) -> int:
    """Return how many wordings each sentence of the conditions has in this domain."""
    return len(domain.toggles["standard"]["S"]["high"])


def bulletin_pool(domain: Domain, holdout: bool) -> list[Bulletin]:
    """Return the main bulletins, or the held-out ones."""
    return [each for each in domain.bulletins if each.holdout == holdout]


def variant_pool(rng: random.Random, domain: Domain, holdout: bool) -> list[Variant]:
    """Return the main variants, or the held-out ones, shuffled."""
    pool = [variant for variant in domain.variants if variant.holdout == holdout]
    return rng.sample(pool, len(pool))

"""Which bulletins, variants, wordings and labels come together: drawn by a seed, and balanced."""

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
    """n pairs (scheme, order), in permuted blocks that hold each combination once.

    Every prefix is balanced within ±1 on schemes, on orders and on their combinations.
    """
    dealt: list[tuple[str, str]] = []
    while len(dealt) < n:
        dealt += _label_block(rng, schemes, orders)
    return dealt[:n]


def _label_block(
    rng: random.Random, schemes: Sequence[str], orders: Sequence[str]
) -> list[tuple[str, str]]:
    """Orders alternate; the second half gives each scheme the order it has not had."""
    dealt_orders = rng.sample(orders, len(orders)) * len(schemes)
    block = list(zip(rng.sample(schemes, len(schemes)), dealt_orders, strict=False))
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
    """(bulletin, variant) for n runs: bulletins permuted and dealt in turn, lap after lap.

    `drawn` bulletins of the main pool or of the held-out one. Each lap gives a bulletin its next
    variant, so no pair comes twice before all have come.
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
    """{bulletin's id: its wording}: all wordings in a drawn order, then again."""
    many = wordings_of(domain)
    drawn = rng.sample(range(many), many)
    ids = dict.fromkeys(bulletin.id for bulletin in bulletins)
    return {bulletin: drawn[at % many] for at, bulletin in enumerate(ids)}


def wordings_of(domain: Domain) -> int:
    """How many wordings the sentences of the conditions have."""
    return len(domain.toggles["standard"]["S"]["high"])


def bulletin_pool(domain: Domain, holdout: bool) -> list[Bulletin]:
    """The main bulletins or the held-out ones."""
    return [each for each in domain.bulletins if each.holdout == holdout]


def variant_pool(rng: random.Random, domain: Domain, holdout: bool) -> list[Variant]:
    """The main variants or the held-out ones, permuted."""
    pool = [variant for variant in domain.variants if variant.holdout == holdout]
    return rng.sample(pool, len(pool))

"""The exact distribution of the sum of a resample, by convolution: where values are few, cheaper
than sampling, and no seed shows in it.
"""

import math
from collections import Counter
from struct import iter_unpack

from .distributions import binomial_pmf

MOST_WIDTH = 2_000  # n times the range of the values in their common unit
NEGLIGIBLE = 1e-22

ONE = 1 << 56  # probability 1 in the fixed point of `_power`: cumulated errors stay below 1e-13
HALF, WIDE = 7, 15  # bytes of a fraction, and of a product with room for its carry


def sum_distribution(values: list[int]) -> dict[int, float] | None:
    """Probability of each sum of a resample, rising; None where that is dearer than sampling."""
    counts, n = Counter(values), len(values)
    low, high = min(counts), max(counts)
    step = math.gcd(*(value - low for value in counts)) or 1
    if len(counts) <= 2:
        first, pmf = 0, binomial_pmf(n, counts[high] / n if high > low else 0.0)
    elif n * (high - low) // step > MOST_WIDTH:
        return None
    else:
        one = b"".join(
            [(counts[v] * ONE // n).to_bytes(WIDE, "little") for v in range(low, high + 1, step)]
        )
        first, packed = _power((0, one), n)
        pmf = [weight / ONE for (weight,) in iter_unpack(f"<Q{WIDE - 8}x", packed)]
    start = n * low + first * step
    return {start + i * step: p for i, p in enumerate(pmf) if p > NEGLIGIBLE}


def _power(packed: tuple[int, bytes], times: int) -> tuple[int, bytes]:
    """The distribution of a sum of `times` independent counts.

    A distribution is its lowest count and its probabilities in fixed point, `WIDE` bytes each. Read
    as one large number it convolves by one multiplication (Kronecker 1882), which Python does in
    less than quadratic time. Tails below the fixed point's last digit fall away.
    """
    if times == 1:
        return packed
    half = _power(packed, times // 2)
    whole = _product(half, half)
    return _product(whole, packed) if times % 2 else whole


def _product(a: tuple[int, bytes], b: tuple[int, bytes]) -> tuple[int, bytes]:
    first = int.from_bytes(a[1], "little")
    second = first if b is a else int.from_bytes(b[1], "little")
    size = len(a[1]) + len(b[1]) - WIDE
    raw, rest = (first * second).to_bytes(size, "little"), bytes(HALF)
    raw = b"".join([raw[i : i + WIDE - HALF] + rest for i in range(HALF, size, WIDE)])
    empty = (size - len(raw.lstrip(b"\0"))) // WIDE
    filled = -(-len(raw.rstrip(b"\0")) // WIDE)
    return a[0] + b[0] + empty, raw[empty * WIDE : filled * WIDE]

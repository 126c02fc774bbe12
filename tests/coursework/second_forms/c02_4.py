"""Wrong answers to 02.4 as readers write them."""

from fractions import Fraction
from math import ceil, floor


def _real_batch(params, bytes_per_param, kv_bytes, flop_rate, bandwidth, flop=2):
    """The batch, not rounded, at which both sides are equal; None where the lines never meet."""
    work = Fraction(flop * params, flop_rate)
    carry = Fraction(kv_bytes, bandwidth)
    if work == carry:
        return None
    return Fraction(params * bytes_per_param, bandwidth) / (work - carry)


def forgets_the_cache(params, bytes_per_param, kv_bytes, flop_rate, bandwidth):
    return ceil(_real_batch(params, bytes_per_param, 0, flop_rate, bandwidth))


def counts_a_multiply_add_once(params, bytes_per_param, kv_bytes, flop_rate, bandwidth):
    batch = _real_batch(params, bytes_per_param, kv_bytes, flop_rate, bandwidth, flop=1)
    return ceil(batch) if batch is not None and batch > 0 else None


def trusts_the_formula(params, bytes_per_param, kv_bytes, flop_rate, bandwidth):
    batch = _real_batch(params, bytes_per_param, kv_bytes, flop_rate, bandwidth)
    return None if batch is None else ceil(batch)


def cuts_the_decimals(params, bytes_per_param, kv_bytes, flop_rate, bandwidth):
    batch = _real_batch(params, bytes_per_param, kv_bytes, flop_rate, bandwidth)
    return floor(batch) if batch is not None and batch > 0 else None


def wants_it_strictly_longer(params, bytes_per_param, kv_bytes, flop_rate, bandwidth):
    batch = _real_batch(params, bytes_per_param, kv_bytes, flop_rate, bandwidth)
    if batch is None or batch < 0:
        return None
    whole = ceil(batch)
    while not whole > batch:
        whole += 1
    return whole


FORMS = {
    "cache ignored": forgets_the_cache,
    "one FLOP a parameter": counts_a_multiply_add_once,
    "negative batch": trusts_the_formula,
    "rounded down": cuts_the_decimals,
    "one more than enough": wants_it_strictly_longer,
}

"""Wrong answers to 02.3 as readers write them."""


def _slower(seconds_a, seconds_b):
    return seconds_a if seconds_a > seconds_b else seconds_b


def reads_every_expert(stored, read, kv, batch, bandwidth, flop_per_token, flop_rate):
    traffic = stored + batch * kv
    return _slower(traffic / bandwidth, batch * flop_per_token / flop_rate)


def one_pass_each(stored, read, kv, batch, bandwidth, flop_per_token, flop_rate):
    one = (read + kv) / bandwidth
    return _slower(one * batch, batch * flop_per_token / flop_rate)


def one_cache_for_all(stored, read, kv, batch, bandwidth, flop_per_token, flop_rate):
    return _slower((read + kv) / bandwidth, batch * flop_per_token / flop_rate)


def one_after_the_other(stored, read, kv, batch, bandwidth, flop_per_token, flop_rate):
    fetch = read / bandwidth + kv * batch / bandwidth
    compute = flop_per_token * batch / flop_rate
    return fetch + compute


def only_fetches(stored, read, kv, batch, bandwidth, flop_per_token, flop_rate):
    return read / bandwidth + kv * batch / bandwidth


def stops_with_the_faster(stored, read, kv, batch, bandwidth, flop_per_token, flop_rate):
    fetch = read / bandwidth + kv * batch / bandwidth
    compute = flop_per_token * batch / flop_rate
    return sorted([compute, fetch])[0]


def computes_one_token(stored, read, kv, batch, bandwidth, flop_per_token, flop_rate):
    traffic = read
    for _ in range(batch):
        traffic += kv
    return _slower(traffic / bandwidth, flop_per_token / flop_rate)


FORMS = {
    "stored for read": reads_every_expert,
    "weights times batch": one_pass_each,
    "KV once": one_cache_for_all,
    "sum for max": one_after_the_other,
    "arithmetic ignored": only_fetches,
    "min": stops_with_the_faster,
    "batch forgotten in the arithmetic": computes_one_token,
}

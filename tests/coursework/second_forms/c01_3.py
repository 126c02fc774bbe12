"""01.3, wrong answers as a reader might write them."""

import torch


def look_up(q, keys, values):
    if len(keys) == 0:
        return torch.zeros_like(q)
    weights = torch.softmax(torch.stack([q @ k for k in keys]) * q.numel() ** -0.5, 0)
    return sum(w * v for w, v in zip(weights, values, strict=True))


def append_last(x, wq, wk, wv, k_cache, v_cache, length):
    q = wq @ x
    out = look_up(q, k_cache[:length], v_cache[:length])
    k_cache[length], v_cache[length] = wk @ x, wv @ x
    return out, length + 1


def length_is_an_index(x, wq, wk, wv, k_cache, v_cache, length):
    k_cache[length - 1] = wk @ x
    v_cache[length - 1] = wv @ x
    return look_up(wq @ x, k_cache[:length], v_cache[:length]), length + 1


def whole_room(x, wq, wk, wv, k_cache, v_cache, length):
    k_cache[length] = wk @ x
    v_cache[length] = wv @ x
    return look_up(wq @ x, k_cache, v_cache), length + 1


def longer_copies(x, wq, wk, wv, k_cache, v_cache, length):
    k = torch.cat((k_cache[:length], (wk @ x)[None]))
    v = torch.cat((v_cache[:length], (wv @ x)[None]))
    return look_up(wq @ x, k, v), len(k)


def step(q, key, value, k_cache, v_cache, length):
    k_cache[length], v_cache[length] = key, value
    return look_up(q, k_cache[: length + 1], v_cache[: length + 1])


def louder_query(x, wq, wk, wv, k_cache, v_cache, length):
    # look_up scales: this takes it back.
    q = wq @ x * len(x) ** 0.5
    return step(q, wk @ x, wv @ x, k_cache, v_cache, length), length + 1


def length_as_it_came(x, wq, wk, wv, k_cache, v_cache, length):
    return step(wq @ x, wk @ x, wv @ x, k_cache, v_cache, length), length


def as_in_a_batch(x, wq, wk, wv, k_cache, v_cache, length):
    q, key, value = (torch.einsum("i,ij->j", x, w) for w in (wq, wk, wv))
    return step(q, key, value, k_cache, v_cache, length), length + 1


FORMS = {
    "attends before it appends": append_last,
    "overwrites the last slot": length_is_an_index,
    "reads unused slots": whole_room,
    "returns new tensors": longer_copies,
    "scale forgotten": louder_query,
    "old length returned": length_as_it_came,
    "x @ w": as_in_a_batch,
}

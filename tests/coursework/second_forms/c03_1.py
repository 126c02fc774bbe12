"""Wrong answers to 03.1 as readers write them: in plain Python."""

import math

import torch


def _by_chunk(score_chunks, value_chunks, rescale_sum=True, rescale_out=True):
    """A chunk's own maximum first, as a kernel would, and then all of the chunk in that unit."""
    top, total, out = -math.inf, 0.0, [0.0] * value_chunks[0].shape[1]
    for scores, values in zip(score_chunks, value_chunks, strict=True):
        seen = [(s, v) for s, v in zip(scores.tolist(), values.tolist(), strict=True) if s > -math.inf]
        if not seen:
            continue
        new_top = max(top, *(s for s, _ in seen))
        factor = math.exp(top - new_top)
        if rescale_sum:
            total *= factor
        if rescale_out:
            out = [x * factor for x in out]
        for score, value in seen:
            weight = math.exp(score - new_top)
            total += weight
            out = [x + weight * y for x, y in zip(out, value, strict=True)]
        top = new_top
    return top, total, out


def _finish(top, total, out, lse):
    if total == 0:
        return torch.zeros(len(out), dtype=torch.float64), -math.inf
    return torch.tensor(out, dtype=torch.float64) / total, lse


def sum_keeps_its_old_unit(score_chunks, value_chunks):
    top, total, out = _by_chunk(score_chunks, value_chunks, rescale_sum=False)
    return _finish(top, total, out, top + math.log(total) if total else 0)


def output_keeps_its_old_unit(score_chunks, value_chunks):
    top, total, out = _by_chunk(score_chunks, value_chunks, rescale_out=False)
    return _finish(top, total, out, top + math.log(total) if total else 0)


def logarithm_of_the_bare_sum(score_chunks, value_chunks):
    top, total, out = _by_chunk(score_chunks, value_chunks)
    return _finish(top, total, out, math.log(total) if total else 0)


def subtracts_infinity_from_infinity(score_chunks, value_chunks):
    top = torch.tensor(-math.inf, dtype=torch.float64)
    total = torch.tensor(0.0, dtype=torch.float64)
    out = torch.zeros(value_chunks[0].shape[1], dtype=torch.float64)
    for scores, values in zip(score_chunks, value_chunks, strict=True):
        if len(scores) == 0:
            continue
        new_top = torch.maximum(top, scores.max())
        weights = torch.exp(scores - new_top)
        factor = torch.exp(top - new_top)
        total = total * factor + weights.sum()
        out = out * factor + weights @ values
        top = new_top
    return out / total, float(top + total.log())


FORMS = {
    "old sum not rescaled": sum_keeps_its_old_unit,
    "old output not rescaled": output_keeps_its_old_unit,
    "NaN": subtracts_infinity_from_infinity,
    "lse without the maximum": logarithm_of_the_bare_sum,
}

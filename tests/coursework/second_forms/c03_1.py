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


def keeps_both_old_units(score_chunks, value_chunks):
    top, total, out = _by_chunk(score_chunks, value_chunks, rescale_sum=False, rescale_out=False)
    return _finish(top, total, out, top + math.log(total) if total else 0)


def _running_average(score_chunks, value_chunks, new_top, correct, empty):
    """The output as an average all the way, as some kernels keep it."""
    top, total, out = torch.tensor(-math.inf).double(), torch.tensor(0.0).double(), None
    for s, v in zip(score_chunks, value_chunks, strict=True):
        out = torch.zeros(v.shape[1], dtype=v.dtype) if out is None else out
        if empty(top, s):
            continue
        m = new_top(top, s)
        factor = correct(top, m)
        w = torch.exp(s - m)
        new_total = factor * total + w.sum()
        out = (factor * total * out + w @ v) / new_total
        top, total = m, new_total
    return out, (top + torch.log(total)).item() if total != 0 else -math.inf


def _nothing_yet(top, s):
    return top == -math.inf and bool((s == -math.inf).all())


def new_minus_old(score_chunks, value_chunks):
    return _running_average(
        score_chunks,
        value_chunks,
        lambda top, s: max([top, *s]),
        lambda old, new: torch.exp(new - old),
        _nothing_yet,
    )


def forgets_higher_ones(score_chunks, value_chunks):
    return _running_average(
        score_chunks,
        value_chunks,
        lambda top, s: torch.amax(s, 0),
        lambda old, new: torch.exp(old - new),
        lambda top, s: bool((s == -math.inf).all()),
    )


def straight_sums(score_chunks, value_chunks):
    sums = []
    for s, v in zip(score_chunks, value_chunks, strict=True):
        e = torch.exp(s)
        sums.append((e.sum(), (e[:, None] * v).sum(0)))
    whole = sum(total for total, _ in sums)
    if whole == 0:
        return torch.zeros_like(sums[0][1]), -math.inf
    return sum(out for _, out in sums) / whole, torch.log(whole).item()


def clamps_at_zero(score_chunks, value_chunks):
    top, terms = 0, []
    for s, v in zip(score_chunks, value_chunks, strict=True):
        new_top = max(top, s.amax().item()) if s.numel() else top
        factor = 2.718281828459045 ** (top - new_top)
        e = torch.exp(s - new_top)
        row = torch.cat((e[:, None], e[:, None] * v), dim=1).sum(0)
        terms = [terms[0] * factor + row] if terms else [row]
        top = new_top
    both = terms[0]
    if both[0] == 0:
        return torch.zeros_like(both[1:]), -math.inf
    return both[1:] / both[0], (top + torch.log(both[0])).item()


def collects_first(score_chunks, value_chunks):
    kept_scores, kept_values = [], []
    for i in range(len(score_chunks)):
        kept_scores.append(score_chunks[i])
        kept_values.append(value_chunks[i])
    scores, values = torch.cat(kept_scores), torch.cat(kept_values)
    lse = torch.logsumexp(scores, 0)
    if lse == -math.inf:
        return torch.zeros(values.shape[1], dtype=values.dtype), -math.inf
    return torch.exp(scores - lse) @ values, lse.item()


FORMS = {
    "old sum not rescaled": sum_keeps_its_old_unit,
    "old output not rescaled": output_keeps_its_old_unit,
    "NaN": subtracts_infinity_from_infinity,
    "lse without the maximum": logarithm_of_the_bare_sum,
    "nothing rescaled": keeps_both_old_units,
    "correction inverted": new_minus_old,
    "this chunk's maximum only": forgets_higher_ones,
    "no maximum": straight_sums,
    "maximum starts at 0": clamps_at_zero,
    "chunks kept": collects_first,
}

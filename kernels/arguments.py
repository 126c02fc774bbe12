"""The checks that stand before every launch: a kernel that reads a wrong address says nothing."""

import torch
from torch import Tensor

from memlessons.kernels.errors import BackendCannot, BadArgument
from memlessons.kernels.problem import Problem

DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
MOST = 2**31 - 1


def checked(
    q: Tensor, k: Tensor, v: Tensor | None, lengths: Tensor, *, table: Tensor | None = None,
    window: int | None = None, sink_tokens: int = 0, sink_logits: Tensor | None = None,
    k_scale: Tensor | None = None, v_scale: Tensor | None = None, value_width: int | None = None,
    scale: float | None = None, softcap: float | None = None,
) -> Problem:  # fmt: skip
    """The problem that the arguments of `decode` pose.

    Raises BadArgument naming the first argument that does not fit the others, with its value.
    """
    _tensor("q", q, "[B, HQ, DK]", q)
    memory = "[B, HKV, T, {}]" if table is None else "[P, HKV, PG, {}]"
    _tensor("k", k, memory.format("DK"), q, stored=True)
    if v is not None:
        _tensor("v", v, memory.format("DV"), q, stored=True)
        if v.dtype != k.dtype:
            raise BadArgument(f"v.dtype={v.dtype}: k has {k.dtype}, and v must have the same")
    (B, HQ, DK), (P, HKV, PG, DK_of_k) = q.shape, k.shape
    DV = _value_width(k, v, value_width, scale)
    if DK_of_k != DK or (table is None and P != B):
        need = f"({B if table is None else 'P'}, HKV, {'T' if table is None else 'PG'}, {DK})"
        raise BadArgument(f"k has shape {tuple(k.shape)}; q {tuple(q.shape)} needs {need}")
    if v is not None and tuple(v.shape[:3]) != (P, HKV, PG):
        raise BadArgument(f"v has shape {tuple(v.shape)}; k {tuple(k.shape)} needs {(P, HKV, PG, DV)}")
    if min(DK, DV) < 1:
        raise BadArgument(f"head widths DK={DK}, DV={DV}: must be at least 1")
    if HKV < 1 or HQ < 1 or HQ % HKV:
        raise BadArgument(f"q has {HQ} heads, k has {HKV}: the first must be a multiple of the second")
    _scales(k, v, k_scale, v_scale)
    _whole("window", window, 1)
    _whole("sink_tokens", sink_tokens, 0)
    if sink_tokens and window is None:
        raise BadArgument(f"sink_tokens={sink_tokens} without a window: without one, every token is seen")
    if sink_logits is not None:
        _typed("sink_logits", sink_logits, torch.float32, (HQ,), "[HQ]", q.device)
    for name, number in (("scale", scale), ("softcap", softcap)):
        if number is not None and not 0 < number < float("inf"):
            raise BadArgument(f"{name}={number!r}: must be a finite number above 0, or None")
    T = PG if table is None else _table(table, B, P, PG, q.device)
    if T > MOST:
        raise BadArgument(f"{T} slots in a row: lengths are int32, at most {MOST}")
    _typed("lengths", lengths, torch.int32, (B,), "[B]", q.device)
    _check_lengths(lengths, T)
    scale = DK**-0.5 if scale is None else float(scale)
    p = Problem(q, k, v, lengths, table, k_scale, v_scale, sink_logits, B, HQ, HKV, T, PG, DK, DV, window,
                int(sink_tokens), scale, softcap)  # fmt: skip
    if table is not None:
        _check_pages(p, table, P)
    return p


def check_out(out: Tensor | None, p: Problem) -> None:
    """BadArgument unless `out` can take `[B, HQ, DV]` in q's dtype, in order."""
    if out is None:
        return
    want, q = (p.B, p.HQ, p.DV), p.q
    if tuple(out.shape) != want or out.dtype != q.dtype or out.device != q.device or not out.is_contiguous():
        raise BadArgument(f"out must be a contiguous {q.dtype} tensor {want} on {q.device}, got {what(out)}")


def _tensor(name: str, tensor: Tensor, dims: str, q: Tensor, *, stored: bool = False) -> None:
    if not isinstance(tensor, Tensor) or tensor.dim() != dims.count(",") + 1:
        raise BadArgument(f"{name} must be a tensor {dims}, got {what(tensor)}")
    dtype = tensor.dtype
    if dtype != q.dtype or dtype not in DTYPES:
        if stored and dtype.is_floating_point and dtype.itemsize == 1:
            raise BackendCannot(f"{name}.dtype={dtype}: no kernel reads eight-bit floats yet; int8 with "
                                "a scale for each token and head takes as many bytes")  # fmt: skip
        if not stored or dtype != torch.int8:
            raise BadArgument(
                f"{name}.dtype={dtype}: q, k and v must share one float dtype (q has {q.dtype}), or k and v "
                "be int8 with scales"
            )
    if tensor.device != q.device:
        raise BadArgument(f"{name} is on {tensor.device}, q on {q.device}: bring them together")
    if tensor.stride(-1) != 1 and tensor.shape[-1] > 1:
        raise BadArgument(
            f"{name}: its last dim has stride {tensor.stride(-1)}; it must lie together (stride 1)"
        )


def _value_width(k: Tensor, v: Tensor | None, value_width: int | None, scale: float | None) -> int:
    if v is not None:
        if value_width is not None:
            raise BadArgument(f"value_width={value_width}: v has a width of its own, {v.shape[-1]}")
        return int(v.shape[-1])
    _whole("value_width", value_width, 1)
    if value_width is None or value_width > k.shape[-1]:
        raise BadArgument(
            f"value_width={value_width}: with v=None, values are the first columns of k, which has "
            f"{k.shape[-1]}; say how many"
        )
    if scale is None:
        raise BadArgument(
            "scale=None with v=None: a latent is wider than the heads it stands for, so DK ** -0.5 would be "
            "wrong; give (width without rope + rope width) ** -0.5 of the model's own heads"
        )
    return value_width


def _scales(k: Tensor, v: Tensor | None, k_scale: Tensor | None, v_scale: Tensor | None) -> None:
    for name, stored, scales in (("k", k, k_scale), ("v", v, v_scale)):
        if stored is None or stored.dtype != torch.int8:
            if scales is not None:
                held = "no v" if stored is None else f"{name} in {stored.dtype}"
                raise BadArgument(f"{name}_scale was given for {held}: scales belong to int8")
        elif scales is None:
            raise BadArgument(
                f"{name} is int8 and {name}_scale is missing: float32 {tuple(stored.shape[:3])}"
            )
        else:
            _typed(f"{name}_scale", scales, torch.float32, tuple(stored.shape[:3]), f"like {name}", k.device)


def _typed(
    name: str, tensor: Tensor, dtype: torch.dtype, shape: tuple[int, ...], dims: str, device: torch.device
) -> None:
    if not isinstance(tensor, Tensor) or tensor.dtype != dtype or tuple(tensor.shape) != shape:
        kind = str(dtype).removeprefix("torch.")
        article = "an" if kind[0] in "aeio" else "a"
        raise BadArgument(f"{name} must be {article} {kind} tensor {dims}={list(shape)}, got {what(tensor)}")
    if tensor.device != device:
        raise BadArgument(f"{name} is on {tensor.device}, q on {device}: bring them together")


def _whole(name: str, value: int | None, least: int) -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
        raise BadArgument(f"{name}={value!r}: must be a whole number, at least {least}")


def _table(table: Tensor, B: int, P: int, PG: int, device: torch.device) -> int:
    """The slots a row can have."""
    if PG < 1:
        raise BadArgument(f"k has pages of {PG} slots: at least 1")
    shape = tuple(table.shape) if isinstance(table, Tensor) and table.dim() == 2 else (B, 0)
    _typed("table", table, torch.int32, (B, shape[1]), "[B, MP]", device)
    if shape[1] > 1 and table.stride(1) != 1:
        raise BadArgument(
            f"table: its last dim has stride {table.stride(1)}; it must lie together (stride 1)"
        )
    return shape[1] * PG


# On a GPU a look at the values would wait for everything queued before. There lengths are clamped by the
# kernel, and a table is trusted.
def _check_lengths(lengths: Tensor, T: int) -> None:
    if lengths.device.type == "cpu" and len(lengths):
        values = lengths.tolist()
        if not 0 <= min(values) <= max(values) <= T:
            raise BadArgument(f"lengths={values[:8]!s}: each must be from 0 to T={T}")


def _check_pages(p: Problem, table: Tensor, P: int) -> None:
    if table.device.type != "cpu" or not table.numel() or not bool(((table < 0) | (table >= P)).any()):
        return
    # Pages out of the pool are fine where nothing is seen: beyond a length, or gone from a window.
    for b, length in enumerate(p.lengths.tolist()):
        oldest = 0 if p.window is None else max(0, length - p.window)
        seen = {*range(oldest // p.PG, -(-length // p.PG)), *range(-(-min(p.sink_tokens, length) // p.PG))}
        for page in sorted(seen):
            at = int(table[b, page])
            if not 0 <= at < P:
                raise BadArgument(
                    f"table[{b}, {page}]={at}: row {b} sees this page, which must be from 0 to {P - 1}"
                )


def what(thing: object) -> str:
    """A tensor's type, shape and device in words, or what stands where one should."""
    if isinstance(thing, Tensor):
        return f"{thing.dtype} {tuple(thing.shape)} on {thing.device}"
    return f"{type(thing).__name__} {thing!r}"[:80]

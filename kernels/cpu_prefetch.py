"""Asking for memory before it is needed, from inside compiled code.

A core notices by itself that it is read to in order, but starts anew at every page and every change from
keys to values. Asking for the row that comes AHEAD slots later hides what that costs.
"""

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

AHEAD = 16
"""Slots: far enough for memory to answer, near enough for the nearest cache to keep them."""
LINE_BYTES = 64


@intrinsic
def _fetch(typingctx, array, b, h, n, d):
    """Ask for the cache line of array[b, h, n, d]; an address beyond the array is ignored by the hardware."""

    def generate(context, builder, signature, args):
        kind = signature.args[0]
        view = context.make_array(kind)(context, builder, args[0])
        indices = [
            context.cast(builder, i, t, types.intp) for i, t in zip(args[1:], signature.args[1:], strict=True)
        ]
        item = cgutils.get_item_pointer(context, builder, kind, view, indices)
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        form = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        llvm = cgutils.get_or_insert_function(builder.module, form, "llvm.prefetch.p0")
        read, keep, data = (ir.Constant(number, c) for c in (0, 3, 1))
        builder.call(llvm, [builder.bitcast(item, pointer), read, keep, data])
        return context.get_dummy_value()

    return types.void(array, b, h, n, d), generate


@njit(inline="always")
def prefetch(array, page, after, h, n):
    """Ask for the row of slot n + AHEAD of a page, all its cache lines; past its end, of the next page."""
    PG, ahead = array.shape[2], n + AHEAD
    if ahead >= PG:
        page, ahead = after, min(ahead - PG, PG - 1)
    for d in range(0, array.shape[3], LINE_BYTES // array.itemsize):
        _fetch(array, page, h, ahead, d)

"""Our kernel with the settings of SGLang's Triton decode kernel: what do our own settings gain?

There every slot's page is looked up by itself, tiles are of 32 slots with two of them under way, and the
number of splits is rounded up. Their kernel is another; only its settings are tried here.
"""

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from memlessons.bench.kernels.contenders import bytes_of
from memlessons.bench.kernels.inputs import Inputs
from memlessons.bench.kernels.race import Contender
from memlessons.bench.kernels.shapes import Shape
from memlessons.kernels import Scratch
from memlessons.kernels.arguments import checked
from memlessons.kernels.choose import MOST_SPLITS, Config, block_h, shared_bytes

NAME = "slot by slot"


def slot_by_slot(shape: Shape, sets: Sequence[Inputs]) -> Contender:
    """See the module; `sets` are in pages. Needs Triton."""
    from memlessons.kernels.launch import INTERPRETED, chip_of, form_of, merge_arguments, split_arguments
    from memlessons.kernels.merge import merge_kernel
    from memlessons.kernels.split import SLOT_BY_SLOT, split_kernel

    config = Config(16 if INTERPRETED else 32, 4, 2, rows=16)
    first = checked(*sets[0][:4], **sets[0].options)
    programs = first.B * first.HKV * -(-first.G // block_h(first.G, config))
    splits = 2
    if not INTERPRETED:
        chip = chip_of(first.q.device.index or 0)
        each = chip.shared_bytes_per_processor // shared_bytes(config, form_of(first))
        slots = chip.processors * max(1, min(8, each))
        splits = max(1, min(-(-slots // programs), -(-shape.T // config.block_n), MOST_SPLITS))
    scratch = Scratch()

    def call(one: Inputs) -> Tensor:
        p = checked(*one[:4], **one.options)
        lse = torch.empty(p.B, p.HQ, device=p.q.device)
        part = scratch.partials((p.B, p.HQ, splits), p.DV, p.q.device) if splits > 1 else (one.out, lse)
        arguments, options = split_arguments(p, config, splits, 0, (*part, one.out, lse))
        options["PAGES"] = int(SLOT_BY_SLOT.value)
        split_kernel[(programs * splits,)](*arguments, **options)
        if splits > 1:
            arguments, options = merge_arguments(p, splits, (*part, one.out, lse))
            merge_kernel[(p.B * p.HQ * -(-p.DV // options["BLOCK_DV"]),)](*arguments, **options)
        return one.out

    call(sets[0])
    facts = {"splits": splits, "block_n": config.block_n, "stages": config.stages, "pages": NAME}
    return Contender(NAME, [partial(call, s) for s in sets], bytes_of(shape, sets), facts)

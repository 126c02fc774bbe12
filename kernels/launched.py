"""Where a kernel is launched: on the device of its tensors, whatever the current one is."""

from contextlib import AbstractContextManager, nullcontext

import torch


def on_device(device: torch.device) -> AbstractContextManager[object]:
    """Makes a GPU the current one for a while: Triton and graphs take the current device and its stream."""
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()

"""torch as it is after its import, whatever a notebook has set: what a key stands for does not depend on that."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch


@contextmanager
def torch_defaults() -> Iterator[None]:
    """Within the block, or the function that it decorates: gradients, also under `torch.inference_mode`; float32, the
    CPU where no device is named; neither autocast nor the search for anomalies, since the lab itself watches losses.

    >>> with torch.inference_mode(), torch_defaults():
    ...     torch.is_grad_enabled(), torch.is_inference_mode_enabled()
    (True, False)
    """
    dtype = torch.get_default_dtype()
    with ExitStack() as stack:
        stack.enter_context(torch.inference_mode(False))
        stack.enter_context(torch.enable_grad())
        if torch.is_anomaly_enabled():
            stack.enter_context(torch.autograd.set_detect_anomaly(False))
        for device in ("cpu", "cuda"):
            if torch.is_autocast_enabled(device):
                stack.enter_context(torch.autocast(device, enabled=False))
        if torch.get_default_device().type != "cpu":  # the context costs something at every call
            stack.enter_context(torch.device("cpu"))
        if dtype != torch.float32:  # of all threads: nothing is put back that another one may have set
            stack.callback(torch.set_default_dtype, dtype)
            torch.set_default_dtype(torch.float32)
        yield

"""Sort a PyTorch tensor on the GPU where it is.

    corankd --cuda-ipc=true &
    python examples/python/torch_cuda_ipc.py

Client and server must share the GPU. The client passes the server a CUDA IPC handle: no byte of the tensor is copied,
and the result is a new tensor on the same GPU. Allow it for trusted programs only: the server works in their memory, so
they must not change it while a call runs.

Without PyTorch, a GPU or a server that allows CUDA IPC, the example says so and ends.
"""

from __future__ import annotations

import sys
from typing import Any

import corank


def skip(reason: str) -> None:
    """Ends the program, as a success that did nothing."""
    print(f"skipped: {reason}")
    sys.exit(0)


def main() -> None:
    """Sorts a tensor and checks it against torch.sort."""
    try:
        import torch
    except ImportError:
        return skip("PyTorch is not installed")
    if not torch.cuda.is_available():
        return skip("PyTorch finds no GPU on this machine")
    with corank.connect() as client:
        if "cuda_ipc" not in client.info().places:
            return skip("this server takes no GPU memory: start it with a GPU and as `corankd --cuda-ipc=true`")
        tensor = torch.randn(10_000_000, device="cuda")
        stats: list[corank.Stats] = []
        ordered: Any = client.sort(tensor, on_stats=stats.append)
        top, rows = client.sort_with_indices(tensor, descending=True, limit=5)

    assert torch.equal(ordered, torch.sort(tensor, stable=True).values)
    assert torch.equal(tensor[rows], top)
    assert stats[0].place == "cuda_ipc"
    print(f"sorted {tensor.numel():,} floats in {stats[0].kernel_ns / 1e6:.2f} ms of kernels, and copied none")
    return None


if __name__ == "__main__":
    main()

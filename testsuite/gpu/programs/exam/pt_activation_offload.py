# Modelled on microsoft/onnxruntime#5445.
"""Offloads saved activations to pinned memory with saved_tensors_hooks."""
import os

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd.graph import saved_tensors_hooks

FIXED = os.environ.get("FIXED") == "1"

TOKENS, DIM, LAYERS, STEPS = 8192, 3072, 5, 3


class Packed:
    def __init__(self, host, done):
        self.host = host
        self.done = done


class ActivationOffload(saved_tensors_hooks):
    """Large activations go down on one copy stream and come back on another."""

    def __init__(self, module, min_bytes=1 << 20):
        super().__init__(self.pack, self.unpack)
        self.down = torch.cuda.Stream()
        self.up = torch.cuda.Stream()
        self.min_bytes = min_bytes
        self.keep = {p.untyped_storage().data_ptr() for p in module.parameters()}

    def pack(self, tensor):
        if tensor.nbytes < self.min_bytes or not tensor.is_cuda:
            return tensor
        if tensor.untyped_storage().data_ptr() in self.keep:
            return tensor
        host = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
        self.down.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.down):
            host.copy_(tensor, non_blocking=True)
            done = self.down.record_event()
        if FIXED:
            tensor.record_stream(self.down)
        return Packed(host, done)

    def unpack(self, packed):
        if not isinstance(packed, Packed):
            return packed
        compute = torch.cuda.current_stream()
        with torch.cuda.stream(self.up):
            self.up.wait_event(packed.done)
            tensor = packed.host.to("cuda", non_blocking=True)
        compute.wait_stream(self.up)
        tensor.record_stream(compute)
        return tensor


class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(DIM, DIM) for _ in range(LAYERS))

    def forward(self, x):
        for layer in self.layers:
            hidden = F.linear(x, layer.weight, layer.bias)
            x = F.gelu(hidden)
        return x


def main():
    torch.manual_seed(0)
    model = Stack().to("cuda", torch.bfloat16)
    opt = torch.optim.SGD(model.parameters(), lr=1e-3)
    data = torch.randn(TOKENS, DIM, device="cuda", dtype=torch.bfloat16)
    offload = ActivationOffload(model)
    for step in range(STEPS):
        with offload:
            loss = model(data).float().square().mean()
        loss.backward()
        opt.step()
        opt.zero_grad(set_to_none=True)
    print("loss %.6f" % loss.item())


if __name__ == "__main__":
    main()

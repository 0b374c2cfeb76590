# Modelled on vllm-project/vllm#31341.
"""KV connector that stores finished blocks to host memory on an offload stream."""
import os

import torch

FIXED = os.environ.get("FIXED") == "1"

BLOCKS, BLOCK_TOKENS, WIDTH, STEPS = 64, 64, 2048, 6


class OffloadConnector:
    """Copies the blocks of a step to their host slots."""

    def __init__(self, kv):
        self.kv = kv
        self.stream = torch.cuda.Stream()
        self.stored = torch.cuda.Event()
        self.host = torch.empty((STEPS,) + kv.shape, dtype=kv.dtype, pin_memory=True)

    def store(self, step, blocks):
        if FIXED:
            self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            for block in blocks:
                self.host[step, block].copy_(self.kv[block], non_blocking=True)
            self.stored.record(self.stream)

    def before_reuse(self):
        torch.cuda.current_stream().wait_event(self.stored)

    def flush(self):
        self.stored.synchronize()
        return self.host


class Worker:
    def __init__(self):
        gen = torch.Generator(device="cuda").manual_seed(9)
        self.kv = torch.zeros(BLOCKS, BLOCK_TOKENS, WIDTH, device="cuda")
        self.proj = torch.randn(WIDTH, WIDTH, generator=gen, device="cuda") * 0.02
        self.hidden = torch.randn(BLOCKS * BLOCK_TOKENS, WIDTH, generator=gen, device="cuda")
        self.connector = OffloadConnector(self.kv)
        torch.cuda.synchronize()

    def forward(self, step):
        for _ in range(3):
            self.hidden = torch.tanh(self.hidden @ self.proj)
        keys = self.hidden + float(step)
        self.connector.before_reuse()
        self.kv.copy_(keys.view_as(self.kv))
        self.connector.store(step, range(BLOCKS))


@torch.inference_mode()
def main():
    worker = Worker()
    for step in range(STEPS):
        worker.forward(step)
    host = worker.connector.flush()
    print("stored", [round(host[s, 0].mean().item(), 3) for s in range(STEPS)])


if __name__ == "__main__":
    main()

# Modelled on NVIDIA/TensorRT-LLM#15546.
"""Paged attention step whose block offsets are staged through one pinned buffer."""
import os

import torch

FIXED = os.environ.get("FIXED") == "1"

SEQS, BLOCKS_PER_SEQ, POOL_BLOCKS, WIDTH, STEPS = 256, 1024, 16384, 512, 8


class BlockOffsets:
    """Persistent pinned staging area and its device copy."""

    def __init__(self):
        shape = (SEQS, BLOCKS_PER_SEQ)
        self.staging = torch.zeros(shape, dtype=torch.int32, pin_memory=True)
        self.device = torch.zeros(shape, dtype=torch.int32, device="cuda")
        self.uploaded = torch.cuda.Event()

    def upload(self, table):
        if FIXED:
            self.uploaded.synchronize()
        self.staging.copy_(table)
        self.device.copy_(self.staging, non_blocking=True)
        self.uploaded.record()


class PagedStep:
    def __init__(self):
        gen = torch.Generator(device="cuda").manual_seed(3)
        self.pool = torch.randn(POOL_BLOCKS, WIDTH, generator=gen, device="cuda")
        self.weight = torch.randn(4096, 4096, generator=gen, device="cuda") * 0.01
        self.hidden = torch.randn(4096, 4096, generator=gen, device="cuda")
        self.offsets = BlockOffsets()

    def forward(self, table):
        self.offsets.upload(table)
        rows = self.pool.index_select(0, self.offsets.device.view(-1))
        context = rows.view(SEQS, BLOCKS_PER_SEQ, WIDTH).mean(dim=1)
        self.hidden = torch.tanh(self.hidden @ self.weight)
        return context


class Scheduler:
    """Runs ahead of the device: plans are made on the CPU one after another."""

    def __init__(self):
        gen = torch.Generator().manual_seed(5)
        first = torch.randint(0, POOL_BLOCKS, (SEQS, BLOCKS_PER_SEQ), generator=gen,
                              dtype=torch.int32)
        self.plans = [(first + 37 * i) % POOL_BLOCKS for i in range(STEPS)]

    @torch.inference_mode()
    def run(self, step):
        return [step.forward(plan) for plan in self.plans]


def main():
    step = PagedStep()
    scheduler = Scheduler()
    torch.cuda.synchronize()
    outs = scheduler.run(step)
    print("context", torch.stack(outs).double().sum().item())


if __name__ == "__main__":
    main()

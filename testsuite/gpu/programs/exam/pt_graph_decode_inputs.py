# Modelled on NVIDIA/TransformerEngine#2018.
"""Decode loop around one captured graph; inputs are staged on a copy stream."""
import os

import torch
import torch.nn as nn

FIXED = os.environ.get("FIXED") == "1"

BATCH, DIM, STEPS = 4096, 4096, 8


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(DIM, DIM, bias=False)
        self.down = nn.Linear(DIM, DIM, bias=False)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))


class GraphRunner:
    def __init__(self, module):
        self.copies = torch.cuda.Stream()
        self.staged = torch.cuda.Event()
        self.consumed = torch.cuda.Event()
        self.static_in = torch.zeros(BATCH, DIM, device="cuda", dtype=torch.bfloat16)
        self.graph = torch.cuda.CUDAGraph()
        self._capture(module)

    def _capture(self, module):
        warm = torch.cuda.Stream()
        warm.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(warm):
            for _ in range(2):
                module(self.static_in)
        torch.cuda.current_stream().wait_stream(warm)
        with torch.cuda.graph(self.graph):
            self.static_out = module(self.static_in)
        torch.cuda.synchronize()

    def stage(self, host_batch):
        with torch.cuda.stream(self.copies):
            if FIXED:
                self.copies.wait_event(self.consumed)
            self.static_in.copy_(host_batch, non_blocking=True)
            self.staged.record(self.copies)

    def run(self):
        current = torch.cuda.current_stream()
        current.wait_event(self.staged)
        self.graph.replay()
        self.consumed.record(current)
        return self.static_out.float().mean(dim=1)


@torch.no_grad()
def main():
    torch.manual_seed(0)
    runner = GraphRunner(Block().to("cuda", torch.bfloat16))
    batches = [torch.full((BATCH, DIM), 0.1 * (i + 1), dtype=torch.bfloat16).pin_memory()
               for i in range(4)]
    results = []
    for step in range(STEPS):
        runner.stage(batches[step % len(batches)])
        results.append(runner.run())
    print("means", [round(r.mean().item(), 4) for r in results])


if __name__ == "__main__":
    main()

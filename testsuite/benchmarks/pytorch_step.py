# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small training step, timed: what a tool costs where every kernel is short and the host is the bottleneck.

Four linear layers of 1,024, batch 512, Adam: some sixty launches in one to two milliseconds. Blocks of ten steps are
timed with the host's clock, each ended by a synchronisation; printed is the median block, for one step.

usage: pytorch_step.py STEPS
prints {"ms": ..., "steps": ...}
"""

import json
import statistics
import sys
import time

import torch

BLOCK = 10


def main():
    blocks = max(1, int(sys.argv[1]) // BLOCK)
    torch.manual_seed(1)
    layers = []
    for _ in range(4):
        layers += [torch.nn.Linear(1024, 1024), torch.nn.ReLU()]
    model = torch.nn.Sequential(*layers).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    batch = torch.randn(512, 1024, device="cuda")
    target = torch.randn(512, 1024, device="cuda")

    def step():
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(batch), target).backward()
        optimizer.step()

    for _ in range(5 * BLOCK):
        step()
    torch.cuda.synchronize()
    times = []
    for _ in range(blocks):
        start = time.perf_counter()
        for _ in range(BLOCK):
            step()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) * 1000 / BLOCK)
    print(json.dumps({"ms": statistics.median(times), "steps": blocks * BLOCK}))


main()

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small training step, timed: what a tool costs where every kernel is short and the host is the bottleneck.

Four linear layers of 1,024, batch 512, Adam: some forty launches in one to two milliseconds. Blocks of ten steps are
timed with the host's clock, each ended by a synchronisation; printed is the median block, for one step.

usage: pytorch_step.py STEPS | turns
prints {"ms": ..., "steps": ...}; with `turns` such a line when it is ready, and one for each line it reads, of blocks
that it runs then: several processes can take turns (suite/turns.py).
"""

import json
import statistics
import sys
import time

import torch

BLOCK = 10
WARM_UP = 10  # blocks
TURN = 8  # blocks, and one before them that is not timed


def main():
    torch.manual_seed(1)
    layers = []
    for _ in range(4):
        layers += [torch.nn.Linear(1024, 1024), torch.nn.ReLU()]
    model = torch.nn.Sequential(*layers).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    batch = torch.randn(512, 1024, device="cuda")
    target = torch.randn(512, 1024, device="cuda")

    def block():
        start = time.perf_counter()
        for _ in range(BLOCK):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(batch), target).backward()
            optimizer.step()
        torch.cuda.synchronize()
        return (time.perf_counter() - start) * 1000 / BLOCK

    def show(blocks):
        print(json.dumps({"ms": statistics.median(block() for _ in range(blocks)), "steps": blocks * BLOCK}), flush=True)

    for _ in range(WARM_UP):
        block()
    if sys.argv[1] != "turns":
        show(max(1, int(sys.argv[1]) // BLOCK))
        return
    show(TURN)
    for _ in sys.stdin:
        block()
        show(TURN)


main()

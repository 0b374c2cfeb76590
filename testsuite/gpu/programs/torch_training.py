# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A correct training loop with overlap: batches are uploaded on a stream of their own, one ahead of the step.

The upload waits until the step before last is done with its buffer (wait_stream), the step waits for its upload, and
record_stream tells the caching allocator of the second user. Fifty steps, silent.

usage: torch_training.py [STEPS] [--measured]
"""

import sys

import torch

from measured_end import measured_end

BATCH, WIDTH = 256, 512


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 50
    torch.manual_seed(1)
    model = torch.nn.Sequential(
        torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU(), torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU(),
        torch.nn.Linear(WIDTH, 10)).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    batches = [torch.randn(BATCH, WIDTH).pin_memory() for _ in range(4)]
    labels = torch.randint(0, 10, (BATCH,), device="cuda")
    upload = torch.cuda.Stream()
    upload.wait_stream(torch.cuda.current_stream())

    def fetch(index):
        with torch.cuda.stream(upload):
            return batches[index % len(batches)].to("cuda", non_blocking=True)

    following = fetch(0)
    for step in range(steps):
        torch.cuda.current_stream().wait_stream(upload)
        batch = following
        batch.record_stream(torch.cuda.current_stream())
        following = fetch(step + 1)
        loss = torch.nn.functional.cross_entropy(model(batch), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("loss", loss.item())
    torch.cuda.synchronize()
    measured_end()


main()

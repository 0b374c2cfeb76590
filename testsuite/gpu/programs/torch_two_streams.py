# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A correct training run on two streams: a residual convolution net and a transformer encoder in turn, while a side
stream brings in the next batch and normalises it there. Events order the two; record_stream tells the allocator.

usage: torch_two_streams.py [STEPS]
"""

import math
import sys

import torch
from torch import nn

BATCH = 32


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels),
                                  nn.ReLU(), nn.Conv2d(channels, channels, 3, padding=1, bias=False),
                                  nn.BatchNorm2d(channels))

    def forward(self, x):
        return torch.relu(x + self.body(x))


def convolutions():
    return nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), Residual(32), nn.MaxPool2d(2), Residual(32),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))


class Encoder(nn.Module):
    """Rows of the image are the tokens."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(3 * 32, 64)
        layer = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.1, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(64, 10)

    def forward(self, x):
        return self.head(self.layers(self.embed(x.transpose(1, 2).flatten(2))).mean(dim=1))


class Prefetcher:
    """The batch after the current one, uploaded and normalised on a stream of its own."""

    def __init__(self, batches):
        self.batches = batches
        self.stream = torch.cuda.Stream()
        self.ready = torch.cuda.Event()
        self.number = 0
        self.fetch()

    def fetch(self):
        images, labels = self.batches[self.number % len(self.batches)]
        self.number += 1
        with torch.cuda.stream(self.stream):
            images = images.to("cuda", non_blocking=True)
            self.batch = images.sub_(0.5).mul_(2.0), labels.to("cuda", non_blocking=True)
            self.ready.record()

    def next(self):
        main = torch.cuda.current_stream()
        main.wait_event(self.ready)
        batch = self.batch
        for tensor in batch:
            tensor.record_stream(main)
        self.fetch()
        return batch


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    torch.manual_seed(1)
    models = [convolutions().cuda(), Encoder().cuda()]
    optimizers = [torch.optim.SGD(models[0].parameters(), lr=0.05, momentum=0.9),
                  torch.optim.AdamW(models[1].parameters(), lr=1e-3)]
    batches = [(torch.rand(BATCH, 3, 32, 32).pin_memory(), torch.randint(0, 10, (BATCH,)).pin_memory())
               for _ in range(4)]
    prefetcher = Prefetcher(batches)
    for step in range(steps):
        images, labels = prefetcher.next()
        optimizer = optimizers[step % 2]
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(models[step % 2](images), labels)
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()
    if not math.isfinite(loss.item()):
        sys.exit("wrong result")


main()

# Modelled on deepspeedai/DeepSpeed#7805.
"""Sharded layers: full weights are gathered into two alternating buffers ahead of use."""
import os

import torch

FIXED = os.environ.get("FIXED") == "1"

DIM, LAYERS, RANKS, MICROBATCHES = 4096, 4, 8, 4


class GatherBuffers:
    """Double buffer for gathered weights."""

    def __init__(self):
        self.storage = [torch.empty(DIM, DIM, device="cuda") for _ in range(2)]
        self.index = 0

    def take(self):
        buffer = self.storage[self.index]
        self.index = 1 - self.index
        return buffer

    def clear(self):
        if not FIXED:
            self.index = 0


class Prefetcher:
    def __init__(self, shards):
        self.shards = shards
        self.buffers = GatherBuffers()
        self.stream = torch.cuda.Stream()
        self.released = torch.cuda.Event()
        self.full = {}

    def prefetch(self, layer):
        buffer = self.buffers.take()
        with torch.cuda.stream(self.stream):
            self.stream.wait_event(self.released)
            for rank, shard in enumerate(self.shards[layer]):
                buffer[rank * shard.shape[0]:(rank + 1) * shard.shape[0]].copy_(shard)
            self.full[layer] = (buffer, self.stream.record_event())

    def wait(self, layer):
        weight, ready = self.full.pop(layer)
        torch.cuda.current_stream().wait_event(ready)
        return weight

    def release(self):
        """The compute stream is done with the current layer's weight."""
        self.released.record()

    def next_microbatch(self):
        self.buffers.clear()


class ShardedModel:
    def __init__(self):
        gen = torch.Generator(device="cuda").manual_seed(4)
        rows = DIM // RANKS
        shards = [[torch.randn(rows, DIM, generator=gen, device="cuda") * 0.01
                   for _ in range(RANKS)] for _ in range(LAYERS)]
        self.prefetcher = Prefetcher(shards)
        torch.cuda.synchronize()
        self.prefetcher.prefetch(0)

    def forward(self, x):
        fetcher = self.prefetcher
        for layer in range(LAYERS):
            weight = fetcher.wait(layer)
            fetcher.prefetch((layer + 1) % LAYERS)
            x = torch.tanh(torch.mm(x, weight))
            fetcher.release()
        fetcher.next_microbatch()
        return x

    def close(self):
        torch.cuda.current_stream().wait_stream(self.prefetcher.stream)


@torch.no_grad()
def main():
    model = ShardedModel()
    inputs = [torch.full((1024, DIM), 0.1 * (i + 1), device="cuda") for i in range(MICROBATCHES)]
    outs = [model.forward(x) for x in inputs]
    model.close()
    print("outputs", [round(o.double().sum().item(), 4) for o in outs])


if __name__ == "__main__":
    main()

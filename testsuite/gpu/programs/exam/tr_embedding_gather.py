# Modelled on meta-pytorch/torchrec#4191.
"""Row cache in front of a host embedding table: one stream prefetches, another looks up."""
import os

import torch
import triton
import triton.language as tl

FIXED = os.environ.get("FIXED") == "1"

CACHE_ROWS, DIM, BATCH, STEPS = 131072, 256, 65536, 6


@triton.jit
def insert_rows(cache, rows, slots, dim, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    slot = tl.load(slots + pid)
    vals = tl.load(rows + pid * dim + cols, mask=cols < dim)
    tl.store(cache + slot * dim + cols, vals, mask=cols < dim)


@triton.jit
def gather_rows(cache, slots, out, dim, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    slot = tl.load(slots + pid)
    vals = tl.load(cache + slot * dim + cols, mask=cols < dim)
    tl.store(out + pid * dim + cols, vals, mask=cols < dim)


class CachedEmbedding:
    def __init__(self):
        self.cache = torch.zeros(CACHE_ROWS, DIM, device="cuda")
        self.slots = torch.randperm(CACHE_ROWS, device="cuda")[:BATCH].contiguous()
        self.incoming = torch.empty(BATCH, DIM, device="cuda")

    def prefetch(self, host_rows):
        self.incoming.copy_(host_rows, non_blocking=True)
        insert_rows[(BATCH,)](self.cache, self.incoming, self.slots, DIM, BLOCK=256)

    def lookup(self, out):
        gather_rows[(BATCH,)](self.cache, self.slots, out, DIM, BLOCK=256)


class PrefetchPipeline:
    def __init__(self, embedding):
        self.embedding = embedding
        self.prefetch_stream = torch.cuda.Stream()
        self.dist_stream = torch.cuda.Stream()
        self.looked_up = torch.cuda.Event()
        self.outputs = [torch.zeros(BATCH, DIM, device="cuda") for _ in range(STEPS)]

    def warm_up(self):
        self.embedding.prefetch(torch.zeros(BATCH, DIM))
        self.embedding.lookup(self.outputs[0])
        torch.cuda.synchronize()

    def progress(self, step, host_rows):
        with torch.cuda.stream(self.prefetch_stream):
            self.prefetch_stream.wait_event(self.looked_up)
            self.embedding.prefetch(host_rows)
        with torch.cuda.stream(self.dist_stream):
            if FIXED:
                self.dist_stream.wait_stream(self.prefetch_stream)
            self.embedding.lookup(self.outputs[step])
            self.looked_up.record(self.dist_stream)


@torch.inference_mode()
def main():
    torch.manual_seed(0)
    pipeline = PrefetchPipeline(CachedEmbedding())
    batches = [torch.full((BATCH, DIM), float(i + 1)).pin_memory() for i in range(STEPS)]
    pipeline.warm_up()
    for step, rows in enumerate(batches):
        pipeline.progress(step, rows)
    torch.cuda.current_stream().wait_stream(pipeline.dist_stream)
    torch.cuda.current_stream().wait_stream(pipeline.prefetch_stream)
    print("means", [round(o.mean().item(), 3) for o in pipeline.outputs])


if __name__ == "__main__":
    main()

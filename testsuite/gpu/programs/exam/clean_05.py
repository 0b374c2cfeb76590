"""CuPy pipeline with three streams, events and the memory pool's per-stream arenas."""
import collections

import cupy as cp
import numpy as np

N, FRAMES = 8 << 20, 9

filter_frame = cp.ElementwiseKernel(
    "float32 x, int32 rounds", "float32 y",
    """
    float v = x;
    for (int k = 0; k < rounds; ++k) v = v * 0.99f + 0.01f * cosf(v);
    y = v;
    """, "filter_frame")


class PinnedRing:
    """Pinned frames; a frame is filled again only after its upload has ended."""

    def __init__(self, slots):
        self.memory = [cp.cuda.alloc_pinned_memory(N * 4) for _ in range(slots)]
        self.frames = [np.frombuffer(m, np.float32, N) for m in self.memory]
        self.uploaded = [None] * slots

    def fill(self, index, value):
        slot = index % len(self.frames)
        if self.uploaded[slot] is not None:
            self.uploaded[slot].synchronize()
        self.frames[slot].fill(value)
        return slot


class Pipeline:
    def __init__(self):
        self.upload = cp.cuda.Stream(non_blocking=True)
        self.compute = cp.cuda.Stream(non_blocking=True)
        self.collect = cp.cuda.Stream(non_blocking=True)
        self.ring = PinnedRing(2)
        self.total = cp.zeros(N, cp.float32)
        self.held = collections.deque()
        filter_frame(self.total, 1, cp.empty_like(self.total))
        cp.cuda.Device().synchronize()

    def push(self, index):
        while self.held and self.held[0][0].done:
            self.held.popleft()
        slot = self.ring.fill(index, float(index))
        with self.upload:
            raw = cp.empty(N, cp.float32)
            raw.set(self.ring.frames[slot], stream=self.upload)
            arrived = self.upload.record()
        self.ring.uploaded[slot] = arrived
        self.compute.wait_event(arrived)
        with self.compute:
            out = cp.empty(N, cp.float32)
            filter_frame(raw, 200, out)
            filtered = self.compute.record()
        self.collect.wait_event(filtered)
        with self.collect:
            self.total += out
            self.held.append((self.collect.record(), raw, out))

    def finish(self):
        self.collect.synchronize()
        self.held.clear()
        return float(self.total[0]), float(self.total[-1])


def main():
    pipeline = Pipeline()
    for index in range(FRAMES):
        pipeline.push(index)
    print("total", pipeline.finish(), "pool", cp.get_default_memory_pool().total_bytes() >> 20, "MiB")


if __name__ == "__main__":
    main()

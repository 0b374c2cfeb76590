"""Numba: chunks travel through pinned arrays on two streams, joined by events."""
import math

import numpy as np
from numba import cuda

CHUNK, CHUNKS, THREADS = 2 << 20, 8, 256


@cuda.jit
def transform(x, y, rounds):
    i = cuda.grid(1)
    if i < x.shape[0]:
        v = x[i]
        for k in range(rounds):
            v = v * np.float32(0.99) + math.cos(v) * np.float32(0.01)
        y[i] = v


class Slot:
    def __init__(self):
        self.host_in = cuda.pinned_array(CHUNK, np.float32)
        self.host_out = cuda.pinned_array(CHUNK, np.float32)
        self.x = cuda.device_array(CHUNK, np.float32)
        self.y = cuda.device_array(CHUNK, np.float32)
        self.uploaded = cuda.event(timing=False)
        self.computed = cuda.event(timing=False)
        self.finished = cuda.event(timing=False)
        self.index = None


class ChunkedTransform:
    def __init__(self):
        self.copies = cuda.stream()
        self.compute = cuda.stream()
        self.slots = [Slot(), Slot()]
        self.sums = {}
        warm = cuda.to_device(np.zeros(CHUNK, np.float32))
        transform[1, THREADS](warm, self.slots[0].y, 1)
        cuda.synchronize()

    def _retire(self, slot):
        if slot.index is not None:
            slot.finished.synchronize()
            self.sums[slot.index] = float(slot.host_out.mean())
            slot.index = None

    def submit(self, index):
        slot = self.slots[index % 2]
        self._retire(slot)
        slot.host_in.fill(0.1 * index)
        slot.x.copy_to_device(slot.host_in, stream=self.copies)
        slot.uploaded.record(self.copies)
        slot.uploaded.wait(self.compute)
        blocks = (CHUNK + THREADS - 1) // THREADS
        transform[blocks, THREADS, self.compute](slot.x, slot.y, 300)
        slot.computed.record(self.compute)
        slot.computed.wait(self.copies)
        slot.y.copy_to_host(slot.host_out, stream=self.copies)
        slot.finished.record(self.copies)
        slot.index = index

    def drain(self):
        for slot in self.slots:
            self._retire(slot)
        return [round(self.sums[i], 4) for i in sorted(self.sums)]


def main():
    work = ChunkedTransform()
    for index in range(CHUNKS):
        work.submit(index)
    print("means", work.drain())


if __name__ == "__main__":
    main()

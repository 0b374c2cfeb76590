# Modelled on NVIDIA/cudf#18395.
"""Column reader that uploads encoded pages through page-locked numpy slabs.

A few slabs are pooled; when all of them are busy an overflow slab is made for
the request and taken apart again afterwards.
"""
import os

import numpy as np
import torch

FIXED = os.environ.get("FIXED") == "1"

SLAB = 16 << 20
cudart = torch.cuda.cudart()


class PinnedSlab:
    def __init__(self, pooled):
        self.array = np.zeros(SLAB, dtype=np.uint8)
        self.tensor = torch.from_numpy(self.array)
        self.pooled = pooled
        assert int(cudart.cudaHostRegister(self.tensor.data_ptr(), SLAB, 0)) == 0

    def close(self):
        assert int(cudart.cudaHostUnregister(self.tensor.data_ptr())) == 0


class SlabPool:
    def __init__(self, pooled):
        self.free = [(PinnedSlab(True), None) for _ in range(pooled)]
        self.retired = []

    def take(self):
        self.reap()
        for i, (slab, last_use) in enumerate(self.free):
            if last_use is None or last_use.query():
                del self.free[i]
                return slab
        return PinnedSlab(False)

    def give_back(self, slab, stream):
        if slab.pooled:
            self.free.append((slab, stream.record_event()))
        elif FIXED:
            self.retired.append((slab, stream.record_event()))
        else:
            slab.close()

    def reap(self, wait=False):
        busy = []
        for slab, last_use in self.retired:
            if wait:
                last_use.synchronize()
            if last_use.query():
                slab.close()
            else:
                busy.append((slab, last_use))
        self.retired = busy

    def shutdown(self):
        self.reap(wait=True)
        for slab, last_use in self.free:
            if last_use is not None:
                last_use.synchronize()
            slab.close()


class ColumnReader:
    def __init__(self, pool, columns):
        self.pool = pool
        self.stream = torch.cuda.Stream()
        with torch.cuda.stream(self.stream):
            self.encoded = [torch.zeros(SLAB, dtype=torch.uint8, device="cuda") for _ in range(columns)]
            self.sums = torch.zeros(columns, dtype=torch.int64, device="cuda")

    def read_row_group(self, pages):
        slabs = [self.pool.take() for _ in pages]
        for slab, page in zip(slabs, pages):
            slab.array[:] = page
        with torch.cuda.stream(self.stream):
            for i, slab in enumerate(slabs):
                self.encoded[i].copy_(slab.tensor, non_blocking=True)
                self.sums[i] += self.encoded[i].to(torch.int64).sum()
        for slab in slabs:
            self.pool.give_back(slab, self.stream)


def main():
    pool = SlabPool(pooled=2)
    reader = ColumnReader(pool, columns=5)
    pages = [np.full(SLAB, 1 + i, dtype=np.uint8) for i in range(5)]
    for _ in range(3):
        reader.read_row_group(pages)
    reader.stream.synchronize()
    print("column sums", reader.sums.tolist())
    pool.shutdown()


if __name__ == "__main__":
    main()

# Modelled on votca/xtp#391.
"""Batched matrix products with Numba; results come back through pinned arrays."""
import os

import numpy as np
from numba import cuda, float32

FIXED = os.environ.get("FIXED") == "1"

N, BATCH, TILE = 1024, 6, 16


@cuda.jit
def matmul(a, b, c):
    sa = cuda.shared.array((TILE, TILE), float32)
    sb = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    acc = float32(0.0)
    for t in range(a.shape[1] // TILE):
        sa[ty, tx] = a[row, t * TILE + tx]
        sb[ty, tx] = b[t * TILE + ty, col]
        cuda.syncthreads()
        for k in range(TILE):
            acc += sa[ty, k] * sb[k, tx]
        cuda.syncthreads()
    c[row, col] = acc


class TensorProducts:
    """Multiplies every slice of a three-center tensor with one matrix."""

    def __init__(self, matrix):
        self.stream = cuda.stream()
        self.matrix = cuda.to_device(matrix)
        self.left = cuda.device_array((N, N), np.float32)
        self.product = cuda.device_array((N, N), np.float32)
        self.host = cuda.pinned_array((N, N), np.float32)
        self.staging = cuda.pinned_array((N, N), np.float32)
        self.grid = (N // TILE, N // TILE)

    def warm_up(self):
        matmul[self.grid, (TILE, TILE)](self.matrix, self.matrix, self.product)
        cuda.synchronize()

    def multiply(self, slice_):
        self.staging[:] = slice_
        self.left.copy_to_device(self.staging, stream=self.stream)
        matmul[self.grid, (TILE, TILE), self.stream](self.left, self.matrix, self.product)
        self.product.copy_to_host(self.host, stream=self.stream)
        if FIXED:
            self.stream.synchronize()
        return float(np.trace(self.host))

    def next_slice(self):
        self.stream.synchronize()


def main():
    rng = np.random.default_rng(0)
    matrix = rng.random((N, N), dtype=np.float32)
    products = TensorProducts(matrix)
    products.warm_up()
    traces = []
    for i in range(BATCH):
        slice_ = np.full((N, N), 0.5 * (i + 1), np.float32)
        traces.append(products.multiply(slice_))
        products.next_slice()
    print("traces", [round(t, 1) for t in traces])


if __name__ == "__main__":
    main()

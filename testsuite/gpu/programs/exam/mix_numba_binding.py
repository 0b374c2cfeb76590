# Modelled on microsoft/onnxruntime#32673.
"""An engine made of Numba kernels runs on inputs that a CuPy front end fills in place."""
import math
import os

import cupy as cp
import numpy as np
from numba import cuda

FIXED = os.environ.get("FIXED") == "1"

N, RUNS, THREADS = 8 << 20, 6, 256

fill_input = cp.ElementwiseKernel(
    "float32 value, int32 rounds", "float32 x",
    """
    float v = value;
    for (int k = 0; k < rounds; ++k) v = v + 0.001f * cosf(v + i);
    x = v;
    """, "fill_input")


@cuda.jit
def infer(x, y):
    i = cuda.grid(1)
    if i < x.shape[0]:
        v = x[i]
        for k in range(50):
            v = v * np.float32(0.99) + math.sin(v) * np.float32(0.01)
        y[i] = v


class Engine:
    """Binds device arrays once and executes on its own stream."""

    def __init__(self, x, y):
        self.x = cuda.as_cuda_array(x)
        self.y = cuda.as_cuda_array(y)
        self.stream = cuda.stream()
        self.finished = cuda.event(timing=False)
        self.blocks = (N + THREADS - 1) // THREADS
        infer[self.blocks, THREADS, self.stream](self.x, self.y)
        self.stream.synchronize()

    def run(self):
        infer[self.blocks, THREADS, self.stream](self.x, self.y)
        self.finished.record(self.stream)


class FrontEnd:
    def __init__(self):
        self.stream = cp.cuda.Stream(non_blocking=True)
        self.x = cp.zeros(N, cp.float32)
        self.y = cp.zeros(N, cp.float32)
        fill_input(cp.float32(0), 1, self.x)
        cp.cuda.Device().synchronize()
        self.engine = Engine(self.x, self.y)
        self.outside = cuda.external_stream(self.stream.ptr)
        self.filled = cuda.event(timing=False)
        self.outputs = [cp.empty(N, cp.float32) for _ in range(RUNS)]
        cp.cuda.Device().synchronize()

    def request(self, index):
        with self.stream:
            fill_input(cp.float32(0.1 * (index + 1)), 100, self.x)
        if FIXED:
            self.filled.record(self.outside)
            self.filled.wait(self.engine.stream)
        self.engine.run()
        self.engine.finished.wait(self.outside)
        with self.stream:
            cp.copyto(self.outputs[index], self.y)

    def close(self):
        self.stream.synchronize()
        return [float(o.mean()) for o in self.outputs]


def main():
    front = FrontEnd()
    for index in range(RUNS):
        front.request(index)
    print("means", [round(m, 4) for m in front.close()])


if __name__ == "__main__":
    main()

# Modelled on NVIDIA/DALI#1493.
"""Three-stage pipeline in Numba: CPU stage, upload, GPU stage; runs ahead of the device."""
import math
import os

import numpy as np
from numba import cuda

FIXED = os.environ.get("FIXED") == "1"

SAMPLES, ITERATIONS, THREADS = 4 << 20, 8, 256


@cuda.jit
def augment(x, out, rounds):
    i = cuda.grid(1)
    if i < x.shape[0]:
        v = x[i]
        for k in range(rounds):
            v = v + np.float32(0.001) * math.sin(v)
        out[i] = v


class CpuStage:
    """Collates one iteration's samples into contiguous memory."""

    def __init__(self):
        self.contiguous = cuda.pinned_array(SAMPLES, np.float32)

    def run(self, iteration):
        self.contiguous.fill(0.1 * (iteration + 1))
        return self.contiguous


class MixedStage:
    def __init__(self):
        self.stream = cuda.stream()
        self.device = cuda.device_array(SAMPLES, np.float32)
        self.copied = cuda.event(timing=False)
        self.started = False

    def wait_previous(self):
        if FIXED and self.started:
            self.copied.synchronize()

    def run(self, host):
        self.device.copy_to_device(host, stream=self.stream)
        self.copied.record(self.stream)
        self.started = True
        return self.device


class GpuStage:
    def __init__(self):
        self.outputs = [cuda.device_array(SAMPLES, np.float32) for _ in range(ITERATIONS)]

    def run(self, iteration, data, stream):
        blocks = (SAMPLES + THREADS - 1) // THREADS
        augment[blocks, THREADS, stream](data, self.outputs[iteration], 400)


class Pipeline:
    def __init__(self):
        self.cpu, self.mixed, self.gpu = CpuStage(), MixedStage(), GpuStage()
        warm = cuda.to_device(np.zeros(SAMPLES, np.float32))
        augment[1, THREADS](warm, self.gpu.outputs[0], 1)
        cuda.synchronize()
        augment[1, THREADS, self.mixed.stream](warm, self.gpu.outputs[0], 1)
        cuda.synchronize()

    def run(self):
        for iteration in range(ITERATIONS):
            self.mixed.wait_previous()
            host = self.cpu.run(iteration)
            data = self.mixed.run(host)
            self.gpu.run(iteration, data, self.mixed.stream)
        self.mixed.stream.synchronize()
        return [float(o.copy_to_host().mean()) for o in self.gpu.outputs]


def main():
    print("means", [round(m, 4) for m in Pipeline().run()])


if __name__ == "__main__":
    main()

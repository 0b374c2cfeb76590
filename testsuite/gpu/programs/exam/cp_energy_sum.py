# Modelled on openmm/openmm#1249.
"""Molecular dynamics forces: direct-space and reciprocal-space parts on two streams."""
import os

import cupy as cp

FIXED = os.environ.get("FIXED") == "1"

ATOMS, STEPS = 8 << 20, 5

SOURCE = r"""
extern "C" __global__ void direct_energy(const float* pos, float* energy, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float e = 0.0f;
    for (int k = 1; k <= 200; ++k) e += sinf(pos[i] * k) / k;
    energy[i] += e;
}
extern "C" __global__ void pme_energy(const float* pos, float* energy, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float e = 0.0f;
    for (int k = 1; k <= 200; ++k) e += cosf(pos[i] * k) / (k * k);
    energy[i] += e;
}
"""


class Context:
    def __init__(self):
        module = cp.RawModule(code=SOURCE)
        self.direct = module.get_function("direct_energy")
        self.pme = module.get_function("pme_energy")
        self.pos = cp.linspace(0, 3, ATOMS, dtype=cp.float32)
        self.energy = cp.zeros(ATOMS, cp.float32)
        self.recip = cp.zeros(ATOMS, cp.float32)
        self.grid = ((ATOMS + 255) // 256,)
        self.block = (256,)
        cp.cuda.Device().synchronize()


class ForceImpl:
    """Runs the two parts side by side and joins them at the end of the step."""

    def __init__(self, context):
        self.context = context
        self.main = cp.cuda.Stream(non_blocking=True)
        self.pme_stream = cp.cuda.Stream(non_blocking=True)

    def clear(self):
        c = self.context
        c.energy.fill(0)
        c.recip.fill(0)

    def execute(self):
        c = self.context
        n = cp.int32(ATOMS)
        with self.main:
            self.clear()
            start = self.main.record()
        self.pme_stream.wait_event(start)
        with self.pme_stream:
            target = c.recip if FIXED else c.energy
            c.pme(c.grid, c.block, (c.pos, target, n))
            done = self.pme_stream.record()
        with self.main:
            c.direct(c.grid, c.block, (c.pos, c.energy, n))
            self.main.wait_event(done)
            if FIXED:
                cp.add(c.energy, c.recip, out=c.energy)
            return c.energy.sum()


def main():
    impl = ForceImpl(Context())
    totals = [impl.execute() for _ in range(STEPS)]
    impl.main.synchronize()
    print("energies", [float(t) for t in totals])


if __name__ == "__main__":
    main()

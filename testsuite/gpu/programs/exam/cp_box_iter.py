# Modelled on AMReX-Fluids/CAMR#91.
"""Box loop of a block-structured solver: each box is advanced on the next stream."""
import os

import cupy as cp

FIXED = os.environ.get("FIXED") == "1"

CELLS, BOXES, STREAMS, SWEEPS = 8 << 20, 6, 3, 2

set_flux = cp.ElementwiseKernel(
    "float32 state, float32 dx", "float32 flux", "flux = (1.0f - state) * dx", "set_flux")

fine_add = cp.ElementwiseKernel(
    "float32 flux, int32 rounds", "float32 state",
    """
    float v = flux;
    for (int i = 0; i < rounds; ++i) v = v * 0.999f + 1e-6f * sinf(v);
    state += v;
    """, "fine_add")


class BoxIterator:
    """Hands out (box, stream) pairs and rotates through the streams."""

    def __init__(self, boxes):
        self.boxes = boxes
        self.streams = [cp.cuda.Stream(non_blocking=True) for _ in range(STREAMS)]

    def __iter__(self):
        for index, box in enumerate(self.boxes):
            stream = self.streams[index % len(self.streams)]
            with stream:
                yield box, stream

    def wait(self):
        for stream in self.streams:
            stream.synchronize()


class Hydro:
    def __init__(self):
        self.state = [cp.full(CELLS, 0.1 * b, cp.float32) for b in range(BOXES)]
        self.flux = cp.zeros(CELLS, cp.float32)
        set_flux(self.state[0], cp.float32(0.5), self.flux)
        fine_add(self.flux, 1, self.state[0])
        self.iterator = BoxIterator(self.state)
        self.flux_free = None
        cp.cuda.Device().synchronize()

    def sweep(self, dx):
        for state, stream in self.iterator:
            if FIXED and self.flux_free is not None:
                stream.wait_event(self.flux_free)
            set_flux(state, cp.float32(dx), self.flux)
            fine_add(self.flux, 300, state)
            self.flux_free = stream.record()
        self.iterator.wait()

    def totals(self):
        return [float(s.sum()) / CELLS for s in self.state]


def main():
    hydro = Hydro()
    for sweep in range(SWEEPS):
        hydro.sweep(0.1 * (sweep + 1))
    print("totals", [round(t, 5) for t in hydro.totals()])


if __name__ == "__main__":
    main()

# Modelled on NVIDIA/DALI#3487.
"""A CuPy simulation feeds a PyTorch surrogate through one DLPack view."""
import os

import cupy as cp
import torch
import torch.nn as nn

FIXED = os.environ.get("FIXED") == "1"

CELLS, FEATURES, STEPS = 8192, 2048, 6

advance = cp.ElementwiseKernel(
    "float32 forcing, int32 rounds", "float32 field",
    """
    float v = field;
    for (int i = 0; i < rounds; ++i) v = v + 0.01f * sinf(v + forcing);
    field = v;
    """, "advance")


class Simulation:
    def __init__(self):
        self.stream = cp.cuda.Stream(non_blocking=True)
        self.field = cp.zeros((CELLS, FEATURES), cp.float32)
        advance(cp.float32(0.0), 1, self.field)
        cp.cuda.Device().synchronize()

    def step(self, forcing):
        with self.stream:
            advance(cp.float32(forcing), 100, self.field)


class Surrogate:
    """Scores the field of every step with a small network."""

    def __init__(self, simulation):
        torch.manual_seed(0)
        self.simulation = simulation
        self.view = torch.from_dlpack(simulation.field)
        self.source = torch.cuda.ExternalStream(simulation.stream.ptr)
        self.net = nn.Sequential(nn.Linear(FEATURES, 1024), nn.Tanh(), nn.Linear(1024, 16)).cuda()
        self.net(self.view)
        torch.cuda.synchronize()

    @torch.no_grad()
    def score(self):
        current = torch.cuda.current_stream()
        if FIXED:
            current.wait_stream(self.source)
        out = self.net(self.view).mean()
        self.source.wait_stream(current)
        return out


def main():
    simulation = Simulation()
    surrogate = Surrogate(simulation)
    scores = []
    for step in range(STEPS):
        simulation.step(0.2 * (step + 1))
        scores.append(surrogate.score())
    print("scores", [round(s.item(), 5) for s in scores])
    simulation.stream.synchronize()


if __name__ == "__main__":
    main()

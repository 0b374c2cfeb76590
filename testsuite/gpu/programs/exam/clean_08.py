"""Nested stream contexts: an outer lane starts helpers, some of them inside each other."""
import contextlib

import torch

DIM, ROUNDS = 4096, 5


@contextlib.contextmanager
def lane(stream):
    """Runs the body on `stream`, after the surrounding stream, and joins it again."""
    outer = torch.cuda.current_stream()
    stream.wait_stream(outer)
    try:
        with torch.cuda.stream(stream):
            yield stream
    finally:
        outer.wait_stream(stream)


class Nest:
    def __init__(self):
        self.outer = torch.cuda.Stream()
        self.inner = torch.cuda.Stream()
        self.third = torch.cuda.Stream(priority=-1)
        self.weight = torch.full((DIM, DIM), 1e-4, device="cuda")

    def run(self, x):
        base = torch.cuda.current_stream()
        with lane(self.outer):
            y = x @ self.weight
            with lane(self.inner):
                z = torch.tanh(y @ self.weight)
                with torch.cuda.stream(None):
                    z.add_(1.0)
                with lane(self.third):
                    z.mul_(0.5)
            y.add_(z)
            # Same stream again: no switch, no join needed.
            with torch.cuda.stream(self.outer):
                y.mul_(0.9)
            z.record_stream(self.outer)
            z.record_stream(self.third)
            y.record_stream(self.inner)
        y.record_stream(base)
        return y


@torch.inference_mode()
def main():
    nest = Nest()
    x = torch.full((DIM, DIM), 0.5, device="cuda")
    for _ in range(ROUNDS):
        x = nest.run(x)
    print("mean", x.mean().item())


if __name__ == "__main__":
    main()

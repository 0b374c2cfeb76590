# Modelled on sgl-project/sglang#35748.
"""Overlap scheduler: forward runs on its own stream and leaves rows in a future map."""
import os

import torch

FIXED = os.environ.get("FIXED") == "1"

SLOTS, WIDTH, STEPS = 4096, 4096, 6


class FutureMap:
    """Rows that a later batch picks up by slot number."""

    def __init__(self):
        self.rows = torch.zeros(SLOTS, WIDTH, device="cuda")

    def stash(self, slots, values):
        self.rows.index_copy_(0, slots, values)

    def publish(self, slots, fill):
        self.rows.index_fill_(0, slots, fill)


class ForwardWorker:
    def __init__(self, futures):
        gen = torch.Generator(device="cuda").manual_seed(2)
        self.futures = futures
        self.stream = torch.cuda.Stream()
        self.weight = torch.randn(WIDTH, WIDTH, generator=gen, device="cuda") * 0.01
        self.done = torch.cuda.Event()

    def run(self, batch, slots, scheduled):
        with torch.cuda.stream(self.stream):
            self.stream.wait_event(scheduled)
            hidden = torch.tanh(batch @ self.weight)
            if not FIXED:
                self.done.record(self.stream)
            self.futures.stash(slots, hidden)
            if FIXED:
                self.done.record(self.stream)
            return hidden.sum()


class OverlapScheduler:
    def __init__(self):
        self.futures = FutureMap()
        self.worker = ForwardWorker(self.futures)
        self.stream = torch.cuda.Stream()
        self.slots = torch.arange(SLOTS, device="cuda")
        self.batch = torch.full((SLOTS, WIDTH), 0.25, device="cuda")
        torch.cuda.synchronize()

    def step(self, index):
        with torch.cuda.stream(self.stream):
            self.stream.wait_event(self.worker.done)
            self.futures.publish(self.slots, float(index))
            scheduled = self.stream.record_event()
        return self.worker.run(self.batch, self.slots, scheduled)


@torch.inference_mode()
def main():
    scheduler = OverlapScheduler()
    totals = [scheduler.step(i) for i in range(STEPS)]
    scheduler.worker.stream.synchronize()
    print("totals", [round(t.item(), 3) for t in totals])


if __name__ == "__main__":
    main()

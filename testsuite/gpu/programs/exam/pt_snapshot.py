# Modelled on NVIDIA/DALI#3950.
"""Trainer that copies a checkpoint to host memory while training goes on."""
import os

import torch
import torch.nn as nn

FIXED = os.environ.get("FIXED") == "1"

DIM, LAYERS, STEPS, EVERY = 4096, 6, 6, 2


class AsyncSnapshot:
    """Host image of the parameters, filled on a stream of its own."""

    def __init__(self, params):
        self.params = params
        self.stream = torch.cuda.Stream()
        self.copied = torch.cuda.Event()
        self.host = [torch.empty(p.shape, dtype=p.dtype, pin_memory=True) for p in params]

    @torch.no_grad()
    def begin(self):
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            for host, param in zip(self.host, self.params):
                host.copy_(param, non_blocking=True)
            self.copied.record(self.stream)

    def before_update(self):
        torch.cuda.current_stream().wait_event(self.copied)

    def finish(self):
        self.copied.synchronize()
        return [float(h[0, :8].sum()) for h in self.host]


class Trainer:
    def __init__(self, lr=0.05):
        torch.manual_seed(0)
        self.model = nn.Sequential(*[nn.Linear(DIM, DIM, bias=False) for _ in range(LAYERS)]).cuda()
        self.params = list(self.model.parameters())
        self.snapshot = AsyncSnapshot(self.params)
        self.lr = lr

    @torch.no_grad()
    def update(self):
        if FIXED:
            self.snapshot.before_update()
        grads = [p.grad for p in self.params]
        torch._foreach_add_(self.params, grads, alpha=-self.lr)
        for p in self.params:
            p.grad = None

    def step(self, index, x):
        loss = (self.model(x) - x).square().mean()
        loss.backward()
        self.update()
        if index % EVERY == 0:
            self.snapshot.begin()
        return loss


def main():
    trainer = Trainer()
    x = torch.randn(256, DIM, device="cuda")
    for index in range(STEPS):
        loss = trainer.step(index, x)
    print("loss %.6f" % loss.item(), "snapshot", [round(v, 4) for v in trainer.snapshot.finish()])


if __name__ == "__main__":
    main()

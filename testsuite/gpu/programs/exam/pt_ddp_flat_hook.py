# Modelled on pytorch/pytorch#18465.
"""Bucketed gradient reducer with hooks; the reduction runs on a communication stream."""
import os

import torch
import torch.nn as nn

FIXED = os.environ.get("FIXED") == "1"

DIM, LAYERS, PER_BUCKET, WORLD, STEPS = 2048, 12, 4, 96, 3


class Bucket:
    def __init__(self, params):
        self.params = params
        self.missing = len(params)
        total = sum(p.numel() for p in params)
        self.reduced = torch.zeros(total, device="cuda")


class Reducer:
    """Flattens a bucket when its last gradient is there and reduces it."""

    def __init__(self, params):
        params = list(params)[::-1]
        self.comm = torch.cuda.Stream()
        self.buckets = [Bucket(params[i:i + PER_BUCKET])
                        for i in range(0, len(params), PER_BUCKET)]
        self.owner = {id(p): b for b in self.buckets for p in b.params}
        for p in params:
            p.register_post_accumulate_grad_hook(self._on_grad)

    def _on_grad(self, param):
        bucket = self.owner[id(param)]
        bucket.missing -= 1
        if bucket.missing == 0:
            self._reduce(bucket)

    def _reduce(self, bucket):
        flat = torch.cat([p.grad.view(-1) for p in bucket.params])
        self.comm.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.comm):
            bucket.reduced.zero_()
            for _ in range(WORLD):
                bucket.reduced.add_(flat, alpha=1.0 / WORLD)
        if FIXED:
            flat.record_stream(self.comm)

    def finish(self):
        torch.cuda.current_stream().wait_stream(self.comm)
        for bucket in self.buckets:
            offset = 0
            for p in bucket.params:
                p.grad.copy_(bucket.reduced[offset:offset + p.numel()].view_as(p))
                offset += p.numel()
            bucket.missing = len(bucket.params)


def main():
    torch.manual_seed(0)
    model = nn.Sequential(*[nn.Linear(DIM, DIM, bias=False) for _ in range(LAYERS)]).cuda()
    for p in model.parameters():
        p.grad = torch.zeros_like(p)
    data = torch.randn(2048, DIM, device="cuda")
    model(data).square().mean().backward()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    reducer = Reducer(model.parameters())
    for step in range(STEPS):
        opt.zero_grad(set_to_none=False)
        loss = model(data).square().mean()
        loss.backward()
        reducer.finish()
        opt.step()
    print("loss %.6f" % loss.item())


if __name__ == "__main__":
    main()

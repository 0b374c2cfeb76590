# Modelled on vllm-project/vllm#36013.
"""Adam whose state lives in host memory; updates run on CPU threads."""
import os
from concurrent.futures import ThreadPoolExecutor

import torch
import torch.nn as nn

FIXED = os.environ.get("FIXED") == "1"

DIM, LAYERS, STEPS = 2048, 6, 3


class HostState:
    def __init__(self, param):
        self.param = param
        self.master = param.detach().to("cpu").pin_memory()
        self.grad = torch.zeros_like(self.master, pin_memory=True)
        self.exp_avg = torch.zeros_like(self.master)
        self.exp_avg_sq = torch.zeros_like(self.master)


class OffloadedAdam:
    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), eps=1e-8):
        self.lr, self.betas, self.eps = lr, betas, eps
        self.states = [HostState(p) for p in params]
        self.copies = torch.cuda.Stream()
        self.uploaded = torch.cuda.Event()
        self.pool = ThreadPoolExecutor(max_workers=2)

    def _update(self, state, arrived):
        b1, b2 = self.betas
        if FIXED:
            arrived.synchronize()
        state.exp_avg.mul_(b1).add_(state.grad, alpha=1 - b1)
        state.exp_avg_sq.mul_(b2).addcmul_(state.grad, state.grad, value=1 - b2)
        denom = state.exp_avg_sq.sqrt().add_(self.eps)
        state.master.addcdiv_(state.exp_avg, denom, value=-self.lr)

    @torch.no_grad()
    def step(self):
        compute = torch.cuda.current_stream()
        self.uploaded.synchronize()
        self.copies.wait_stream(compute)
        pending = []
        with torch.cuda.stream(self.copies):
            for state in self.states:
                state.grad.copy_(state.param.grad, non_blocking=True)
                arrived = self.copies.record_event()
                state.param.grad.record_stream(self.copies)
                pending.append(self.pool.submit(self._update, state, arrived))
            for state, job in zip(self.states, pending):
                job.result()
                state.param.copy_(state.master, non_blocking=True)
            self.uploaded.record(self.copies)
        compute.wait_stream(self.copies)

    def zero_grad(self):
        for state in self.states:
            state.param.grad = None

    def close(self):
        self.uploaded.synchronize()
        self.pool.shutdown()


def main():
    torch.manual_seed(0)
    model = nn.Sequential(*[nn.Linear(DIM, DIM, bias=False) for _ in range(LAYERS)]).cuda()
    opt = OffloadedAdam(list(model.parameters()))
    data = torch.randn(4096, DIM, device="cuda")
    for step in range(STEPS):
        loss = (model(data) - data).square().mean()
        loss.backward()
        opt.step()
        opt.zero_grad()
    opt.close()
    print("loss %.6f" % loss.item())


if __name__ == "__main__":
    main()

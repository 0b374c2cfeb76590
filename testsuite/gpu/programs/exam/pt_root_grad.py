# Modelled on pytorch/pytorch#45787.
"""Pipeline stage: gradients of its outputs arrive on a receive stream."""
import os

import torch
import torch.nn as nn

FIXED = os.environ.get("FIXED") == "1"

TOKENS, DIM, MICROBATCHES = 8192, 2048, 4


class RecvWork:
    """Handle of one pending receive."""

    def __init__(self, tensor, done):
        self.tensor = tensor
        self.done = done

    def wait(self):
        torch.cuda.current_stream().wait_event(self.done)


class NextStage:
    """Stands for the peer: its gradients come out of pinned memory."""

    def __init__(self, slots):
        self.stream = torch.cuda.Stream()
        self.wire = [torch.full((TOKENS, DIM), 1e-3 * (i + 1)).pin_memory() for i in range(slots)]
        self.inbox = [torch.zeros(TOKENS, DIM, device="cuda") for _ in range(slots)]

    def irecv(self, slot):
        with torch.cuda.stream(self.stream):
            self.inbox[slot].copy_(self.wire[slot], non_blocking=True)
            return RecvWork(self.inbox[slot], self.stream.record_event())


class Stage:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(DIM, DIM), nn.ReLU(), nn.Linear(DIM, DIM)).cuda()
        self.pending = []

    def forward(self, x):
        out = self.net(x)
        self.pending.append(out)
        return out

    def backward(self, work):
        out = self.pending.pop(0)
        if FIXED:
            work.wait()
        torch.autograd.backward(out, grad_tensors=work.tensor)


def main():
    torch.manual_seed(0)
    stage = Stage()
    peer = NextStage(MICROBATCHES)
    opt = torch.optim.SGD(stage.net.parameters(), lr=0.01)
    inputs = [torch.randn(TOKENS, DIM, device="cuda") for _ in range(MICROBATCHES)]
    torch.cuda.synchronize()
    works = []
    for slot, x in enumerate(inputs):
        stage.forward(x)
    for slot in range(MICROBATCHES):
        works.append(peer.irecv(slot))
    for work in works:
        stage.backward(work)
    opt.step()
    peer.stream.synchronize()
    print("weight sum %.5f" % stage.net[0].weight.double().sum().item())


if __name__ == "__main__":
    main()

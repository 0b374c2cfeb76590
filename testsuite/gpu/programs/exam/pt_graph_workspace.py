# Modelled on vllm-project/vllm#52553.
"""Decode graph and eager prefill share a workspace manager that grows on demand."""
import os

import torch

FIXED = os.environ.get("FIXED") == "1"

DECODE, PREFILL, STEPS = 12 << 20, 20 << 20, 6


class WorkspaceManager:
    """Hands out views of one buffer; a larger request replaces the buffer."""

    def __init__(self):
        self.buffer = None
        self.captured = []

    def get(self, numel):
        if self.buffer is None or self.buffer.numel() < numel:
            self.buffer = torch.empty(numel, device="cuda")
        return self.buffer[:numel]

    def note_capture(self):
        if FIXED:
            self.captured.append(self.buffer)


class DecodeGraph:
    def __init__(self, manager):
        self.manager = manager
        self.stream = torch.cuda.Stream()
        self.x = torch.linspace(0, 1, DECODE, device="cuda")
        self.y = torch.empty(DECODE, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            self._body(manager.get(DECODE))
        torch.cuda.current_stream().wait_stream(self.stream)
        with torch.cuda.graph(self.graph):
            self._body(manager.get(DECODE))
        manager.note_capture()
        torch.cuda.synchronize()

    def _body(self, work):
        torch.mul(self.x, 3.0, out=work)
        for _ in range(6):
            work.sin_()
        torch.add(work, self.x, out=self.y)

    def step(self):
        with torch.cuda.stream(self.stream):
            self.graph.replay()


class Prefill:
    def __init__(self, manager):
        self.manager = manager
        self.tokens = torch.linspace(0, 1, DECODE, device="cuda")

    def run(self):
        work = self.manager.get(PREFILL)
        work.fill_(0.5)
        hidden = torch.empty(DECODE, device="cuda")
        torch.cos(self.tokens, out=hidden)
        for _ in range(4):
            hidden.mul_(0.99)
        return (hidden + work[:DECODE]).sum()


@torch.inference_mode()
def main():
    manager = WorkspaceManager()
    prefill = Prefill(manager)
    decode = DecodeGraph(manager)
    sums = []
    for _ in range(STEPS):
        decode.step()
        sums.append(prefill.run())
    torch.cuda.current_stream().wait_stream(decode.stream)
    print("prefill", torch.stack(sums).tolist(), "decode", decode.y.sum().item())


if __name__ == "__main__":
    main()

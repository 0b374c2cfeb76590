# Modelled on pytorch/pytorch#137951.
"""Greedy decoder that samples on the host: logits go down with a non-blocking copy."""
import os

import numpy as np
import torch

FIXED = os.environ.get("FIXED") == "1"

BATCH, DIM, VOCAB, STEPS = 256, 2048, 50304, 6


class TinyDecoder:
    def __init__(self):
        gen = torch.Generator(device="cuda").manual_seed(1)
        self.embed = torch.randn(VOCAB, DIM, generator=gen, device="cuda") * 0.05
        self.mix = torch.randn(DIM, DIM, generator=gen, device="cuda") * 0.02
        self.state = torch.zeros(BATCH, DIM, device="cuda")

    def step(self, tokens):
        x = self.embed.index_select(0, tokens)
        self.state = torch.tanh(self.state @ self.mix + x)
        return self.state @ self.embed.t()


class HostSampler:
    """Takes logits off the device and picks tokens with numpy."""

    def __init__(self):
        self.done = torch.cuda.Event()

    def fetch(self, logits):
        host = logits.to("cpu", non_blocking=True)
        self.done.record()
        return host

    def pick(self, host):
        if FIXED:
            self.done.synchronize()
        scores = host.numpy()
        return np.argmax(scores, axis=1)


class Generator:
    def __init__(self):
        self.model = TinyDecoder()
        self.sampler = HostSampler()
        self.history = []

    @torch.inference_mode()
    def run(self, tokens):
        for _ in range(STEPS):
            logits = self.model.step(tokens)
            host = self.sampler.fetch(logits)
            picked = self.sampler.pick(host)
            self.history.append(picked)
            tokens = torch.from_numpy(picked).to("cuda")
        return np.stack(self.history)


def main():
    start = torch.arange(BATCH, device="cuda")
    out = Generator().run(start)
    print("tokens", out.shape, int(out.sum()))


if __name__ == "__main__":
    main()

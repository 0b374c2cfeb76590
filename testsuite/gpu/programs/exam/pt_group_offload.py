# Modelled on huggingface/diffusers#13502.
"""Block-wise weight streaming for a small diffusion transformer.

Weights live in pinned host memory; while one block computes, the weights of
the next one travel to the device on a transfer stream.
"""
import os

import torch
import torch.nn.functional as F

FIXED = os.environ.get("FIXED") == "1"

DIM, FFN, TOKENS, BLOCKS, STEPS = 2048, 4096, 4096, 6, 3


class StreamedBlock:
    def __init__(self, up, down):
        self.host = {"up": up.pin_memory(), "down": down.pin_memory()}
        self.device = {}
        self.ready = None

    def onload(self, transfer):
        with torch.cuda.stream(transfer):
            for name, weight in self.host.items():
                self.device[name] = weight.to("cuda", non_blocking=True)
            self.ready = transfer.record_event()

    def offload(self):
        compute = torch.cuda.current_stream()
        for weight in self.device.values():
            weight.record_stream(compute)
        self.device.clear()

    def forward(self, x):
        if FIXED:
            torch.cuda.current_stream().wait_event(self.ready)
        hidden = F.linear(x, self.device["up"])
        hidden = F.gelu(hidden)
        return x + F.linear(hidden, self.device["down"])


class GroupOffloadedModel:
    def __init__(self, blocks):
        self.blocks = blocks
        self.transfer = torch.cuda.Stream()

    @torch.no_grad()
    def __call__(self, x):
        self.blocks[0].onload(self.transfer)
        for i, block in enumerate(self.blocks):
            if i + 1 < len(self.blocks):
                self.blocks[i + 1].onload(self.transfer)
            x = block.forward(x)
            block.offload()
        return x


def build():
    gen = torch.Generator().manual_seed(0)
    up = torch.randn(FFN, DIM, generator=gen).mul_(0.02).to(torch.bfloat16)
    down = torch.randn(DIM, FFN, generator=gen).mul_(0.02).to(torch.bfloat16)
    blocks = [StreamedBlock(up.roll(i, 0), down.roll(i, 1)) for i in range(BLOCKS)]
    return GroupOffloadedModel(blocks)


def main():
    model = build()
    latents = torch.randn(TOKENS, DIM, device="cuda", dtype=torch.bfloat16)
    for step in range(STEPS):
        noise = model(latents)
        latents = latents - noise * 0.1
        latents = latents / latents.std()
    print("latent mean %.5f" % latents.float().mean().item())


if __name__ == "__main__":
    main()

# Modelled on NVIDIA/TensorRT-LLM#15265.
"""Latent attention layer whose indexer and compressor run on an auxiliary stream."""
import os

import torch

FIXED = os.environ.get("FIXED") == "1"

TOKENS, HIDDEN, LATENT, KEYS, LAYERS = 8192, 2048, 3072, 1536, 4


class AuxLane:
    """One helper stream; results are handed to the main stream with an event."""

    def __init__(self):
        self.stream = torch.cuda.Stream()

    def project(self, hidden, weight, fork):
        with torch.cuda.stream(self.stream):
            self.stream.wait_event(fork)
            out = torch.empty(hidden.shape[0], weight.shape[1],
                              device="cuda", dtype=hidden.dtype)
            torch.mm(hidden, weight, out=out)
            return out, self.stream.record_event()


class LatentAttention:
    def __init__(self, lane, gen):
        def weight(rows, cols):
            w = torch.randn(rows, cols, generator=gen, device="cuda")
            return (w / rows ** 0.5).to(torch.bfloat16)

        self.lane = lane
        self.w_in = weight(HIDDEN, HIDDEN)
        self.w_index = weight(HIDDEN, LATENT)
        self.w_compress = weight(HIDDEN, LATENT)
        self.keys = weight(LATENT, KEYS)
        self.w_out = weight(LATENT, HIDDEN)

    def select(self, hidden, fork):
        """Score all tokens against the index keys."""
        main = torch.cuda.current_stream()
        query, ready = self.lane.project(hidden, self.w_index, fork)
        base = hidden
        for _ in range(4):
            base = torch.mm(base, self.w_in)
        main.wait_event(ready)
        scores = torch.mm(query, self.keys)
        if FIXED:
            query.record_stream(main)
        return base, scores.amax(dim=1, keepdim=True)

    def __call__(self, hidden):
        main = torch.cuda.current_stream()
        fork = main.record_event()
        base, gate = self.select(hidden, fork)
        latent, ready = self.lane.project(hidden, self.w_compress, fork)
        main.wait_event(ready)
        latent.record_stream(main)
        out = torch.mm(latent, self.w_out)
        return torch.tanh(base + out * gate)


@torch.inference_mode()
def main():
    gen = torch.Generator(device="cuda").manual_seed(7)
    lane = AuxLane()
    layers = [LatentAttention(lane, gen) for _ in range(LAYERS)]
    hidden = torch.randn(TOKENS, HIDDEN, generator=gen, device="cuda").to(torch.bfloat16)
    torch.cuda.synchronize()
    for step in range(3):
        for layer in layers:
            hidden = layer(hidden)
    print("hidden norm %.4f" % hidden.float().norm().item())


if __name__ == "__main__":
    main()

# Modelled on sgl-project/sglang-omni#1369.
"""Streaming vocoder: a captured graph makes audio chunks, a sender ships them out."""
import os

import torch

FIXED = os.environ.get("FIXED") == "1"

FRAMES, MEL, SAMPLES, CHUNKS = 2048, 1024, 8192, 8


class VocoderGraph:
    """Callable that replays one captured forward on static tensors."""

    def __init__(self):
        gen = torch.Generator(device="cuda").manual_seed(11)
        self.w1 = torch.randn(MEL, MEL, generator=gen, device="cuda") * 0.03
        self.w2 = torch.randn(MEL, SAMPLES, generator=gen, device="cuda") * 0.03
        self.mel = torch.zeros(FRAMES, MEL, device="cuda")
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self._forward()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.audio = self._forward()
        torch.cuda.synchronize()

    def _forward(self):
        hidden = torch.tanh(self.mel @ self.w1)
        return torch.sin(hidden @ self.w2)

    def __call__(self, mel):
        self.mel.copy_(mel)
        self.graph.replay()
        return self.audio


class ChunkSender:
    """Clones each chunk on its own stream and copies it to the client buffer."""

    def __init__(self, chunks):
        self.stream = torch.cuda.Stream()
        self.cloned = torch.cuda.Event()
        self.client = [torch.empty(FRAMES, SAMPLES, pin_memory=True) for _ in range(chunks)]

    def push(self, index, audio):
        ready = torch.cuda.current_stream().record_event()
        with torch.cuda.stream(self.stream):
            self.stream.wait_event(ready)
            chunk = audio.clone()
            self.cloned.record(self.stream)
            self.client[index].copy_(chunk, non_blocking=True)

    def before_next_chunk(self):
        if FIXED:
            torch.cuda.current_stream().wait_event(self.cloned)

    def flush(self):
        self.stream.synchronize()
        return [float(c[0, :16].sum()) for c in self.client]


@torch.inference_mode()
def main():
    vocoder = VocoderGraph()
    sender = ChunkSender(CHUNKS)
    mels = [torch.full((FRAMES, MEL), 0.05 * (i + 1), device="cuda") for i in range(CHUNKS)]
    torch.cuda.synchronize()
    for index, mel in enumerate(mels):
        sender.before_next_chunk()
        audio = vocoder(mel)
        sender.push(index, audio)
    print("chunks", [round(v, 3) for v in sender.flush()])


if __name__ == "__main__":
    main()

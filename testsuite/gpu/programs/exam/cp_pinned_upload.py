# Modelled on cupy/cupy#8789.
"""Frame uploader: decoded frames go through short-lived pinned arrays to the device."""
import os

import cupy as cp
import numpy as np

FIXED = os.environ.get("FIXED") == "1"

HEIGHT, WIDTH, FRAMES = 2048, 4096, 10

tone_map = cp.ElementwiseKernel(
    "float32 x, int32 rounds", "float32 y",
    """
    float v = x;
    for (int i = 0; i < rounds; ++i) v = v / (1.0f + 0.1f * fabsf(v)) + 0.01f;
    y = v;
    """, "tone_map")


def pinned_frame():
    count = HEIGHT * WIDTH
    memory = cp.cuda.alloc_pinned_memory(count * 4)
    return np.frombuffer(memory, np.float32, count).reshape(HEIGHT, WIDTH)


class Decoder:
    def __init__(self):
        self.index = 0

    def decode_into(self, frame):
        self.index += 1
        frame.fill(float(self.index))


class Uploader:
    def __init__(self):
        self.stream = cp.cuda.Stream(non_blocking=True)
        self.in_flight = []

    def _release_finished(self):
        self.in_flight = [(e, f) for e, f in self.in_flight if not e.done]

    def upload(self, frame, device):
        device.set(frame, stream=self.stream)
        if FIXED:
            self._release_finished()
            self.in_flight.append((self.stream.record(), frame))

    def close(self):
        self.stream.synchronize()
        self.in_flight.clear()


class FramePipeline:
    def __init__(self):
        self.decoder = Decoder()
        self.uploader = Uploader()
        shape = (HEIGHT, WIDTH)
        self.device = [cp.empty(shape, cp.float32) for _ in range(FRAMES)]
        self.mapped = [cp.empty(shape, cp.float32) for _ in range(FRAMES)]
        tone_map(cp.zeros(shape, cp.float32), 1, self.mapped[0])
        cp.cuda.Device().synchronize()

    def process(self, index):
        frame = pinned_frame()
        self.decoder.decode_into(frame)
        self.uploader.upload(frame, self.device[index])
        with self.uploader.stream:
            tone_map(self.device[index], 2000, self.mapped[index])

    def run(self):
        for index in range(FRAMES):
            self.process(index)
        self.uploader.close()
        return [float(m[0, 0]) for m in self.mapped], [float(d[-1, -1]) for d in self.device]


def main():
    mapped, raw = FramePipeline().run()
    print("mapped", [round(v, 3) for v in mapped], "raw", raw)


if __name__ == "__main__":
    main()

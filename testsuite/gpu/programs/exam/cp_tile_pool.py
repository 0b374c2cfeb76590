# Modelled on cupy/cupy#8068.
"""Tiled convolution: tiles are made on one stream and accumulated on another."""
import collections
import os

import cupy as cp

FIXED = os.environ.get("FIXED") == "1"

TILE, TILES = 16 << 20, 10

make_tile = cp.ElementwiseKernel(
    "float32 x, float32 scale", "float32 y", "y = scale * x + 1.0f", "make_tile")

add_tile = cp.ElementwiseKernel(
    "float32 t, int32 rounds", "float32 acc",
    """
    float v = 0.0f;
    for (int i = 0; i < rounds; ++i) v = v * 0.5f + cosf(v);
    acc += t + 0.0f * v;
    """, "add_tile")


class TileSource:
    def __init__(self, image):
        self.image = image
        self.stream = cp.cuda.Stream(non_blocking=True)

    def produce(self, index):
        with self.stream:
            tile = cp.empty(TILE, cp.float32)
            make_tile(self.image, cp.float32(index), tile)
            return tile, self.stream.record()


class Accumulator:
    """Adds tiles on its own stream."""

    def __init__(self):
        self.stream = cp.cuda.Stream(non_blocking=True)
        self.total = cp.zeros(TILE, cp.float32)
        self.held = collections.deque()

    def consume(self, tile, ready):
        self.stream.wait_event(ready)
        with self.stream:
            add_tile(tile, 200, self.total)
            if FIXED:
                self.held.append((self.stream.record(), tile))

    def release(self):
        while self.held and self.held[0][0].done:
            self.held.popleft()

    def result(self):
        self.stream.synchronize()
        self.held.clear()
        return float(self.total[0])


def convolve(image):
    source = TileSource(image)
    acc = Accumulator()
    cp.cuda.Device().synchronize()
    for index in range(TILES):
        acc.release()
        tile, ready = source.produce(index)
        acc.consume(tile, ready)
        del tile
    return acc.result()


def main():
    image = cp.ones(TILE, cp.float32)
    warm = cp.zeros(TILE, cp.float32)
    make_tile(image, cp.float32(0), warm)
    add_tile(image, 1, warm)
    cp.cuda.Device().synchronize()
    print("total", convolve(image))


if __name__ == "__main__":
    main()

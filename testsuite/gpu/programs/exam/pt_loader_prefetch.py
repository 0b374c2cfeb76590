# Modelled on huggingface/pytorch-image-models#2784.
"""Image loader that uploads and normalises the next batch on a side stream."""
import os

import torch

FIXED = os.environ.get("FIXED") == "1"

BATCH, SIDE, CLASSES, ITERATIONS = 256, 256, 512, 10
MEAN = (0.485 * 255, 0.456 * 255, 0.406 * 255)
STD = (0.229 * 255, 0.224 * 255, 0.225 * 255)


class PrefetchLoader:
    def __init__(self, loader):
        self.loader = loader
        self.stream = torch.cuda.Stream()
        self.mean = torch.tensor(MEAN, device="cuda", dtype=torch.float16).view(1, 3, 1, 1)
        self.std = torch.tensor(STD, device="cuda", dtype=torch.float16).view(1, 3, 1, 1)
        torch.cuda.synchronize()

    def __iter__(self):
        first = True
        images = None
        for host in self.loader:
            with torch.cuda.stream(self.stream):
                raw = host.to("cuda", non_blocking=True)
                upcoming = raw.to(torch.float16)
                upcoming.sub_(self.mean).div_(self.std)
            if not first:
                yield images
            first = False
            torch.cuda.current_stream().wait_stream(self.stream)
            if FIXED:
                upcoming.record_stream(torch.cuda.current_stream())
            images = upcoming
            del upcoming
        yield images


class HostBatches:
    """Pinned batches, handed out in turn."""

    def __init__(self, count):
        shape = (BATCH, 3, SIDE, SIDE)
        self.batches = [torch.full(shape, 40 * (i + 1), dtype=torch.uint8).pin_memory()
                        for i in range(3)]
        self.count = count

    def __iter__(self):
        for i in range(self.count):
            yield self.batches[i % len(self.batches)]


class LinearProbe:
    def __init__(self):
        self.weight = torch.full((3 * SIDE * SIDE, CLASSES), 1e-3, device="cuda",
                                 dtype=torch.float16)
        self.logits = torch.zeros(BATCH, CLASSES, device="cuda", dtype=torch.float16)

    def score(self, images):
        flat = images.view(BATCH, -1)
        for _ in range(16):
            torch.mm(flat, self.weight, out=self.logits)
        return self.logits.float().mean()


@torch.inference_mode()
def main():
    probe = LinearProbe()
    scores = []
    for images in PrefetchLoader(HostBatches(ITERATIONS)):
        scores.append(probe.score(images))
    print("scores", [round(s.item(), 3) for s in scores])


if __name__ == "__main__":
    main()

"""Two-deep device prefetcher: batches go up on a side stream and are handed over."""
import collections

import torch

BATCH, WIDTH, COUNT, DEPTH = 4096, 4096, 10, 2


class DevicePrefetcher:
    def __init__(self, source, depth=DEPTH):
        self.source = iter(source)
        self.stream = torch.cuda.Stream()
        self.queue = collections.deque()
        for _ in range(depth):
            self._load()

    def _load(self):
        host = next(self.source, None)
        if host is None:
            return
        with torch.cuda.stream(self.stream):
            raw = host.to("cuda", non_blocking=True)
            batch = raw.float().mul_(1.0 / 255)
            self.queue.append((batch, self.stream.record_event()))

    def __iter__(self):
        return self

    def __next__(self):
        if not self.queue:
            raise StopIteration
        batch, ready = self.queue.popleft()
        current = torch.cuda.current_stream()
        current.wait_event(ready)
        batch.record_stream(current)
        self._load()
        return batch


def host_batches():
    pages = [torch.full((BATCH, WIDTH), 50 + i, dtype=torch.uint8).pin_memory() for i in range(3)]
    for i in range(COUNT):
        yield pages[i % len(pages)]


@torch.inference_mode()
def main():
    weight = torch.full((WIDTH, WIDTH), 1e-3, device="cuda")
    torch.cuda.synchronize()
    means = []
    for batch in DevicePrefetcher(host_batches()):
        hidden = batch @ weight
        means.append((hidden @ weight).mean() + batch.mean())
    print("means", [round(m.item(), 3) for m in means])


if __name__ == "__main__":
    main()

"""Ring of pinned staging buffers, each guarded by the event of its last upload."""
import torch

WIDTH, ROWS, SLOTS, STEPS = 4096, 2048, 3, 12


class StagingSlot:
    def __init__(self):
        self.host = torch.empty(ROWS, WIDTH, pin_memory=True)
        self.event = None


class PinnedRing:
    def __init__(self, stream):
        self.stream = stream
        self.slots = [StagingSlot() for _ in range(SLOTS)]
        self.turn = 0

    def upload(self, fill, target):
        slot = self.slots[self.turn]
        self.turn = (self.turn + 1) % SLOTS
        if slot.event is not None:
            slot.event.synchronize()
        fill(slot.host)
        with torch.cuda.stream(self.stream):
            target.copy_(slot.host, non_blocking=True)
            slot.event = self.stream.record_event()
        return slot.event


class Consumer:
    def __init__(self):
        self.copies = torch.cuda.Stream()
        self.ring = PinnedRing(self.copies)
        self.inputs = [torch.zeros(ROWS, WIDTH, device="cuda") for _ in range(2)]
        self.used = [torch.cuda.Event(), torch.cuda.Event()]
        self.weight = torch.full((WIDTH, WIDTH), 1e-3, device="cuda")
        torch.cuda.synchronize()

    def step(self, index):
        lane = index % 2
        self.copies.wait_event(self.used[lane])
        arrived = self.ring.upload(lambda host: host.fill_(0.01 * index), self.inputs[lane])
        current = torch.cuda.current_stream()
        current.wait_event(arrived)
        out = (self.inputs[lane] @ self.weight) @ self.weight
        self.used[lane].record(current)
        return out.mean()


@torch.inference_mode()
def main():
    consumer = Consumer()
    means = [consumer.step(i) for i in range(STEPS)]
    print("means", [round(m.item(), 5) for m in means])


if __name__ == "__main__":
    main()

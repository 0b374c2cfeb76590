"""Pipeline of threads: every stage has a stream; tensors travel with their event."""
import queue
import threading

import torch

DIM, ITEMS = 4096, 8
END = object()


class Stage(threading.Thread):
    def __init__(self, name, work, inbox, outbox):
        super().__init__(name=name)
        self.work = work
        self.inbox = inbox
        self.outbox = outbox
        self.stream = torch.cuda.Stream()
        self.error = None

    @torch.inference_mode()
    def run(self):
        try:
            with torch.cuda.stream(self.stream):
                self._loop()
        except Exception as error:
            self.error = error
            self.outbox.put(END)

    def _loop(self):
        while True:
            item = self.inbox.get()
            if item is END:
                self.outbox.put(END)
                return
            tensor, ready = item
            self.stream.wait_event(ready)
            out = self.work(tensor)
            tensor.record_stream(self.stream)
            self.outbox.put((out, self.stream.record_event()))
            del item, tensor, out


@torch.inference_mode()
def main():
    weight = torch.full((DIM, DIM), 2e-4, device="cuda")
    links = [queue.Queue(maxsize=3) for _ in range(3)] + [queue.Queue()]
    works = (lambda t: t @ weight, lambda t: torch.tanh(t) + 0.1, lambda t: t @ weight)
    torch.cuda.synchronize()
    stages = [Stage("stage-%d" % i, w, links[i], links[i + 1]) for i, w in enumerate(works)]
    for stage in stages:
        stage.start()
    for index in range(ITEMS):
        tensor = torch.full((DIM, DIM), 0.1 * index, device="cuda")
        links[0].put((tensor, torch.cuda.current_stream().record_event()))
        del tensor
    links[0].put(END)
    means = []
    while True:
        item = links[3].get()
        if item is END:
            break
        out, ready = item
        current = torch.cuda.current_stream()
        current.wait_event(ready)
        out.record_stream(current)
        means.append(out.mean())
        del item, out
    for stage in stages:
        stage.join()
        if stage.error:
            raise stage.error
    print("means", [round(m.item(), 5) for m in means])


if __name__ == "__main__":
    main()

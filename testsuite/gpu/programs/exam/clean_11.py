"""Metrics drain: results come down asynchronously and are read once their event is done."""
import time

import numpy as np
import torch

ROWS, DIM, STEPS = 4096, 4096, 10


class MetricsDrain:
    def __init__(self):
        self.stream = torch.cuda.Stream()
        self.pending = []
        self.values = []

    def push(self, tensor):
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            host = tensor.to("cpu", non_blocking=True)
            done = self.stream.record_event()
        tensor.record_stream(self.stream)
        self.pending.append((host, done))

    def poll(self):
        waiting = []
        for host, done in self.pending:
            if done.query():
                self.values.append(float(np.mean(host.numpy())))
            else:
                waiting.append((host, done))
        self.pending = waiting
        return not waiting

    def drain(self):
        while not self.poll():
            time.sleep(0.0005)
        return self.values


@torch.inference_mode()
def main():
    weight = torch.full((DIM, DIM), 2e-4, device="cuda")
    x = torch.full((ROWS, DIM), 0.5, device="cuda")
    drain = MetricsDrain()
    for step in range(STEPS):
        x = torch.tanh(x @ weight + 0.1)
        drain.push(x * float(step))
        drain.poll()
    print("values", [round(v, 4) for v in drain.drain()])


if __name__ == "__main__":
    main()

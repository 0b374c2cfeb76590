# Modelled on cms-patatrack/pixeltrack-standalone#202.
"""Calibration constants shared by several event streams, uploaded by the first user."""
import os
import threading

import torch

FIXED = os.environ.get("FIXED") == "1"

CHANNELS, WORKERS, EVENTS = 24 << 20, 3, 4


class ConditionsProduct:
    """Device copy of one set of constants, made on first use."""

    def __init__(self, host):
        self.host = host
        self.device = None
        self.lock = threading.Lock()
        self.ready = torch.cuda.Event()

    def get(self, stream):
        with self.lock:
            if self.device is None:
                self.device = torch.empty(self.host.shape, device="cuda")
                self.device.copy_(self.host, non_blocking=True)
                if FIXED:
                    self.ready.record(stream)
            else:
                stream.wait_event(self.ready)
            return self.device


class EventProcessor(threading.Thread):
    def __init__(self, index, stream, products, start):
        super().__init__(name="event-%d" % index)
        self.index = index
        self.stream = stream
        self.products = products
        self.start_line = start
        self.results = []

    @torch.inference_mode()
    def run(self):
        with torch.cuda.stream(self.stream):
            adc = torch.full((CHANNELS,), float(self.index + 1), device="cuda")
            charge = torch.empty_like(adc)
            for product in self.products:
                self.stream.synchronize()
                self.start_line.wait()
                gains = product.get(self.stream)
                torch.mul(adc, gains, out=charge)
                self.results.append(charge.sum())
            self.stream.synchronize()


def main():
    base = torch.linspace(0.5, 1.5, CHANNELS)
    products = [ConditionsProduct((base + i).pin_memory()) for i in range(EVENTS)]
    torch.ones(4, device="cuda").mul(2).sum().item()
    start = threading.Barrier(WORKERS)
    workers = [EventProcessor(i, torch.cuda.Stream(), products, start) for i in range(WORKERS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for worker in workers:
        print(worker.name, [round(r.item(), 1) for r in worker.results])


if __name__ == "__main__":
    main()

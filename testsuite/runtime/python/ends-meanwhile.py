# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
r"""The interpreter finalises while threads that nobody waits for call the driver.

RUN: %silent %interpreter %s
RUN: %silent %interpreter %s
RUN: %silent %interpreter %s
"""
import threading

import cuda


def body(running):
    cuda.use()
    memory, stream = cuda.device_memory(), cuda.stream()
    while True:
        cuda.fill(memory, stream)
        cuda.wait(stream)
        running.set()


cuda.start()
started = [threading.Event() for _ in range(4)]
for running in started:
    threading.Thread(target=body, args=(running,), daemon=True).start()
for running in started:
    running.wait()

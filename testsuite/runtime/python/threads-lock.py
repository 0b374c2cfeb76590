# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
r"""Python's threading.Lock, which one thread holds until the other may go on between two threads. (runtime/threads/order has those of C and C++.)

The wrong program waits when the reader is done. If it waited right behind the hand-over, the interpreter's own lock might
order the two, or might not. An interpreter without one hands over by an atomic variable if the reader does not wait yet:
then nothing is seen of it (docs/limitations.md).

RUN: %verdicts 5 error,possible %run %interpreter %s
RUN: %always 5 66 env STREAMSAN_OPTIONS=host_threads=strict %run %interpreter %s
RUN: env STREAMSAN_OPTIONS=host_threads=strict %racy %interpreter %s 2>&1 | %report
RUN: %if lockless-interpreter %{ %verdicts 5 none,possible %run %interpreter %s --fixed %}
RUN: %if !lockless-interpreter %{ %verdicts 5 none %run %interpreter %s --fixed %}
RUN: %if !lockless-interpreter %{ %always 5 0 env STREAMSAN_OPTIONS=host_threads=strict %run %interpreter %s --fixed %}
RUN: %if !lockless-interpreter %{ env STREAMSAN_OPTIONS=host_threads=strict %silent %interpreter %s --fixed %}

CHECK: ERROR: streamsan: read-after-write race
"""
import sys
import threading

import cuda


def main():
    cuda.start()
    first, second = cuda.stream(), cuda.stream()
    memory, other = cuda.device_memory(), cuda.device_memory()
    ready = threading.Lock()
    ready.acquire()

    def read():
        ready.acquire()
        cuda.copy(other, memory, second)

    reader = threading.Thread(target=read)
    reader.start()
    cuda.fill(memory, first)
    if "--fixed" in sys.argv:
        cuda.wait(first)
    ready.release()
    reader.join()
    cuda.wait_for_all()


main()

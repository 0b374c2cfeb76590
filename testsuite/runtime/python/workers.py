# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
r"""Workers as PyTorch's DataLoader starts them, in each way that Python has: the workers use no CUDA, nothing is said of
them, they get their work done, and what the parent does beside them is still found.

RUN: %racy %interpreter %s fork 2>&1 | %sites
RUN: %racy %interpreter %s spawn 2>&1 | %sites
RUN: %racy %interpreter %s forkserver 2>&1 | %sites
RUN: %silent %interpreter %s fork --fixed
RUN: %silent %interpreter %s spawn --fixed
RUN: %silent %interpreter %s forkserver --fixed

CHECK: ERROR: streamsan: read-after-write race
CHECK: main {{.*}}[[COPY]]
CHECK: SUMMARY: streamsan: 1 error:
"""
import multiprocessing
import sys


def load(number):
    return number * number


def main():
    import cuda
    cuda.start()
    first, second = cuda.stream(), cuda.stream()
    memory, other = cuda.device_memory(), cuda.device_memory()
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        for loaded in pool.imap(load, range(20)):
            cuda.fill(memory, first)
            if "--fixed" in sys.argv:
                cuda.wait(first)
            cuda.copy(other, memory, second)  # @COPY
            cuda.wait_for_all()
        assert loaded == 19 * 19


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numba: two streams, the second uses what the first computes. --fixed: with an event between them.

usage: numba_streams.py [--fixed] [--measured]
"""

import sys
import warnings

import numpy as np

if not hasattr(np, "row_stack"):  # removed from NumPy 2.5; this Numba still asks for it while it is imported
    np.row_stack = np.vstack
from numba import cuda  # noqa: E402  (after the line above)

from measured_end import measured_end  # noqa: E402

FIXED = "--fixed" in sys.argv
COUNT = 1 << 20
warnings.filterwarnings("ignore")


@cuda.jit
def twice(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= 2


@cuda.jit
def add_into(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] + 1


def main():
    first, second = cuda.stream(), cuda.stream()
    x = cuda.to_device(np.ones(COUNT, dtype=np.float32))
    y = cuda.to_device(np.zeros(COUNT, dtype=np.float32))
    cuda.synchronize()
    done = cuda.event(timing=False)
    blocks = COUNT // 256
    for _ in range(5):
        twice[blocks, 256, first](x)  # site: twice
        if FIXED:
            done.record(first)
            done.wait(second)
        add_into[blocks, 256, second](x, y)  # site: add
        if FIXED:
            done.record(second)
            done.wait(first)
    cuda.synchronize()
    if FIXED and y.copy_to_host()[0] != 33.0:
        sys.exit("wrong result")
    cuda.synchronize()
    measured_end()


main()

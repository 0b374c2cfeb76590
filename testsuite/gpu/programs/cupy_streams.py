# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CuPy: two non-blocking streams, the second uses what the first computes. --fixed: with an event between them.

usage: cupy_streams.py [--fixed] [--measured]
"""

import sys

import cupy

from measured_end import measured_end

FIXED = "--fixed" in sys.argv


def main():
    first = cupy.cuda.Stream(non_blocking=True)
    second = cupy.cuda.Stream(non_blocking=True)
    x = cupy.ones(1 << 20, dtype=cupy.float32)
    y = cupy.zeros(1 << 20, dtype=cupy.float32)
    cupy.cuda.Device().synchronize()
    for _ in range(5):
        with first:
            cupy.multiply(x, 2, out=x)  # site: multiply
        if FIXED:
            second.wait_event(first.record())
        with second:
            cupy.add(x, 1, out=y)  # site: add
        if FIXED:
            first.wait_event(second.record())
    cupy.cuda.Device().synchronize()
    if FIXED and float(y[0]) != 33.0:
        sys.exit("wrong result")
    cupy.cuda.Device().synchronize()
    measured_end()


main()

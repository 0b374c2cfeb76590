# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numba: a vector addition in five slices on five streams, each with its copies. Racy: the kernel of the third slice
stores four floats into the fourth; which bytes those are is printed. --fixed: each keeps to its slice.

usage: numba_slices.py [--fixed]
"""

import json
import sys
import warnings

import numpy as np

if not hasattr(np, "row_stack"):  # removed from NumPy 2.5; this Numba still asks for it while it is imported
    np.row_stack = np.vstack
from numba import cuda  # noqa: E402  (after the line above)

FIXED = "--fixed" in sys.argv
SLICES, PART, ROUNDS = 5, 100000, 3
warnings.filterwarnings("ignore")


@cuda.jit
def add(x, y, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] + y[i]
    elif i < out.size:
        out[i] = 0


def pinned(value):
    array = cuda.pinned_array(SLICES * PART, dtype=np.float32)
    array[:] = value
    return array


def main():
    host_x, host_y, host_out = pinned(1), pinned(2), pinned(0)
    x, y, out = (cuda.device_array(SLICES * PART, dtype=np.float32) for _ in range(3))
    streams = [cuda.stream() for _ in range(SLICES)]
    cuda.synchronize()
    if not FIXED:
        address = out.__cuda_array_interface__["data"][0] + 3 * PART * 4
        print(json.dumps({"overlap": [address, 16]}), flush=True)
    for _ in range(ROUNDS):
        for i, stream in enumerate(streams):
            part = slice(i * PART, (i + 1) * PART)
            stored = part if FIXED or i != 2 else slice(part.start, part.stop + 4)
            x[part].copy_to_device(host_x[part], stream=stream)
            y[part].copy_to_device(host_y[part], stream=stream)
            add[(PART + 4 + 255) // 256, 256, stream](x[part], y[part], out[stored])
            out[part].copy_to_host(host_out[part], stream=stream)
    cuda.synchronize()
    if FIXED and not (host_out == 3).all():
        sys.exit("wrong result")


main()

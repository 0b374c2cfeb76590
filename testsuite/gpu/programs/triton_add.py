# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Triton: a kernel launched by Triton's own launcher, straight through the driver. Correct, so silent.

usage: triton_add.py [--measured]
"""

import sys

import torch
import triton
import triton.language as tl

from measured_end import measured_end


@triton.jit
def add(x, y, out, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < count
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) + tl.load(y + offsets, mask=mask), mask=mask)


def main():
    count = 1 << 20
    x = torch.ones(count, device="cuda")
    y = torch.ones(count, device="cuda")
    out = torch.empty_like(x)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(20):
            add[(triton.cdiv(count, 1024),)](x, y, out, count, BLOCK=1024)
            x, out = out, x
    torch.cuda.current_stream().wait_stream(side)
    if x[0].item() != 21.0:
        sys.exit("wrong result")
    torch.cuda.synchronize()
    measured_end()


main()

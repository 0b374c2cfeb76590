# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Masked vector additions by Triton: of a count it cannot vectorise, and of one it can."""

import torch
import triton
import triton.language as tl

from truth import say, whole


@triton.jit
def masked_add(x, y, out, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < count
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) + tl.load(y + offsets, mask=mask), mask=mask)


def main():
    x = torch.empty(100000, device="cuda")
    expected = []
    for launch, (begin, count) in enumerate(((3, 10007), (16, 10016))):
        left, right, out = (x[begin + part : begin + part + count] for part in (0, 20000, 40000))
        masked_add[(triton.cdiv(count, 1024),)](left, right, out, count, BLOCK=1024)
        expected += [("read", launch, left, right), ("write", launch, out)]
    torch.cuda.synchronize()
    for mode, launch, *tensors in expected:
        say(mode, *map(whole, tensors), kernel="masked_add", launch=launch)


main()

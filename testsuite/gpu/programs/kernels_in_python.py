# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels written in Python, on streams of their own: Triton and CuPy beside PyTorch, each with its repair. See pairs.py.
"""

import torch
import triton
import triton.language as tl
from pairs import ROUNDS, matrix, order, run


@triton.jit
def twice(x, y, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + offsets, tl.load(x + offsets) * 2)


def triton_reads_too_early():
    """A Triton kernel on a side stream reads what PyTorch writes on the main one."""
    main, side = torch.cuda.current_stream(), torch.cuda.Stream()
    x, y = matrix(0), matrix(0)
    for _ in range(ROUNDS):
        x.add_(1)  # site: torch-write
        order(main, side)
        with torch.cuda.stream(side):
            twice[(x.numel() // 1024,)](x, y, BLOCK=1024)  # site: triton-read
        main.wait_stream(side)
    return y, 2 * ROUNDS


def triton_result_used_too_early():
    """The other way round."""
    main, side = torch.cuda.current_stream(), torch.cuda.Stream()
    x, y = matrix(1), matrix(0)
    for _ in range(ROUNDS):
        with torch.cuda.stream(side):
            twice[(x.numel() // 1024,)](x, y, BLOCK=1024)  # site: triton-write
        order(side, main)
        z = y + 1  # site: torch-read
        side.wait_stream(main)
    return z, 3


def cupy_writes_a_tensor():
    """CuPy works on a tensor of PyTorch, on a stream of CuPy's."""
    import cupy
    main, own = torch.cuda.current_stream(), cupy.cuda.Stream(non_blocking=True)
    x = matrix(0)
    array = cupy.from_dlpack(x)
    cupy.cuda.Device().synchronize()
    shared = torch.cuda.ExternalStream(own.ptr)
    for _ in range(ROUNDS):
        with own:
            cupy.add(array, 1, out=array)  # site: cupy-write
        order(shared, main)
        y = x * 2  # site: tensor-read
        shared.wait_stream(main)
    return y, 2 * ROUNDS


run(triton_reads_too_early, triton_result_used_too_early, cupy_writes_a_tensor)

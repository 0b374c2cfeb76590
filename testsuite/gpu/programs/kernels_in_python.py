# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels written in Python, on streams of their own: Triton, Inductor and CuPy beside PyTorch, each with its repair. See
pairs.py.
"""

import math
import sys
from pathlib import Path

import torch
import triton
import triton.language as tl
from pairs import FIXED, ROUNDS, matrix, order, run


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


@torch.compile
def wave(x, y):
    return torch.relu(x * 2 + y).sin()


def compiled_function_reads_too_early():
    """A function that Inductor has compiled runs on a side stream."""
    main, side = torch.cuda.current_stream(), torch.cuda.Stream()
    x, y = matrix(0), matrix(0)
    wave(x, y)
    torch.cuda.synchronize()
    for _ in range(ROUNDS):
        x.add_(1)  # site: compiled-write
        order(main, side)
        with torch.cuda.stream(side):
            z = wave(x, y)  # site: compiled-call
        main.wait_stream(side)
        z.record_stream(main)
    return z, math.sin(2 * ROUNDS)


def block_of_a_pool_of_cupy():
    """The caller of a pool of CuPy's tells StreamSan of its blocks, as docs/annotations.md shows it. One goes back while
    another stream reads it."""
    import cupy
    sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "packaging" / "python"))
    import streamsan

    class Followed:
        def __init__(self, pool):
            self.pool = pool
            self.blocks = {}

        def allocate(self, size, device):
            block = self.pool.malloc(size)
            self.blocks[block.ptr] = block
            streamsan.block_allocated(block.ptr, size, cupy.cuda.get_current_stream().ptr)
            return block.ptr

        def free(self, address, device):
            streamsan.block_freed(address)
            del self.blocks[address]

    followed = Followed(cupy.get_default_memory_pool())
    cupy.cuda.set_allocator(cupy.cuda.PythonFunctionAllocator(followed.allocate, followed.free).malloc)
    own, side = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)
    out = matrix(0)
    result = cupy.from_dlpack(out)
    for _ in range(ROUNDS):
        with own:
            block = cupy.ones(result.shape, dtype=result.dtype)
            ready = own.record()
        side.wait_event(ready)
        with side:
            cupy.multiply(block, 2, out=result)  # site: block-read
        if FIXED:
            own.wait_event(side.record())
        del block
        with own:
            following = cupy.zeros(result.shape, dtype=result.dtype)  # site: block-again
        del following
    cupy.cuda.Device().synchronize()
    return out, 2


run(triton_reads_too_early, triton_result_used_too_early, cupy_writes_a_tensor, compiled_function_reads_too_early,
    block_of_a_pool_of_cupy)

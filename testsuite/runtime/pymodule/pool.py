# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
r"""block_allocated(), block_used() and block_freed(), as the adaptor for CuPy's pool in docs/annotations.md calls them: the
code is the page's. CuPy itself is not needed: below is as much of it as the adaptor uses.

RUN: sed -n '/^```python$/,/^```$/p' %source_root/docs/annotations.md | grep -v '^```' > %t.adaptor.py
RUN: %racy %interpreter %s %t.adaptor.py 2>&1 | %filecheck %s
RUN: %silent %interpreter %s %t.adaptor.py --fixed
RUN: %silent %interpreter %s %t.adaptor.py --used
RUN: %interpreter %s %t.adaptor.py --plain

CHECK: ERROR: streamsan: reuse-while-in-use on device memory 0x{{[0-9a-f]+}} [1000 bytes overlap]
CHECK-NEXT: Allocation by the pool on stream 1 (non-blocking)
CHECK-NEXT: Python:
CHECK-NEXT: #0 Followed.allocate {{.*}}adaptor.py:15
CHECK: Previous read by cuMemcpyDtoDAsync (device to device) on stream 2 (non-blocking)
CHECK: Buffer 0x{{[0-9a-f]+}} [1000 bytes] allocated by the pool
CHECK: SUMMARY: streamsan: 1 error
"""
import ctypes
import sys
import types

import cuda
import streamsan


class Pointer:
    """cupy.cuda.MemoryPointer."""

    def __init__(self, ptr, give_back):
        self.ptr, self.give_back = ptr, give_back

    def __del__(self):
        self.give_back(self.ptr)


class MemoryPool:
    """Of one stream, and of blocks of one size."""

    def __init__(self):
        self.segment = cuda.device_memory(1 << 20)
        self.blocks = [self.segment.value]

    def malloc(self, size):
        return Pointer(self.blocks.pop(), self.blocks.append)


class PythonFunctionAllocator:
    def __init__(self, allocate, free):
        self.allocate, self.free = allocate, free

    def malloc(self, size):
        return Pointer(self.allocate(size, 0), lambda address: self.free(address, 0))


def stand_in():
    cupy = types.ModuleType("cupy")
    allocators = []
    cupy.get_default_memory_pool = MemoryPool
    cupy.cuda = types.SimpleNamespace(set_allocator=allocators.append, PythonFunctionAllocator=PythonFunctionAllocator,
                                      get_current_stream=lambda: types.SimpleNamespace(ptr=first.value))
    sys.modules["cupy"] = cupy
    with open(sys.argv[1], encoding="utf-8") as file:
        exec(compile(file.read(), sys.argv[1], "exec"), {})
    return allocators[0]


if "--plain" in sys.argv:  # not recorded: nothing happens
    streamsan.block_allocated(4096, 100, 0)
    streamsan.block_used(4096, 0)
    streamsan.block_freed(4096)
    raise SystemExit
cuda.start()
first, second = cuda.stream(), cuda.stream()
allocate = stand_in()
other = cuda.device_memory()
array = allocate(1000)
block = array.ptr
cuda.copy(other, ctypes.c_uint64(block), second, 1000)
if "--used" in sys.argv:  # a pool that would wait
    streamsan.block_used(block, types.SimpleNamespace(ptr=second.value))
if "--fixed" in sys.argv:
    cuda.wait(second)
del array
array = allocate(1000)
assert array.ptr == block
cuda.wait_for_all()
for no_stream in (object(), "stream 1"):
    try:
        streamsan.block_allocated(block, 1000, no_stream)
        raise SystemExit("block_allocated() took an object that is no stream")
    except TypeError:
        pass

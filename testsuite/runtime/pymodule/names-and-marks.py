# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
r"""Names of streams and memory, and the parts of the run in which the two operations were submitted.

RUN: env STREAMSAN_OPTIONS=json=%t.json,footprints=inferred %racy %interpreter %s > %t.text 2>&1
RUN: %report < %t.text
RUN: %json %t.json | %filecheck %s --check-prefix=JSON
RUN: %silent %interpreter %s --fixed

CHECK: ERROR: streamsan: read-after-write race
CHECK: Read by cuMemcpyDtoDAsync (device to device) on stream "copies" (non-blocking), op #{{[0-9]+}}, in epoch 2
CHECK: Previous write by cuMemsetD8Async on stream "compute" (non-blocking), op #{{[0-9]+}}, in epoch 1
CHECK: Buffer "weights" 0x

JSON-DAG: findings[0].accesses[0].mark = "epoch 2"
JSON-DAG: findings[0].accesses[1].mark = "epoch 1"
"""
import sys

import cuda
import streamsan


class Tensor:
    """As much of one as name() looks at."""

    def __init__(self, address):
        self.__cuda_array_interface__ = {"data": (address, False)}


class Stream:
    def __init__(self, handle):
        self.cuda_stream = handle


streamsan.mark("before CUDA is used")
cuda.start()
compute, copies = cuda.stream(), cuda.stream()
memory, other = cuda.device_memory(), cuda.device_memory()
streamsan.name(Stream(compute.value), "compute")
streamsan.name(Stream(copies.value), "copies")
streamsan.name(Tensor(memory.value), "weights")
streamsan.mark("epoch 1")
cuda.fill(memory, compute)
if "--fixed" in sys.argv:
    cuda.wait(compute)
streamsan.mark("epoch 2")
cuda.copy(other, memory, copies)
streamsan.mark("")
cuda.wait_for_all()
try:
    streamsan.name(object(), "nothing")
    raise SystemExit("name() took an object that is neither a stream nor memory")
except TypeError:
    pass

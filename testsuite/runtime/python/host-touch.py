# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
r"""The host touches pinned memory that a copy is being made to: the fault handler finds the line of Python as well.

RUN: %racy %interpreter %s 2>&1 | %report
RUN: %silent %interpreter %s --fixed

CHECK: ERROR: streamsan: read-after-write host race
CHECK: Read by the host
CHECK: Python:
CHECK-NEXT: #0 use {{.*}}[[TOUCH]]
CHECK-NEXT: #1 <module> {{.*}}[[CALL]]
CHECK: Previous write by cuMemcpyDtoHAsync
CHECK: Python:
CHECK: #2 <module> {{.*}}[[DOWNLOAD]]
CHECK: SUMMARY: streamsan: 1 error: read-after-write host race {{.*}}[[TOUCH]] in use
"""
import ctypes
import sys

import cuda


def use(values):
    return values[0]  # @TOUCH


cuda.start()
stream = cuda.stream()
device, host = cuda.device_memory(), cuda.pinned_memory()
values = ctypes.cast(host, ctypes.POINTER(ctypes.c_ubyte))
cuda.download(host, device, stream)  # @DOWNLOAD
if "--fixed" in sys.argv:
    cuda.wait(stream)
use(values)  # @CALL
cuda.wait(stream)

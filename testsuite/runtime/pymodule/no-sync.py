# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
r"""Each call that waits, inside of no_sync(), and none elsewhere: not in allow_sync(), not before or after it, not in
another thread; and no call that does not wait.

RUN: env STREAMSAN_OPTIONS=json=%t.json,footprints=inferred %expect 66 %run %interpreter %s > %t.text 2>&1
RUN: %report < %t.text
RUN: %json %t.json | %filecheck %s --check-prefix=JSON
RUN: %silent %interpreter %s --fixed
RUN: echo 'hidden-sync:*no-sync.py*' > %t.supp
RUN: env STREAMSAN_OPTIONS=suppressions=%t.supp,footprints=inferred %expect 0 %run %interpreter %s

CHECK: ERROR: streamsan: sync-forbidden: the host waits in cuStreamSynchronize where the program allows no wait.
CHECK-NEXT: Cause: cuStreamSynchronize returns when the GPU has done what it waits for.
CHECK-NEXT: cuStreamSynchronize on stream 1 (non-blocking)
CHECK-NEXT: Python:
CHECK: {{item|Tensor.item}} {{.*}}[[ITEM]]
CHECK: waits are forbidden from here on
CHECK-NEXT: Python:
CHECK-NEXT: #0 step {{.*}}[[REGION]]
CHECK: Fix: keep the value on the GPU
CHECK: Seen 3 times at this place.
CHECK: properties] kind=hidden-sync hazard=sync-forbidden severity=error
CHECK: sync-forbidden: the host waits in cuMemcpyDtoH (device to host)
CHECK: sync-forbidden: the host waits in cuMemcpyDtoHAsync (device to host)
CHECK-NEXT: Cause: a copy to pageable memory returns when it is complete
CHECK: sync-forbidden: the host waits in cuMemcpyHtoDAsync (host to device)
CHECK-NEXT: Cause: the driver stages a copy of this size from pageable memory
CHECK: sync-forbidden: the host waits in cuMemAlloc
CHECK: sync-forbidden: the host waits in cuMemFree
CHECK: sync-forbidden: the host waits in cuEventSynchronize
CHECK: sync-forbidden: the host waits in cuCtxSynchronize

JSON: findings.size = 8
"""
import ctypes
import sys
import threading

import cuda
import streamsan

LARGE = 1 << 20
fixed = "--fixed" in sys.argv


class Tensor:
    def item(self):
        cuda.wait(stream)  # @ITEM


cuda.start()
stream = cuda.stream()
memory = cuda.device_memory(LARGE)
pinned = cuda.pinned_memory(LARGE)
pinned_too = cuda.pinned_memory()
pageable = (ctypes.c_char * LARGE)()
of_default = cuda.device_memory()
event = ctypes.c_void_p()
cuda.call("cuEventCreate", ctypes.byref(event), 2)
small = ctypes.c_size_t(64)


def does_not_wait():
    cuda.fill(memory, stream, LARGE)
    cuda.download(pinned, memory, stream, LARGE)
    cuda.call("cuMemcpyHtoDAsync_v2", memory, pageable, small, stream)
    cuda.call("cuMemcpyDtoD_v2", of_default, ctypes.c_uint64(of_default.value + 64), small)
    cuda.call("cuEventRecord", event, stream)
    cuda.call("cuEventQuery", event)
    cuda.call("cuStreamQuery", stream)


def waits():
    for _ in range(3):
        Tensor().item()
    cuda.call("cuMemcpyDtoH_v2", pinned_too, of_default, small)
    cuda.call("cuMemcpyDtoHAsync_v2", pageable, memory, small, stream)
    cuda.call("cuMemcpyHtoDAsync_v2", memory, pageable, ctypes.c_size_t(LARGE), stream)
    more = cuda.device_memory()
    cuda.call("cuMemFree_v2", more)
    cuda.call("cuEventSynchronize", event)
    cuda.wait_for_all()


cuda.call("cuEventRecord", event, stream)


def step():
    with streamsan.no_sync():  # @REGION
        does_not_wait()
        with streamsan.allow_sync():
            waits()
            with streamsan.allow_sync():
                cuda.wait(stream)
        other = threading.Thread(target=lambda: (cuda.use(), waits()))
        other.start()
        other.join()
        if not fixed:
            waits()


@streamsan.no_sync()
def nothing():
    does_not_wait()


waits()
step()
waits()
with streamsan.allow_sync():
    waits()
nothing()
waits()

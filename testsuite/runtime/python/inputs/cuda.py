# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""As much of the driver as the tests need, by ctypes. No kernels: copies and fills race as well.

With TRUTH set, each of these functions notes the call stack as Python itself sees it: [function, file, line], innermost
first, as inputs/check_truth wants it.
"""
import ctypes
import json
import os
import sys

_driver = ctypes.CDLL("libcuda.so.1")


_truth = os.environ.get("TRUTH")


def call(name, *arguments):
    if _truth:
        with open(_truth, "a", encoding="utf-8") as file:
            file.write(json.dumps([name, stack(sys._getframe())]) + "\n")
    result = getattr(_driver, name)(*arguments)
    if result:
        raise RuntimeError(f"{name}: {result}")


def stack(frame):
    """As `call` is about to be left: its own line is that of the call below."""
    out = []
    while frame:
        code = frame.f_code
        name = getattr(code, "co_qualname", code.co_name)
        out.append([name, code.co_filename, 0 if not out else frame.f_lineno])
        frame = frame.f_back
    return out


def start():
    device, context = ctypes.c_int(), ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)


def use():
    """In another thread."""
    context = ctypes.c_void_p()
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)


def stream():
    out = ctypes.c_void_p()
    call("cuStreamCreate", ctypes.byref(out), 1)
    return out


def device_memory(size=4096):
    out = ctypes.c_uint64()
    call("cuMemAlloc_v2", ctypes.byref(out), ctypes.c_size_t(size))
    return out


def pinned_memory(size=4096):
    out = ctypes.c_void_p()
    call("cuMemHostAlloc", ctypes.byref(out), ctypes.c_size_t(size), 0)
    return out


def fill(memory, stream, size=4096):
    call("cuMemsetD8Async", memory, 0, ctypes.c_size_t(size), stream)


def copy(destination, source, stream, size=4096):
    call("cuMemcpyDtoDAsync_v2", destination, source, ctypes.c_size_t(size), stream)


def download(host, device, stream, size=4096):
    call("cuMemcpyDtoHAsync_v2", host, device, ctypes.c_size_t(size), stream)


def wait(stream):
    call("cuStreamSynchronize", stream)


def wait_for_all():
    call("cuCtxSynchronize")

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""As much of the driver as the tests need, by ctypes. No kernels: copies and fills race as well."""
import ctypes

_driver = ctypes.CDLL("libcuda.so.1")


def call(name, *arguments):
    result = getattr(_driver, name)(*arguments)
    if result:
        raise RuntimeError(f"{name}: {result}")


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

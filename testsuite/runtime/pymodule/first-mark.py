# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
r"""What was said before CUDA was used holds for what comes then.

RUN: %expect 66 %run %interpreter %s 2>&1 | %report
RUN: %silent %interpreter %s --fixed

CHECK: ERROR: streamsan: sync-forbidden: the host waits in cuStreamSynchronize where the program allows no wait.
CHECK: First seen in warm-up.
"""
import ctypes
import sys

import cuda
import streamsan

NOTHING = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: None)
streamsan.mark("warm-up")
with streamsan.no_sync():
    cuda.start()
    stream = cuda.stream()
    cuda.call("cuLaunchHostFunc", stream, NOTHING, None)
    if "--fixed" not in sys.argv:
        cuda.wait(stream)

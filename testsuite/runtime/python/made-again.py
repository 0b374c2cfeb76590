# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
r"""Code that is made and thrown away: a new code object is where the old one was, with other lines.

RUN: rm -f %t.truth
RUN: env TRUTH=%t.truth STREAMSAN_OPTIONS=max_reports=1,footprints=inferred,json=%t.json %racy %interpreter %s > %t.text 2>&1
RUN: %truth %t.json %t.truth cuMemcpyDtoDAsync_v2 50
RUN: %silent %interpreter %s --fixed
"""
import sys

import cuda

cuda.start()
first, second = cuda.stream(), cuda.stream()
other = cuda.device_memory()
for i in range(50):
    memory = cuda.device_memory()
    cuda.fill(memory, first)
    if "--fixed" in sys.argv:
        cuda.wait(first)
    exec("\n" * i + "cuda.copy(other, memory, second)")
cuda.wait_for_all()

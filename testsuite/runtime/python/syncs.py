# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
r"""Two lines that wait are two call sites, though the interpreter calls the driver from one place: of the first wait an
event would do, the second is not needed.

RUN: %all_syncs %interpreter %s 2>&1 | %report
RUN: env STREAMSAN_OPTIONS=footprints=inferred,syncs=1,verbosity=1,json=%t.json %run %interpreter %s > %t.text 2>&1
RUN: %json %t.json | %sites --check-prefix=SITES

SITES: findings[0].hazard = "narrower"
SITES: findings[0].sync.calls = 5
SITES: findings[1].hazard = "unneeded"
SITES: findings[1].sync.calls = 5

CHECK: sync narrower: cuStreamSynchronize ([[NEEDED]])
CHECK: #0 <module> {{.*}}[[NEEDED]]
CHECK: sync unneeded: cuStreamSynchronize ([[UNNEEDED]])
CHECK: #0 <module> {{.*}}[[UNNEEDED]]
CHECK: Fix: remove it; cuStreamSynchronize ([[NEEDED]]) must stay.
"""
from cuda import copy, device_memory, fill, start, stream, _driver

start()
first, second = stream(), stream()
for i in range(5):
    memory, other = device_memory(), device_memory()
    fill(memory, first)
    _driver.cuStreamSynchronize(first)  # @NEEDED
    copy(other, memory, second)
    _driver.cuStreamSynchronize(first)  # @UNNEEDED
device_memory()  # the interpreter reads a clock when it ends

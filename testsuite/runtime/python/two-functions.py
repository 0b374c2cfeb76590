# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
r"""A race between two functions: the report names both, with their lines.

RUN: %racy %interpreter %s 2>&1 | %report
RUN: %silent %interpreter %s --fixed
RUN: env STREAMSAN_OPTIONS=python_stacks=1 %racy %interpreter %s 2>&1 | %report
RUN: env STREAMSAN_OPTIONS=python_stacks=0 %racy %interpreter %s 2>&1 | %sites --check-prefix=OFF
RUN: env STREAMSAN_OPTIONS=stacks=0 %racy %interpreter %s 2>&1 | %sites --check-prefix=OFF

CHECK: ERROR: streamsan: read-after-write race
CHECK: Read by cuMemcpyDtoDAsync
CHECK-NEXT: Python:
CHECK-NEXT: #0 call {{.*}}cuda.py:
CHECK-NEXT: #1 copy {{.*}}cuda.py:
CHECK-NEXT: #2 {{(Consumer\.)?}}consume {{.*}}[[CONSUME]]
CHECK-NEXT: #3 main {{.*}}[[MAIN]]
CHECK-NEXT: #4 <module> {{.*}}[[MODULE]]
CHECK: Previous write by cuMemsetD8Async
CHECK-NEXT: Python:
CHECK-NEXT: #0 call
CHECK-NEXT: #1 fill
CHECK-NEXT: #2 produce {{.*}}[[PRODUCE]]
CHECK: allocated by cuMemAlloc
CHECK-NEXT: Python:
CHECK: device_memory {{.*}}cuda.py:
CHECK: SUMMARY: streamsan: 1 error: read-after-write race {{.*}}cuda.py:{{[0-9]+}} in call

OFF-NOT: {{^ *Python:}}
OFF-NOT: two-functions.py:
OFF: ERROR: streamsan: read-after-write race
OFF-NOT: {{^ *Python:}}
OFF-NOT: two-functions.py:
"""
import sys

import cuda


def produce(memory, stream):
    cuda.fill(memory, stream)  # @PRODUCE


class Consumer:
    def consume(self, memory, other, stream):
        cuda.copy(other, memory, stream)  # @CONSUME


def main():
    cuda.start()
    first, second = cuda.stream(), cuda.stream()
    memory, other = cuda.device_memory(), cuda.device_memory()
    produce(memory, first)
    if "--fixed" in sys.argv:
        cuda.wait(first)
    Consumer().consume(memory, other, second)  # @MAIN
    cuda.wait_for_all()


main()  # @MODULE

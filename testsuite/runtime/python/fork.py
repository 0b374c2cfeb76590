# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
r"""A child of a fork has a trace of its own, in which lines of Python are described afresh: each process races in a place
of its own and in one of both.

RUN: env STREAMSAN_OPTIONS=json=%t.json,footprints=inferred %racy %interpreter %s > %t.text 2>&1
RUN: %json %t.json | %filecheck %s --check-prefix=COUNT
RUN: %sites < %t.text
RUN: %silent %interpreter %s --fixed

COUNT: findings.size = 4

CHECK-DAG: in_child {{.*}}[[CHILD]]
CHECK-DAG: in_parent {{.*}}[[PARENT]]
"""
import os
import sys

import cuda


def race(where):
    memory, other = cuda.device_memory(), cuda.device_memory()
    first, second = cuda.stream(), cuda.stream()
    cuda.fill(memory, first)
    if "--fixed" in sys.argv:
        cuda.wait(first)
    where(other, memory, second)
    cuda.wait_for_all()


def in_both(other, memory, stream):
    cuda.copy(other, memory, stream)


def in_child(other, memory, stream):
    cuda.copy(other, memory, stream)  # @CHILD


def in_parent(other, memory, stream):
    cuda.copy(other, memory, stream)  # @PARENT


child = os.fork()
cuda.start()
race(in_both)
race(in_parent if child else in_child)
if child:
    _, status = os.waitpid(child, 0)
    sys.exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 99)

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
r"""A stand-in for PyTorch's autograd: what is called while a node is evaluated belongs to the line that made the node.

RUN: mkdir -p %t.libraries
RUN: %cxx -std=c++20 -shared -fPIC -fsemantic-interposition -Wl,-soname,libtorch_cpu.so %S/inputs/autograd.cpp -o %t.libraries/libtorch_cpu.so -ldl
RUN: %cxx -std=c++20 -shared -fPIC -fsemantic-interposition -Wl,-soname,libother.so -DINTRUSIVE %S/inputs/autograd.cpp -o %t.intrusive -ldl
RUN: %cxx -std=c++20 -shared -fPIC -fsemantic-interposition -Wl,-soname,libtorch_cpu.so -DELSEWHERE %S/inputs/autograd.cpp -o %t.elsewhere -ldl

RUN: env STREAMSAN_OPTIONS=footprints=inferred,json=%t.json,sarif=%t.sarif,html=%t.html %racy %interpreter %s %t.libraries/libtorch_cpu.so 2> %t.text
RUN: %forward %t.json by_the_engine by_this_thread made_by_another_node in_thread \
RUN:   in_another_thread after_a_failure beside_a_thousand after_a_million - - -
RUN: %sites < %t.text
RUN: %expect 66 %streamsan report %t.json 2>&1 | %sites
RUN: %sites --check-prefix=SARIF < %t.sarif
RUN: %sites --check-prefix=HTML < %t.html
RUN: env STREAMSAN_OPTIONS=footprints=inferred,json=%t.json %racy %interpreter %s %t.intrusive 2> %t.text
RUN: %forward %t.json by_the_engine by_this_thread made_by_another_node in_thread \
RUN:   in_another_thread after_a_failure beside_a_thousand after_a_million - - -
RUN: %silent %interpreter %s %t.libraries/libtorch_cpu.so --fixed
RUN: %silent %interpreter %s %t.intrusive --fixed

A number that is where none was is not known, and without lines of Python there are none.

RUN: env STREAMSAN_OPTIONS=footprints=inferred,json=%t.json %racy %interpreter %s %t.elsewhere 2> %t.text
RUN: %forward %t.json
RUN: env STREAMSAN_OPTIONS=footprints=inferred,python_stacks=0,json=%t.json %racy %interpreter %s %t.libraries/libtorch_cpu.so 2> %t.text
RUN: %forward %t.json

CHECK: Read by cuMemcpyDtoDAsync
CHECK-NOT: Python:
CHECK: Python, where the forward operation was called:
CHECK-NEXT: #0 by_the_engine {{.*}}[[ENGINE]]
CHECK: Previous write
CHECK: before cuMemcpyDtoDAsync (device to device) (backward of forward.py:
SARIF: Where the forward operation was called
HTML: where the forward operation was called
"""
import ctypes
import sys
import threading

import cuda

autograd = ctypes.CDLL(sys.argv[1])
for function in autograd.forward, autograd.derive:
    function.restype = ctypes.c_void_p


def written():
    memory = cuda.device_memory()
    cuda.fill(memory, first)
    if "--fixed" in sys.argv:
        cuda.wait(first)
    return memory


def backward(node, function=autograd.backward):
    function(ctypes.c_void_p(node), other, written(), second)


def by_the_engine():
    return autograd.forward()  # @ENGINE


def by_this_thread():
    return autograd.forward()


def made_by_another_node():
    return autograd.derive()


def in_thread():
    nodes.append(autograd.forward())


def in_another_thread():
    nodes.append(autograd.forward())


def after_a_failure():
    return autograd.forward()


def that_has_gone():
    return autograd.forward()


def beside_a_thousand():
    return autograd.forward()


def before_a_million():
    return autograd.forward()


def after_a_million():
    return autograd.forward()


cuda.start()
first, second = cuda.stream(), cuda.stream()
other = cuda.device_memory()

backward(by_the_engine())
backward(by_this_thread(), autograd.backward_here)
backward(made_by_another_node())

nodes = []
for function in in_thread, in_another_thread:  # with the same number
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()
for node in nodes:
    backward(node)

autograd.fail(ctypes.c_void_p(by_this_thread()))
cuda.copy(other, written(), second)  # of no node any more
backward(after_a_failure())

node = that_has_gone()
autograd.replace(ctypes.c_void_p(node))
backward(node)

node = beside_a_thousand()
autograd.crowd(ctypes.c_size_t(1000))
backward(node)
node = before_a_million()
autograd.crowd(ctypes.c_size_t(1200000))  # there is no room for them
backward(node)
backward(after_a_million())
cuda.wait_for_all()

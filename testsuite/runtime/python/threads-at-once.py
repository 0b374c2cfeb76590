# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
r"""Threads that launch at once, while others start and end and new code is made: each call has the lines of its own thread.

Without the global lock they run Python at once as well, in 3.14t each in its own copy of the code.

RUN: env STREAMSAN_OPTIONS=footprints=inferred,json=%t.json %racy %interpreter %s > %t.text 2>&1
RUN: %interpreter %s --check %t.json
RUN: %silent %interpreter %s --fixed
"""
import collections
import json
import sys
import threading

import cuda

THREADS = 12
TURNS = 20


def check(path):
    """Each racing copy was called by a thread's own function, of which each line is the number of the thread."""
    with open(path, encoding="utf-8") as file:
        findings = json.load(file)["findings"]
    seen = collections.Counter()
    for finding in findings:
        frames = [f for f in finding["accesses"][0]["stack"] if f["language"] == "python"]
        functions = [f["function"].rpartition(".")[2] for f in frames]
        own = [(f["function"], f["line"]) for f in frames if f["file"] == "<made>"]
        if functions[:3] != ["call", "copy", own[0][0]] or functions[3] != "body" or len(own) != 1:
            sys.exit(f"unexpected: {frames}")
        name, line = own[0]
        if name != f"thread_{line}":
            sys.exit(f"{name} has line {line}")
        seen[name] += 1
    if len(seen) != THREADS:
        sys.exit(f"{len(seen)} threads have findings: {seen}")


def make(number):
    text = "\n" * (number - 1) + f"def thread_{number}(other, memory, stream): cuda.copy(other, memory, stream)"
    names = {"cuda": cuda}
    exec(compile(text, "<made>", "exec"), names)
    return names[f"thread_{number}"]


def body(number, ready):
    cuda.use()
    mine, first, second = make(number), cuda.stream(), cuda.stream()
    memory, other = cuda.device_memory(), cuda.device_memory()
    ready.wait()
    for _ in range(TURNS):
        cuda.fill(memory, first)
        if "--fixed" in sys.argv:
            cuda.wait(first)
        mine(other, memory, second)
        cuda.wait(first)
        cuda.wait(second)
        threading.Thread(target=make, args=(number,)).start()


if "--check" in sys.argv:
    check(sys.argv[2])
    sys.exit()
cuda.start()
ready = threading.Barrier(THREADS)
threads = [threading.Thread(target=body, args=(number, ready)) for number in range(1, THREADS + 1)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of PyTorch on parts of a segment of its allocator. Nothing is initialised: that would be a kernel, too.

usage: torch_kernels.py add|sum|foreach
"""

import sys

import torch

from truth import say, whole


def add():
    """Elementwise, out of place, on slices that begin at odd places."""
    x = torch.empty(200000, device="cuda")
    left, right, out = x[1003:51004], x[60001:110002], x[120005:170006]
    torch.add(left, right, out=out)
    return [("read", whole(left), whole(right)), ("write", whole(out))]


def sum_of_rows():
    x = torch.empty(501, 333, dtype=torch.half, device="cuda")
    rows = x[1:-1]
    out = torch.empty(499, dtype=torch.half, device="cuda")
    torch.sum(rows, dim=1, out=out)
    return [("read", whole(rows)), ("write", whole(out))]


def foreach():
    """Many tensors in few launches: their addresses lie in a table among the arguments."""
    tensors = [torch.empty(count, device="cuda") for count in (1, 31, 1000, 65537, 3, 70001, 128)]
    results = torch._foreach_add(tensors, 1.0)
    return [("read", *map(whole, tensors)), ("write", *map(whole, results))]


def main():
    expected = {"add": add, "sum": sum_of_rows, "foreach": foreach}[sys.argv[1]]()
    torch.cuda.synchronize()
    for mode, *pieces in expected:
        say(mode, *pieces)


main()

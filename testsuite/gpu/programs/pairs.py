# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the programs of bugs in Python share (torch_orders.py, torch_memory.py, torch_graphs.py, kernels_in_python.py).

Each of them has one function for each bug, called a variant. It makes the mistake a few times, as a loop would, or with
--fixed makes none. It returns a tensor and the value that all of its elements must have; only the repaired variant has to
get it right.

usage: PROGRAM VARIANT [--fixed]
"""

import sys

import torch

FIXED = "--fixed" in sys.argv
SIDE = 1024
ROUNDS = 6


def matrix(value):
    """On the device, and complete: what follows may use it on any stream."""
    made = torch.full((SIDE, SIDE), float(value), device="cuda")
    torch.cuda.synchronize()
    return made


def pinned(value):
    return torch.full((SIDE, SIDE), float(value)).pin_memory()


def order(before, after):
    """The one call that each variant without --fixed leaves out."""
    if FIXED:
        after.wait_stream(before)


def run(*variants):
    result, expected = {variant.__name__: variant for variant in variants}[sys.argv[1]]()
    torch.cuda.synchronize()
    if FIXED and not torch.allclose(result.cpu(), torch.full(result.shape, float(expected))):
        sys.exit("wrong result")

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch side streams, each variant racy and, with --fixed, repaired by wait_stream.

torch.cuda.Stream() is a non-blocking stream: the default stream's implicit order does not reach it. What each variant
leaves out is the one wait_stream call that the PyTorch notes ask for.

usage: torch_side_stream.py VARIANT [--fixed]
"""

import sys
import time

import torch

FIXED = "--fixed" in sys.argv
SIDE = 1024


def order(before, after):
    if FIXED:
        after.wait_stream(before)


def produce_on_default():
    """A kernel of the default stream writes, a kernel of the side stream reads."""
    main, side = torch.cuda.current_stream(), torch.cuda.Stream()
    x = torch.ones(SIDE, SIDE, device="cuda")
    torch.cuda.synchronize()
    x.mul_(2)  # site: default-write
    order(main, side)
    with torch.cuda.stream(side):
        y = x + 1  # site: side-read
    torch.cuda.synchronize()
    return y, 3.0


def produce_on_side():
    """The other way round: the result of the side stream is used on the default stream."""
    main, side = torch.cuda.current_stream(), torch.cuda.Stream()
    x = torch.ones(SIDE, SIDE, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        x.mul_(2)  # site: side-write
    order(side, main)
    y = x + 1  # site: default-read
    torch.cuda.synchronize()
    return y, 3.0


def pinned_upload():
    """A non_blocking upload on a copy stream, used on the default stream."""
    main, upload = torch.cuda.current_stream(), torch.cuda.Stream()
    host = torch.full((SIDE, SIDE), 2.0).pin_memory()
    x = torch.empty(SIDE, SIDE, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(upload):
        x.copy_(host, non_blocking=True)  # site: upload
    order(upload, main)
    y = x * 3  # site: upload-read
    torch.cuda.synchronize()
    return y, 6.0


def matmul_on_side():
    """cuBLAS on the side stream reads what the default stream still uploads, again and again as a loop does. What its kernel
    reads is known by the documents of cuBLAS."""
    main, side = torch.cuda.current_stream(), torch.cuda.Stream()
    host = torch.full((SIDE, SIDE), 1.0 / SIDE).pin_memory()
    a = torch.empty(SIDE, SIDE, device="cuda")
    b = torch.ones(SIDE, SIDE, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        c = b @ b
    torch.cuda.synchronize()
    for _ in range(20):
        a.copy_(host, non_blocking=True)
        order(main, side)
        with torch.cuda.stream(side):
            torch.matmul(a, b, out=c)
        torch.cuda.synchronize()
        time.sleep(0.02)
    return c, 1.0


def shared_weights():
    """Correct without any wait: two side streams only read what was complete before they started."""
    x = torch.ones(SIDE, SIDE, device="cuda")
    torch.cuda.synchronize()
    results = []
    for factor in (2, 3):
        with torch.cuda.stream(torch.cuda.Stream()):
            results.append(x * factor if factor == 2 else x + factor)
    torch.cuda.synchronize()
    return results[0], 2.0


VARIANTS = {f.__name__: f for f in (produce_on_default, produce_on_side, pinned_upload, matmul_on_side, shared_weights)}


def main():
    result, expected = VARIANTS[sys.argv[1]]()
    if FIXED and not torch.allclose(result.cpu(), torch.full((SIDE, SIDE), expected)):
        sys.exit("wrong result")


main()

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch with Python's faulthandler enabled, which has a SIGSEGV handler of its own: pinned tensors that are filled, copied
both ways and read after the event. Racy: one result is read before it. The handler must not hear of either."""

import faulthandler
import sys

import torch

FIXED = "--fixed" in sys.argv


def main():
    faulthandler.enable()
    stream = torch.cuda.Stream()
    host = torch.empty(1 << 20, pin_memory=True)
    result = torch.empty(1 << 20, pin_memory=True)
    right = 0
    for step in range(10):
        host.fill_(step)
        with torch.cuda.stream(stream):
            data = host.to("cuda", non_blocking=True)
            result.copy_(data, non_blocking=True)
            done = stream.record_event()
        if FIXED or step != 3:
            done.synchronize()
        first = result[0].item()  # site: read
        done.synchronize()
        right += step == 3 or first == step
    print(f"{right} steps are right")
    torch.cuda.synchronize()
    return 0 if right == 10 else 3


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""truth.h for Python. Without a kernel: what all launches of the process together touch, so it must launch nothing
else. Kernels of libraries have long names that change."""

import json


def say(mode, *pieces, kernel="", launch="all"):
    """Each piece is (address, width in bytes) or (address, width, rows, pitch)."""
    full = [list(piece) + [1, 0, 1, 0][len(piece) - 2:] for piece in pieces]
    print(json.dumps({"truth": {"kernel": kernel, "launch": launch, "mode": mode, "pieces": full}}), flush=True)


def whole(tensor):
    """The piece of a contiguous tensor."""
    return tensor.data_ptr(), tensor.numel() * tensor.element_size()

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""streamsan-tidy as a Python package: the program, with Clang's own headers where it finds them. Nothing of LLVM need be
installed; the headers of CUDA must be, as for every compiler of CUDA sources.
"""
import os
import sys

__version__ = "@VERSION@"


def prefix():
    """Where the install tree is: bin/streamsan-tidy, lib/streamsan/clang."""
    return os.path.dirname(os.path.abspath(__file__))


def main():
    """The command streamsan-tidy: this process becomes the program."""
    program = os.path.join(prefix(), "bin", "streamsan-tidy")
    try:
        os.execv(program, ["streamsan-tidy", *sys.argv[1:]])
    except OSError as fault:
        print(f"streamsan-tidy: cannot run {program}: {fault.strerror}", file=sys.stderr)
        return 2

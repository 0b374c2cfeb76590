# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""StreamSan as a Python package: the programs and libraries of an install tree, and two ways to start them.

    streamsan run -- python train.py        the command
    python -m streamsan train.py            the same for this very Python, see __main__.py

Nothing here is imported by the program that is checked: the recorder is preloaded into it.
"""
import os
import sys

__version__ = "@VERSION@"


def prefix():
    """Where the install tree is: bin/streamsan, lib/streamsan/libstreamsan.so, include/streamsan/annotate.h."""
    return os.path.dirname(os.path.abspath(__file__))


def executable():
    """Path of the program streamsan itself."""
    return os.path.join(prefix(), "bin", "streamsan")


def main():
    """The command streamsan: this process becomes the program."""
    program = executable()
    try:
        sys.stdout.flush()
        os.execv(program, ["streamsan", *sys.argv[1:]])
    except OSError as fault:
        print(f"streamsan: cannot run {program}: {fault.strerror}", file=sys.stderr)
        return 2

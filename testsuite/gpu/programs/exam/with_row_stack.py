# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a program of Numba's where NumPy has no row_stack() any more (2.5); Numba still asks for it while it is imported.

usage: with_row_stack.py PROGRAM
"""

import runpy
import sys

import numpy

if not hasattr(numpy, "row_stack"):
    numpy.row_stack = numpy.vstack
runpy.run_path(sys.argv[1], run_name="__main__")

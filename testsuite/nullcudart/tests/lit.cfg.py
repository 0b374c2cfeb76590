# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of the null runtime: programs built by nvcc in the three ways programs are built.

    %build_shared  cudart as a shared library
    %build_static  cudart linked in, as nvcc does by default
    %build_ptds    ... and --default-stream per-thread
"""
import os

import lit.formats

config.name = "nullcudart"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".cu"]
config.test_source_root = os.path.dirname(os.path.abspath(__file__))

for name in list(config.environment):
    if name.startswith("STREAMSAN_"):
        del config.environment[name]
for name in ("HOME", "TMPDIR"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
config.environment["LD_LIBRARY_PATH"] = config.null_dir

nvcc = f"{config.nvcc} -g -std=c++17 -D_GLIBCXX_BITS_SPECFUN_H -arch=sm_90 -cudart none %s"
static = f"{config.null_dir}/libnullcudart.a"
config.substitutions += [
    ("%build_shared", f"{nvcc} {config.null_dir}/libcudart.so"),
    ("%build_static", f"{nvcc} {static}"),
    ("%build_ptds", f"{nvcc} {static} --default-stream per-thread"),
    ("%filecheck", config.filecheck),
]

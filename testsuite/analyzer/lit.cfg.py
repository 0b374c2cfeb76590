# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The analyzer's suite: substitutions and features.

Most tests are one source file with the diagnostics that streamsan-tidy is to give for it, compared literally:

    // RUN: %check cross-stream-race %s
    // RUN: %check cross-stream-race %s -- -DFIXED

The sources include mock headers (inputs/) and so need no CUDA toolkit. See check_tidy.py for what a file may expect.
`lit --param tidy=PATH` tests another streamsan-tidy than the one of the build.

    %check       check_tidy.py of this build's streamsan-tidy: check ids, source, [options] [-- flags]
    %tidy        streamsan-tidy itself
    %mock        compiler flags for CUDA sources on the mock headers; %mock_hip for HIP's
    %plugin      the plug-in for clang-tidy, and %clang_tidy that clang-tidy; %llvm its folder
    %cost        the benchmark of what streamsan-tidy costs
    %expect N    demands exit code N of the command that follows
    %filecheck   FileCheck
    %cuda        root of the CUDA toolkit, for tests that REQUIRES: cuda
    %inputs      the mock headers
"""
import os
import shlex
import tempfile

import lit.formats

config.name = "StreamSan analyzer"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".cu", ".hip", ".cpp", ".test"]
config.test_source_root = os.path.dirname(os.path.abspath(__file__))
# What tests include or work on.
config.excludes = ["inputs", "exam"]

quote = shlex.quote
root = config.test_source_root
inputs = quote(os.path.join(root, "inputs"))
tidy = lit_config.params.get("tidy", os.path.join(config.build_root, "bin", "streamsan-tidy"))
if not os.path.exists(tidy):
    lit_config.fatal(f"there is no {tidy}: build streamsan-tidy first")

# The tests decide about every setting that reaches the tool: not the .clang-tidy of a folder around the build's, which
# in a build inside of the tree is the project's own.
os.makedirs(config.test_exec_root, exist_ok=True)
with tempfile.NamedTemporaryFile("w", dir=config.test_exec_root, delete=False, encoding="utf-8") as nothing_set:
    nothing_set.write("InheritParentConfig: false\n")
os.replace(nothing_set.name, os.path.join(config.test_exec_root, ".clang-tidy"))  # others of this suite may be at work
for name in list(config.environment):
    if name.startswith(("STREAMSAN_", "GITHUB_", "CUDA_")):
        del config.environment[name]
for name in ("HOME", "TMPDIR"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
config.environment["NO_COLOR"] = "1"
# Scripts that are started as programs find the same Python.
config.environment["PATH"] = os.pathsep.join((os.path.dirname(config.python), config.environment["PATH"]))

plugin = os.path.join(config.build_root, "lib", "libStreamSanTidy.so")
clang_tidy = os.path.join(config.llvm_bin, "clang-tidy")
if os.path.exists(plugin) and os.path.exists(clang_tidy):
    config.available_features.add("plugin")
if os.path.exists(os.path.join(config.llvm_bin, "clang")):
    config.available_features.add("clang")
if os.path.exists(os.path.join(config.cuda_root, "bin", "nvcc")):
    config.available_features.add("cuda")
if os.geteuid() == 0:
    config.available_features.add("root")

# The suite's own tools need nothing that is installed beside Python, and looking for that is half of their time.
python = f"{quote(config.python)} -S"
cost = quote(os.path.join(config.source_root, "testsuite", "benchmarks", "analyzer_cost.py"))
clang = quote(os.path.join(config.llvm_bin, "clang"))
expect = quote(os.path.join(config.source_root, "testsuite", "tools", "expect-exit"))
config.substitutions += [
    ("%check", f"{python} {quote(os.path.join(root, 'check_tidy.py'))} {quote(tidy)}"),
    ("%tidy", quote(tidy)),
    ("%cost", f"{python} {cost} --tidy {quote(tidy)} --clang {clang}"),
    ("%mock_hip", f"-x hip --cuda-host-only -nogpuinc -nogpulib -isystem {inputs}"),
    ("%mock", f"-x cuda --cuda-host-only -nocudainc -nocudalib -Wno-unknown-cuda-version -isystem {inputs}"),
    ("%plugin", quote(plugin)),
    ("%clang_tidy", quote(clang_tidy)),
    ("%llvm", quote(config.llvm_bin)),
    ("%expect", expect),
    ("%filecheck", quote(config.filecheck)),
    ("%cuda", quote(config.cuda_root)),
    ("%python", python),
    ("%update", "--update" if "update" in lit_config.params else ""),
    ("%inputs", inputs),
    ("%source_root", quote(config.source_root)),
]

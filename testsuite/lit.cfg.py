# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The run-time suite: substitutions and features.

A test is one program and its expected report in one file. The racy program is built as it stands, its repaired twin
with -DFIXED from the same source:

    // RUN: %build %s -o %t
    // RUN: %racy %t 2>&1 | %report
    // RUN: %build -DFIXED %s -o %t.fixed
    // RUN: %silent %t.fixed

Two modes. By default the programs run on the null driver: calls succeed, nothing is computed, kernels do not run; the
order of the calls, which is all StreamSan judges, is that of a real run. The code of kernels is not read either: most
of them have none; those of runtime/code have. `--param gpu=1` builds and runs the same files
with the real cudart and driver. Only a test that asks the null driver itself something REQUIRES: nulldriver.

`--param streamsan=PATH` tests another streamsan than the one that was built, such as that of an installed package, with
the recorder that belongs to it; `--param preload=PATH` names another recorder.

    %build          nvcc, cudart linked statically (the default of nvcc, and so what most programs are); on the null driver
                    a program without device code is built by the C++ compiler alone, which is much quicker
    %build_shared   ... cudart as a shared library
    %build_ptds     ... static, and --default-stream per-thread
    %build_driver   ... no cudart; linked with libcuda
    %build_host     the C++ compiler, for programs that do not know CUDA at build time
    %run            streamsan run --
    %racy           the same, demanding exit code 66
    %syncs          the same with --syncs; %all_syncs tells also what is needed and what is idle
    %silent         the same, demanding exit code 0 and no output at all
    %expect N       demands exit code N of the command that follows
    %always N C     runs the command that follows N times and demands exit code C each time
    %verdicts N W   runs the streamsan command that follows N times and demands one of the verdicts W (error,possible,none)
                    and the same findings of each run
    %report         FileCheck of this test's CHECK lines, with [[NAME]] for the lines marked // @NAME
    %sites          as %report, to be given options such as --check-prefix=OTHER
    %json           prints the JSON report given, one `path = value` in each line
    %measured WORD  footprints are measured in the command that follows; on the null driver by the script that stands in
                    the test behind `// WORD: `, see tools/measured
    %timed          times are taken in the command that follows; on the null driver from nulldriver/cupti
    %no_cupti       the same with a library that is not there
    %possible       possible findings are shown, and kernels read from their code, in the command that follows
    %computed       kernels are read from their code in the command that follows, and not measured
    %trace_records  prints the records of some kinds in a trace, see tools/trace-records
    %cc, %cxx       the plain compilers; %include has streamsan/annotate.h, %cuda_include cuda.h
    %unpack         unpacks a recorded trace
    %preload        path of libstreamsan.so
"""
import os
import shlex
import subprocess
import sys

import lit.formats

config.name = "StreamSan"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".cu", ".cpp", ".test"]
config.test_source_root = os.path.dirname(os.path.abspath(__file__))
# Folders of other test runners, and what tests include or compile beside themselves.
config.excludes = ["nulldriver", "nullcudart", "gpu", "html", "benchmarks", "analyzer", "unit", "inputs", "programs", "scripts", "tools"]

gpu = lit_config.params.get("gpu", "0") not in ("", "0")
config.available_features.add("gpu" if gpu else "nulldriver")
# Tests of a machine without a driver cannot run where there is one.
find_driver = [config.python, "-c", "import ctypes; ctypes.CDLL('libcuda.so.1')"]
if subprocess.run(find_driver, env={"LD_LIBRARY_PATH": ""}, capture_output=True, check=False).returncode != 0:
    config.available_features.add("no-driver")
config.available_features.add(config.processor)
if os.geteuid() == 0:
    config.available_features.add("root")

streamsan_param = lit_config.params.get("streamsan")
if streamsan_param:
    config.streamsan = os.path.abspath(streamsan_param)
    config.preload = os.path.normpath(os.path.join(config.streamsan, "../../lib/streamsan/libstreamsan.so"))
config.preload = os.path.abspath(lit_config.params.get("preload", config.preload))
for program in (config.streamsan, config.preload):
    if not os.path.isfile(program):
        lit_config.fatal(f"there is no {program}")

tools = os.path.join(config.test_source_root, "tools")
quote = shlex.quote

if config.emulated:
    sys.path.insert(0, tools)  # of the workers, too
    from emulated import Emulated

    config.test_format = Emulated(os.path.join(config.test_source_root, "emulated.txt"))
    config.available_features.add("emulated")
    # Where the emulator looks for the libraries of what it runs, and our own among them for files of theirs.
    config.environment["QEMU_LD_PREFIX"] = config.sysroot
    config.environment["ASAN_OPTIONS"] = "detect_leaks=0"  # which stops the process's threads to look
    lit_config.params.setdefault("python", os.path.join(config.sysroot, "usr", "bin", "python3"))
    # Shells and the like as guests: the recorder cannot be preloaded into those of this machine. And tools for programs
    # of the other processor (objcopy), by their plain names.
    config.environment["PATH"] = os.pathsep.join([os.path.join(config.sysroot, "guests"), "/usr/aarch64-linux-gnu/bin",
                                                  config.environment["PATH"]])

# The tests decide about every setting that reaches the tools and the programs.
for name in list(config.environment):
    if name.startswith("STREAMSAN_"):
        del config.environment[name]
for name in ("HOME", "TMPDIR", "TIMES_OF_ALWAYS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
config.environment["NO_COLOR"] = "1"
if not gpu:
    config.environment["LD_LIBRARY_PATH"] = config.null_dir
    # For programs that are run without the launcher; see `defaults` for the others.
    config.environment["STREAMSAN_OPTIONS"] = "footprints=inferred"

# -O0 keeps every line of a program where the report is to find it; one test builds with -O2.
include = quote(os.path.join(config.source_root, "include"))
# cuda_runtime.h includes <cmath>, and that, since C++17, the special functions (std::riemann_zeta and so on), which no
# program of the suite calls: with them nvcc takes half as long again for a small program. They count as included.
nvcc = (f"{quote(config.nvcc)} -g -std=c++17 -D_GLIBCXX_BITS_SPECFUN_H -arch=sm_90 "
        f"-I{quote(os.path.join(tools, '..', 'runtime', 'inputs'))} -I{include}")
if config.emulated:
    # The headers of the toolkit's own processor: those of the programs' differ in nothing that counts here.
    nvcc += (f" -ccbin {quote(config.cxx)} -I{quote(config.cuda_include)}"
             f" -isystem {quote(os.path.join(config.cuda_include, 'cccl'))}")
if gpu:
    static, shared = "-cudart static", "-cudart shared"
    driver_library = f"-L{quote(os.path.join(config.cuda_library_dir, 'stubs'))} -lcuda"
    shared_library = f"-Xlinker -rpath={quote(config.cuda_library_dir)}"
else:
    static = shared = "-cudart none"
    driver_library = f"-L{quote(config.null_dir)} -lcuda"
    shared_library = f"-L{quote(config.null_dir)} -lcudart"
static_library = "" if gpu else quote(os.path.join(config.null_dir, "libnullcudart.a"))

# nvcc wants the library behind the sources that use it, and a test names its sources last.
build = f"{quote(os.path.join(tools, 'build'))}"
build_program = build
if not gpu and not config.emulated:
    build_program = " ".join(map(quote, (os.path.join(tools, "build-program"), config.cxx, config.cuda_include)))
# Most kernels of the suite have no body: they stand for any kernel of their signature. Their code would say that they
# touch nothing. On the null driver nothing can be measured either, and StreamSan's own agent, on a machine that has
# NVIDIA's library, need not find that out in every test. No test is to depend on what another one has measured.
# A line about waits would be in the reports of many.
defaults = "kernel_code=0 footprint_cache=off mention_waits=0" + ("" if gpu else " footprints=inferred")
# On an emulator or a busy machine a fault takes so long that the share of time that guards may take is used up at once.
defaults += " host_guard_cost=100"
# A program that hangs fails its test and not the whole suite. (lit's own time limit needs a package that may be
# absent.)
patience = 900 if config.emulated else 120
streamsan = f"{quote(os.path.join(tools, 'default-options'))} {defaults} -- timeout -k 5 {patience} {quote(config.streamsan)}"
run = f"{streamsan} run --"
expect = quote(os.path.join(tools, "expect-exit"))
footprints = "" if gpu else "footprints=inferred,kernel_code=1,"
agent = "" if gpu else os.path.join(config.null_dir, "libstreamsan_script_agent.so")
measured = f"{quote(os.path.join(tools, 'measured'))} {quote(agent)} %s %t.script"
timed = "env STREAMSAN_OPTIONS=" + footprints + "timings=1"
stand_in = "" if gpu else ",cupti_library=" + quote(os.path.join(config.null_dir, "cupti", "libcupti.so"))
# The suite's own tools need nothing that is installed beside Python, and looking for that is half of their time.
script = f"{quote(config.python)} -S"
sites = f"{script} {quote(os.path.join(tools, 'check-report'))} {quote(config.filecheck)} %s"

config.substitutions += [
    ("%build_shared", f"{build} {shared_library} -- {nvcc} {shared}"),
    ("%build_ptds", f"{build} {static_library} -- {nvcc} {static} --default-stream per-thread"),
    ("%build_driver", f"{build} {driver_library} -- {nvcc} -cudart none"),
    ("%build_host", f"{quote(config.cxx)} -g -std=c++17 -I{quote(config.cuda_include)} "
                    f"-I{quote(os.path.join(config.test_source_root, 'runtime', 'inputs'))} -I{include}"),
    ("%cc", quote(config.cc)),
    ("%cxx", quote(config.cxx)),
    ("%include", include),
    ("%cuda_include", quote(config.cuda_include)),
    ("%trace_records", f"{script} {quote(os.path.join(tools, 'trace-records'))} {quote(config.source_root)}"),
    ("%build", f"{build_program} {static_library} -- {nvcc} {static}"),
    ("%racy", f"{expect} 66 {run}"),
    ("%syncs", f"env STREAMSAN_OPTIONS={footprints}syncs=1 {run}"),
    ("%all_syncs", f"env STREAMSAN_OPTIONS={footprints}syncs=1,verbosity=1 {run}"),
    ("%silent", f"{quote(os.path.join(tools, 'expect-silent'))} {run}"),
    ("%always", f"{script} {quote(os.path.join(tools, 'always'))}"),
    ("%verdicts", f"{script} {quote(os.path.join(tools, 'verdicts'))}"),
    ("%expect", expect),
    ("%run", run),
    ("%measured", measured),
    ("%timed", timed + stand_in),
    ("%no_cupti", f"{timed},cupti_library=%t.none"),
    ("%possible", "env STREAMSAN_OPTIONS=footprints=inferred,kernel_code=1,min_severity=possible"),
    ("%computed", "env STREAMSAN_OPTIONS=footprints=inferred,kernel_code=1"),
    ("%report", sites),
    ("%sites", sites),
    ("%filecheck", quote(config.filecheck)),
    ("%json", f"{script} {quote(os.path.join(tools, 'flatten-json'))}"),
    ("%trace_counts", f"{script} {quote(os.path.join(tools, 'trace-counts'))} {quote(config.source_root)}"),
    ("%unpack", f"{script} {quote(os.path.join(tools, 'unpack'))}"),
    ("%python", quote(config.python)),
    ("%preload", quote(config.preload)),
    ("%null", quote(config.null_dir)),
    ("%readelf", quote(config.readelf)),
    ("%nm", quote(config.nm)),
    ("%streamsan", streamsan),
    ("%inputs", quote(os.path.join(config.test_source_root, "runtime", "inputs"))),
    ("%programs", quote(os.path.join(config.test_source_root, "programs"))),
    ("%source_root", quote(config.source_root)),
]

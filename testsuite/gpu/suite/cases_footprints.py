# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measured footprints: that they are true, what follows from them, and what happens where measuring fails.

Everything here needs a GPU: on the null driver no kernel touches anything.
"""

from dataclasses import replace

from suite import cases
from suite.case import ALL_MEASURED, Case, DEMANDED_AND_MISSED, MEASURED, Target, measured, twins
from suite.cases_python import python, script
from suite.expect import Expect, Finding, NO_ERROR, SILENT

HOPPER = ("-g", "-arch=sm_90")


def truth(name, source, *words, flags=("-g",), needs=()):
    return Case("truth-" + name, Target("footprints/" + source, flags), ("{}", *words), Expect(), "truth",
                options=ALL_MEASURED, needs=needs, null=False)


def truth_python(name, source, *words, needs=("module:torch",)):
    return python("truth-" + name, script("footprints/" + source, *words), Expect(), needs, mode="truth",
                  options=ALL_MEASURED)


# Footprints beside what the programs say, byte for byte.
TRUTH = [
    *(truth(shape, "elements.cu", shape)
      for shape in ("half", "column-block", "gather", "gather-bytes", "gather-halves", "gather-many", "odd-ends",
                    "bytes", "vectors", "module-array", "managed", "mapped", "memories", "predicates")),
    truth("atomics", "atomics.cu"),
    truth("async-copies", "async_copies.cu", flags=HOPPER, needs=("capability:9.0",)),
    truth("bulk-copies", "bulk_copies.cu", flags=HOPPER, needs=("capability:9.0",)),
    truth("tensor-map", "tensor_map.cu", flags=HOPPER, needs=("capability:9.0",)),
    truth("cublas", "gemm.cu", flags=("-g", "-lcublas"), needs=("header:cublas_v2.h",)),
    truth_python("torch-add", "torch_kernels.py", "add"),
    truth_python("torch-sum", "torch_kernels.py", "sum"),
    truth_python("torch-foreach", "torch_kernels.py", "foreach"),
    truth_python("triton", "triton_masked.py", needs=("module:torch", "module:triton")),
]

# Launches of one kernel that overlap by 16 bytes: more than one pair of operations meets there.
OVERLAP = Expect(exit=66, findings=(Finding(at_least=True),), allowed=("note", "possible"), overlap=True)
# Later rounds are learned, and a conflict with what is learned may still be possible when the program ends.
RACY = Expect(exit=66, findings=(Finding(at_least=True),), allowed=("note", "possible"))

CACHE_FIXED = Target("kv_cache.cu", ("-g", "-DFIXED"))
PARTS = [
    *measured(twins("four-streams", "four_streams.cu", replace(OVERLAP, sites=("upload", "kernel"))), "", record=True),
    *measured([python("numba-slices", script("numba_slices.py"), OVERLAP, needs=("module:numba",)),
               python("numba-slices-fixed", script("numba_slices.py", "--fixed"), Expect(), needs=("module:numba",))],
              ""),
    # A kernel whose bytes vary is inferred when its measurements are used up, and measured again when the judge asks;
    # with enough of them there is nothing to ask.
    *measured(twins("kv-cache", "kv_cache.cu", replace(RACY, sites=("copy", "kernel")), cost=5), "", options=ALL_MEASURED),
    *measured([Case("kv-cache-all-measured", CACHE_FIXED, cost=5)], "",
              options=(*ALL_MEASURED, "footprint_launches=1000")),
    *measured([Case("kv-cache-waited", Target("kv_cache.cu", ("-g", "-DFIXED", "-DWAITED")), cost=5)], ""),
    # The default gives less time to each kernel: the race is an error, and what is right may be possible.
    *measured([Case("kv-cache-needed", Target("kv_cache.cu", ("-g",)), expect=replace(RACY, sites=("copy", "kernel")), cost=5),
               Case("kv-cache-needed-fixed", CACHE_FIXED, expect=NO_ERROR, cost=5)], ""),
    *measured(twins("shared-counter", "shared_counter.cu",
                    Expect(exit=66, findings=(Finding(),), sites=("count", "reset"))), "", record=True),
]

# The programs of the older tables, with the outcome that exact bytes give them.
EARLIER = {case.name: case for case in cases.CASES}
AGAIN = [
    *measured(case for case in cases.CASES
              if case.name.removesuffix("-fixed") in (
                  "pipeline", "pipeline-per-thread", "pipeline-threads", "pipeline-driver-api", "plugin",
                  "preload-then-check", "legacy-stream", "sync-copy", "pageable-upload", "managed", "default-kind",
                  "free-in-use", "async-free-in-use", "use-before-allocation", "forked", "killed", "pool-reuse",
                  "recycled", "many-streams", "graph")),
    *measured([EARLIER["slices"], EARLIER["slices-fixed"]], expect=SILENT),
]

FILLS = Target("kernels.cu", ("-ptx",))
WELL = Target("three_kernels.cu", ("-g", "-DFIXED"))
# The program does what it did, but it was demanded that footprints be measured: one line, and an exit code of our own.
NOT_MEASURED = Expect(exit=DEMANDED_AND_MISSED, allowed=("note", "possible"), lines=(1, 2), text=(r"streamsan.*(footprint|measur)",))
AUTO = ("footprints=auto",)

FAILURES = [
    *measured([
        Case("unloading", Target("unloading.cpp", ("-g", "-lcuda")), ("{}", "{ptx}"), Expect(),
             others=(("ptx", FILLS),), cost=5),
        # The waiting kernel is not measured: its flag and the place of its result may be one buffer with others.
        Case("meeting-kernels", Target("meeting_kernels.cu", ("-g", "-DFIXED")), expect=NO_ERROR, cost=5),
        Case("launching-threads", Target("launching_threads.cu", ("-g", "-DFIXED"))),
        Case("out-of-memory", Target("out_of_memory.cu", ("-g", "-DFIXED")), expect=replace(NO_ERROR, lines=(0, 2)),
             alone=True),
    ], ""),
    # Of one stream nothing is measured otherwise, and so nothing is said.
    *measured([Case("cupti-active", WELL, expect=NOT_MEASURED, mode="cupti", needs=("file:cupti",))], "",
              options=ALL_MEASURED),
    *measured([Case("cupti-active-auto", WELL, expect=Expect(lines=(0, 2)), mode="cupti", needs=("file:cupti",))], "",
              options=AUTO),
    *measured([Case("no-sanitizer", WELL, expect=NOT_MEASURED)], "",
              options=(*MEASURED, "sanitizer_library=/nonexistent")),
    *measured([Case("no-sanitizer-auto", WELL, expect=SILENT)], "",
              options=(*AUTO, "sanitizer_library=/nonexistent")),
    *measured([Case("three-kernels", WELL)], ""),
]

# The same program twice: what the first run has measured is known to the second one, and both say the same.
TWICE = """
cache=$(mktemp -d)
for run in first second; do
  "$0" run --footprint_cache="$cache" --footprints=measured --footprint_policy=first --max_reports=1 --verbosity=1 -- "$1"
  code=$?
  [ "${before:-$code}" = "$code" ] || { echo "the $run run ended with $code, not with $before"; code=99; }
  before=$code
done
rm -r "$cache"
exit "$before"
"""
KNOWN = r"measured: 0 launches in [0-9.]+ s, [1-9]\d* known from earlier runs"


def twice(name, source, expect):
    return Case(name, source, ("sh", "-c", TWICE, "{streamsan}", "{}"), expect, mode="shell", null=False, cost=5,
                options=MEASURED)


CACHED = [
    # A kernel in a conflict is measured again.
    twice("cached-four-streams", Target("four_streams.cu", ("-g",)),
          Expect(exit=66, text=(r"measured: [1-9]\d* launches in (?s:.*)measured: [1-9]\d* launches in ",))),
    # A launch that may meet unordered work, as those of different streams in one buffer, is measured in each run.
    twice("cached-four-streams-fixed", Target("four_streams.cu", ("-g", "-DFIXED")),
          Expect(exit=0, text=(r"measured: [1-9]\d* launches in [0-9.]+ s, [1-9]\d* known from earlier runs",))),
    twice("cached-three-kernels", WELL, Expect(exit=0, text=(KNOWN,))),
]

CASES = [*TRUTH, *PARTS, *AGAIN, *FAILURES, *CACHED]

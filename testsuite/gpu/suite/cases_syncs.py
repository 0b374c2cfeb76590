# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which synchronisation is needed, what it costs, hints, and the page of a report, on a GPU.

The programs of testsuite/runtime/syncs are tests of the null driver. Here they run with kernels that compute, and check
their results. What must be said of them stands in their own CHECK lines (suite/marks.py). Each recommendation is followed
with -DFIXED: then nothing is recommended any more, no race is reported, and the results are right.
"""

from dataclasses import replace

from suite import marks
from suite.build import PROGRAMS
from suite.case import Case, COMPUTED, INFERRED, MEASURED, Target, twins
from suite.cases import race
from suite.expect import Expect

RUNTIME = PROGRAMS.parent.parent / "runtime"
INCLUDE = f"-I{RUNTIME / 'inputs'}"
CYCLES = "20"  # thousands: some ten microseconds for each kernel

# Tests of how a report is written, and libraries that this suite does not build.
NOT_HERE = ("json", "mentioned", "suppressed", "recorded-without", "inside-library", "inside-library-needed")
COMMANDS = {"two-processes": ("sh", "-c", f"{{}} {CYCLES} && {{}} {CYCLES}")}
EXITS = {"killed": 137}


def names(folder="syncs"):
    return sorted(path.stem for path in (RUNTIME / folder).glob("*.cu"))


def source(name, folder="syncs"):
    return f"../../runtime/{folder}/{name}.cu"


def advice(name, options=COMPUTED):
    """The program, and the one that follows the advice."""
    said = marks.read(RUNTIME / "syncs" / f"{name}.cu")
    target = Target(source(name), ("-g", *said.flags, INCLUDE))
    command = COMMANDS.get(name, ("{}", CYCLES))
    options = (*options, "syncs", *(("verbosity=1",) if said.everything else ()))
    yield Case("sync-" + name, target, command, options=options,
               expect=Expect(exit=EXITS.get(name, 0), text=said.text, absent=said.absent, syncs=said.syncs))
    if said.fixed:
        yield Case(f"sync-{name}-fixed", target.fixed(), command, options=options,
                   expect=Expect(absent=("ERROR|LATENT",), advised=not said.clean))


SYNCS = [case for name in names() if name not in NOT_HERE for case in advice(name)]

# The same verdicts where all bytes that kernels touch are known.
KNOWN = ("unneeded-device", "event-for-device", "stream-for-device", "needed-before-free", "redundant-pair",
         "timing-events")
MEASURED_SYNCS = [replace(case, name="measured-" + case.name, null=False)
                  for name in KNOWN for case in advice(name, MEASURED)]

TIMINGS = [
    Case(f"timings-{way}", Target("timed.cu", ("-g",)), ("{}", way), mode="timings", null=False, needs=("file:cupti",),
         options=("timings", "syncs"), alone=True, expect=Expect(text=(r"the host was blocked for [0-9.]+ ms of [0-9.]+ ms",)))
    for way in ("kernels", "graph", "idle")
]


def hints(name):
    said = marks.read(RUNTIME / "hints" / f"{name}.cu")
    target = Target(source(name, "hints"), ("-g", INCLUDE))
    options = (*INFERRED, "hints")
    yield Case("hint-" + name, target, options=options, expect=Expect(text=said.text))
    yield Case(f"hint-{name}-fixed", target.fixed(), options=options, expect=Expect(absent=("NOTE:",)))


HINTS = [case for name in ("pageable-upload-in-loop", "alloc-in-loop", "streams-take-turns") for case in hints(name)]

PAGES = twins("page", "pipeline.cu", race("copy", "kernel", "allocation"), mode="page", fixed=Expect())

CASES = [*SYNCS, *MEASURED_SYNCS, *TIMINGS, *HINTS, *PAGES]

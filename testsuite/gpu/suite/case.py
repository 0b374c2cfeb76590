# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The vocabulary of the test tables: a program to build, and a run of it with what is expected."""

from dataclasses import dataclass, replace

from suite.expect import Expect, SILENT

# From the pointers alone, from the kernels' code, and by measuring.
INFERRED = ("footprints=inferred", "kernel_code=false")
COMPUTED = ("footprints=inferred", "kernel_code=true")
MEASURED = ("footprints=measured",)
ALL_MEASURED = (*MEASURED, "footprint_policy=first")  # also launches that could meet nothing
DEMANDED_AND_MISSED = 2  # exit code where footprints had to be measured and were not


@dataclass(frozen=True)
class Target:
    """A program of programs/ and how nvcc (or, for .cpp, the host compiler through nvcc) is asked for it."""

    source: str
    flags: tuple = ()

    def fixed(self):
        return Target(self.source, (*self.flags, "-DFIXED"))


@dataclass(frozen=True)
class Case:
    """One test.

    mode is one of
      run      under `streamsan run`; the outcome is the launcher's
      preload  preloaded without the launcher, the trace judged afterwards by `streamsan check`
      counts   preloaded beside cupti_counts; the recorder's counts must equal CUPTI's
      cupti    like run, with cupti_counts as a profiler that is there first
      truth    like run, and the footprints in its trace must be the bytes that the program says it touched
      timings  like run, and the times of operations must be those that the program says they took (suite/times.py)
      page     like run, with a report in HTML (suite/page.py)
      shell    `command` alone, nothing of ours around it
    command is a tuple of words; "{}" is the built program, "{NAME}" the other target of that name, "{python}" this
    Python, "{programs}" the folder of the sources, "{streamsan}" the launcher.
    """

    name: str
    target: Target = None
    command: tuple = ("{}",)
    expect: Expect = SILENT
    mode: str = "run"
    options: tuple = INFERRED  # of StreamSan, each "name=value"
    others: tuple = ()  # ((NAME, Target), ...)
    needs: tuple = ()  # "module:torch", "header:cupti.h", ...: a missing one is a skip
    null: bool = True  # means the same on the null driver
    site_source: str = ""  # where the sites are, if not in the target's source
    timeout: int = 60
    cost: int = 1  # rough seconds: expensive ones start first
    record: bool = False  # its trace is kept by --record
    alone: bool = False  # nothing may run beside it

    def same_by_itself(self):
        """Must it print and return what it does without StreamSan? A racy program need not do so twice, and of one
        whose end StreamSan decides nobody can say. Python programs are left out for their time."""
        return (self.mode == "run" and self.target is not None and not self.expect.findings
                and self.expect.exit != DEMANDED_AND_MISSED)


def twins(name, source, expect, flags=("-g",), command=("{}",), fixed=SILENT, **more):
    """The racy case and its repaired twin, of which nothing is reported and, by default, nothing printed besides its
    own output."""
    target = Target(source, tuple(flags))
    return [
        Case(name, target, command, expect, **more),
        Case(name + "-fixed", target.fixed(), command, fixed, **more),
    ]


def measured(cases, prefix="measured-", **changes):
    """The same tests where footprints are measured: on a GPU only, and their traces are not kept unless asked for."""
    return [replace(case, **{"name": prefix + case.name, "options": MEASURED, "null": False, "record": False, **changes})
            for case in cases]


def computed(cases, prefix="computed-", **changes):
    """The same tests where kernels are read from their code. That needs no GPU: the kernels need not run."""
    return [replace(case, **{"name": prefix + case.name, "options": COMPUTED, "record": False, **changes})
            for case in cases]

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CUDA graphs, inside and around: the programs of testsuite/runtime/graphs. What nodes touch follows from the kernels' code
and the driver's own description of the graph, which this GPU's driver gives here, and the null driver there."""

from pathlib import Path

from suite.build import PROGRAMS
from suite.case import Case, Target, computed
from suite.expect import Expect, Finding, SILENT

SOURCES = "../../runtime/graphs"
INPUTS = Path(PROGRAMS, "../../runtime/inputs").resolve()
FLAGS = ("-g", "-std=c++17", "-arch=sm_90", f"-I{INPUTS}")
ERROR = Expect(exit=66, findings=(Finding(kind=".*", at_least=True),))
INSIDE = Expect(exit=66, findings=(Finding(cause="no-path-in-graph", at_least=True),))


def program(name, *defines):
    return Target(f"{SOURCES}/{name}.cu", (*FLAGS, *defines))


def pair(name, expect=ERROR):
    return [Case("graph-" + name, program(name), expect=expect),
            Case(f"graph-{name}-fixed", program(name, "-DFIXED"), expect=SILENT)]


CASES = computed([
    *pair("child-graph", INSIDE),
    *pair("clone"),
    *pair("freed-after-instantiate"),
    *pair("inside-captured-fork", INSIDE),
    *pair("inside-missing-edge", INSIDE),
    *pair("memory-nodes"),
    *pair("output-read-too-early"),
    *pair("pinned-source-rewritten"),
    *pair("records-event"),
    *pair("refilled-input"),
    *pair("two-execs-one-workspace"),
    *pair("updated-graph"),
    *pair("updated-node"),
    *pair("waits-for-event"),
])

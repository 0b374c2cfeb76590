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


INSIDE_PAIRS = ("attention-misses-one-join", "child-graph", "child-twice", "inside-captured-fork",
                "inside-missing-edge")
AROUND_PAIRS = ("clone", "decode-step", "freed-after-instantiate", "memory-nodes", "node-enabled-again",
                "output-read-too-early", "pinned-source-rewritten", "prefill-then-decode", "records-event",
                "refilled-input", "replay-over-output", "two-execs-one-workspace", "updated-child", "updated-graph",
                "updated-kernel-in-flight", "updated-node", "updated-size", "waits-for-event",
                "workspace-freed-in-flight")

# Of what a conditional node may run. On the GPU a kernel sets the condition.
CONDITIONAL = Expect(findings=(Finding(severity="possible", kind=".*", at_least=True),))
CONDITIONAL_PAIRS = ("conditional-captured", "conditional-handle-reused", "conditional-if", "conditional-memory-freed",
                     "conditional-pinned-source", "conditional-while")

CASES = computed([*(case for name in INSIDE_PAIRS for case in pair(name, INSIDE)),
                  *(case for name in AROUND_PAIRS for case in pair(name)),
                  *(case for name in CONDITIONAL_PAIRS for case in pair(name, CONDITIONAL)),
                  Case("graph-conditional-else", program("conditional-else", "-DRACY"), expect=CONDITIONAL),
                  Case("graph-conditional-else-fixed", program("conditional-else"), expect=SILENT)])

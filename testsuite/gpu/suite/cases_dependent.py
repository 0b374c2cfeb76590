# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that overlap the one in front of them in their stream: the programs of testsuite/runtime/dependent. What is
found follows from the kernels' code, with a GPU and without one; here the kernels run."""

from pathlib import Path

from suite.build import PROGRAMS
from suite.case import Case, Target, computed
from suite.expect import Expect, Finding, SILENT

SOURCES = "../../runtime/dependent"
INPUTS = Path(PROGRAMS, "../../runtime/inputs").resolve()
FLAGS = ("-g", "-std=c++17", "-arch=sm_90", f"-I{INPUTS}")


def one(**finding):
    return Expect(exit=66, findings=(Finding(**finding, at_least=True),))


LAUNCH = one(cause="dependent-launch")
EVENT = one(cause="launch-event")
# Order that today's driver makes.
LATENT = Expect(findings=(Finding(severity="latent", cause="dependent-launch", at_least=True),))


def program(name, *defines):
    return Target(f"{SOURCES}/{name}.cu", (*FLAGS, *defines))


def pair(name, expect):
    return [Case("dependent-" + name, program(name), expect=expect),
            Case(f"dependent-{name}-fixed", program(name, "-DFIXED"), expect=SILENT)]


def variant(name, define, expect=SILENT):
    return Case(f"dependent-{name}-{define.lower().replace('_', '-')}", program(name, "-D" + define), expect=expect)


CASES = computed([
    *pair("load-before-wait", LAUNCH),
    variant("load-before-wait", "PLAIN"),
    variant("load-before-wait", "COPY_BETWEEN"),
    *pair("event-between", LAUNCH),
    variant("event-between", "TIMED"),
    *pair("never-waits", LAUNCH),
    *pair("chain", LAUNCH),
    *pair("store-before-wait", LAUNCH),
    *pair("trigger-before-store", LAUNCH),
    variant("trigger-before-store", "PUBLISHED"),
    variant("trigger-before-store", "LAST", LATENT),
    *pair("one-warp-waits", LAUNCH),
    *pair("one-operand", LAUNCH),
    *pair("decoding-loop", LAUNCH),
    *pair("no-trigger", LATENT),
    *pair("third-stream", EVENT),
    *pair("programmatic-event", EVENT),
    variant("programmatic-event", "NO_TRIGGER", Expect(findings=(Finding(severity="latent", rule="R-LCH-03"),))),
])

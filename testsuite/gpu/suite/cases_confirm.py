# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Confirming a finding: with --perturb and --poison a race shows in the program's own results, and nothing else does.

Each racy program computes the right result without the options; with them a wrong one. Its repaired twin computes the
right one with them. What is reported is not looked at here. All need a GPU: the null driver runs nothing.
"""

from suite.case import Case, Target
from suite.expect import Expect

RIGHT = r"^result: right$"
WRONG = r"^result: wrong"
DELAYED = r"perturb: [1-9]\d* of \d+ operations were delayed by 200 ms"


def confirming(name, source, wrong, *options, text=()):
    """One run of the program: exit code and result are its own."""
    command = ("{streamsan}", "run", "--footprints=inferred", "--exitcode=0", "--max_reports=1", *options, "--", "{}")
    expect = Expect(exit=1 if wrong else 0, text=(WRONG if wrong else RIGHT, *text))
    return Case(name, source, command, expect, mode="shell", null=False, cost=3, alone=True)


def perturbed(name, slow, other):
    """`slow` is a seed that delays the producer and spares the consumer, `other` one that spares the producer."""
    racy = Target(f"{name.replace('-', '_')}.cu", ("-g",))
    delay = ("--perturb=200", "--verbosity=1", f"--perturb_seed={slow}")
    return [
        confirming(name, racy, True, *delay, text=(DELAYED,)),
        confirming(f"{name}-other-seed", racy, False, "--perturb=200", f"--perturb_seed={other}"),
        confirming(f"{name}-plain", racy, False),
        confirming(f"{name}-fixed", racy.fixed(), False, *delay, text=(DELAYED,)),
    ]


def poisoned(name):
    racy = Target(f"{name.replace('-', '_')}.cu", ("-g",))
    return [
        confirming(name, racy, True, "--poison"),
        confirming(f"{name}-plain", racy, False),
        confirming(f"{name}-fixed", racy.fixed(), False, "--poison"),
    ]


CASES = [
    *perturbed("perturb-upload", 2, 9),
    *perturbed("perturb-event-too-early", 2, 9),
    *perturbed("perturb-graph", 2, 9),
    *perturbed("perturb-host-source", 2, 9),
    *perturbed("perturb-default-stream", 9, 2),
    *poisoned("poison-free-async"),
    *poisoned("poison-cuda-free"),
    *poisoned("poison-free-host"),
    *poisoned("poison-reuse"),
]

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


# As docs/confirm.md says it: seeds are tried until one shows the race. Which one does depends on how many streams the
# libraries make for themselves. {} is the program.
EVERY_SEED = """
for seed in 1 2 9; do
  "$0" run --footprints=inferred --exitcode=0 --max_reports=1 --verbosity=1 --perturb=200 --perturb_seed=$seed -- "$1" ||
    exit 1
done
"""


def perturbed(name):
    racy = Target(f"{name.replace('-', '_')}.cu", ("-g",))

    def every_seed(suffix, source, wrong):
        expect = Expect(exit=1 if wrong else 0, text=(WRONG if wrong else RIGHT, DELAYED))
        command = ("sh", "-c", EVERY_SEED, "{streamsan}", "{}")
        return Case(name + suffix, source, command, expect, mode="shell", null=False, cost=8, alone=True)

    return [every_seed("", racy, True), confirming(f"{name}-plain", racy, False), every_seed("-fixed", racy.fixed(), False)]


def poisoned(name):
    racy = Target(f"{name.replace('-', '_')}.cu", ("-g",))
    return [
        confirming(name, racy, True, "--poison"),
        confirming(f"{name}-plain", racy, False),
        confirming(f"{name}-fixed", racy.fixed(), False, "--poison"),
    ]


CASES = [
    *perturbed("perturb-upload"),
    *perturbed("perturb-event-too-early"),
    *perturbed("perturb-graph"),
    *perturbed("perturb-host-source"),
    *perturbed("perturb-default-stream"),
    *poisoned("poison-free-async"),
    *poisoned("poison-cuda-free"),
    *poisoned("poison-free-host"),
    *poisoned("poison-reuse"),
]

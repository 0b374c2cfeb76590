# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Captures: which calls the driver refuses, in which mode. Programs of the run-time suite rely on the null driver's
answers, which must be the hardware's."""

import re

from suite.case import Case, Target
from suite.expect import Expect, Finding

# What driver 580.159.04 answered on an H100: the error of the call, then that of the end of the capture; global,
# thread-local and relaxed beside a blocking captured stream, and the same beside a non-blocking one. The last column of
# FreeHost, HostRegister and HostUnregister was not asked: it is taken to be as the third.
ANSWERS = """
StreamSynchronize captured        900/901  900/901  900/901  900/901  900/901  900/901
StreamQuery captured              900/901  900/901  900/901  900/901  900/901  900/901
StreamSynchronize other           900/901  900/901  0/0      900/901  900/901  0/0
StreamQuery other                 900/901  900/901  0/0      900/901  900/901  0/0
StreamSynchronize blocking        900/901  900/901  0/0      900/901  900/901  0/0
StreamSynchronize legacy          906/901  906/901  906/901  900/901  900/901  0/0
StreamQuery legacy                906/901  906/901  906/901  900/901  900/901  0/0
DeviceSynchronize                 900/901  900/901  900/901  900/901  900/901  900/901
EventSynchronize recorded         900/901  900/901  0/0      900/901  900/901  0/0
EventQuery recorded               900/901  900/901  0/0      900/901  900/901  0/0
EventSynchronize fresh            900/901  900/901  0/0      900/901  900/901  0/0
EventSynchronize captured         907/901  907/901  907/901  907/901  907/901  907/901
EventQuery captured               907/901  907/901  907/901  907/901  907/901  907/901
EventElapsedTime recorded         0/0      0/0      0/0      0/0      0/0      0/0
Malloc                            900/901  900/901  0/0      900/901  900/901  0/0
Free                              900/901  900/901  0/0      900/901  900/901  0/0
Free null                         900/901  900/901  0/0      900/901  900/901  0/0
MallocHost                        900/901  900/901  0/0      900/901  900/901  0/0
HostAlloc                         900/901  900/901  0/0      900/901  900/901  0/0
FreeHost                          900/901  900/901  0/0      900/901  900/901  0/0
MallocManaged                     900/901  900/901  0/0      900/901  900/901  0/0
HostRegister                      900/901  900/901  0/0      900/901  900/901  0/0
HostUnregister                    900/901  900/901  0/0      900/901  900/901  0/0
MallocAsync captured              0/0      0/0      0/0      0/0      0/0      0/0
MallocAsync other                 900/901  900/901  0/0      900/901  900/901  0/0
kernel legacy                     906/901  906/901  906/901  0/0      0/0      0/0
kernel other                      0/0      0/0      0/0      0/0      0/0      0/0
kernel blocking                   0/0      0/0      0/0      0/0      0/0      0/0
Memcpy pageable                   906/901  906/901  906/901  0/0      0/0      0/0
Memcpy pinned                     906/901  906/901  906/901  0/0      0/0      0/0
Memcpy device                     906/901  906/901  906/901  0/0      0/0      0/0
Memset                            906/901  906/901  906/901  0/0      0/0      0/0
MemcpyAsync pageable captured     0/0      0/0      0/0      0/0      0/0      0/0
MemcpyAsync to pageable captured  0/0      0/0      0/0      0/0      0/0      0/0
MemcpyAsync pinned legacy         906/901  906/901  906/901  0/0      0/0      0/0
MemcpyAsync pageable other        0/0      0/0      0/0      0/0      0/0      0/0
LaunchHostFunc captured           0/0      0/0      0/0      0/0      0/0      0/0
EventRecord legacy                906/901  906/901  906/901  0/0      0/0      0/0
StreamWaitEvent captured recorded 905/901  905/901  905/901  905/901  905/901  905/901
StreamWaitEvent legacy recorded   906/901  906/901  906/901  0/0      0/0      0/0
StreamCreate                      0/0      0/0      0/0      0/0      0/0      0/0
StreamDestroy blocking            0/0      0/0      0/0      0/0      0/0      0/0
EventCreate                       0/0      0/0      0/0      0/0      0/0      0/0
"""


def line(answer):
    """The regular expression of one line, whatever the width of its columns."""
    return "^" + r"\s+".join(map(re.escape, answer.split())) + "$"


# One of the calls waits for an event that nobody records.
NEVER_RECORDED = Finding("latent", "event-misuse", cause="event-never-recorded", at_least=True)

CASES = [
    # It allocates and waits in each of 258 cells: fourteen times slower where 27 other programs share the GPU.
    Case("capture-modes", Target("capture_modes.cu", ("-g",)), cost=5, timeout=240,
         expect=Expect(findings=(NEVER_RECORDED,), text=tuple(map(line, ANSWERS.strip().splitlines())))),
]

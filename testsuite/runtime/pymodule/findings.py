# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
r"""findings(): what was found up to the call, while the program runs, and with the recorder alone.

RUN: %racy %interpreter %s 2>&1 | %filecheck %s
RUN: %silent %interpreter %s --fixed
RUN: echo 'race:*findings.py*' > %t.supp
RUN: env STREAMSAN_OPTIONS=suppressions=%t.supp,footprints=inferred %expect 0 %run %interpreter %s --suppressed
RUN: env LD_PRELOAD=%preload STREAMSAN_OPTIONS=trace_path=%t.%%p.trace,footprints=inferred %interpreter %s 2>&1 \
RUN:   | %filecheck %s --check-prefix=ALONE

CHECK: ERROR: streamsan: read-after-write race
ALONE: trace written to
"""
import sys

import cuda
import streamsan


def race():
    first, second = cuda.stream(), cuda.stream()
    memory, other = cuda.device_memory(), cuda.device_memory()
    cuda.fill(memory, first)
    if "--fixed" in sys.argv:
        cuda.wait(first)
    cuda.copy(other, memory, second)


assert streamsan.recorded()
assert streamsan.findings() == []
cuda.start()
assert streamsan.findings() == []
race()
found = streamsan.findings()
if "--fixed" in sys.argv or "--suppressed" in sys.argv:
    assert found == [], found
else:
    assert len(found) == 1, found
    [race_found] = found
    assert (race_found.kind, race_found.hazard, race_found.severity) == ("race", "read-after-write", "error")
    assert [what.partition(" ")[0] for what, _, _ in race_found.places] == ["cuMemcpyDtoDAsync", "cuMemsetD8Async"]
    assert "findings.py" in str(race_found) and "Fix: " in str(race_found), str(race_found)
    assert [f.fingerprint for f in streamsan.findings(errors_only=True)] == [race_found.fingerprint]
cuda.wait_for_all()

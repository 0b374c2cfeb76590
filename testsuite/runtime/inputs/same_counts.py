#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""same_counts.py DRIVER RECORDED: the calls the null driver received are the calls in the trace, symbol by symbol.

Only symbols that stand in the trace are compared, and those of the families below, which must stand there if they were
called at all: the driver also receives calls that are not recorded (look-ups, attributes, the recorder's own questions).
"""
import re
import sys

MUST_BE_RECORDED = re.compile(r"cu(Launch|Memcpy|Memset|MemAlloc|MemFree|MemHost|EventRecord|EventCreate|EventDestroy|"
                              r"EventSynchronize|StreamCreate|StreamDestroy|StreamWaitEvent|StreamSynchronize|CtxSynchronize)")


def counts(name):
    with open(name, encoding="utf-8") as file:
        return {symbol: int(count) for symbol, count in (line.split() for line in file)}


driver, recorded = (counts(name) for name in sys.argv[1:])
symbols = set(recorded) | {s for s in driver if MUST_BE_RECORDED.match(s)}
different = [f"{s}: the driver received {driver.get(s, 0)} calls, the trace has {recorded.get(s, 0)}"
             for s in sorted(symbols) if driver.get(s, 0) != recorded.get(s, 0)]
if different or not symbols:
    sys.exit("\n".join(different) or "nothing to compare")

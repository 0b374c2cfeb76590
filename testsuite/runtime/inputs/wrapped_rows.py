#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""wrapped_rows.py ROOT: the driver functions the interposer must wrap: every row of the table whose effect is not of kind
Pass, or asks for the time of an event. Which builders of builders.h make such an effect is read there."""
import re
import sys

with open(f"{sys.argv[1]}/ordering/api/builders.h", encoding="utf-8") as builders:
    passing = set(re.findall(r"^constexpr Effect (\w+)\([^)]*\) \{\s*return \{\.kind = EffectKind::Pass\b(?!, \.asks_event_time)", builders.read(), re.M))
assert "pass" in passing, "builders.h is not written as this expects"
with open(f"{sys.argv[1]}/ordering/api/cuda_api.def", encoding="utf-8") as table:
    text = table.read()
rows = re.findall(r"^SS_API\(\s*(\w+),\s*\w+,\s*\"[^\"]*\",\s*\w+,\s*(\w+)\(", text, re.M)
print("\n".join(sorted(symbol for symbol, effect in rows if effect not in passing)))

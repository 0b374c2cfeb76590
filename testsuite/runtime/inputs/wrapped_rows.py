#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""wrapped_rows.py ROOT: the driver functions the interposer must wrap: every row of the table that is not pass()."""
import re
import sys

with open(f"{sys.argv[1]}/ordering/api/cuda_api.def", encoding="utf-8") as table:
    text = table.read()
rows = re.findall(r"^SS_API\(\s*(\w+),\s*\w+,\s*\"[^\"]*\",\s*\w+,\s*(\w+)\(", text, re.M)
print("\n".join(sorted(symbol for symbol, effect in rows if effect != "pass")))

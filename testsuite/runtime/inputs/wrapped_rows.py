#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""wrapped_rows.py ROOT: the driver functions the interposer must wrap: from the table every row that is not pass(), and the
rows that interposer/wrapped.h names."""
import re
import sys

with open(f"{sys.argv[1]}/ordering/api/cuda_api.def", encoding="utf-8") as table:
    text = table.read()
with open(f"{sys.argv[1]}/interposer/wrapped.h", encoding="utf-8") as header:
    named = re.findall(r"row\.base == \"(\w+)\"", header.read())
rows = re.findall(r"^SS_API\(\s*(\w+),\s*(\w+),\s*\"[^\"]*\",\s*\w+,\s*(\w+)\(", text, re.M)
print("\n".join(sorted(symbol for symbol, base, effect in rows if effect != "pass" or base in named)))

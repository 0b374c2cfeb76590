# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""make_database.py FOLDER COMPILER FILE... -- FLAG...: a compile_commands.json for the files, in FOLDER."""
import json
import os
import sys

folder, compiler, *rest = sys.argv[1:]
cut = rest.index("--")
files, flags = rest[:cut], rest[cut + 1:]
os.makedirs(folder, exist_ok=True)
entries = [{"directory": folder, "file": os.path.abspath(file),
            "arguments": [compiler, *flags, "-c", os.path.abspath(file), "-o", "x.o"]} for file in files]
with open(os.path.join(folder, "compile_commands.json"), "w", encoding="utf-8") as out:
    json.dump(entries, out)

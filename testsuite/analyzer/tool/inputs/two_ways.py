# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""two_ways.py FOLDER PARTS FLAG...: a compile database in which fill.cu is compiled twice, and waits the second time."""
import json
import pathlib
import sys

folder, parts, flags = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
entries = [
    {"directory": folder, "file": str(parts / name), "arguments": ["clang++", *flags, *more, "-c", str(parts / name)]}
    for name, more in [("fill.cu", []), ("fill.cu", ["-DWAITS"]), ("use.cu", [])]
]
(pathlib.Path(folder) / "compile_commands.json").write_text(json.dumps(entries))

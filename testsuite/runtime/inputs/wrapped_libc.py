# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The libc functions that interposer/host and interposer/threads wrap, one in a line: the rows of SS_LIBC, SS_CLOCK, SS_CHANNEL
and SS_ORDER, and what SS_EXPORT marks.

usage: wrapped_libc.py SOURCE_ROOT
"""

import re
import sys
from pathlib import Path

folders = [Path(sys.argv[1], "interposer", name) for name in ("host", "threads")]
text = "\n".join(path.read_text() for folder in folders for path in sorted(folder.glob("libc_*.cpp")))
names = re.findall(r"^SS_(?:LIBC(?:_EXPORT|_SENDS|_RECEIVES)?|CHANNEL)\(\s*(\w+),", text, re.M)
names += re.findall(r"^SS_LIBC(?:_EXPORT)?_WHILE\(\s*\w+,\s*(\w+),", text, re.M)
names += re.findall(r"^SS_LIBC_EXPORT_IF\(.*?,\s*(\w+),\s*[\w()]+,\s*\w+\);", text, re.M)
names += re.findall(r"^SS_ORDER(?:_ROW|_ALWAYS|_OF_CONDITION)?\((\w+),", text, re.M)
names += re.findall(r"^SS_CLOCK\((\w+)\);", text, re.M)
names += re.findall(r"^SS_EXPORT \w+ (\w+)\(", text, re.M)
print("\n".join(names))

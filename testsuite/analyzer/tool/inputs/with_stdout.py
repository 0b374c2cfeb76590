# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""with_stdout.py full|closed COMMAND...: runs it with a stdout that takes nothing."""
import os
import sys

if sys.argv[1] == "full":
    os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
else:
    os.close(1)
os.execvp(sys.argv[2], sys.argv[2:])
